#!/usr/bin/env python3
"""--weights by-reference: artifacts that leave the weights in the model's
files, which may move, vanish and change."""
import os
import shutil
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, load_tensors, read_log

CLASSES = 150


class ByReference(ZcTest):

    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.home.mkdir()
        random = np.random.default_rng(0)
        value = helper.make_tensor_value_info
        weights = [numpy_helper.from_array(
            random.normal(size=dims).astype(np.float32), name) for name, dims
            in (("w1", [120, 180]), ("w2", [180, CLASSES]))]
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w1"], ["h"], "m1"),
             helper.make_node("Tanh", ["h"], ["t"], "tanh"),
             helper.make_node("MatMul", ["t", "w2"], ["y"], "m2")],
            "g", [value("x", TensorProto.FLOAT, [4, 120])],
            [value("y", TensorProto.FLOAT, [4, CLASSES])], weights)
        self.model = self.home / "m.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
            self.model, save_as_external_data=True, location="m.onnx.data")
        self.weights = self.home / "m.onnx.data"
        self.data = self.folder / "d.npz"
        np.savez(self.data, x=random.normal(size=(8, 120)).astype(np.float32),
                 labels=random.integers(0, CLASSES, 8))
        self.artifact = self.home / "a.zca"
        self.compiled(self.artifact, "--weights", "by-reference")

    def compiled(self, artifact, *options, model=None):
        self.zc("compile", model or self.model, "-o", artifact, "--loss",
                "softmax-cross-entropy", *options)

    def losses(self, artifact, options=()):
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", self.data, "--steps", 3, "--log",
                log, "--checkpoint", self.folder / "c", "--overwrite",
                *options)
        return [line["loss"] for line in read_log(log)]

    def test_trains_as_with_a_copy(self):
        copy = self.folder / "copy.zca"
        self.compiled(copy)
        self.assertEqual(self.losses(copy), self.losses(self.artifact))
        self.assertLess(self.artifact.stat().st_size,
                        copy.stat().st_size - 4 * 120 * 180)

    def test_model_that_holds_its_weights(self):
        whole = self.home / "whole.onnx"
        model = onnx.load(self.model)
        for tensor in model.graph.initializer:
            value = numpy_helper.to_array(tensor)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
        onnx.save(model, whole)
        self.compiled(self.artifact, "--weights", "by-reference", model=whole)
        expected = self.losses(self.artifact)
        self.compiled(self.artifact, model=whole)
        self.assertEqual(expected, self.losses(self.artifact))

    def test_moves(self):
        expected = self.losses(self.artifact)
        # The working folder does not matter, however the model was named.
        os.chdir(self.home)
        self.addCleanup(os.chdir, "/")
        self.zc("compile", "m.onnx", "-o", "a.zca", "--loss",
                "softmax-cross-entropy", "--weights", "by-reference")
        self.assertEqual(expected, self.losses("a.zca"))
        os.chdir("/")
        self.assertEqual(expected, self.losses(self.artifact))
        # The artifact alone.
        away = self.folder / "away"
        away.mkdir()
        shutil.copy(self.artifact, away / "b.zca")
        self.assertEqual(expected, self.losses(away / "b.zca"))
        # Everything, and what is left behind is another's.
        moved = self.folder / "moved"
        shutil.copytree(self.home, moved)
        self.weights.write_bytes(b"other")
        self.assertEqual(expected, self.losses(moved / "a.zca"))

    def refused(self, *patterns):
        self.fails(1, [*patterns, "--weights by-reference"], "run",
                   self.artifact, "--data", self.data, "--steps", 1)

    def test_missing_file(self):
        self.weights.unlink()
        self.refused("m.onnx.data", "neither can be read")
        self.zc("inspect", self.artifact, "--memory")

    def test_another_size(self):
        with self.weights.open("ab") as file:
            file.write(b"more")
        self.refused("m.onnx.data", "bytes, not")

    def test_changed_bytes(self):
        content = bytearray(self.weights.read_bytes())
        content[4 * 120 * 180 + 5] ^= 1
        self.weights.write_bytes(content)
        self.refused("the weights of 'w2'", "has changed")

    def test_export(self):
        frozen = self.home / "frozen.zca"
        self.compiled(frozen, "--weights", "by-reference", "--freeze", "w1")
        self.losses(frozen)
        trained = self.folder / "t.onnx"
        export = ["export", frozen, "--checkpoint", self.folder / "c", "-o",
                  trained]
        self.zc(*export)
        expected = {t.name: numpy_helper.to_array(t)
                    for t in onnx.load(self.model).graph.initializer}
        expected.update(load_tensors(self.folder / "c" / "step-3"))
        for tensor in onnx.load(trained).graph.initializer:
            np.testing.assert_array_equal(numpy_helper.to_array(tensor),
                                          expected[tensor.name])
        # Only what the checkpoint lacks is asked for.
        content = self.weights.read_bytes()
        self.weights.unlink()
        self.fails(1, ["m.onnx.data"], *export)
        self.weights.write_bytes(content)
        self.losses(self.artifact)
        self.weights.unlink()
        self.zc("export", self.artifact, *export[2:])
        self.zc(*export)

    def test_units(self):
        """The model's files hold a unit's members. Each rank reads its part of
        them, and untrained ones are exported from them."""
        divided, copy = self.home / "divided.zca", self.folder / "copy.zca"
        options = ["--mesh", "dp=2", "--zero", "3", "--freeze", "w1"]
        ranks = ["--local-ranks", 2]
        self.compiled(copy, *options)
        self.compiled(divided, *options, "--weights", "by-reference")
        self.assertEqual(self.losses(copy, ranks), self.losses(divided, ranks))
        exported = []
        for artifact in copy, divided:
            model = self.folder / f"{artifact.stem}.onnx"
            self.zc("export", artifact, "--checkpoint", self.folder / "c", "-o",
                    model)
            exported.append([numpy_helper.to_array(tensor) for tensor in
                             onnx.load(model).graph.initializer])
        for a, b in zip(*exported):
            np.testing.assert_array_equal(a, b)
        self.assertLess(divided.stat().st_size,
                        copy.stat().st_size - 4 * 120 * 180)
        content = bytearray(self.weights.read_bytes())
        content[4 * 120 * 180 + 5] ^= 1
        self.weights.write_bytes(content)
        self.fails(1, ["the weights of 'w2'", "has changed"], "run", divided,
                   "--data", self.data, "--steps", 1, *ranks)

    def test_divided_by_tp(self):
        """The model's file holds a tensor whole. Each rank reads its columns or
        rows, also where zeros pad them."""
        for name, ranks, options in (
                ("columns", 2, ["--mesh", "tp=2"]),
                ("padded", 4, ["--mesh", "tp=4", "--shard", "w2=-,tp"]),
                ("units", 4, ["--mesh", "dp=2,tp=2", "--zero", "3"])):
            with self.subTest(name):
                copy = self.folder / f"{name}.zca"
                divided = self.home / f"{name}.zca"
                self.compiled(copy, *options)
                self.compiled(divided, *options, "--weights", "by-reference")
                local = ["--local-ranks", ranks]
                self.assertEqual(self.losses(copy, local),
                                 self.losses(divided, local))
                self.assertLess(divided.stat().st_size,
                                copy.stat().st_size - 4 * 120 * 180)

    def test_drawn_weights_need_no_file(self):
        drawn = self.home / "drawn.zca"
        self.compiled(drawn, "--weights", "by-reference", "--init", "zeros")
        self.weights.unlink()
        self.losses(drawn)

    def test_wrong_word(self):
        self.fails(2, ["--weights", "by-reference"], "compile", self.model,
                   "-o", self.artifact, "--loss", "mse", "--weights", "ref")


if __name__ == "__main__":
    unittest.main()
