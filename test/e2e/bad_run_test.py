#!/usr/bin/env python3
"""Artifacts, data and circumstances that `zc run` must survive or refuse."""
import random
import shutil
import unittest
import zipfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

import corrupt
from zctest import (Fixture, ZcTest, latest_step, limit_file_size,
                    load_tensors, run)

FLIPS = 60


class RunTest(ZcTest):
    """A test with a compiled MLP; `batch` 32, x [32, 64], ten classes."""

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.artifact = self.compile(self.fixture)

    def refuse(self, patterns, *options, data=None, steps=5, artifact=None):
        return self.fails(1, patterns, "run", artifact or self.artifact,
                          "--data", data or self.fixture.data, "--steps",
                          steps, *options)


class BadArtifact(RunTest):

    def damaged(self, data):
        path = self.folder / "damaged.zca"
        path.write_bytes(data)
        return path

    def test_missing(self):
        self.refuse(["nowhere.zca", "no such file"],
                    artifact=self.folder / "nowhere.zca")

    def test_empty_random_and_truncated(self):
        data = self.artifact.read_bytes()
        for bad in (b"", random.Random(0).randbytes(4000), data[:100],
                    data[:len(data) // 2], data[:-1]):
            self.refuse(["damaged.zca"], artifact=self.damaged(bad))

    def test_a_model_is_no_artifact(self):
        self.refuse(["model.onnx"], artifact=self.fixture.model)

    def test_flipped_bytes(self):
        data = self.artifact.read_bytes()
        for seed in range(FLIPS):
            path = self.damaged(corrupt.flip_bytes(data, seed))
            for args in (("run", path, "--data", self.fixture.data, "--steps",
                          "1"), ("inspect", path, "--memory")):
                code, _, err = run(*args)
                self.assertIn(code, (0, 1), f"{args[0]}, seed {seed}\n{err}")

    def test_flipped_manifest(self):
        """Checksums made right again: the manifest itself must be checked."""
        with zipfile.ZipFile(self.artifact) as archive:
            manifest = archive.read("manifest.pb")
        for seed in range(FLIPS):
            path = self.damaged(self.artifact.read_bytes())
            corrupt.replace_in_entry(path, "manifest.pb", manifest,
                                     corrupt.flip_bytes(manifest, seed, 1))
            code, _, err = run("run", path, "--data", self.fixture.data,
                               "--steps", "1")
            self.assertIn(code, (0, 1), f"seed {seed}\n{err}")

    def test_another_version(self):
        with zipfile.ZipFile(self.artifact) as archive:
            manifest = archive.read("manifest.pb")
        self.assertEqual(manifest[:2], b"\x08\x03", "format version 3 first")
        corrupt.replace_in_entry(self.artifact, "manifest.pb", manifest,
                                 b"\x08\x63" + manifest[2:])
        self.refuse(["version 99", "compile"])

    def test_instructions_this_machine_lacks(self):
        corrupt.replace_in_entry(self.artifact, "manifest.pb", b"avx2",
                                 b"avx9")
        self.refuse(["avx9"])


class BadData(RunTest):

    def save(self, **arrays):
        path = self.folder / "bad.npz"
        np.savez(path, **arrays)
        return path

    def setUp(self):
        super().setUp()
        self.x = np.zeros((64, 64), np.float32)
        self.labels = np.zeros(64, np.int64)

    def test_missing_file(self):
        self.refuse(["nowhere.npz"], data=self.folder / "nowhere.npz")

    def test_not_an_archive(self):
        path = self.folder / "bad.npz"
        for content in (b"", b"hello", random.Random(1).randbytes(3000)):
            path.write_bytes(content)
            self.refuse(["bad.npz"], data=path)

    def test_truncated(self):
        data = self.save(x=self.x, labels=self.labels).read_bytes()
        path = self.folder / "bad.npz"
        for part in (len(data) // 2, len(data) - 1):
            path.write_bytes(data[:part])
            self.refuse(["bad.npz"], data=path)

    def test_flipped_bytes(self):
        data = self.save(x=self.x, labels=self.labels).read_bytes()
        path = self.folder / "bad.npz"
        for seed in range(20):
            path.write_bytes(corrupt.flip_bytes(data, seed, 10))
            code, _, err = run("run", self.artifact, "--data", path, "--steps",
                               "1")
            self.assertIn(code, (0, 1), f"seed {seed}\n{err}")

    def test_missing_key(self):
        self.refuse(["'?x'?", "images"],
                    data=self.save(images=self.x, labels=self.labels))

    def test_missing_labels(self):
        self.refuse(["'?labels'?"], data=self.save(x=self.x))

    def test_wrong_shape(self):
        self.refuse(["'?x'?", "64", "63"],
                    data=self.save(x=self.x[:, :63], labels=self.labels))
        self.refuse(["'?x'?"], data=self.save(x=self.x.reshape(64, 8, 8),
                                              labels=self.labels))

    def test_wrong_type(self):
        self.refuse(["'?x'?", "float32", "int64"],
                    data=self.save(x=self.x.astype(np.int64),
                                   labels=self.labels))
        self.refuse(["'?labels'?", "float32"],
                    data=self.save(x=self.x,
                                   labels=self.labels.astype(np.float32)))

    def test_python_objects(self):
        self.refuse(["'?x'?"],
                    data=self.save(x=np.array([{}] * 64, dtype=object),
                                   labels=self.labels))

    def test_unequal_samples(self):
        self.refuse(["64", "60"],
                    data=self.save(x=self.x, labels=self.labels[:60]))

    def test_no_samples(self):
        self.refuse(["sample"],
                    data=self.save(x=self.x[:0], labels=self.labels[:0]))

    def test_label_out_of_range(self):
        for value in (10, -1, 2**40):
            labels = self.labels.copy()
            labels[37] = value
            self.refuse(["37", str(value)], "--no-shuffle",
                        data=self.save(x=self.x, labels=labels))

    def test_ignored_label_is_in_range(self):
        labels = self.labels.copy()
        labels[::2] = -100
        self.train(self.artifact, self.save(x=self.x, labels=labels), 2)


class BadRun(RunTest):

    def test_loss_that_is_no_number(self):
        checkpoint = self.folder / "ckpt"
        err = self.refuse(["step [0-9]+", "nan|inf|finite"], "--lr", "1e30",
                          "--checkpoint", checkpoint, "--save-every", 1,
                          steps=50)
        self.assertIn("step", err)
        for value in load_tensors(latest_step(checkpoint)).values():
            self.assertTrue(np.isfinite(value).all())

    def test_nothing_to_do(self):
        self.fails(2, ["--steps"], "run", self.artifact, "--data",
                   self.fixture.data)

    def test_no_data(self):
        self.fails(2, ["--data"], "run", self.artifact, "--steps", 1)

    def test_resume_without_a_checkpoint(self):
        """The step is not there; a whole folder may be empty."""
        self.refuse(["checkpoint|ckpt"], "--resume", "--checkpoint",
                    self.folder / "ckpt" / "step-3")

    def test_resume_from_another_model(self):
        other = self.compile(Fixture("regression"), name="other.zca")
        checkpoint = self.folder / "ckpt"
        self.train(other, Fixture("regression").data, 1, "--checkpoint",
                   checkpoint)
        self.refuse(["ckpt"], "--resume", "--checkpoint", checkpoint)

    def test_damaged_checkpoint(self):
        checkpoint = self.folder / "ckpt"
        self.train(self.artifact, self.fixture.data, 1, "--checkpoint",
                   checkpoint)
        file = next(latest_step(checkpoint).glob("model-*.safetensors"))
        file.write_bytes(file.read_bytes()[:500])
        self.refuse([file.name], "--resume", "--checkpoint", checkpoint)

    def trained_with_one_bit_flipped(self):
        checkpoint = self.folder / "ckpt"
        self.train(self.artifact, self.fixture.data, 1, "--checkpoint",
                   checkpoint)
        file = next(latest_step(checkpoint).glob("model-*.safetensors"))
        data = bytearray(file.read_bytes())
        data[-1000] ^= 4
        file.write_bytes(data)
        return checkpoint, file

    def test_a_flipped_bit(self):
        checkpoint, file = self.trained_with_one_bit_flipped()
        damaged = [file.name, "tensor '.*' is damaged"]
        self.refuse(damaged, "--resume", "--checkpoint", checkpoint)
        self.fails(1, damaged, "export", self.artifact, "--checkpoint",
                   checkpoint, "-o", self.folder / "trained.onnx")
        samples = self.folder / "x.npy"
        np.save(samples, np.zeros((4, 64), np.float32))
        self.fails(1, damaged, "eval", self.artifact, "--checkpoint",
                   checkpoint, "--input", f"x={samples}", "--output-dir",
                   self.folder)

    def test_a_checkpoint_without_checksums(self):
        """As earlier versions and other programs write it."""
        checkpoint, _ = self.trained_with_one_bit_flipped()
        for file in latest_step(checkpoint).glob("*.safetensors"):
            save_file(load_file(file), file)
        self.train(self.artifact, self.fixture.data, 2, "--resume",
                   "--checkpoint", checkpoint)

    def test_full_log(self):
        device = self.full_device()
        code, _, err = run("run", self.artifact, "--data", self.fixture.data,
                           "--steps", 2, "--log", device)
        self.assertEqual(code, 0, err)
        self.assertIn(str(device), err)
        self.assertRegex(err, "(?i)no space")
        self.assertTrue(device.is_char_device(), "the device was replaced")

    def test_log_in_a_missing_folder(self):
        self.refuse(["absent"], "--log", self.folder / "absent" / "log.jsonl")

    def test_read_only_checkpoint_folder(self):
        data = shutil.copy(self.fixture.data, self.folder)
        self.refused_to_nobody("ckpt", "run", self.artifact, "--data", data,
                               "--steps", 1, "--checkpoint",
                               self.folder / "ckpt")


class NotANumber(ZcTest):
    """sqrt(x w) at x = 0: the loss is a number, the gradient is not, so that
    every checkpoint of the run would hold weights that are none."""

    def setUp(self):
        super().setUp()
        weight = numpy_helper.from_array(np.ones((4, 2), np.float32), "w")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("Sqrt", ["h"], ["y"])], "root",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (8, 4))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, (8, 2))],
            [weight])
        model = self.folder / "root.onnx"
        model.write_bytes(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10).SerializeToString())
        self.artifact, self.checkpoint = (self.folder / "a.zca",
                                          self.folder / "ckpt")
        self.zc("compile", model, "-o", self.artifact, "--loss", "mse",
                "--optimizer", "sgd")

    def data(self, bad_from):
        """24 samples; from the given one on, x is 0."""
        x = np.ones((24, 4), np.float32)
        x[bad_from:] = 0
        path = self.folder / "d.npz"
        np.savez(path, x=x, labels=np.ones((24, 2), np.float32))
        return path

    def stop(self, steps, bad_from):
        self.fails(1, [f"after step {bad_from // 8 + 1}:?", "'w'",
                       "not a number"], "run", self.artifact, "--data",
                   self.data(bad_from), "--no-shuffle", "--steps", steps,
                   "--checkpoint", self.checkpoint, "--save-every", 1)

    def test_no_checkpoint_is_written(self):
        self.stop(1, 0)
        self.assertEqual(list(self.checkpoint.iterdir()), [])

    def test_the_last_finite_checkpoint_stays(self):
        self.stop(3, 16)
        step = latest_step(self.checkpoint)
        self.assertEqual(step.name, "step-2")
        self.assertTrue(np.isfinite(load_tensors(step)["w"]).all())


class FullDisk(ZcTest):
    """A model whose weights, 1 MiB, do not fit on the disk while all that a
    run needs before its first checkpoint does."""

    def setUp(self):
        super().setUp()
        weight = numpy_helper.from_array(np.ones((256, 1024), np.float32), "w")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "wide",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (8, 256))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, (8, 1024))],
            [weight])
        model = self.folder / "wide.onnx"
        model.write_bytes(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10).SerializeToString())
        self.artifact, self.data = self.folder / "a.zca", self.folder / "d.npz"
        self.checkpoint = self.folder / "ckpt"
        self.zc("compile", model, "-o", self.artifact, "--loss", "mse",
                "--optimizer", "sgd")
        np.savez(self.data, x=np.ones((8, 256), np.float32),
                 labels=np.ones((8, 1024), np.float32))

    def fill_up(self, steps, *options):
        self.fails(1, ["ckpt", "file too large"], "run", self.artifact,
                   "--data", self.data, "--steps", steps, "--checkpoint",
                   self.checkpoint, *options,
                   preexec_fn=limit_file_size(512 * 1024))

    def test_a_half_checkpoint_is_none(self):
        self.fill_up(2)
        self.assertEqual(list(self.checkpoint.iterdir()), [])
        # A half-written checkpoint does not stop the next run.
        self.train(self.artifact, self.data, 2, "--checkpoint",
                   self.checkpoint)

    def test_the_last_checkpoint_stays(self):
        self.train(self.artifact, self.data, 1, "--checkpoint",
                   self.checkpoint)
        before = load_tensors(latest_step(self.checkpoint))
        self.fill_up(3, "--resume")
        self.assertEqual([path.name for path in self.checkpoint.iterdir()],
                         ["step-1"])
        after = load_tensors(latest_step(self.checkpoint))
        self.assertEqual(before["w"].tobytes(), after["w"].tobytes())

    def test_export(self):
        self.train(self.artifact, self.data, 1, "--checkpoint",
                   self.checkpoint)
        output = self.folder / "trained.onnx"
        self.fails(1, ["trained.onnx", "file too large"], "export",
                   self.artifact, "--checkpoint", self.checkpoint, "-o",
                   output, preexec_fn=limit_file_size(512 * 1024))
        self.assertFalse(output.exists())


if __name__ == "__main__":
    unittest.main()
