#!/usr/bin/env python3
"""Mixed precision: losses, memory, checkpoints.

How far a run in bfloat16 may be from PyTorch's double precision losses is twice
what PyTorch's own runs in bfloat16 are (tools/reference/bf16.py); a tenth of
that it must be, or nothing was rounded.
"""
import json
import math
import re
import unittest
import zipfile

import numpy as np
from safetensors.numpy import load

from init_test import mlp
from zctest import (Fixture, ZcTest, latest_step, load_tensors, read_log,
                    run)

MULTIPLE = 2


class PrecisionTest(ZcTest):
    """Runs in 16 bits, and how far they are from PyTorch's."""

    def losses(self, fixture, optimizer, *extra, more=(), precision="bf16"):
        """The losses of the recorded steps; the artifact is model.zca."""
        artifact = self.compile(fixture, optimizer, "--precision", precision,
                                *extra)
        log = self.folder / "log.jsonl"
        expected = fixture.reference["optimizers"][optimizer]
        mesh = dict(zip(extra, extra[1:])).get("--mesh", "dp=1")
        count = math.prod(map(int, re.findall(r"=(\d+)", mesh)))
        ranks = ["--local-ranks", count] if count > 1 else []
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log, *ranks, *more,
                   lr=expected["learning_rate"])
        return np.array([line["loss"] for line in read_log(log)])

    def distance(self, fixture, optimizer, *extra, **options):
        reference = np.array(
            fixture.reference["optimizers"][optimizer]["losses"])
        losses = self.losses(fixture, optimizer, *extra, **options)
        return (np.abs(losses - reference) / np.abs(reference)).max()

    def check_losses(self, model, optimizer, *extra):
        fixture = Fixture(model)
        spread = fixture.reference["optimizers"][optimizer]["bf16_spread"]
        distance = self.distance(fixture, optimizer, *extra)
        self.assertLessEqual(distance, MULTIPLE * spread)
        self.assertGreaterEqual(distance, 0.1 * spread)


class Precision(PrecisionTest):

    def test_accumulated_gradients(self):
        # Their sums are of float32.
        self.check_losses("mlp", "adamw", "--accumulate", "4")

    def test_every_instruction_set(self):
        """LLVM would round by calls of what no runtime has, each set of
        instructions in its own way."""
        for precision, kinds in (
                ("bf16", "x86-64,x86-64-v2,x86-64-v3,x86-64-v4,armv8-a,"
                         "neoverse-v1"),
                ("fp16", "armv8-a,armv8.2-a,neoverse-v1")):
            for name in ("mlp", "cnn"):
                artifact = self.compile(Fixture(name), "adamw", "--precision",
                                        precision, "--cpu-arch", kinds)
                with zipfile.ZipFile(artifact) as file:
                    for kind in kinds.split(","):
                        self.assertNotRegex(
                            file.read(f"code/{kind}.so"),
                            rb"\0__(trunc|extend|fix|float|aarch64)\w+",
                            (name, kind))
        self.check_losses("mlp", "adamw", "--cpu-arch", "x86-64")

    def test_ranks(self):
        # Each rank rounds its part of a gradient: as far from PyTorch as one.
        ranks = ["--mesh", "dp=2", "--cpu-threads", "1"]
        for zero, reduce in ((0, "fp32"), (0, "bf16"), (1, "fp32"),
                             (2, "bf16"), (3, "fp32")):
            self.check_losses("mlp", "adamw", *ranks, "--zero", zero,
                              "--reduce-precision", reduce)
        self.check_losses("cnn", "adamw", *ranks)
        self.check_losses("gpt", "adamw", *ranks, "--zero", "1", "--clip-norm",
                          "1e9")

    def test_ranks_that_accumulate(self):
        """Each adds up its own micro-batches; they send once a step."""
        fixture = Fixture("mlp")
        count = sum(w.size for w in fixture.weights("adamw").values())
        for precision in ("bf16", "fp16"):
            options = ["--accumulate", "2", "--cpu-threads", "1"]
            expected = self.losses(fixture, "adamw", *options,
                                   precision=precision)
            found = self.losses(fixture, "adamw", *options, "--mesh", "dp=2",
                                precision=precision)
            np.testing.assert_allclose(found, expected, rtol=5e-3)
            comm = json.loads(self.zc("inspect", self.folder / "model.zca",
                                      "--comm", "--json"))["comm"]
            self.assertAlmostEqual(comm["by_kind"]["gradients"]["bytes"]
                                   / (4 * count), 1, delta=0.02)

    def test_what_ranks_send(self):
        # A ring of two sends every gradient once: as float32 by default.
        fixture = Fixture("mlp")
        count = sum(w.size for w in fixture.weights("adamw").values())
        for reduce, size in (("fp32", 4), ("bf16", 2)):
            artifact = self.compile(fixture, "adamw", "--precision", "bf16",
                                    "--mesh", "dp=2", "--reduce-precision",
                                    reduce)
            comm = json.loads(self.zc("inspect", artifact, "--comm",
                                      "--json"))["comm"]
            self.assertAlmostEqual(comm["by_kind"]["gradients"]["bytes"]
                                   / (size * count), 1, delta=0.02)

    def test_zero_divides_sixteen_bytes(self):
        # Rajbhandari et al. 2020, figure 1: 7.5 billion parameters on 64 ranks,
        # (2 + 2 + 12) bytes each, of which stage 1 divides 12, 2 two more, 3 all.
        model = mlp(self.folder / "m.onnx", 50000, 100000, 25000, 64)
        for zero, gigabytes in enumerate((120, 31.4, 16.6, 1.9)):
            artifact = self.folder / "a.zca"
            self.zc("compile", model, "-o", artifact, "--loss",
                    "softmax-cross-entropy", "--init", "normal:0.02",
                    "--precision", "bf16", "--clip-norm", "1", "--mesh",
                    "dp=64", "--zero", zero, "--cpu-arch", "x86-64-v4")
            memory = json.loads(self.zc("inspect", artifact, "--memory",
                                        "--json"))["memory"]
            states = sum(memory[name] for name in
                         ("parameters", "gradients", "optimizer"))
            self.assertAlmostEqual(states / 1e9, gigabytes, delta=0.06)

    def test_ranks_resume_on_another_mesh(self):
        fixture = Fixture("mlp")
        checkpoint = self.folder / "ckpt"
        whole = self.losses(fixture, "adamw")
        lr = fixture.reference["optimizers"]["adamw"]["learning_rate"]
        log = self.folder / "parts.jsonl"
        divided = self.compile(fixture, "adamw", "--precision", "bf16",
                               "--mesh", "dp=2", "--zero", "3",
                               "--cpu-threads", "1", name="divided.zca")
        self.train(divided, fixture.data, 4, "--no-shuffle", "--checkpoint",
                   checkpoint, "--local-ranks", "2", lr=lr)
        self.train(self.folder / "model.zca", fixture.data, len(whole),
                   "--no-shuffle", "--log", log, "--checkpoint", checkpoint,
                   "--resume", lr=lr)
        np.testing.assert_allclose([line["loss"] for line in read_log(log)],
                                   whole[4:], rtol=1e-3)

    def test_fp16_scales_the_loss(self):
        # Gradients are those of fp32 but for rounding to 11 digits instead of
        # bfloat16's 8: nearer than that, with room for one step skipped at the
        # first scale.
        fixture = Fixture("mlp")
        spread = fixture.reference["optimizers"]["adamw"]["bf16_spread"]
        distance = self.distance(fixture, "adamw", precision="fp16")
        self.assertLessEqual(distance, spread)

    def overflowing(self):
        """An artifact and a batch whose gradients leave fp16 at first: a
        mean squared error of 400, times 65536."""
        fixture = Fixture("regression")
        artifact = self.compile(fixture, "adamw", "--precision", "fp16")
        data = dict(np.load(fixture.data))
        data["labels"] = data["labels"] + 20
        np.savez(self.folder / "data.npz", **data)
        return artifact, self.folder / "data.npz"

    def test_fp16_skips_and_halves(self):
        artifact, data = self.overflowing()
        checkpoint, log = self.folder / "ckpt", self.folder / "log.jsonl"
        code, _, err = run("run", artifact, "--data", data, "--steps", 16,
                           "--no-shuffle", "--log", log, "--checkpoint",
                           checkpoint, "--save-every", "1")
        self.assertEqual(code, 0, err)
        skipped = err.count("the step is skipped")
        self.assertGreater(skipped, 0, err)
        self.assertLess(skipped, 16, err)
        state = json.loads((latest_step(checkpoint)
                            / "train_state.json").read_text())["scalars"]
        # Adam's step count does not advance, the scale is halved each time.
        self.assertEqual(state["loss_scale"]["value"], 65536 / 2 ** skipped)
        self.assertEqual(state["optimizer.step"]["value"], 16 - skipped)
        self.assertEqual(state["loss_scale.good_steps"]["value"], 16 - skipped)
        norms = [line["grad_norm"] for line in read_log(log)]
        self.assertEqual(norms.count(None), skipped)
        first = load_tensors(checkpoint / "step-1")
        for name, weight in self.initial(artifact).items():
            np.testing.assert_array_equal(first[name], weight, name)

    def test_fp16_resumes_from_fp32(self):
        """Checkpoints of fp32 hold no scale: it begins as in a new run."""
        fixture = Fixture("mlp")
        checkpoint = self.folder / "ckpt"
        for precision, steps in (("fp32", 2), ("fp16", 4)):
            artifact = self.compile(fixture, "adamw", "--precision", precision)
            self.train(artifact, fixture.data, steps, "--checkpoint",
                       checkpoint, *(["--resume"] if steps > 2 else []))
        state = json.loads((latest_step(checkpoint)
                            / "train_state.json").read_text())["scalars"]
        self.assertEqual(state["optimizer.step"]["value"], 4)

    def initial(self, artifact):
        """The weights an artifact begins with."""
        with zipfile.ZipFile(artifact) as archive:
            return load(archive.read("weights.safetensors"))

    def test_fp16_that_overflows_at_once(self):
        artifact, data = self.overflowing()
        arrays = dict(np.load(data))
        for name in set(arrays) - {"labels"}:
            arrays[name] = arrays[name] * 1e6
        np.savez(data, **arrays)
        self.fails(1, ["step 1", "the loss is (-?inf|nan)", "overflows fp16",
                       "no checkpoint was written", "--precision bf16"],
                   "run", artifact, "--data", data, "--steps", "3",
                   "--checkpoint", self.folder / "none")
        self.assertEqual(list((self.folder / "none").glob("step-*")), [])

    def test_recomputation_keeps_every_bit(self):
        fixture = Fixture("gpt")
        kept = self.losses(fixture, "adamw")
        again = self.losses(fixture, "adamw", "--recompute", "layer")
        self.assertEqual(kept.tolist(), again.tolist())

    def test_bytes_of_a_parameter(self):
        # 2 of the parameter, 2 of its gradient, 12 of the optimizer: float32
        # parameter and two moments. Clipping needs every gradient at once.
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "adamw", "--precision", "bf16",
                                "--clip-norm", "1")
        memory = json.loads(self.zc("inspect", artifact, "--memory",
                                    "--json"))["memory"]
        weights = fixture.weights("adamw").values()
        count = sum(weight.size for weight in weights)
        self.assertEqual(memory["parameters"], 2 * count)
        self.assertEqual(memory["gradients"], 2 * count)
        self.assertEqual(memory["optimizer"], 12 * count)

    def test_optimizer_multiplier(self):
        """K, what the optimizer keeps a parameter: requirement C-05."""
        fixture = Fixture("mlp")
        for precision, optimizer, expected in (
                ("bf16", ["adamw"], 12), ("fp32", ["adamw"], 8),
                ("bf16", ["sgd"], 4), ("bf16", ["sgd", "--momentum", "0.9"], 8),
                ("fp32", ["sgd"], 0)):
            with self.subTest(precision=precision, optimizer=optimizer):
                artifact = self.compile(fixture, *optimizer, "--precision",
                                        precision)
                text = self.zc("inspect", artifact, "--memory", "--json")
                found = json.loads(text)["memory"]
                self.assertEqual(found["optimizer_bytes_per_parameter"],
                                 expected)

    def test_checkpoints_hold_float32(self):
        fixture = Fixture("mlp")
        checkpoint = self.folder / "ckpt"
        whole = self.losses(fixture, "adamw", more=["--checkpoint", checkpoint])
        weights = load_tensors(latest_step(checkpoint))
        self.assertEqual(sorted(weights), sorted(fixture.weights("adamw")))
        for name, weight in weights.items():
            self.assertEqual(weight.dtype, np.float32, name)
        bits = np.concatenate([w.ravel() for w in weights.values()])
        self.assertTrue((bits.view(np.uint32) & 0xffff).any())
        # Another run in two parts, bit for bit.
        log, parts = self.folder / "parts.jsonl", self.folder / "parts"
        expected = fixture.reference["optimizers"]["adamw"]
        for steps, how in ((4, []), (len(whole), ["--resume"])):
            self.train(self.folder / "model.zca", fixture.data, steps,
                       "--no-shuffle", "--log", log, "--checkpoint", parts,
                       *how, lr=expected["learning_rate"])
        self.assertEqual([line["loss"] for line in read_log(log)],
                         whole.tolist())
        for name, weight in load_tensors(latest_step(parts)).items():
            np.testing.assert_array_equal(weight, weights[name], name)

    def test_evaluates_what_it_exports(self):
        fixture = Fixture("mlp")
        checkpoint = self.folder / "ckpt"
        self.losses(fixture, "adamw", more=["--checkpoint", checkpoint])
        trained = self.folder / "trained.onnx"
        artifact = self.folder / "model.zca"
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", trained)
        data = np.load(fixture.data)
        inputs = []
        for name in set(data) - {"labels"}:
            np.save(self.folder / f"{name}.npy", data[name][:8])
            inputs += ["--input", f"{name}={self.folder / name}.npy"]
        outputs = []
        for model, more in ((artifact, ["--checkpoint", checkpoint]),
                            (trained, ["--dim", "batch=8"])):
            out = self.folder / model.stem
            self.zc("eval", model, *more, *inputs, "--output-dir", out)
            outputs.append(np.load(next(out.glob("*.npy"))))
        np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5,
                                   atol=1e-6)


def add_tests():
    for model, optimizer in (("mlp", "sgd_nesterov"), ("mlp", "adamw"),
                             ("cnn", "adamw"), ("gpt", "adamw"),
                             ("resnet", "adamw"), ("bert", "adamw")):
        def test(self, model=model, optimizer=optimizer.replace("_", "-")):
            self.check_losses(model, optimizer)
        setattr(Precision, f"test_{model}_{optimizer}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
