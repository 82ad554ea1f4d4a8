#!/usr/bin/env python3
"""Mixed precision: losses, memory, checkpoints.

How far a run in bfloat16 may be from PyTorch's double precision losses is twice
what PyTorch's own runs in bfloat16 are (tools/reference/bf16.py); a tenth of
that it must be, or nothing was rounded.
"""
import json
import unittest

import numpy as np

from zctest import Fixture, ZcTest, latest_step, load_tensors, read_log

MULTIPLE = 2


class Precision(ZcTest):

    def losses(self, fixture, optimizer, *extra, run=(), precision="bf16"):
        """The losses of the recorded steps; the artifact is model.zca."""
        artifact = self.compile(fixture, optimizer, "--precision", precision,
                                *extra)
        log = self.folder / "log.jsonl"
        expected = fixture.reference["optimizers"][optimizer]
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log, *run,
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

    def test_accumulated_gradients(self):
        # Their sums are of float32.
        self.check_losses("mlp", "adamw", "--accumulate", "4")

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

    def test_checkpoints_hold_float32(self):
        fixture = Fixture("mlp")
        checkpoint = self.folder / "ckpt"
        whole = self.losses(fixture, "adamw", run=["--checkpoint", checkpoint])
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
        self.losses(fixture, "adamw", run=["--checkpoint", checkpoint])
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
                             ("resnet", "adamw"), ("bert", "adamw"),
                             ("llama", "adamw"), ("vit", "adamw")):
        def test(self, model=model, optimizer=optimizer.replace("_", "-")):
            self.check_losses(model, optimizer)
        setattr(Precision, f"test_{model}_{optimizer}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
