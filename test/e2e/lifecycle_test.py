#!/usr/bin/env python3
"""The files that a run leaves behind and how it goes on: resuming, determinism,
threads, evaluation and export."""
import unittest

import numpy as np
import onnx
import onnxruntime

from zctest import (Fixture, ZcTest, latest_step, load_tensors, read_log)


class Resume(ZcTest):

    def state(self, checkpoint):
        step = latest_step(checkpoint)
        return {kind: load_tensors(step, kind)
                for kind in ("model", "optimizer")}

    def assert_same_state(self, left, right):
        for kind in left:
            self.assertTrue(left[kind], f"no {kind} tensors")
            self.assertEqual(left[kind].keys(), right[kind].keys())
            for name, value in left[kind].items():
                self.assertEqual(value.tobytes(), right[kind][name].tobytes(),
                                 name)

    def resume(self, model, optimizer, *options):
        fixture = Fixture(model)
        artifact = self.compile(fixture, optimizer)
        whole, halves = self.folder / "whole", self.folder / "halves"
        logs = [self.folder / "whole.jsonl", self.folder / "halves.jsonl"]
        self.train(artifact, fixture.data, 10, "--checkpoint", whole,
                   "--log", logs[0], *options)
        self.train(artifact, fixture.data, 5, "--checkpoint", halves,
                   "--log", logs[1], *options)
        self.train(artifact, fixture.data, 10, "--checkpoint", halves,
                   "--log", logs[1], "--resume", *options)
        self.assert_same_state(self.state(whole), self.state(halves))
        losses = [[line["loss"] for line in read_log(log)] for log in logs]
        self.assertEqual(len(losses[0]), 10)
        self.assertEqual(losses[0], losses[1])

    def test_adamw_in_order(self):
        self.resume("mlp", "adamw", "--no-shuffle")

    def test_nesterov_shuffled_with_statistics(self):
        self.resume("cnn", "sgd-nesterov", "--seed", "7")

    def test_save_every_and_keep(self):
        fixture = Fixture("mlp")
        artifact, checkpoint = self.compile(fixture), self.folder / "ckpt"
        self.train(artifact, fixture.data, 7, "--checkpoint", checkpoint,
                   "--save-every", 2, "--keep", 2)
        names = sorted(path.name for path in checkpoint.glob("step-*"))
        self.assertEqual(names, ["step-6", "step-7"])

    def test_a_step_that_is_not_there(self):
        """It is refused before a folder has its name."""
        fixture = Fixture("mlp")
        artifact, checkpoint = self.compile(fixture), self.folder / "ckpt"
        self.train(artifact, fixture.data, 2, "--checkpoint", checkpoint)
        self.fails(1, ["there is no checkpoint in '.*step-99'"], "run",
                   artifact, "--data", fixture.data, "--steps", 4, "--resume",
                   "--checkpoint", checkpoint / "step-99")
        self.assertEqual([path.name for path in checkpoint.iterdir()
                          if not path.name.startswith(".")], ["step-2"])


class Shuffle(ZcTest):

    def losses(self, artifact, data, *options):
        log = self.folder / "log.jsonl"
        self.train(artifact, data, 6, "--log", log, *options)
        return [line["loss"] for line in read_log(log)]

    def test_seed_decides(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        one = self.losses(artifact, fixture.data, "--seed", 1)
        self.assertEqual(one, self.losses(artifact, fixture.data, "--seed", 1))
        self.assertNotEqual(one,
                            self.losses(artifact, fixture.data, "--seed", 2))
        in_order = self.losses(artifact, fixture.data, "--no-shuffle")
        self.assertNotEqual(one, in_order)

    def test_threads_change_rounding_alone(self):
        for model in ("cnn", "gpt"):
            fixture = Fixture(model)
            artifact = self.compile(fixture, "sgd", "--cpu-threads", 2)
            losses = [self.losses(artifact, fixture.data, "--threads", threads,
                                  "--no-shuffle") for threads in (1, 2)]
            np.testing.assert_allclose(losses[0], losses[1], rtol=2e-6)


class Export(ZcTest):
    """zc eval and ONNX Runtime on the exported model say the same."""

    def evaluate(self, artifact, fixture, samples, *options):
        """zc eval's outputs and the inputs given to it."""
        data = np.load(fixture.data)
        inputs = {name: data[name][:samples] for name in data.files
                  if name != "labels"}
        args = []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            args += ["--input", f"{name}={self.folder / name}.npy"]
        output = self.folder / "outputs"
        self.zc("eval", artifact, *args, "--output-dir", output, *options)
        return np.load(output / "logits.npy"), inputs

    def onnxruntime_outputs(self, path, inputs, batch):
        session = onnxruntime.InferenceSession(str(path))
        count = len(next(iter(inputs.values())))
        parts = [session.run(["logits"], {name: array[i:i + batch] for
                                          name, array in inputs.items()})[0]
                 for i in range(0, count, batch)]
        return np.concatenate(parts)

    def round_trip(self, model):
        fixture = Fixture(model)
        batch = fixture.reference["batch"]
        artifact, checkpoint = self.compile(fixture), self.folder / "ckpt"
        self.train(artifact, fixture.data, 3, "--checkpoint", checkpoint)
        trained = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", trained)
        onnx.checker.check_model(str(trained), full_check=True)
        ours, inputs = self.evaluate(artifact, fixture, 2 * batch,
                                     "--checkpoint", checkpoint)
        theirs = self.onnxruntime_outputs(trained, inputs, batch)
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * scale)
        untrained = self.onnxruntime_outputs(fixture.model, inputs, batch)
        self.assertGreater(np.abs(untrained - theirs).max(), 1e-4 * scale)

    def test_mlp(self):
        self.round_trip("mlp")

    def test_cnn(self):
        self.round_trip("cnn")

    def test_gpt(self):
        self.round_trip("gpt")

    def test_safetensors_alone(self):
        fixture = Fixture("mlp")
        artifact, checkpoint = self.compile(fixture), self.folder / "ckpt"
        self.train(artifact, fixture.data, 1, "--checkpoint", checkpoint)
        weights = self.folder / "model-weights.safetensors"
        self.zc("export", artifact, "--checkpoint", checkpoint,
                "--safetensors", weights)
        from safetensors.numpy import load_file
        ours = load_tensors(latest_step(checkpoint))
        self.assertEqual(ours.keys(), load_file(weights).keys())

    def test_partial_batch(self):
        """Samples that do not fill the last batch are evaluated alone."""
        fixture = Fixture("cnn")
        artifact = self.compile(fixture)
        whole, _ = self.evaluate(artifact, fixture, 32)
        part, _ = self.evaluate(artifact, fixture, 21)
        self.assertEqual(len(part), 21)
        np.testing.assert_allclose(part, whole[:21], rtol=1e-5, atol=1e-6)

    def test_model_without_compiling(self):
        fixture = Fixture("cnn")
        ours, inputs = self.evaluate(fixture.model, fixture, 16)
        theirs = self.onnxruntime_outputs(fixture.model, inputs, 16)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
