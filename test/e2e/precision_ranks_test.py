#!/usr/bin/env python3
"""Mixed precision among ranks and over micro-batches: what is sent, in which
type, and training as on one rank.
"""
import json
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from precision_test import PrecisionTest
from zctest import Fixture, latest_step, load_tensors, read_log, run

SENT = re.compile(r'dist\.(all_reduce|reduce_scatter) .*traffic = "(\w+)".*: '
                  r"\(tensor<(?:([0-9x]+)x)?([a-z0-9]+)>\)")
RANKS = ["--mesh", "dp=2", "--cpu-threads", "1"]


class Sent(PrecisionTest):
    """The reductions of a step of two ranks, from the program itself."""

    def reductions(self, fixture, *options, name="step"):
        """For each reduction among ranks: op, kind of message, elements, their
        type."""
        program = self.folder / "program.mlir"
        self.zc("compile", fixture.model, "--emit", "sharded", "-o", program,
                *fixture.compile_options("adamw"), "--mesh", "dp=2", *options)
        body = program.read_text().split(f"func.func @{name}")[1]
        sums = SENT.findall(body.split("func.func")[0])
        return [(op, kind, int(np.prod([int(n) for n in
                                        (dims or "1").split("x")])), element)
                for op, kind, dims, element in sums]

    def parameters(self):
        """How many numbers the optimizer of the last program updates, without
        what makes units divide evenly."""
        program = (self.folder / "program.mlir").read_text()
        shapes = re.findall(r'train\.state @(?!unit\.)\S+ "parameter" : '
                            r"tensor<([0-9x]*)xf32>", program)
        return sum(int(np.prod([int(n) for n in shape.split("x")]))
                   for shape in shapes)

    def check(self, model, zero, precision, reduce="fp32"):
        fixture = Fixture(model)
        sums = self.reductions(fixture, "--zero", zero, "--precision",
                               precision, "--reduce-precision", reduce)
        gradients = [s for s in sums if s[1] == "gradients"]
        # Neither another type, nor gradients that are called something else.
        self.assertEqual({s[3] for s in gradients},
                         {"f32" if reduce == "fp32" else "bf16"})
        self.assertFalse([s for s in sums if s[1] == "activations"
                          and s[3] != "f32"])
        count = self.parameters()
        sent = sum(s[2] for s in gradients)
        if zero == 0:
            # Less if ranks compute some whole, or two parameters share one.
            self.assertLessEqual(sent, count)
            self.assertGreater(sent, 0)
            return sent
        # Rajbhandari et al. 2020: every gradient once, in vectors of units.
        self.assertEqual({s[0] for s in gradients}, {"reduce_scatter"})
        self.assertGreaterEqual(sent, count)
        self.assertLess(sent, count + 2 * len(gradients))
        return sent

    def test_every_gradient_once(self):
        # Vit and lstm turn samples and time: ranks compute some gradients
        # whole; in unet's and lstm's there are others' terms.
        for model in ("vit", "lstm", "unet", "bert"):
            for zero in range(4):
                for precision in ("bf16", "fp16")[:1 + (zero == 2)]:
                    with self.subTest(model=model, zero=zero,
                                      precision=precision):
                        self.check(model, zero, precision)
        for model in ("cnn", "gpt", "llama", "mlp", "mobilenet", "recommender",
                      "regression", "resnet", "vgg"):
            with self.subTest(model=model):
                self.check(model, 2, "bf16")

    def test_every_gradient_is_known(self):
        # Reports, recomputation and what is sent go by the marks on them, also
        # where an op is replaced, as of tables that tp divides.
        for model in ("lstm", "recommender"):
            for ranks in ([], ["--mesh", "tp=2"]):
                with self.subTest(model=model, ranks=ranks):
                    fixture, program = Fixture(model), self.folder / "p.mlir"
                    self.zc("compile", fixture.model, "--emit", "sharded",
                            "-o", program, *ranks,
                            *fixture.compile_options("adamw"))
                    text = program.read_text()
                    step = text.split("func.func @step(")[1].split("func.")[0]
                    marks = re.findall(r"train\.gradients = array<i64: ([^>]*)>",
                                       step)
                    self.assertEqual(sum(len(m.split(",")) for m in marks),
                                     text.count(' "parameter" : '))

    def test_precision_changes_no_count(self):
        for model in ("vit", "unet"):
            with self.subTest(model=model):
                self.assertEqual(self.check(model, 0, "bf16"),
                                 self.check(model, 0, "fp32"))

    def test_micro_batches_send_nothing(self):
        # Their gradients are added up in float32 first.
        for model, zero in (("mlp", 0), ("bert", 0), ("unet", 0)):
            options = ["--zero", zero, "--precision", "bf16", "--accumulate",
                       "2"]
            with self.subTest(model=model):
                fixture = Fixture(model)
                found = self.reductions(fixture, *options, name="micro")
                self.assertEqual({s[1] for s in found} - {"scalars"}, set())
                found = self.reductions(fixture, *options, name="apply")
                gradients = [s for s in found if s[1] == "gradients"]
                self.assertEqual({s[3] for s in gradients}, {"f32"})

    def test_bf16_is_asked_for(self):
        self.check("vit", 2, "bf16", reduce="bf16")
        self.check("mlp", 0, "fp32", reduce="bf16")


class Trained(PrecisionTest):

    def test_bf16(self):
        # Each rank rounds its part of a gradient: as far from PyTorch as one.
        for model, zero in (("vit", 2), ("llama", 3)):
            self.check_losses(model, "adamw", *RANKS, "--zero", zero)

    def test_divided_tokens(self):
        # Sums over tp, or of a ring's turns, are rounded on the way, and go on
        # to be added up among ranks.
        for mesh, *how in (
                ("tp=2,dp=2", "--sequence-parallel", "on", "--zero", "3"),
                ("sp=2,dp=2", "--sp-attention", "ring=zigzag", "--zero", "3",
                 "--recompute", "layer"),
                ("sp=2", "--sp-attention", "ulysses", "--zero", "1")):
            with self.subTest(mesh=mesh, how=how):
                self.check_losses("llama", "adamw", "--mesh", mesh,
                                  "--cpu-threads", "1", *how)

    def test_gradients_computed_whole(self):
        # A unit with such is reduced as one: as near to PyTorch's double
        # precision as float32 is.
        fixture = Fixture("lstm")
        self.assertLess(self.distance(fixture, "sgd", *RANKS, "--zero", "2",
                                      precision="fp32"), 1e-5)

    def test_sums_of_micro_batches_in_bf16(self):
        # Only what is sent has bfloat16's 8 digits.
        fixture = Fixture("mlp")
        spread = fixture.reference["optimizers"]["adamw"]["bf16_spread"]
        for zero in (0, 1):
            distance = self.distance(fixture, "adamw", *RANKS, "--zero", zero,
                                     "--accumulate", "2", "--reduce-precision",
                                     "bf16", precision="fp32")
            self.assertLessEqual(distance, 2 * spread)
            self.assertGreater(distance, 1e-6)

    def factored(self, fixture, optimizer, precision, *more):
        """The losses of eight steps."""
        artifact, log = self.folder / "a.zca", self.folder / "log.jsonl"
        self.zc("compile", fixture.model, "-o", artifact,
                *fixture.compile_options("sgd")[:-2], "--optimizer", optimizer,
                "--precision", precision, *more)
        self.train(artifact, fixture.data, 8, "--no-shuffle", "--log", log,
                   *(["--local-ranks", "2"] if more else []), lr=1e-2)
        return np.array([line["loss"] for line in read_log(log)])

    def test_factored_optimizers(self):
        # Half of what one bfloat16 is rounded by, 2^-9, on ranks too: a loss is
        # of many that are rounded either way.
        fixture = Fixture("mlp")
        for optimizer, runs in {
                "adafactor": [("fp16", []), ("bf16", [*RANKS, "--zero", "2"])],
                "sm3": [("bf16", []), ("fp16", RANKS)]}.items():
            wide = self.factored(fixture, optimizer, "fp32")
            for precision, more in runs:
                with self.subTest(optimizer=optimizer, precision=precision):
                    narrow = self.factored(fixture, optimizer, precision,
                                           *more)
                    error = (np.abs(narrow - wide) / np.abs(wide)).max()
                    self.assertLessEqual(error, 2 ** -10)
                    self.assertGreater(error, 1e-6)


class Float16(PrecisionTest):
    """Dynamic loss scaling: every rank skips what one rank would."""

    STEPS = 12

    def run_for(self, model, data, options, name):
        """Steps skipped, the scalars at the end, and the weights."""
        artifact = self.folder / f"{name}.zca"
        checkpoint = self.folder / name
        self.zc("compile", model, "-o", artifact, "--precision", "fp16",
                "--cpu-threads", "1", *options)
        mesh = dict(zip(options, options[1:])).get("--mesh", "dp=1")
        ranks = mesh.rsplit("=")[1]
        code, _, err = run("run", artifact, "--data", data, "--steps",
                           self.STEPS, "--no-shuffle", "--checkpoint",
                           checkpoint, "--lr", "1e-3",
                           *(["--local-ranks", ranks] if ranks != "1" else []))
        self.assertEqual(code, 0, err)
        state = json.loads((latest_step(checkpoint)
                            / "train_state.json").read_text())["scalars"]
        return (err.count("the step is skipped"),
                {name: entry["value"] for name, entry in state.items()},
                load_tensors(latest_step(checkpoint)))

    def test_ranks_skip_together(self):
        # Only the last rank's samples are far off: its gradients overflow.
        fixture = Fixture("regression")
        data = {name: array.copy()
                for name, array in np.load(fixture.data).items()}
        batch = fixture.reference["batch"]
        for last in range(batch, len(data["labels"]) + 1, batch):
            data["labels"][last - 2:last] += 60
        np.savez(self.folder / "data.npz", **data)
        options = fixture.compile_options("adamw")
        skipped, scalars, weights = self.run_for(
            fixture.model, self.folder / "data.npz", options, "one")
        self.assertGreater(skipped, 0)
        self.assertLess(skipped, self.STEPS)
        self.assertEqual(scalars["optimizer.step"], self.STEPS - skipped)
        for name, more in {"zero-0": ["--mesh", "dp=2"],
                           "zero-3": ["--mesh", "dp=2", "--zero", "3"],
                           "accumulated": ["--mesh", "dp=2", "--zero", "2",
                                           "--accumulate", "2"],
                           "tp": ["--mesh", "tp=2"]}.items():
            with self.subTest(name):
                found = self.run_for(fixture.model, self.folder / "data.npz",
                                     [*options, *more], name)
                if name == "accumulated":
                    # A micro-batch adds up less in 16 bits.
                    self.assertLessEqual(found[0], skipped)
                    self.assertEqual(found[1]["optimizer.step"],
                                     self.STEPS - found[0])
                    continue
                self.assertEqual(found[:2], (skipped, scalars))
                for key, weight in weights.items():
                    # Adam's steps are of size lr, whatever the gradient's.
                    np.testing.assert_allclose(found[2][key], weight, rtol=0,
                                               atol=2e-3, err_msg=key)

    def test_activations_are_added(self):
        # Partial sums of a product over tp's ranks have 11 bits in fp16.
        fixture = Fixture("mlp")
        one = self.losses(fixture, "adamw", precision="fp16")
        two = self.losses(fixture, "adamw", "--mesh", "tp=2", "--cpu-threads",
                          "1", precision="fp16")
        np.testing.assert_allclose(two, one, rtol=2e-3)
        self.assertGreater(np.abs(two - one).max(), 0)

    BATCH, WIDTH = 512, 32

    def linear(self, labels):
        """A model y = x w, its data, and w."""
        rng = np.random.default_rng(1)
        value, shape = helper.make_tensor_value_info, [self.BATCH, self.WIDTH]
        weight = (rng.normal(size=(self.WIDTH,) * 2) * 0.3).astype("f4")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "linear",
            [value("x", TensorProto.FLOAT, shape)],
            [value("y", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(weight, "w")])
        model, data = self.folder / "m.onnx", self.folder / "d.npz"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
            model)
        np.savez(data, x=rng.normal(size=shape).astype("f4"), labels=labels)
        return model, data, weight

    def test_micro_batches_skip_no_more(self):
        # However many losses a micro-batch adds up, its gradients are the step's.
        rng = np.random.default_rng(2)
        labels = rng.normal(size=(self.BATCH, self.WIDTH)) * 1000 + 300
        model, data, _ = self.linear(labels.astype("f4"))
        found = [self.run_for(model, data, ["--loss", "mse", "--accumulate",
                                            parts], f"in-{parts}")
                 for parts in ("1", "2", "4")]
        self.assertGreater(found[0][0], 0)
        for skipped, scalars, weights in found[1:]:
            # Fewer, as each adds up less in 16 bits.
            self.assertLessEqual(skipped, found[0][0])
            self.assertEqual(scalars["loss_scale"], 65536 / 2 ** skipped)
            self.assertEqual(scalars["optimizer.step"], self.STEPS - skipped)
            self.assertTrue(np.isfinite(weights["w"]).all())

    def test_one_micro_batch_skips_the_step(self):
        # Whichever it is, and whichever rank's.
        self.STEPS = 1
        parts = 4
        for part in range(parts):
            labels = np.zeros((self.BATCH, self.WIDTH), "f4")
            rank = part % 2  # of two
            labels[(2 * part + rank) * self.BATCH // (2 * parts)] = 1e7
            model, data, weight = self.linear(labels)
            for mesh in ([], ["--mesh", "dp=2", "--zero", "1"]):
                with self.subTest(part=part, mesh=mesh):
                    skipped, scalars, weights = self.run_for(
                        model, data, ["--loss", "mse", "--accumulate", parts,
                                      *mesh], f"{part}-{len(mesh)}")
                    self.assertEqual((skipped, scalars["optimizer.step"],
                                      scalars["loss_scale"]), (1, 0, 32768))
                    np.testing.assert_array_equal(weights["w"], weight)


if __name__ == "__main__":
    unittest.main()
