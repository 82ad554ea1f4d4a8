#!/usr/bin/env python3
"""No command writes over a file that it reads."""
import os
import shutil
import unittest

import numpy as np
import onnx

from zctest import Fixture, ZcTest, latest_step


class Overwrite(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")

    def keeps(self, file, *args):
        """zc fails, names the option, and leaves the file as it was."""
        before = file.read_bytes()
        self.fails(1, ["would replace"], *args)
        self.assertEqual(file.read_bytes(), before)

    def model(self):
        """A model of its own, with its weights in a file of theirs."""
        model = self.folder / "m.onnx"
        onnx.save(onnx.load(self.fixture.model), model,
                  save_as_external_data=True, location="m.onnx.data",
                  size_threshold=0)
        return model, self.folder / "m.onnx.data"

    def test_compile(self):
        model, data = self.model()
        options = self.fixture.compile_options("sgd")
        link = self.folder / "link"
        link.symlink_to("m.onnx")
        for output in (model, link):
            self.keeps(model, "compile", model, *options, "-o", output)
        self.keeps(model, "compile", model, "--emit", "onnx", "-o", model)
        self.keeps(data, "compile", model, *options, "-o", data)
        self.keeps(data, "compile", model, *options, "--weights",
                   "by-reference", "-o", data)
        other = self.folder / "a.zca"
        other.write_text("an older artifact may be replaced")
        self.zc("compile", model, *options, "-o", other)

    def test_run_and_export(self):
        artifact = self.compile(self.fixture, "sgd")
        data = self.folder / "t.npz"
        shutil.copy(self.fixture.data, data)
        go = ("run", artifact, "--data", data, "--steps", 1)
        self.keeps(artifact, *go, "--log", artifact)
        self.keeps(data, *go, "--trace", data)
        hard = self.folder / "hard"
        os.link(data, hard)
        self.keeps(data, *go, "--log", hard)
        held = self.folder / "held.npz"
        shutil.copy(self.fixture.data, held)
        self.keeps(held, *go, "--eval-data", held, "--log", held)
        checkpoint = self.folder / "ckpt"
        self.zc(*go, "--checkpoint", checkpoint, "--log", self.folder / "log")
        export = ("export", artifact, "--checkpoint", checkpoint)
        self.keeps(artifact, *export, "-o", artifact)
        weights = next(latest_step(checkpoint).glob("model-*"))
        self.keeps(weights, *export, "--safetensors", weights)
        page = self.folder / "trained.onnx"
        self.fails(1, ["both name"], *export, "-o", page, "--safetensors",
                   page)
        self.keeps(artifact, "inspect", artifact, "--html", artifact)

    def test_weights_by_reference(self):
        model, data = self.model()
        artifact = self.compile(self.fixture, "sgd", "--weights",
                                "by-reference", model=model)
        self.keeps(data, "run", artifact, "--data", self.fixture.data,
                   "--steps", 1, "--log", data)

    def test_eval(self):
        artifact = self.compile(self.fixture, "sgd")
        samples = np.load(self.fixture.data)["x"][:4]
        given = self.folder / "logits.npy"
        np.save(given, samples)
        self.keeps(given, "eval", artifact, "--input", f"x={given}",
                   "--output-dir", self.folder)
        self.assertEqual(list(self.folder.glob("*.tmp-*")), [])


if __name__ == "__main__":
    unittest.main()
