#!/usr/bin/env python3
"""Programs divided among ranks compute what the whole ones do: both are run by
the interpreter in double precision, on simulated ranks, from the same random
state and batch, and must agree to 1e-12 in every result: loss, new weights,
statistics, moments, accumulators.

SHARDING_TEST_ALL=1 goes through every layout and model.
"""
import os
import unittest

import numpy as np

from zctest import FIXTURES, Fixture, ZcTest

SGD = ["--optimizer", "sgd", "--momentum", "0.9"]
ODD = ["--dim", "batch=12", "--loss", "softmax-cross-entropy", *SGD]
DROPPED = FIXTURES / "options" / "dropped.onnx"

# name: (model, options, options of the mesh)
LAYOUTS = {
    "mlp": ("mlp", ODD, ["--mesh", "dp=3"]),
    "mlp-accumulated": ("mlp", [*ODD, "--accumulate", "2", "--clip-norm", "1"],
                        ["--mesh", "dp=2"]),
    "cnn": ("cnn", None, ["--mesh", "dp=4"]),
    "gpt": ("gpt", None, ["--mesh", "dp=2"]),
    "dropout": (DROPPED, ["--loss", "softmax-cross-entropy", *SGD],
                ["--mesh", "dp=2"]),
}
MORE = {
    **{f"{model}-dp": (model, None, ["--mesh", "dp=2"])
       for model in ("resnet", "vgg", "mobilenet", "unet", "vit", "bert",
                     "llama", "lstm", "recommender", "regression")},
}


class Sharding(ZcTest):

    def emit(self, model, what, *options):
        path = self.folder / f"{what}.mlir"
        self.zc("compile", model, *options, "--emit", what, "-o", path)
        return path

    def evaluate(self, module, program):
        folder = module.with_suffix("." + program)
        folder.mkdir()
        self.zc(module, "--program", program, "--random", 3, "--output-dir",
                folder, tool="zc-interpret")
        return {path.name: np.load(path) for path in folder.iterdir()}

    def compare(self, name):
        model, options, mesh = {**LAYOUTS, **MORE}[name]
        if options is None:
            fixture = Fixture(model)
            options = ["--loss", fixture.reference["loss"], *SGD]
            if fixture.reference["symbolic_batch"]:
                options += fixture.compile_options("sgd")[2:4]
            model = fixture.exports[0]
        elif isinstance(model, str):
            model = Fixture(model).model
        one = self.emit(model, "step", *options)
        many = self.emit(model, "sharded", *options, *mesh)
        self.assertIn("dist.all_reduce", many.read_text())
        text = one.read_text()
        programs = [each for each in ("step", "micro", "apply", "eval")
                    if f"func.func @{each}(" in text]
        for program in programs:
            expected = self.evaluate(one, program)
            found = self.evaluate(many, program)
            self.assertEqual(expected.keys(), found.keys())
            for key, value in expected.items():
                with self.subTest(program=program, result=key):
                    scale = max(np.abs(value).max(), 1e-6)
                    self.assertEqual(value.shape, found[key].shape)
                    error = np.abs(value - found[key]).max() / scale
                    self.assertLess(error, 1e-12)


for layout in {**LAYOUTS, **(MORE if os.environ.get("SHARDING_TEST_ALL")
                             else {})}:
    def check(self, name=layout):
        self.compare(name)
    setattr(Sharding, "test_" + layout.replace("-", "_"), check)


class Refused(ZcTest):

    def test_batch(self):
        model = Fixture("mlp").model
        self.fails(1, ["batch of 14 samples", "4 ranks", "12 and 16"],
                   "compile", model, *ODD, "--dim", "batch=14", "--mesh",
                   "dp=4", "--emit", "sharded")
        self.fails(1, ["24 and 32"], "compile", model, *ODD, "--dim",
                   "batch=30", "--mesh", "dp=4", "--accumulate", "2",
                   "--emit", "sharded")

    def test_axes(self):
        model = Fixture("mlp").model
        for mesh, message in {"xp=2": "expected axes pp, dp, ep, sp and tp",
                              "dp=0": "size of at least 1",
                              "dp=2,dp=2": "'dp' comes twice",
                              "pp=2": "not built"}.items():
            self.fails(2, [message], "compile", model, *ODD, "--mesh", mesh,
                       "--emit", "sharded")


if __name__ == "__main__":
    unittest.main()
