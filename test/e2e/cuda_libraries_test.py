#!/usr/bin/env python3
"""What the CPU does in another way: attention, products' epilogues, max pools
and batch norms by libraries of GPUs, of which there are fakes, and channels'
sums by teams."""
import json
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from cuda_run_test import Fake
from zctest import Fixture, read_log

RELU_BITS_AND_SUMS = "--libraries=all,cublaslt.relu-bits,cublaslt.sums"


def save_model(path, nodes, x, y, weights, opset=18, ir_version=9,
               of=TensorProto.FLOAT):
    """A model of `nodes` from x, whose elements are `of` a type, to y."""
    graph = helper.make_graph(
        nodes, path.stem, [helper.make_tensor_value_info("x", of, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)], weights)
    save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)],
        ir_version=ir_version), path)


def make_block(path, rng):
    """x [2, 8, 16]: two heads of 8 attend, then a linear layer with a GELU."""
    shapes = {"q": [16, 16], "k": [16, 16], "v": [16, 16], "fc": [16, 24],
              "bias": [24], "out": [24, 16]}
    weights = [numpy_helper.from_array(
        rng.normal(0, 0.3, shape).astype(np.float32), name)
        for name, shape in shapes.items()]
    weights += [numpy_helper.from_array(np.array(dims), name) for name, dims in
                (("heads", [2, 8, 2, 8]), ("tokens", [2, 8, 16]))]
    nodes = []
    for name in "qkv":
        nodes += [helper.make_node("MatMul", ["x", name], [name + "1"]),
                  helper.make_node("Reshape", [name + "1", "heads"],
                                   [name + "2"]),
                  helper.make_node("Transpose", [name + "2"], [name + "3"],
                                   perm=[0, 2, 1, 3])]
    nodes += [helper.make_node("Attention", ["q3", "k3", "v3"], ["a"],
                               is_causal=1),
              helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 1, 3]),
              helper.make_node("Reshape", ["b", "tokens"], ["c"]),
              helper.make_node("MatMul", ["c", "fc"], ["d"]),
              helper.make_node("Add", ["d", "bias"], ["e"]),
              helper.make_node("Gelu", ["e"], ["f"], approximate="tanh"),
              helper.make_node("MatMul", ["f", "out"], ["y"])]
    save_model(path, nodes, (2, 8, 16), (2, 8, 16), weights, 23, 11)


def make_relus(path, rng):
    """x [2, 8, 16] through two layers with a ReLU, of 128 and 256, and a third;
    the second has no bias."""
    shapes = {"w1": [16, 128], "b1": [128], "w2": [128, 256], "w3": [256, 16]}
    weights = [numpy_helper.from_array(
        rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32), name)
        for name, shape in shapes.items() if name != "b1"]
    weights.append(numpy_helper.from_array(np.zeros(128, np.float32), "b1"))
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"]),
             helper.make_node("Add", ["a", "b1"], ["b"]),
             helper.make_node("Relu", ["b"], ["c"]),
             helper.make_node("MatMul", ["c", "w2"], ["d"]),
             helper.make_node("Relu", ["d"], ["e"]),
             helper.make_node("MatMul", ["e", "w3"], ["y"])]
    save_model(path, nodes, (2, 8, 16), (2, 8, 16), weights)


def make_images(path, rng):
    """Images [2, 3, 28, 28] through a convolution and a batch normalisation,
    whose channels are summed in two parts; a number for each of 16 channels."""
    weights = [numpy_helper.from_array(
        rng.normal(0, 0.3, shape).astype(np.float32), name)
        for name, shape in (("filter", (16, 3, 1, 1)), ("bias", (16,)))]
    weights += [numpy_helper.from_array(np.full(16, value, np.float32), name)
                for name, value in (("scale", 1), ("mean", 0), ("var", 1))]
    nodes = [helper.make_node("Conv", ["x", "filter"], ["c"]),
             helper.make_node("BatchNormalization",
                              ["c", "scale", "bias", "mean", "var"],
                              ["n", "mean1", "var1"], training_mode=1),
             helper.make_node("Relu", ["n"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["y"])]
    save_model(path, nodes, (2, 3, 28, 28), (2, 16, 1, 1), weights)


def make_averages(path, rng):
    """Images [2, 3, 17, 17] through a convolution, padded at the end alone, and
    three average pools: one that counts its padding, one that does not, at the
    end alone too, one of tiles."""
    weights = [numpy_helper.from_array(
        rng.normal(0, 0.2, (16, 3, 3, 3)).astype(np.float32), "filter")]

    def average(of, result, size, stride, pads, **more):
        return helper.make_node(
            "AveragePool", [of], [result], kernel_shape=[size] * 2,
            strides=[stride] * 2, pads=pads, **more)
    nodes = [helper.make_node("Conv", ["x", "filter"], ["c"], strides=[2, 2],
                              pads=[0, 0, 1, 1]),
             average("c", "a", 3, 1, [1] * 4, count_include_pad=1),
             helper.make_node("Relu", ["a"], ["r"]),
             average("r", "b", 3, 2, [0, 0, 1, 1]),
             average("b", "t", 2, 2, [0] * 4),
             helper.make_node("GlobalAveragePool", ["t"], ["y"])]
    save_model(path, nodes, (2, 3, 17, 17), (2, 16, 1, 1), weights)


def make_norms(path, rng):
    """Images [2, 3, 6, 6] through two convolutions, each with a batch
    normalisation and a ReLU, the first ReLU's result added before the second; a
    number for each of 16 channels."""
    weights = [numpy_helper.from_array(
        rng.normal(0, 0.5, shape).astype(np.float32), name)
        for name, shape in (("f1", (16, 3, 1, 1)), ("f2", (16, 16, 1, 1)),
                            ("bias", (16,)))]
    weights += [numpy_helper.from_array(np.full(16, value, np.float32), name)
                for name, value in (("scale", 1), ("mean", 0), ("var", 1))]

    def norm(of, result):
        return helper.make_node(
            "BatchNormalization", [of, "scale", "bias", "mean", "var"],
            [result, result + "_mean", result + "_var"], training_mode=1)
    nodes = [helper.make_node("Conv", ["x", "f1"], ["c1"]), norm("c1", "n1"),
             helper.make_node("Relu", ["n1"], ["r1"]),
             helper.make_node("Conv", ["r1", "f2"], ["c2"]), norm("c2", "n2"),
             helper.make_node("Add", ["n2", "r1"], ["s"]),
             helper.make_node("Relu", ["s"], ["r2"]),
             helper.make_node("GlobalAveragePool", ["r2"], ["y"])]
    save_model(path, nodes, (2, 3, 6, 6), (2, 16, 1, 1), weights)


def make_tokens(path, rng):
    """The mean of 200 rows of a table each, many of them the same."""
    table = numpy_helper.from_array(
        rng.normal(0, 0.3, (50, 40)).astype(np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "x"], ["g"]),
             helper.make_node("Relu", ["g"], ["r"]),
             helper.make_node("ReduceMean", ["r", "axes"], ["y"], keepdims=0)]
    axes = numpy_helper.from_array(np.array([1]), "axes")
    save_model(path, nodes, (2, 200), (2, 40), [table, axes],
               of=TensorProto.INT64)


class Against(Fake):
    """The same training on the CPU."""

    def losses(self, model, target, data, precision="bf16", *options):
        artifact = self.folder / f"{target}.zca"
        self.zc("compile", model, "--target", target, "-o", artifact,
                "--loss", "mse", "--optimizer", "sgd", "--precision", precision,
                *options)
        self.log.unlink(missing_ok=True)
        (self.folder / "calls").unlink(missing_ok=True)
        self.zc("run", artifact, "--data", data, "--steps", 5, "--lr", 0.5,
                "--no-shuffle", "--log", self.log, env=self.gpu)
        return [line["loss"] for line in read_log(self.log)]

    def last_calls(self):
        """What the last run called."""
        return (self.folder / "calls").read_text()

    def check_both_ways(self, model, data, library, calls, left_out):
        """The CPU's losses, by a `library` with such `calls`, and without it."""
        # Sums in another order; 8 bits rounded at different places.
        for precision, tolerance in (("fp32", 1e-5), ("bf16", 0.02)):
            expected = self.losses(model, "cpu", data, precision)
            losses = self.losses(model, "cuda", data, precision)
            for call in calls:
                self.assertIn(call, self.last_calls())
            np.testing.assert_allclose(losses, expected, rtol=tolerance)
            generated = self.losses(model, "cuda", data, precision,
                                    f"--libraries=-{library}")
            self.assertNotIn(left_out, self.last_calls())
            np.testing.assert_allclose(generated, expected, rtol=tolerance)

    def test_attention_and_epilogues(self):
        rng = np.random.default_rng(0)
        model, data = self.folder / "block.onnx", self.folder / "data.npz"
        make_block(model, rng)
        np.savez(data, x=rng.normal(0, 1, (4, 8, 16)).astype(np.float32),
                 labels=rng.normal(0, 1, (4, 8, 16)).astype(np.float32))
        expected = self.losses(model, "cpu", data)
        # GELU_AUX_BIAS, then DGELU or, where sums are asked for, DGELU_BGRAD.
        for sums, gradient in (("", 192), (",cublaslt.sums", 208)):
            losses = self.losses(
                model, "cuda", data, "bf16",
                f"--libraries=all,cudnn.short-attention{sums}")
            calls = self.last_calls()
            self.assertIn("cudnnBackendExecute", calls)
            for epilogue in (164, gradient):
                self.assertIn(f"cublasLtMatmul epilogue {epilogue} ", calls)
            # Weights and activations of 8 bits, rounded at different places.
            np.testing.assert_allclose(losses, expected, rtol=0.02)
        losses = self.losses(model, "cuda", data, "bf16",
                             "--libraries=-cublaslt.epilogue")
        calls = self.last_calls()
        self.assertNotIn("cudnnBackendExecute", calls)
        self.assertNotIn("epilogue", calls)
        np.testing.assert_allclose(losses, expected, rtol=0.02)
        losses = self.losses(model, "cuda", data, "bf16",
                             "--libraries=-cublaslt.matmul")
        np.testing.assert_allclose(losses, expected, rtol=0.02)
        self.assertNotIn("cublasLtMatmul", self.last_calls())

    def test_relus(self):
        rng = np.random.default_rng(3)
        model, data = self.folder / "relus.onnx", self.folder / "data.npz"
        make_relus(model, rng)
        x = rng.normal(0, 1, (4, 8, 16)).astype(np.float32)
        labels = rng.normal(0, 1, (4, 8, 16)).astype(np.float32)
        x[:, 3] = 0  # ReLUs of 0, whose gradient is 0
        np.savez(data, x=x, labels=labels)
        expected = self.losses(model, "cpu", data, "fp32")
        losses = self.losses(model, "cuda", data, "fp32")
        self.assertIn("cublasLtMatmul epilogue 6 ", self.last_calls())
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
        # Bits let them pass.
        bits = self.losses(model, "cuda", data, "fp32", RELU_BITS_AND_SUMS)
        self.assertEqual(bits[0], losses[0])
        self.assertGreater(abs(bits[4] / losses[4] - 1), 1e-4)

    def test_relus_leave_bits_for_their_gradients(self):
        rng = np.random.default_rng(3)
        model, data = self.folder / "relus.onnx", self.folder / "data.npz"
        make_relus(model, rng)
        np.savez(data, x=rng.normal(0, 1, (4, 8, 16)).astype(np.float32),
                 labels=rng.normal(0, 1, (4, 8, 16)).astype(np.float32))
        expected = self.losses(model, "cpu", data, "fp32")
        losses = self.losses(model, "cuda", data, "fp32", RELU_BITS_AND_SUMS)
        calls = self.last_calls()
        # RELU_AUX_BIAS, RELU_AUX, DRELU_BGRAD and DRELU.
        for epilogue in (134, 130, 152, 136):
            self.assertIn(f"cublasLtMatmul epilogue {epilogue} ", calls)
        # Sums in another order.
        np.testing.assert_allclose(losses, expected, rtol=1e-5)

    def test_channels_are_summed_by_teams(self):
        rng = np.random.default_rng(1)
        model, data = self.folder / "images.onnx", self.folder / "data.npz"
        make_images(model, rng)
        np.savez(data, x=rng.normal(0, 1, (4, 3, 28, 28)).astype(np.float32),
                 labels=rng.normal(0, 1, (4, 16, 1, 1)).astype(np.float32))
        self.check_both_ways(model, data, "cudnn.convolution",
                             [": convolution"], ": convolution")

    def check_max_pools(self, name):
        fixture = Fixture(name)
        x = np.load(fixture.data)["x"][:2 * fixture.reference["batch"]]
        np.save(self.folder / "x.npy", x)

        def evaluate(target, *options):
            artifact, output = self.folder / "a.zca", self.folder / "outputs"
            (self.folder / "calls").unlink(missing_ok=True)
            self.zc("compile", fixture.model, "--target", target, "-o",
                    artifact, *fixture.compile_options("adamw"), *options)
            self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                    "--output-dir", output, env=self.gpu)
            return np.load(output / "logits.npy")

        # Sums of convolutions in another order.
        expected = evaluate("cpu")
        scale = {"rtol": 1e-5, "atol": 1e-5 * np.abs(expected).max()}
        np.testing.assert_allclose(evaluate("cuda"), expected, **scale)
        self.assertIn(": pool", self.last_calls())
        generated = evaluate("cuda", "--libraries=-cudnn.pooling")
        self.assertNotIn(": pool", self.last_calls())
        np.testing.assert_allclose(generated, expected, **scale)

    def test_average_pools(self):
        rng = np.random.default_rng(5)
        model, data = self.folder / "averages.onnx", self.folder / "data.npz"
        make_averages(model, rng)
        np.savez(data, x=rng.normal(0, 1, (4, 3, 17, 17)).astype(np.float32),
                 labels=rng.normal(0, 1, (4, 16, 1, 1)).astype(np.float32))
        # Average pools with padding are the library's kind 2, without 4.
        self.check_both_ways(
            model, data, "cudnn.pooling",
            [": convolution 1[2,3,17,17]", ": pool 2 ", ": pool 4 ",
             ": pool's gradient 2 ", ": pool's gradient 4 "], "pool")

    def test_batch_norms_with_relu(self):
        rng = np.random.default_rng(4)
        model, data = self.folder / "norms.onnx", self.folder / "data.npz"
        make_norms(model, rng)
        np.savez(data, x=rng.normal(0, 1, (4, 3, 6, 6)).astype(np.float32),
                 labels=rng.normal(0, 1, (4, 16, 1, 1)).astype(np.float32))
        expected = self.losses(model, "cpu", data, "fp32")
        # Images of 8 or 11 bits, of 5 steps: the calls round less often than
        # generated kernels do, and both differ from float32 by that much.
        for precision, bits in (("bf16", 8), ("fp16", 11)):
            near = {"rtol": 8 * 0.5 ** bits}
            losses = self.losses(model, "cuda", data, precision)
            calls = self.last_calls()
            for call in ("norm 1[2,16,6,6]", ": norm by moments ",
                         "cudnn norm's gradient "):
                self.assertIn(call, calls)
            np.testing.assert_allclose(losses, expected, **near)
            losses = self.losses(model, "cuda", data, precision,
                                 "--libraries=-cudnn.norm")
            self.assertNotIn("norm", self.last_calls())
            np.testing.assert_allclose(losses, expected, **near)
        # Float32 is for generated kernels.
        losses = self.losses(model, "cuda", data, "fp32")
        self.assertNotIn("norm", self.last_calls())
        np.testing.assert_allclose(losses, expected, rtol=1e-5)

    def test_norms_are_computed_again_where_selected(self):
        """Their results are large, and made by little more than moving memory:
        a library's products are kept, not they."""
        norms = {}
        for recompute in ("none", "selective"):
            artifact = self.artifact("cnn", "--precision", "bf16",
                                     "--recompute", recompute)
            ops = json.loads(self.zc("inspect", artifact, "--ops", "--json"))
            norms[recompute] = ops["ops"]["programs"]["step"]["norm"]
        self.assertGreater(norms["selective"], norms["none"])

    def test_max_pools_of_evaluation(self):
        for name in ("cnn", "resnet", "vgg", "unet"):
            self.check_max_pools(name)

    def test_rows_of_a_table_are_divided_among_warps(self):
        rng = np.random.default_rng(2)
        model, data = self.folder / "tokens.onnx", self.folder / "data.npz"
        make_tokens(model, rng)
        np.savez(data, x=rng.integers(0, 9, (4, 200)) ** 2 % 50,
                 labels=rng.normal(0, 1, (4, 40)).astype(np.float32))
        losses = self.losses(model, "cuda", data, "fp32")
        # 400 updates are worth 8 warps.
        self.assertRegex(self.last_calls(), r"grid \d+ threads 256 ")
        np.testing.assert_allclose(
            losses, self.losses(model, "cpu", data, "fp32"), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
