#!/usr/bin/env python3
"""How values are kept for the backward: in 16 or 8 bits, in parts.

In 16 bits the forward is the same bit for bit, so is the first step's loss; a
gradient is rounded where it is a product with a kept value. bfloat16 has 8 bits,
so each such factor is off by at most 2^-9 of itself, by chance up or down:
gradients by less than that of their norm, times a few layers; fp16 has 11 bits.
A softmax turns logits of 10 and more, off by that part, into probabilities that
are off by some percents, and a bias's gradient adds them up with either sign.
In 8 bits (E4M3) a factor is off by at most 2^-4 of itself, 0.03 in the mean; what
is no factor or term stays. In parts nothing changes at all.
"""
import json
import re
import unittest

import numpy as np

from small_models import SmallModels, drawn
from zctest import (Fixture, ZcTest, has_avx512, latest_step, load_tensors,
                    read_log)

TYPICAL, MOST = 16, 80  # in units of what one factor is off by
# The largest relative error of a rounded factor.
ROUNDING = {"bf16": 2 ** -9, "fp16": 2 ** -12}


class Kept(ZcTest):

    def compile(self, fixture, optimizer="adamw", *extra, name="model.zca"):
        """And keeps what is said of it."""
        artifact = self.folder / name
        self.said = self.zc("compile", fixture.model, "-o", artifact,
                            *fixture.compile_options(optimizer), *extra)
        return artifact

    def encoded(self):
        """How many values the last model keeps in fewer bytes, as it is said."""
        return sum(int(each) for each in re.findall(
            r"(\d+) values? (?:is|are) kept for the backward in fewer bytes",
            self.said))

    def train_planned(self, fixture, *options, run=(), steps=3):
        """Losses, weights and the report; what is used is what is planned."""
        artifact = self.compile(fixture, "sgd", *options)
        report = json.loads(self.zc("inspect", artifact, "--json"))
        losses, weights, used = self.numbers(artifact, fixture.data, *run,
                                             steps=steps)
        self.assertEqual(report["memory"]["peak"], used, options)
        return losses, weights, report

    def weights_after_a_step(self, fixture, lr, *options):
        """SGD's: they differ as gradients do."""
        artifact = self.compile(fixture, "sgd", *options)
        folder = self.folder / "step"
        self.train(artifact, fixture.data, 1, "--no-shuffle", "--checkpoint",
                   folder, "--overwrite", lr=lr)
        return load_tensors(latest_step(folder))


def relative_errors(start, whole, rounded):
    """The relative errors of the weights' steps. Steps near float32's own
    rounding tell nothing."""
    off = []
    for name, before in start.items():
        step = np.linalg.norm(whole[name] - before)
        if step > 1e-4 * np.linalg.norm(before):
            off.append(np.linalg.norm(rounded[name] - whole[name]) / step)
    return off


class LowPrecision(Kept):

    def check(self, model, *options):
        fixture = Fixture(model)
        exact, _, plain = self.train_planned(fixture, *options)
        start = self.weights_after_a_step(fixture, 0, *options)
        whole = self.weights_after_a_step(fixture, 1e-3, *options)
        peaks = set()
        for encoding, rounding in ROUNDING.items():
            chosen = (*options, "--compress-activations", encoding)
            losses, _, report = self.train_planned(fixture, *chosen)
            self.assertEqual(losses[0], exact[0], "the forward is the same")
            np.testing.assert_allclose(losses, exact, rtol=rounding)
            rounded = self.weights_after_a_step(fixture, 1e-3, *chosen)
            off = relative_errors(start, whole, rounded)
            self.assertGreater(max(off), 0, "gradients are not the same")
            self.assertLess(max(off), MOST * rounding)
            self.assertLess(np.median(off), TYPICAL * rounding)
            peaks.add(report["memory"]["peak"])
        self.assertEqual(len(peaks), 1)
        self.assertLess(max(peaks), plain["memory"]["peak"])

    def test_transformer(self):
        self.check("gpt")

    def test_convolutions(self):
        self.check("cnn")

    def test_with_other_policies(self):
        """Recomputed values are not kept; micro-batches; ranks; a file."""
        fixture = Fixture("gpt")
        for options, run in {
                ("--recompute", "sqrt"): (),
                ("--accumulate", 2): (),
                ("--offload", "activations"): (),
                ("--mesh", "dp=2", "--zero", 3, "--cpu-threads", 1):
                ("--local-ranks", 2)}.items():
            with self.subTest(options=options):
                exact, _, plain = self.train_planned(fixture, *options,
                                                     run=run)
                losses, _, report = self.train_planned(
                    fixture, *options, "--compress-activations", "bf16",
                    run=run)
                self.assertEqual(losses[0], exact[0])
                np.testing.assert_allclose(losses, exact,
                                           rtol=ROUNDING["bf16"])
                peaks = (report["memory"]["peak"], plain["memory"]["peak"])
                self.assertLessEqual(*peaks)
                if "--accumulate" in options:
                    self.assertLess(*peaks)

    def test_range(self):
        """Values beyond a type's range are kept as its largest number: losses
        and weights stay finite."""
        for kinds in ("fp16", "fp8"):
            self.check_range(kinds)

    def check_range(self, kinds):
        fixture = Fixture("cnn")
        artifact = self.compile(fixture, "sgd", "--compress-activations",
                                kinds)
        arrays = dict(np.load(fixture.data))
        for name in set(arrays) - {"labels"}:
            arrays[name] = arrays[name] * np.float32(1e6)
        data = self.folder / "large.npz"
        np.savez(data, **arrays)
        folder = self.folder / kinds
        self.train(artifact, data, 2, "--checkpoint", folder, lr=1e-12)
        for name, tensor in load_tensors(latest_step(folder)).items():
            self.assertTrue(np.isfinite(tensor).all(), name)


class EightBits(Kept):
    """E4M3 without a scale, of what the backward multiplies or adds up."""

    # Half of the last of 4 digits, for factors as they come 0.03 in the mean;
    # the sum of many products, each off up or down by chance, is off by that
    # part of its norm, unless its terms cancel.
    TYPICAL, MOST = 2 ** -4, 2 ** -1

    def check(self, model, *options, run=()):
        """The peaks without and with, and how many values are encoded; the first
        loss is the same, and those behind it are near, for weights have moved
        little, but not the same if a gradient was rounded."""
        fixture = Fixture(model)
        exact, _, plain = self.train_planned(fixture, *options, run=run)
        losses, _, report = self.train_planned(
            fixture, *options, "--compress-activations", "fp8", run=run)
        self.assertEqual(losses[0], exact[0], "the forward is the same")
        np.testing.assert_allclose(losses, exact, rtol=2 ** -6)
        encoded = self.encoded()
        self.assertEqual(losses == exact, encoded == 0)
        return [each["memory"]["peak"] for each in (plain, report)], encoded

    def test_gradients(self):
        for model in ("cnn", "gpt"):
            with self.subTest(model=model):
                fixture = Fixture(model)
                start = self.weights_after_a_step(fixture, 0)
                whole, rounded = (
                    self.weights_after_a_step(
                        fixture, 1e-3, "--compress-activations", kinds)
                    for kinds in ("none", "fp8"))
                off = relative_errors(start, whole, rounded)
                self.assertGreater(max(off), 2 ** -9, "8 bits, not 16")
                self.assertLess(max(off), self.MOST)
                self.assertLess(np.median(off), self.TYPICAL)

    def test_peak(self):
        """Below that without; and with 16 bits for batch norms' inputs, which 8 do
        not suit, below that of 16 bits, with what is kept without zeros, too."""
        fixture = Fixture("cnn")
        for more in ("", "bits,sparse=0.6,"):
            none, fp16, fp8, both = (
                self.train_planned(fixture, "--compress-activations", kinds)[2][
                    "memory"]["peak"] for kinds in
                ("none", more + "fp16", more + "fp8", more + "fp8,fp16"))
            self.assertLess(fp8, none)
            self.assertLess(both, min(fp16, fp8))

    def test_with_other_policies(self):
        """Micro-batches; 16 bits, which are halved; ranks."""
        for options, run in {
                (): (),
                ("--accumulate", 2): (),
                ("--precision", "bf16"): (),
                ("--mesh", "dp=2", "--zero", 3, "--cpu-threads", 1):
                ("--local-ranks", 2)}.items():
            with self.subTest(options=options):
                (before, after), encoded = self.check("gpt", *options, run=run)
                self.assertGreater(encoded, 0)
                self.assertLess(after, before)

    def test_where_nothing_is_encoded(self):
        """A layer's input stays whole where the layer runs again: norms and a
        softmax come of it. A value that lies in a file is not at the peak."""
        for options in (("--recompute", "layer"),
                        ("--offload", "activations")):
            (before, after), encoded = self.check("gpt", *options)
            self.assertEqual((encoded, after), (0, before), options)

    def test_losses(self):
        """A network trains as it does without: its loss falls as far within a
        twentieth (found: 0.4%)."""
        fixture, gained = Fixture("cnn"), {}
        for kinds in ("none", "fp8"):
            artifact = self.compile(fixture, "adamw", "--compress-activations",
                                    kinds)
            log = self.folder / "log.jsonl"
            self.train(artifact, fixture.data, 60, "--log", log, lr=1e-2)
            losses = [line["loss"] for line in read_log(log)]
            gained[kinds] = losses[0] - np.mean(losses[-5:])
        self.assertGreater(gained["none"], 0.5 * losses[0])
        self.assertLess(abs(gained["fp8"] / gained["none"] - 1), 0.05)


class Signs(SmallModels):
    """x + |x W|, eight times: the gradient has the signs of a product, which are
    those of x W where that is kept, but not where rounded values run again."""

    LAYERS, SHAPE = 8, (64, 64)

    def write_model(self):
        nodes, last = [], "x"
        for i in range(self.LAYERS):
            for op, inputs, output in (("MatMul", [last, f"w{i}"], f"p{i}"),
                                       ("Abs", [f"p{i}"], f"a{i}"),
                                       ("Add", [last, f"a{i}"], f"h{i}")):
                nodes.append((op, inputs, output, ("name", f"/layers.{i}/{op}")))
            last = f"h{i}"
        weights = drawn({f"w{i}": self.SHAPE for i in range(self.LAYERS)})
        return self.save("signs.onnx", nodes,
                         {name: 0.5 * each for name, each in weights.items()},
                         inputs={"x": self.SHAPE}, outputs={last: self.SHAPE})

    def test_sums_that_run_again(self):
        model = self.write_model()
        random = np.random.default_rng(3)
        x, labels = random.normal(size=(2, *self.SHAPE)).astype(np.float32)
        for recompute in ("none", "layer"):
            steps, said = {}, ""
            for kinds in ("none", "fp8"):
                artifact, said = self.compiled(
                    model, "--recompute", recompute, "--compress-activations",
                    kinds)
                start, end = (self.trained(artifact, x, labels, steps=1,
                                           lr=lr)[1] for lr in (0, 1e-3))
                steps[kinds] = np.concatenate(
                    [(end[name] - start[name]).ravel() for name in end])
            off = (np.linalg.norm(steps["fp8"] - steps["none"]) /
                   np.linalg.norm(steps["none"]))
            self.assertIn("kept for the backward in fewer bytes", said)
            # Found: 0.005 and 0.0014; with other signs 0.034.
            self.assertLess(off, 2 ** -6, recompute)


class Lossless(Kept):
    """Bits and sparse tensors change no number."""

    def check(self, model, *options, run=(), lists=("sparse=0.6",
                                                    "bits,sparse=0.6")):
        fixture = Fixture(model)
        losses, weights, plain = self.train_planned(fixture, *options, run=run)
        peaks = {"none": plain["memory"]["peak"]}
        for encodings in lists:
            found, theirs, report = self.train_planned(
                fixture, *options, "--compress-activations", encodings,
                run=run)
            self.assertEqual((found, theirs), (losses, weights), encodings)
            peaks[encodings] = report["memory"]["peak"]
        self.assertLessEqual(max(peaks.values()), peaks["none"])
        return peaks

    def test_convolutions(self):
        # The peak of other batches is a convolution's scratch memory.
        peaks = self.check("vgg", "--accumulate", 2)
        self.assertLess(peaks["sparse=0.6"], peaks["none"])

    def test_signs(self):
        """The backward needs only the sign of these tensors."""
        peaks = self.check("cnn", lists=("bits",))
        self.assertLess(peaks["bits"], peaks["none"])

    def test_with_other_policies(self):
        for options, run in {
                ("--recompute", "sqrt"): (),
                ("--accumulate", 2): (),
                ("--precision", "bf16"): (),
                ("--mesh", "dp=2", "--zero", 3, "--cpu-threads", 1):
                ("--local-ranks", 2)}.items():
            with self.subTest(options=options):
                peaks = self.check("vgg", *options, run=run,
                                   lists=("bits,sparse=0.6",))
                # These do not shrink: some models keep nothing; gathered
                # weights, and products in bfloat16 that become float32 ones,
                # need more than the kept values.
                if not {"--recompute", "--zero"} & set(options) and (
                        "bf16" not in options or has_avx512()):
                    self.assertLess(peaks["bits,sparse=0.6"], peaks["none"])

    def test_no_room(self):
        """A run that needs more room ends and says so. Its checkpoint is the
        last whole step, from which another plan goes on as if nothing was."""
        fixture, batch = Fixture("vgg"), 8
        arrays = {name: np.concatenate([array] * 4)
                  for name, array in np.load(fixture.data).items()}
        arrays["x"][2 * batch:] *= -3
        data = self.folder / "denser.npz"
        np.savez(data, **arrays)
        plain = self.compile(fixture, "sgd", "--batch", batch)
        _, weights, _ = self.numbers(plain, data, steps=4)
        tight = self.compile(fixture, "sgd", "--batch", batch,
                             "--compress-activations", "sparse=0.5",
                             name="tight.zca")
        ckpt, log = self.folder / "kept", self.folder / "kept.jsonl"
        run = ("--data", data, "--steps", 4, "--no-shuffle", "--lr", 1e-3,
               "--checkpoint", ckpt, "--save-every", 1, "--log", log)
        self.fails(1, [r"step 3: .*train.sparse_encode features\.",
                       "are not zero", r"room for 50\.0%", r"sparse=0\.\d+",
                       "the last checkpoint, '.*step-2', is kept"],
                   "run", tight, *run)
        self.assertEqual(latest_step(ckpt).name, "step-2")
        self.assertTrue(all(path.name.startswith("step-")
                            for path in ckpt.iterdir()))
        self.assertEqual([line["step"] for line in read_log(log)], [1, 2])
        self.zc("run", plain, *run, "--resume")
        found = self.folder / "found.safetensors"
        self.zc("export", plain, "--checkpoint", ckpt, "--safetensors", found)
        self.assertEqual(found.read_bytes(), weights)
        self.fails(1, ["step 3: .*are not zero", "no checkpoint was written"],
                   "run", tight, "--data", data, "--steps", 4, "--no-shuffle")


class Partition(Kept):

    def check(self, fixture, mesh, ranks, *options):
        run = ("--local-ranks", ranks)
        both = ("--mesh", mesh, "--cpu-threads", 1, *options)
        losses, weights, whole = self.train_planned(fixture, *both, run=run)
        found, theirs, parts = self.train_planned(
            fixture, *both, "--partition-activations", run=run)
        self.assertEqual((found, theirs), (losses, weights))
        self.assertLess(parts["memory"]["peak"], whole["memory"]["peak"])
        sent = {line["sent_bytes"]
                for line in read_log(self.folder / "log.jsonl")}
        self.assertEqual(sent, {parts["comm"]["sent_bytes"]})
        more = [report["comm"]["by_kind"]["activations"]["bytes"]
                for report in (whole, parts)]
        self.assertGreater(more[1], more[0])
        return whole, parts

    def test_transformer(self):
        fixture = Fixture("gpt")
        self.check(fixture, "tp=2", 2)
        self.check(fixture, "tp=2", 2, "--recompute", "sqrt")
        self.check(fixture, "dp=2,tp=2", 4, "--zero", 3)


class Options(Kept):

    def test_wrong(self):
        model = Fixture("mlp").model
        for options, patterns in {
                ("--compress-activations", "half"): ["bf16", "found 'half'"],
                ("--compress-activations", "bf16,fp16"):
                ["one of bf16 and fp16"],
                ("--compress-activations", "fp8,bf16,fp16"):
                ["one of bf16 and fp16"],
                ("--compress-activations", "fp8=2"): ["found 'fp8=2'"],
                ("--compress-activations", "sparse=1.5"): ["sparse.=DENSITY"],
                ("--compress-activations", "bits=2"): ["found 'bits=2'"],
                ("--compress-activations", "sparse="): ["found 'sparse='"],
                ("--target", "cuda", "--compress-activations", "sparse"):
                ["--target cpu"],
                ("--compress-activations", ""): ["found ''"],
                ("--mode", "infer", "--compress-activations", "bf16"):
                ["--mode train"],
                ("--partition-activations", ): ["needs a --mesh with tp"],
                ("--mesh", "dp=2", "--partition-activations"):
                ["needs a --mesh with tp"],
        }.items():
            self.fails(2, patterns, "compile", model, "-o",
                       self.folder / "a.zca", "--loss", "mse", *options)


if __name__ == "__main__":
    unittest.main()
