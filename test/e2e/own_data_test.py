#!/usr/bin/env python3
"""Data as people have it, and weights from elsewhere."""
import os
import unittest

import numpy as np
from safetensors.numpy import load_file, save_file

from small_models import SmallModels
from zctest import (FIXTURES, Fixture, ZcTest, latest_step, load_tensors,
                    read_log, run, start)


class OwnData(SmallModels):

    def losses(self, artifact, data, *options, notes=0):
        log = self.folder / "log.jsonl"
        code, _, err = run("run", artifact, "--data", data, "--steps", 6,
                           "--seed", 3, "--log", log, *options)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("note:"), notes, err)
        return [line["loss"] for line in read_log(log)]

    def write(self, name="d.npz", **arrays):
        path = self.folder / name
        np.savez(path, **arrays)
        return path

    def test_several_files(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        arrays = dict(np.load(fixture.data))
        count = len(arrays["x"])
        cuts = [0, 10, count // 2, count]
        for i, (begin, end) in enumerate(zip(cuts, cuts[1:])):
            self.write(f"part-{i}.npz", notes=np.arange(3),
                      **{name: array[begin:end]
                         for name, array in arrays.items()})
        expected = self.losses(artifact, fixture.data)
        self.assertEqual(
            self.losses(artifact, self.folder / "part-*.npz", notes=1),
            expected)
        parts = [self.folder / f"part-{i}.npz" for i in range(3)]
        commas = ",".join(map(str, parts))
        self.assertEqual(self.losses(artifact, commas, notes=1), expected)
        self.assertEqual(
            self.losses(artifact, parts[0], "--data", parts[1], "--data",
                        parts[2], notes=1), expected)
        self.assertEqual(
            self.losses(artifact, parts[0], "--data",
                        self.folder / "part-[12].npz", notes=1), expected)
        self.assertEqual(
            self.zc("eval", artifact, "--data", commas),
            self.zc("eval", artifact, "--data", fixture.data))
        self.fails(1, ["nowhere.npz"], "run", artifact, "--data",
                   f"{parts[0]},nowhere.npz", "--steps", 1)
        self.write("part-1.npz", x=arrays["x"][:4].astype(np.float64),
                  labels=arrays["labels"][:4])
        self.fails(1, ["part-1.npz", "'x' is float64", "before it"], "run",
                   artifact, "--data", self.folder / "part-*.npz", "--steps", 1)
        self.write("part-1.npz", x=arrays["x"][:4])
        self.fails(1, ["part-1.npz", "lacks the input 'labels'"], "run",
                   artifact, "--data", self.folder / "part-*.npz", "--steps", 1)
        self.fails(1, ["no file matches", "nothing-"], "run", artifact,
                   "--data", self.folder / "nothing-*.npz", "--steps", 1)

    def test_everyday_types(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        arrays = dict(np.load(fixture.data))
        x, labels = arrays["x"], arrays["labels"]
        expected = self.losses(artifact, fixture.data)
        for dtype in (np.uint8, np.int32, np.uint64):
            self.assertEqual(self.losses(artifact, self.write(
                x=x, labels=labels.astype(dtype)), notes=1), expected)
        self.assertEqual(self.losses(artifact, self.write(
            x=x.astype(np.float16), labels=labels), notes=1),
            self.losses(artifact, self.write(
                x=x.astype(np.float16).astype(np.float32), labels=labels)))
        self.assertEqual(self.losses(artifact, self.write(
            x=x.astype(np.float64), labels=labels[:, None]), notes=2),
            expected)
        yes = labels > 4
        self.assertEqual(
            self.losses(artifact, self.write(x=x, labels=yes), notes=1),
            self.losses(artifact, self.write(x=x, labels=yes.astype(int))))

    def test_numbers_as_labels(self):
        fixture = Fixture("regression")
        artifact = self.compile(fixture)
        arrays = dict(np.load(fixture.data))
        labels = np.round(3 * arrays["labels"])
        self.assertEqual(labels.ndim, 2)
        expected = self.losses(artifact, self.write(**{
            **arrays, "labels": labels.astype(np.float32)}))
        self.assertEqual(self.losses(artifact, self.write(**{
            **arrays, "labels": labels.astype(np.int16)}), notes=1), expected)

    def test_a_column_of_labels(self):
        """[N] where the model has [N, 1]."""
        weight = np.linspace(-1, 1, 5).astype(np.float32)[:, None]
        model = self.save("column.onnx",
                                [("MatMul", ["x", "w"], "y")], {"w": weight},
                                inputs={"x": (4, 5)}, outputs={"y": (4, 1)})
        draw = np.random.default_rng(3)
        x = draw.normal(size=(20, 5)).astype(np.float32)
        labels = draw.normal(size=(20, 1)).astype(np.float32)
        for loss in ("mse", "bce-with-logits"):
            artifact = self.folder / "column.zca"
            self.zc("compile", model, "-o", artifact, "--loss", loss)
            wanted = labels if loss == "mse" else labels > 0
            expected = self.losses(artifact, self.write(
                x=x, labels=wanted.astype(np.float32)))
            self.assertEqual(self.losses(artifact, self.write(
                x=x, labels=wanted[:, 0].astype(np.float32)), notes=1),
                expected)
        self.assertEqual(self.losses(artifact, self.write(
            x=x, labels=wanted[:, 0]), notes=2), expected)

    def test_more_than_memory_holds(self):
        """Samples stay in their files: of 8 GiB, with holes, a run touches
        what its steps take."""
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        folder, count = self.folder / "large", 2 ** 25
        folder.mkdir()
        for name, dims, dtype in (("x", (64,), np.float32),
                                  ("labels", (), np.int64)):
            np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype,
                                      (count, *dims))
        log = self.folder / "log.jsonl"
        process = start("run", artifact, "--data", folder, "--steps", 3,
                        "--log", log)
        process.stdout.read()
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = code
        self.assertEqual(code, 0, process.stderr.read())
        self.assertEqual(len(read_log(log)), 3)
        self.check_memory(usage.ru_maxrss * 1024, 500 << 20)

    def test_arrays_that_nobody_reads(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        arrays = dict(np.load(fixture.data))
        expected = self.losses(artifact, fixture.data)
        classes = np.array(["cat", "dog"])
        data = self.write(classes=classes, **arrays)
        self.assertEqual(self.losses(artifact, data), expected)
        data = self.write(more=np.zeros(3), **arrays)
        self.assertEqual(self.losses(artifact, data, notes=1), expected)
        data = self.write(x=arrays["x"], labels=classes)
        self.fails(1, ["entry 'labels.npy': elements of type '<U3' cannot be "
                       "read"], "run", artifact, "--data", data, "--steps", 1)

    def test_numbers_that_float32_does_not_hold(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        arrays = dict(np.load(fixture.data))
        x = arrays["x"].astype(np.float64)
        x[7, 3] = 1e39
        data = self.write(x=x, labels=arrays["labels"])
        self.fails(1, ["'x', sample 7: a value does not fit float32"], "run",
                   artifact, "--data", data, "--steps", 1, "--no-shuffle")


class InitFrom(ZcTest):

    def start(self, artifact, fixture, source, *options):
        """Model tensors after a step of almost no length, and what was said."""
        folder = self.folder / "begun"
        code, _, err = run("run", artifact, "--data", fixture.data, "--steps",
                           1, "--lr", "1e-30", "--checkpoint", folder,
                           "--overwrite", "--init-from", source, *options)
        self.assertEqual(code, 0, err)
        return load_tensors(latest_step(folder)), err

    def test_from_a_checkpoint_of_another_optimizer(self):
        fixture = Fixture("cnn")
        first, ckpt = self.compile(fixture), self.folder / "ckpt"
        self.train(first, fixture.data, 3, "--checkpoint", ckpt)
        trained = load_tensors(latest_step(ckpt))
        other = self.compile(fixture, "sgd", name="sgd.zca")
        begun, err = self.start(other, fixture, ckpt)
        self.assertNotIn("warning", err)
        for name, value in trained.items():
            if "running" not in name:
                self.assertEqual(value.tobytes(), begun[name].tobytes(), name)

    def test_unfreezing(self):
        """The head's weights go into an artifact that trains all."""
        fixture, ckpt = Fixture("mlp"), self.folder / "ckpt"
        compiling = ["--loss", "softmax-cross-entropy", "--batch", 32]
        head, full = self.folder / "head.zca", self.folder / "full.zca"
        self.zc("compile", fixture.model, "-o", head, *compiling, "--train",
                r"^6\.")
        self.train(head, fixture.data, 3, "--checkpoint", ckpt)
        trained = load_tensors(latest_step(ckpt))
        self.assertEqual(set(trained), {"6.weight", "6.bias"})
        self.zc("compile", fixture.model, "-o", full, *compiling)
        begun, err = self.start(full, fixture, ckpt)
        self.assertRegex(err, "lacks, so that these begin as without it: "
                              "'0.weight'")
        untrained = load_tensors(latest_step(self.untrained(full, fixture)))
        for name, value in {**untrained, **trained}.items():
            self.assertEqual(begun[name].tobytes(), value.tobytes(), name)

    def test_from_a_file_with_a_new_head(self):
        fixture = Fixture("mlp")
        artifact, ckpt = self.compile(fixture, "sgd"), self.folder / "ckpt"
        self.train(artifact, fixture.data, 3, "--checkpoint", ckpt, lr=0.1)
        weights = self.folder / "w.safetensors"
        self.zc("export", artifact, "--checkpoint", ckpt, "--safetensors",
                weights)
        tensors = load_file(weights)
        untrained = load_tensors(latest_step(self.untrained(artifact, fixture)))
        names = sorted(tensors)
        reshaped, missing, halved = names[0], names[1], names[2]
        changed = dict(tensors)
        changed[reshaped] = np.zeros((3, 3), np.float32)
        del changed[missing]
        changed[halved] = changed[halved].astype(np.float16)
        changed["decoder.extra"] = np.zeros(2, np.float32)
        save_file(changed, weights)
        begun, err = self.start(artifact, fixture, weights)
        self.assertRegex(err, f"another type or shape of.*'{reshaped}'")
        self.assertRegex(err, f"lacks.*'{missing}'")
        self.assertRegex(err, "does not have: 'decoder.extra'")
        for name in names:
            expected = tensors[name]
            if name in (reshaped, missing):
                expected = untrained[name]
            if name == halved:
                expected = changed[halved].astype(np.float32)
            self.assertEqual(begun[name].tobytes(), expected.tobytes(), name)
        save_file({"other": np.zeros(2, np.float32)}, weights)
        self.fails(1, ["w.safetensors", "no tensor of the artifact's"], "run",
                   artifact, "--data", fixture.data, "--steps", 1,
                   "--init-from", weights)

    def test_frozen_weights_must_be_the_model_file_s(self):
        fixture = Fixture("mlp")
        full, ckpt = self.compile(fixture), self.folder / "ckpt"
        self.train(full, fixture.data, 3, "--checkpoint", ckpt)
        head = self.folder / "head.zca"
        compiling = ["--loss", "softmax-cross-entropy", "--batch", 32,
                     "--train", r"^6\."]
        self.zc("compile", fixture.model, "-o", head, *compiling)
        self.fails(1, ["ckpt': it holds '0.bias' and 5 more, which "
                       "this artifact freezes", "zc export"], "run", head,
                   "--data", fixture.data, "--steps", 1, "--init-from", ckpt)
        # Follow the message's advice.
        exported = self.folder / "trained.onnx"
        self.zc("export", full, "--checkpoint", ckpt, "-o", exported)
        self.zc("compile", exported, "-o", head, *compiling)
        begun, err = self.start(head, fixture, ckpt)
        self.assertNotIn("'0.bias'", err)
        trained = load_tensors(latest_step(ckpt))
        self.assertEqual(begun["6.weight"].tobytes(),
                         trained["6.weight"].tobytes())

    def test_frozen_weights_that_are_in_code(self):
        """Small ones, of which the artifact cannot say that they are equal."""
        model = FIXTURES / "digits" / "model.onnx"
        data = FIXTURES / "digits" / "train.npz"
        full, ckpt = self.folder / "full.zca", self.folder / "ckpt"
        compiling = ["--loss", "softmax-cross-entropy", "--batch", 32]
        self.zc("compile", model, "-o", full, *compiling)
        self.zc("run", full, "--data", data, "--steps", 2, "--checkpoint", ckpt)
        exported = self.folder / "trained.onnx"
        self.zc("export", full, "--checkpoint", ckpt, "-o", exported)
        head = self.folder / "head.zca"
        self.zc("compile", exported, "-o", head, *compiling, "--train", "head")
        code, _, err = run("run", head, "--data", data, "--steps", 1,
                           "--init-from", ckpt)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "freezes, which stay those of its model file: "
                              "'bn1.bias'")

    def test_what_is_no_file_of_weights(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        self.fails(1, ["model.onnx' is no file of weights", "safetensors"],
                   "run", artifact, "--data", fixture.data, "--steps", 1,
                   "--init-from", fixture.model)

    def untrained(self, artifact, fixture):
        folder = self.folder / "untrained"
        self.train(artifact, fixture.data, 1, "--checkpoint", folder,
                   lr="1e-30")
        return folder


if __name__ == "__main__":
    unittest.main()
