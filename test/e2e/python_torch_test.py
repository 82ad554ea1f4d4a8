#!/usr/bin/env python3
"""What the Python module does with PyTorch's modules, against a stand-in that
has what the helpers call: its exporter gives the file that PyTorch's gave when
the fixture was recorded."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import types
import unittest
from unittest import mock

import numpy as np

from python_module import ROOT, PythonTest, batches_of, repeat, zc
from zctest import BIN, Fixture, ZcTest


class Tensor:
    """A tensor in place: what state_dict() gives."""

    def __init__(self, array):
        self.array = array

    def copy_(self, other):
        self.array[...] = other.array

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]


class Module:
    """The fixture's module, with its weights at zero and one that zc does not
    know."""

    def __init__(self, shapes):
        self.training = False
        self.tensors = {name: Tensor(np.zeros(shape, np.float32))
                        for name, shape in shapes.items()}
        first = next(iter(self.tensors.values()))
        self.tensors["tied.weight"] = Tensor(first.array)  # the same memory
        self.tensors["steps"] = Tensor(np.zeros((), np.float32))

    def train(self, mode=True):
        self.training = mode

    def state_dict(self):
        return self.tensors


def stand_in(calls, model):
    """torch, with torch.onnx.export()."""
    torch, onnx = types.ModuleType("torch"), types.ModuleType("torch.onnx")
    gradients = []

    @contextlib.contextmanager
    def no_grad():
        gradients.append("off")
        yield
        gradients.pop()

    def from_numpy(array):
        assert gradients, "a copy into parameters needs no_grad()"
        return Tensor(array)

    def export(module, args, f=None, *, kwargs=None, input_names=None,
               output_names=None, dynamo=True, optimize=True, verbose=None,
               dynamic_shapes=None):
        calls.append({"training": module.training, "args": args,
                      "kwargs": kwargs, "input_names": input_names,
                      "output_names": output_names, "dynamo": dynamo,
                      "optimize": optimize, "dynamic_shapes": dynamic_shapes})
        if model is None:
            raise RuntimeError("a graph break")
        shutil.copy(model, f)

    torch.no_grad, torch.from_numpy = no_grad, from_numpy
    onnx.export = export
    torch.onnx = onnx
    return {"torch": torch, "torch.onnx": onnx}


class Torch(PythonTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.calls = []
        shapes = {info.name: info.shape for info in self.states()}
        self.module = Module(shapes)

    def states(self):
        session = self.opened()
        return [session.states.info(name) for name in session.states
                if session.states.info(name).kind == "parameter"]

    def with_torch(self, model):
        return mock.patch.dict(sys.modules, stand_in(self.calls, model))

    def test_from_a_module_and_back(self):
        batch = self.fixture.reference["batch"]
        with self.with_torch(self.fixture.model):
            artifact = zc.compile_torch(
                self.module, ["x"], self.folder / "step.zca",
                input_names=["x"], loss=self.fixture.reference["loss"],
                dim={self.fixture.reference["symbolic_batch"]: batch})
            with zc.Session(artifact) as session:
                session.train(batches_of(repeat(self.fixture, 2), batch))
                missing = zc.copy_to_torch(session, self.module)
                for name, tensor in self.module.tensors.items():
                    if name in session.states:
                        self.assertTrue(tensor.array.any(), name)
                        np.testing.assert_array_equal(tensor.array,
                                                      session.states[name])
        # One that is tied to another is there, by whatever name.
        self.assertEqual(missing, ["steps"])
        call, = self.calls
        self.assertTrue(call["training"] and call["dynamo"])
        self.assertFalse(call["optimize"])
        self.assertEqual((call["args"], call["kwargs"], call["input_names"]),
                         (("x",), {}, ["x"]))
        self.assertFalse(self.module.training)

    def test_the_file_stays_where_it_is_asked_for(self):
        kept = self.folder / "kept.onnx"
        with self.with_torch(self.fixture.model):
            zc.compile_torch(
                self.module, ["x"], self.folder / "step.zca", model=kept,
                export_options={"dynamic_shapes": {"x": {0: "n"}}},
                loss="softmax-cross-entropy", batch=8)
        self.assertEqual(kept.read_bytes(), self.fixture.model.read_bytes())
        self.assertEqual(self.calls[0]["dynamic_shapes"], {"x": {0: "n"}})

    def test_a_failure_leaves_the_mode(self):
        for training in (False, True):
            self.module.train(training)
            with self.with_torch(None), \
                    self.assertRaisesRegex(RuntimeError, "graph break"):
                zc.export_torch(self.module, [], self.folder / "m.onnx")
            self.assertEqual(self.module.training, training)

    def test_without_pytorch(self):
        with mock.patch.dict(sys.modules, {"torch": None}), \
                self.assertRaises(ImportError):
            zc.export_torch(self.module, [], self.folder / "m.onnx")


EXAMPLE = ROOT / "tools" / "python" / "examples" / "huggingface.py"
# The tests' own Python has none of these; ZC_TORCH_PYTHON may name another.
TORCH_PYTHON = os.environ.get("ZC_TORCH_PYTHON", sys.executable)


def can_import(*modules):
    code = "import importlib.util, sys; sys.exit(not all(" \
        "map(importlib.util.find_spec, sys.argv[1:])))"
    return subprocess.run([TORCH_PYTHON, "-c", code, *modules],
                          check=False).returncode == 0


class HuggingFace(ZcTest):

    def test_is_short(self):
        lines = [line for line in EXAMPLE.read_text().splitlines() if line]
        self.assertLessEqual(len(lines), 30)
        compile(EXAMPLE.read_text(), EXAMPLE, "exec")

    @unittest.skipUnless(can_import("torch", "onnxscript", "transformers"),
                         "needs PyTorch, onnxscript and transformers: "
                         "ZC_TORCH_PYTHON")
    def test_trains(self):
        out = self.command(
            TORCH_PYTHON, EXAMPLE, cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "tools" / "python"),
                 "ZC_LIBRARY": str(BIN.parent / "lib" / "libzc.so.1"),
                 "ZC_PROGRAM": str(BIN / "zc")})
        first, last = map(float, re.search(r"loss (\S+) to (\S+)",
                                           out).groups())
        self.assertLess(last, 0.6 * first)
        self.assertIn("not copied: []", out)


if __name__ == "__main__":
    unittest.main()
