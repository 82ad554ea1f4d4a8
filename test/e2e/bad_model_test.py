#!/usr/bin/env python3
"""Models, options and output places that `zc compile` must refuse, each with
a message that says what is wrong; and no damage that ends in a signal."""
import random
import shutil
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import corrupt
from zctest import BIN, Fixture, ZcTest, limit_file_size, run

FLIPS = 40


def save_model(path, nodes, initializers=(), outputs=("y",), shape=(4, 4)):
    """A model of float32 tensors of one shape, input x."""
    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [value("x")],
                              [value(name) for name in outputs],
                              list(initializers))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return path


def external_weight(location):
    """A 4 x 4 initializer whose data lie in another file."""
    tensor = TensorProto(name="w", dims=(4, 4), data_type=TensorProto.FLOAT,
                         data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"),
                       ("length", "64")):
        tensor.external_data.add(key=key, value=value)
    return tensor


class BadModel(ZcTest):

    def refuse(self, patterns, model, *options, code=1):
        output = self.folder / "out.zca"
        self.fails(code, patterns, "compile", model, "-o", output, *options)
        self.assertFalse(output.exists(), "a failed compile left its output")

    def test_missing(self):
        self.refuse(["nowhere.onnx", "no such file"],
                    self.folder / "nowhere.onnx", "--loss", "mse")

    def test_a_folder(self):
        self.refuse([self.folder.name], self.folder, "--loss", "mse")

    def test_empty(self):
        model = self.folder / "empty.onnx"
        model.write_bytes(b"")
        self.refuse(["empty.onnx"], model, "--loss", "mse")

    def test_truncated(self):
        data = Fixture("cnn").model.read_bytes()
        for part in (10, 100, len(data) // 2, len(data) - 1):
            model = self.folder / "truncated.onnx"
            model.write_bytes(data[:part])
            self.refuse(["truncated.onnx"], model, "--loss", "mse")

    def test_random(self):
        model = self.folder / "random.onnx"
        for seed in range(10):
            model.write_bytes(random.Random(seed).randbytes(5000))
            self.refuse(["random.onnx"], model, "--loss", "mse")

    def test_flipped_bytes(self):
        fixture = Fixture("cnn")
        data = fixture.model.read_bytes()
        model = self.folder / "flipped.onnx"
        for seed in range(FLIPS):
            model.write_bytes(corrupt.flip_bytes(data, seed))
            code, _, err = run("compile", model, "--emit", "step", "-o",
                               self.folder / "out.mlir",
                               *fixture.compile_options("sgd"))
            self.assertIn(code, (0, 1), f"seed {seed}\n{err}")
            if code:
                self.assertTrue(err.strip(), f"seed {seed} fails silently")

    def test_unbound_symbol(self):
        self.refuse(["'?batch'?", "--dim batch="], Fixture("mlp").model,
                    "--loss", "softmax-cross-entropy")

    def test_symbol_that_does_not_exist(self):
        self.refuse(["'?length'?", "batch"], Fixture("mlp").model, "--loss",
                    "softmax-cross-entropy", "--dim", "batch=32", "--dim",
                    "length=4")

    def test_all_unsupported_operators_at_once(self):
        model = save_model(
            self.folder / "odd.onnx",
            [helper.make_node("Unique", ["x"], ["a"], name="first_odd"),
             helper.make_node("Compress", ["a", "a"], ["b"],
                              name="second_odd"),
             helper.make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT)])
        self.refuse(["Unique", "Compress", "first_odd", "second_odd"], model,
                    "--loss", "mse")

    def test_operator_that_onnx_does_not_have(self):
        model = save_model(self.folder / "odd.onnx", [
            helper.make_node("Frobnicate", ["x"], ["y"], name="mystery")])
        self.refuse(["odd.onnx", "Frobnicate"], model, "--loss", "mse")

    def test_no_parameters(self):
        model = save_model(self.folder / "fixed.onnx",
                           [helper.make_node("Relu", ["x"], ["y"])])
        self.refuse(["parameter"], model, "--loss", "mse")

    def test_input_named_labels(self):
        fixture = Fixture("mlp")
        model = onnx.load(fixture.model)
        for node in model.graph.node:
            for i, name in enumerate(node.input):
                node.input[i] = "labels" if name == "x" else name
        model.graph.input[0].name = "labels"
        path = self.folder / "named.onnx"
        onnx.save(model, path)
        self.refuse(["labels", "--labels"], path,
                    *fixture.compile_options("sgd"))

    def test_no_batch_dim(self):
        model = save_model(
            self.folder / "rows.onnx",
            [helper.make_node("MatMul", ["w", "x"], ["y"]), ],
            [numpy_helper.from_array(np.ones((2, 4), np.float32), "w")])
        loaded = onnx.load(model)
        loaded.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 2
        onnx.save(loaded, model)
        self.refuse(["'?x'?", "--batch-dim"], model, "--loss", "mse")


class SeveralOutputs(ZcTest):
    """A model whose second output zc cannot compute."""

    def setUp(self):
        super().setUp()
        weight = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
        self.model = save_model(
            self.folder / "two.onnx",
            [helper.make_node("MatMul", ["x", "w"], ["y"]),
             helper.make_node("NonZero", ["y"], ["places"]),
             helper.make_node("Cast", ["places"], ["z"],
                              to=TensorProto.FLOAT)], [weight], ("y", "z"))

    def test_what_nothing_trains_is_left_out(self):
        artifact = self.folder / "out.zca"
        _, _, err = run("compile", self.model, "--loss", "mse", "-o", artifact)
        self.assertRegex(err, r"warning: .*'z', which nothing trains, are left "
                         r"out: 1 operator is not supported:\n  NonZero")
        np.savez(self.folder / "data.npz", x=np.eye(4, dtype=np.float32),
                 labels=np.ones((4, 4), np.float32))
        checkpoint = self.folder / "ckpt"
        self.train(artifact, self.folder / "data.npz", 2, "--checkpoint",
                   checkpoint)
        trained = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", trained)
        self.assertEqual([output.name for output in
                          onnx.load(trained).graph.output], ["y", "z"])

    def test_the_loss_s_own_is_refused(self):
        for options in (["--loss", "mse", "--logits", "z"],
                        ["--loss", "none", "--loss-output", "z"]):
            code, _, err = run("compile", self.model, *options, "-o",
                               self.folder / "out.zca")
            self.assertEqual(code, 1)
            self.assertIn("NonZero", err)
            self.assertNotIn("left out", err)


class ExternalData(ZcTest):
    """Weights are read from the model's own folder and from nowhere else."""

    def refuse(self, location, *patterns):
        models = self.folder / "models"
        models.mkdir(exist_ok=True)
        model = save_model(models / "external.onnx",
                           [helper.make_node("MatMul", ["x", "w"], ["y"])],
                           [external_weight(location)])
        self.fails(1, ["external.onnx", *patterns], "compile", model, "-o",
                   self.folder / "out.zca", "--loss", "mse")

    def setUp(self):
        super().setUp()
        (self.folder / "secret.bin").write_bytes(bytes(64))

    def test_above_the_folder(self):
        self.refuse("../secret.bin", "secret.bin", "outside|folder|director")

    def test_absolute(self):
        self.refuse(str(self.folder / "secret.bin"), "secret.bin")

    def test_through_a_link(self):
        (self.folder / "models").mkdir()
        (self.folder / "models" / "link.bin").symlink_to(
            self.folder / "secret.bin")
        self.refuse("link.bin", "link.bin")

    def test_missing(self):
        self.refuse("absent.bin", "absent.bin")

    def test_too_short(self):
        (self.folder / "models").mkdir()
        (self.folder / "models" / "short.bin").write_bytes(bytes(60))
        self.refuse("short.bin", "short.bin")


class Usage(ZcTest):
    """Wrong usage ends with 2, also for options that zc does not have."""

    def usage(self, *args, patterns=()):
        self.fails(2, patterns, *args)

    def test_no_command(self):
        self.usage()

    def test_unknown_command(self):
        self.usage("trian")

    def test_unknown_option(self):
        self.usage("compile", Fixture("mlp").model, "-o", "x.zca",
                   "--frobnicate", patterns=["frobnicate"])

    def test_bad_value(self):
        self.usage("compile", Fixture("cnn").model, "-o",
                   self.folder / "x.zca", "--loss", "hinge",
                   patterns=["hinge"])

    def test_bad_dim(self):
        for text in ("batch", "batch=", "batch=x", "batch=-1"):
            self.usage("compile", Fixture("mlp").model, "-o",
                       self.folder / "x.zca", "--loss",
                       "softmax-cross-entropy", "--dim", text,
                       patterns=["--dim"])

    def test_no_loss(self):
        self.usage("compile", Fixture("cnn").model, "-o",
                   self.folder / "x.zca", patterns=["--loss"])

    def test_help_is_no_error(self):
        for command in ((), ("compile",), ("run",), ("eval",), ("export",),
                        ("inspect",)):
            self.assertIn("Usage", self.zc(*command, "--help").title())

    def test_version(self):
        text = self.zc("--version")
        for name in ("zc", "LLVM", "ONNX", "oneDNN"):
            self.assertIn(name, text)
        # Back ends that are built here have a line each.
        for name, plugin in (("MPI", "mpi"), ("CUDA toolkit", "cuda"),
                             ("cuBLASLt", "cuda"), ("cuDNN", "cuda"),
                             ("NCCL", "nccl")):
            if (BIN.parent / "lib" / f"libzc_{plugin}.so").exists():
                self.assertRegex(text, rf"(?m)^{name} [0-9.]+$")

    def test_a_model_is_no_artifact(self):
        """Whoever forgets to compile is told to."""
        model = Fixture("cnn").model
        for command in (("run", "--steps", "1", "--data", self.folder),
                        ("inspect",)):
            self.fails(1, ["is a model", "zc compile"], command[0], model,
                       *command[1:])


class BadPlace(ZcTest):
    """Where the output cannot go."""

    def compile_to(self, output, patterns, **options):
        fixture = Fixture("cnn")
        return self.fails(1, patterns, "compile", fixture.model, "-o", output,
                          *fixture.compile_options("sgd"), **options)

    def test_missing_folder(self):
        self.compile_to(self.folder / "absent" / "x.zca", ["absent"])
        self.assertFalse((self.folder / "absent").exists())

    def test_full_disk(self):
        self.compile_to(self.folder / "x.zca", ["file too large"],
                        preexec_fn=limit_file_size(4096))
        self.assertEqual(list(self.folder.iterdir()), [], "leftovers")

    def test_device_without_space(self):
        device = self.full_device()
        self.compile_to(device, [str(device), "no space"])
        self.assertTrue(device.is_char_device(), "the device was replaced")

    def test_read_only_folder(self):
        model = shutil.copy(Fixture("cnn").model, self.folder)
        self.refused_to_nobody("x.zca", "compile", model, "-o",
                               self.folder / "x.zca",
                               *Fixture("cnn").compile_options("sgd"))


if __name__ == "__main__":
    unittest.main()
