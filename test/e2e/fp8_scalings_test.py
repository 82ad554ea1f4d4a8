#!/usr/bin/env python3
"""Scales of 8-bit floats from steps before, and of blocks."""
import json
import unittest

import numpy as np

import fp8_network
from fp8_network import LEARNING_RATE, STEPS, WIDTHS, data
from fp8_test import BLOCK_BATCH, BLOCK_WIDTHS, REFERENCE, Fp8Test
from zctest import Fixture, latest_step, load_tensors, read_log


class Delayed(Fp8Test):
    """Scales are of the largest magnitudes of steps before."""
    OPTIONS = ("--fp8-scaling", "delayed:3")

    def test_reference(self):
        """Losses and histories are those of Transformer Engine's rule."""
        losses = self.losses(*self.OPTIONS)
        mode = fp8_network.Delayed(3)
        expected, _ = fp8_network.train(mode)
        np.testing.assert_allclose(losses, expected, 1e-5)
        self.assertGreater(np.abs(losses / REFERENCE["fp8"] - 1).max(), 1e-3)
        histories = self.histories()
        self.assertEqual(set(histories), set(mode.history))
        for name, history in histories.items():
            self.assertEqual((history.shape, history[0]), ((4,), 0))
            np.testing.assert_allclose(history[1:], mode.history[name], 1e-2,
                                       err_msg=name)
        out = self.zc("inspect", self.artifact)
        self.assertIn("delayed:3", out)

    def test_resumed(self):
        """To the same bits, from the middle of the histories, also by ranks."""
        for ranks, options in ((1, ()), (2, ("--mesh", "dp=2", "--zero", "1",
                                             "--accumulate", "2"))):
            losses = self.losses(*self.OPTIONS, *options, ranks=ranks)
            whole, histories = self.tensors, self.histories()
            first = self.losses(*self.OPTIONS, *options, ranks=ranks, steps=4)
            out = self.folder / "resumed.jsonl"
            checkpoint = self.folder / f"{self.artifact.stem}-c"
            np.savez(self.folder / "d.npz", x=data()[0], labels=data()[1])
            self.train(self.artifact, self.folder / "d.npz", STEPS,
                       "--no-shuffle", "--log", out, "--checkpoint", checkpoint,
                       "--resume", *(("--local-ranks", ranks) if ranks > 1
                                     else ()), lr=LEARNING_RATE)
            rest = [line["loss"] for line in read_log(out)]
            self.assertEqual(list(first) + rest, list(losses))
            for name, array in load_tensors(latest_step(checkpoint)).items():
                np.testing.assert_array_equal(array, whole[name], name)
            for name, array in self.histories().items():
                np.testing.assert_array_equal(array, histories[name], name)

    def test_another_history(self):
        """A checkpoint of another precision, or length, has none: it begins
        empty, and no run ends for it."""
        self.losses(*self.OPTIONS, steps=4)
        checkpoint = self.folder / f"{self.artifact.stem}-c"
        longer, _ = self.compiled(self.recorded_model(), "--precision", "fp8",
                                  "--fp8-scaling", "delayed:5", name="longer.zca")
        self.train(longer, self.folder / "d.npz", 6, "--no-shuffle",
                   "--checkpoint", checkpoint, "--resume", lr=LEARNING_RATE)
        found = load_tensors(latest_step(checkpoint), "optimizer")
        history = found["state.w0.fp8_amax_input"]
        self.assertEqual(history.shape, (6,))
        self.assertEqual(np.count_nonzero(history), 2)

    def test_ranks(self):
        """The largest magnitude is that of all ranks' parts, and of all
        micro-batches: of the first step's values and weights to the bit, for
        they are of the same data."""
        one = {}
        for ranks, *options in ((2, "--mesh", "dp=2"), (2, "--mesh", "tp=2"),
                                (4, "--mesh", "dp=2,tp=2", "--zero", "3"),
                                (1, "--accumulate", "2"),
                                (2, "--mesh", "pp=2", "--accumulate", "2")):
            with self.subTest(options=options):
                if not one:
                    one = {"losses": self.losses(*self.OPTIONS)}
                    self.losses(*self.OPTIONS, steps=1)
                    one["first"] = self.histories()
                checked = ("--verify", "deep") if ranks > 1 else ()
                losses = self.losses(*self.OPTIONS, *options, *checked,
                                     ranks=ranks)
                if ranks > 1:
                    self.assertIn("zc: verified", self.output)
                np.testing.assert_allclose(losses, one["losses"], rtol=2e-2)
                self.losses(*self.OPTIONS, *options, ranks=ranks, steps=1)
                first = self.histories()
                self.assertEqual(set(first), set(one["first"]))
                for name in ("w0.input", "w0.weight", "w1.weight"):
                    np.testing.assert_array_equal(first[name],
                                                  one["first"][name], name)

    def test_messages(self):
        """Ranks send what they measured in a forward at once, and in a backward;
        the histories are no bytes of the optimizer."""
        sent = {}
        for scaling in ("current", "delayed:3"):
            artifact, _ = self.compiled(
                self.recorded_model(), "--precision", "fp8", "--fp8-scaling",
                scaling, "--mesh", "dp=2", "--accumulate", "2")
            found = json.loads(self.zc("inspect", artifact, "--json"))
            memory = found["memory"]
            sent[scaling] = found["comm"]["by_kind"]["statistics"]["count"]
            # The float32 weights of sgd.
            self.assertEqual(memory["optimizer_bytes_per_parameter"], 4)
            self.assertEqual(memory["bytes_per_parameter"]["optimizer"], 4)
        # Two layers' values, weights and gradients, of 4 float32 each.
        self.assertEqual(memory["fp8_histories"], 2 * 3 * 4 * 4)
        self.assertIn("largest magnitudes of steps before, for scales of 8-bit "
                      "floats: 96 B", self.zc("inspect", artifact))
        # Micro-batches have a forward and a backward.
        self.assertEqual(sent["delayed:3"], 2 * 2)
        self.assertGreater(sent["current"], sent["delayed:3"])

    def test_messages_along_axes(self):
        """A number a rank for each tensor, in one message for each set of axes
        that divide tensors; more tensors are no more messages."""
        for widths in (WIDTHS, (64, 128, 64, 128, 64, 16)):
            layers = len(widths) - 2  # that are rounded
            for mesh in ("tp=2", "dp=2,tp=2"):
                with self.subTest(mesh=mesh, layers=layers):
                    artifact, _ = self.compiled(
                        self.recorded_model(widths=widths), "--precision",
                        "fp8", *self.OPTIONS, "--mesh", mesh)
                    sent = json.loads(self.zc("inspect", artifact, "--json"))[
                        "comm"]["by_kind"]["statistics"]
                    # tp divides all weights, the second values and the first
                    # gradients of each pair of layers; dp all values and
                    # gradients. A rank sends its numbers to each other one.
                    pairs = layers // 2
                    if mesh == "tp=2":
                        self.assertEqual(sent["count"], 2)
                        self.assertEqual(sent["bytes"],
                                         4 * (layers + 2 * pairs))
                    else:  # tp; dp and both, forward and backward
                        self.assertEqual(sent["count"], 1 + 2 * 2)
                        self.assertEqual(sent["bytes"], 4 * (
                            layers + 2 * pairs + 3 * 2 * pairs))

    def test_interleaved(self):
        """Ranks that have several stages keep the histories of one rank."""
        sizes = {"widths": (64, 64, 64, 64, 16)}
        one = self.losses(*self.OPTIONS, "--accumulate", "2", **sizes)
        expected = self.histories()
        losses = self.losses(*self.OPTIONS, "--mesh", "pp=2", "--accumulate",
                             "2", "--schedule", "interleaved", "--chunks", "2",
                             ranks=2, **sizes)
        np.testing.assert_allclose(losses, one, rtol=1e-5)
        found = self.histories()
        self.assertEqual(set(found), set(expected))
        for name, history in found.items():
            np.testing.assert_allclose(history, expected[name], 1e-2,
                                       err_msg=name)

    def skipping_model(self, activation):
        """The first layer's values are a factor of the fourth one's product,
        too: they cross stages, with what is known of their magnitudes."""
        wide = dict(zip(("w0", "w1", "w2", "w3", "w4"),
                        fp8_network.weights((64, 64, 64, 64, 64, 16))))
        nodes = [("MatMul", ["x", "w0"], "p0"), (activation, ["p0"], "r0"),
                 ("MatMul", ["r0", "w1"], "p1"), ("Relu", ["p1"], "r1"),
                 ("MatMul", ["r1", "w2"], "p2"), ("Relu", ["p2"], "r2"),
                 ("MatMul", ["r0", "w3"], "p3"), ("Add", ["r2", "p3"], "s"),
                 ("Relu", ["s"], "r3"), ("MatMul", ["r3", "w4"], "y")]
        return self.save("skips.onnx", nodes, wide, {"x": (128, 64)},
                         {"y": (128, 16)})

    def check_shared_history(self, ranks, expected):
        """Two products' factor has one history on a rank, one in each stage that
        reads it: the same. Fills `expected` with one rank's."""
        histories = self.histories()
        if ranks == 1:
            self.assertNotIn("w3.input", histories)
            expected.update(histories)
            expected["w3.input"] = histories["w1.input"]
            return
        self.assertEqual(set(histories), set(expected))
        for name, history in histories.items():
            np.testing.assert_allclose(history, expected[name],
                                       1e-2 if ranks == 2 else 5e-2,
                                       err_msg=f"{name}, {ranks} ranks")

    def check_skips(self, scaling, instructions, activation="Relu"):
        x, labels = data(batch=128, widths=(64, 16))
        pp = ("--schedule", "interleaved", "--chunks", "2", "--verify", "deep")
        found, expected = {}, {}
        for ranks, mesh in ((1, ()), (2, ("--mesh", "pp=2", *pp)),
                            (4, ("--mesh", "dp=2,pp=2", *pp))):
            self.artifact, _ = self.compiled(
                self.skipping_model(activation), "--precision", "fp8",
                "--fp8-scaling", scaling, "--accumulate", "4", "--cpu-arch",
                instructions, *mesh)
            found[ranks], _ = self.trained(
                self.artifact, x, labels,
                *(("--local-ranks", ranks) if ranks > 1 else ()),
                steps=STEPS, lr=LEARNING_RATE)
            if scaling == "delayed:3":
                self.check_shared_history(ranks, expected)
        # One rank adds in another order; replicas round terms to bfloat16.
        np.testing.assert_allclose(found[2], found[1], rtol=1e-5)
        np.testing.assert_allclose(found[4], found[1], rtol=2e-2)

    def test_interleaved_skips(self):
        """Values that cross chunks have the scales and histories of one rank,
        with several micro-batches under way and replicas beside. Factors hold
        the values that a stage is sent: rounded to bfloat16 before they are to 8
        bits, or to float32 where products are of such."""
        for scaling in ("delayed:3", "current"):
            for instructions in ("native", "x86-64"):
                with self.subTest(scaling=scaling, instructions=instructions):
                    self.check_skips(scaling, instructions)
        self.check_skips("delayed:3", "native", activation="Tanh")

    def test_convergence(self):
        """A language model's last losses are those of bfloat16 within 2%."""
        last = {}
        for options in (("bf16",), ("fp8", "--fp8-scaling", "delayed:16")):
            fixture = Fixture("gpt")
            artifact = self.compile(fixture, "adamw", "--precision", *options)
            log = self.folder / "log.jsonl"
            self.train(artifact, fixture.data, 40, "--log", log, lr=1e-3)
            last[options[0]] = np.mean(
                [line["loss"] for line in read_log(log)][-5:])
        self.assertLess(abs(last["fp8"] / last["bf16"] - 1), 0.02)


class Blocks(Fp8Test):
    """Scales are of 128 elements along the sum, of weights' 128 x 128."""
    OPTIONS = ("--fp8-scaling", "block")
    SIZES = {"batch": BLOCK_BATCH, "widths": BLOCK_WIDTHS}

    def test_reference(self):
        """Each of the losses is that of the same numbers in numpy, but for the
        order of sums, and none is that of one scale a tensor."""
        losses = self.losses(*self.OPTIONS, **self.SIZES)
        for mode, isSame in ((fp8_network.Blocks(), True),
                             (fp8_network.Current(), False)):
            expected, masters = fp8_network.train(mode, **self.SIZES)
            distance = np.abs(losses / expected - 1)
            if isSame:
                self.assertLess(distance.max(), 1e-4)
                np.testing.assert_allclose(self.tensors["w0"], masters[0], 1e-2,
                                           1e-3)
            else:
                self.assertGreater(distance.mean(), 1e-3)

    def test_ranks(self):
        """Ranks have whole blocks; without tp the first loss is that of one
        rank."""
        sizes = {"batch": 256, "widths": (256, 256, 256, 16)}
        one = self.losses(*self.OPTIONS, **sizes)
        for ranks, *options in ((2, "--mesh", "dp=2"), (2, "--mesh", "tp=2"),
                                (4, "--mesh", "dp=2,tp=2", "--zero", "3")):
            with self.subTest(options=options):
                losses = self.losses(*self.OPTIONS, *options, "--verify", "deep",
                                     ranks=ranks, **sizes)
                self.assertIn("zc: verified", self.output)
                first = 1e-3 if "tp" in options[1] else 1e-6
                self.assertLess(abs(losses[0] / one[0] - 1), first)
                np.testing.assert_allclose(losses, one, rtol=1e-2)

    def test_tokens(self):
        """Ranks divide heads and tokens of a language model: blocks of rows are of
        one sample's tokens."""
        model = self.write_large("large_gpt.py", layers=1, width=256, heads=4,
                                 vocabulary=64, batch=2, length=256)
        random = np.random.default_rng(0)
        file = self.folder / "tokens.npz"
        tokens = random.integers(0, 64, (8, 256))
        np.savez(file, tokens=tokens, labels=np.roll(tokens, -1, 1))
        found = {}
        for ranks, *options in ((1,), (2, "--mesh", "sp=2"),
                                (2, "--mesh", "tp=2")):
            artifact = self.folder / "gpt.zca"
            self.zc("compile", model, "-o", artifact, "--loss",
                    "softmax-cross-entropy", "--init", "normal:0.05",
                    "--precision", "fp8", *self.OPTIONS, *options)
            log = self.folder / "log.jsonl"
            self.train(artifact, file, 4, "--no-shuffle", "--log", log, *(
                ("--local-ranks", ranks) if ranks > 1 else ()))
            found[" ".join(options) or "one"] = np.array(
                [line["loss"] for line in read_log(log)])
        for options, losses in found.items():
            np.testing.assert_allclose(losses, found["one"], 1e-3,
                                       err_msg=options)


if __name__ == "__main__":
    unittest.main()
