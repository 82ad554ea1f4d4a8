#!/usr/bin/env python3
"""Quantised operators: what they compute, against ONNX Runtime, and gradients.

Pairs of QuantizeLinear and DequantizeLinear have PyTorch's straight-through
gradient; scales have that of LSQ.
"""
import pathlib
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, latest_step, load_tensors

FLOAT = TensorProto.FLOAT
MICROSOFT = "com.microsoft"


def draw(*shape, seed=0, scale=1.0):
    rng = np.random.default_rng(seed + 7 * sum(shape))
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def whole(*shape, kind=np.uint8, seed=0):
    limits = np.iinfo(kind)
    rng = np.random.default_rng(seed + 7 * sum(shape))
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)


def stored(kind):
    """Makes a tensor of several numbers, or one without dims."""
    return lambda *values: np.array(values if len(values) > 1 else values[0],
                                    kind)


f32, u8, i8 = stored(np.float32), stored(np.uint8), stored(np.int8)


class Case:
    """A node of stored operands, but for the first, an input."""

    def __init__(self, op, operands, domain="", outputs=1, slack=0,
                 **attributes):
        """`slack`: how far whole numbers may be from ONNX Runtime's."""
        self.op, self.operands, self.domain = op, operands, domain
        self.outputs, self.slack = outputs, slack
        self.attributes = attributes


def roundings():
    x = draw(4, 6, scale=40)
    x[0, :4] = [0.5, 1.5, 2.5, -0.5]  # halves: the even neighbour
    x[1, :2] = [1e9, -1e9]
    for name, zero in (("u8", u8(100)), ("i8", i8(-3)),
                       ("u16", np.array(7, np.uint16)),
                       ("i16", np.array(-9, np.int16))):
        yield f"q_{name}", Case("QuantizeLinear", [x, f32(0.25), zero])
        yield f"d_{name}", Case(
            "DequantizeLinear",
            [whole(4, 6, kind=zero.dtype), f32(0.3), zero])
    yield "q_bare", Case("QuantizeLinear", [x, f32(0.5)])
    yield "q_axis", Case("QuantizeLinear",
                         [x, f32(1, 2, 3, 4), u8(1, 2, 3, 4)], axis=0)
    yield "q_blocks", Case(
        "QuantizeLinear", [x, draw(4, 2) ** 2 + 1, whole(4, 2)], axis=1,
        block_size=4)
    yield "d_bare", Case("DequantizeLinear", [whole(3, 5), f32(2.5)])
    yield "d_i32", Case("DequantizeLinear",
                        [whole(3, 5, kind=np.int32) // 1000, f32(2.5)])
    yield "d_axis", Case(
        "DequantizeLinear", [whole(2, 3, 4, kind=np.int8), f32(1, 2, 3),
                             i8(1, 0, -1)], axis=-2)
    yield "d_blocks", Case(
        "DequantizeLinear", [whole(5, 3), draw(2, 3), whole(2, 3)], axis=0,
        block_size=3)
    yield "dynamic", Case("DynamicQuantizeLinear", [x[2:]], outputs=3)


def products():
    a, b = whole(3, 700, seed=1), whole(700, 4, kind=np.int8)
    yield "integers", Case("MatMulInteger", [a, b, u8(12), i8(-3)])
    yield "integers_columns", Case("MatMulInteger",
                                   [a, b, u8(12), i8(1, 2, 3, 4)])
    yield "integers_batch", Case("MatMulInteger",
                                 [whole(2, 3, 5), whole(2, 5, 4)])
    yield "conv_integers", Case(
        "ConvInteger", [whole(2, 40, 6, 6), whole(5, 40, 3, 3), u8(3), u8(9)],
        pads=[1, 1, 1, 1], strides=[2, 2])
    yield "matmul", Case(
        "QLinearMatMul", [whole(3, 8), f32(0.1), u8(120), whole(8, 4),
                          f32(0.2), u8(130), f32(3.0), u8(128)], slack=1)
    yield "matmul_columns", Case(
        "QLinearMatMul", [whole(3, 8), f32(0.1), u8(120),
                          whole(8, 4, kind=np.int8), f32(0.1, 0.2, 0.3, 0.4),
                          i8(0, 1, 2, 3), f32(3.0), u8(128)], slack=1)
    yield "conv", Case(
        "QLinearConv",
        [whole(2, 4, 7, 7), f32(0.05), u8(128), whole(6, 2, 3, 3,
                                                      kind=np.int8),
         draw(6) ** 2 * 0.02 + 0.01, np.zeros(6, np.int8), f32(0.3), u8(120),
         np.arange(6, dtype=np.int32) * 100], slack=1, group=2,
        pads=[1, 0, 1, 0])


def optimised():
    a, b = whole(2, 3, 4, 4), whole(2, 3, 4, 4, seed=5)
    one, two, out = (f32(0.1), u8(120)), (f32(0.2), u8(99)), \
        (f32(0.3), u8(128))
    for op in ("QLinearAdd", "QLinearMul"):
        yield op, Case(op, [a, *one, b, *two, *out], MICROSOFT, slack=1)
    small = (f32(1 / 256), u8(0))
    yield "sigmoid", Case("QLinearSigmoid", [a, *one, *small], MICROSOFT,
                          slack=1)
    yield "leaky", Case("QLinearLeakyRelu", [a, *one, *one], MICROSOFT,
                        slack=1, alpha=0.2)
    yield "softmax", Case("QLinearSoftmax", [a, *one, *small], MICROSOFT,
                          slack=1, axis=-1, opset=13)
    yield "global", Case("QLinearGlobalAveragePool", [a, *one, *one],
                         MICROSOFT, slack=1)
    yield "average", Case("QLinearAveragePool", [a, *one, *one], MICROSOFT,
                          slack=1, kernel_shape=[2, 2])
    # A quantiser leaves these as they are between quantised operators.
    for name, image in (("u8", a), ("i8", whole(2, 3, 4, 4, kind=np.int8))):
        yield f"largest_{name}", Case("MaxPool", [image], kernel_shape=[3, 3],
                                      strides=[2, 2], pads=[1, 1, 1, 1])
        yield f"enlarged_{name}", Case("Resize", [image, None, f32(1, 1, 2, 3)])
        yield f"between_{name}", Case("Resize", [image, None, f32(1, 1, 2, 3)],
                                      slack=1, mode="linear")
    yield "gemm", Case(
        "QGemm", [whole(3, 8), *one, whole(5, 8, kind=np.int8), f32(0.02),
                  i8(0), np.arange(5, dtype=np.int32), *out], MICROSOFT,
        slack=1, transB=1)
    yield "dynamic_matmul", Case(
        "DynamicQuantizeMatMul", [draw(3, 8), whole(8, 4, kind=np.int8),
                                  f32(0.02), i8(3), draw(4)], MICROSOFT)
    yield "to_float", Case(
        "MatMulIntegerToFloat",
        [whole(3, 8), whole(8, 4, kind=np.int8), f32(0.1), f32(0.02), u8(7),
         i8(3), draw(4)], MICROSOFT)
    yield "quantize", Case("QuantizeLinear", [draw(3, 4), f32(0.02), i8(3)],
                           MICROSOFT)
    yield "dequantize", Case("DequantizeLinear",
                             [whole(3, 4), f32(0.02), u8(3)], MICROSOFT)
    for bits in (4, 8):
        bytes_a_block = 16 * bits // 8
        size = dict(K=40, N=6, bits=bits, block_size=16)
        packed = whole(6, 3, bytes_a_block)
        yield f"bits{bits}", Case("MatMulNBits",
                                  [draw(5, 40), packed, draw(6, 3)],
                                  MICROSOFT, **size)
        yield f"bits{bits}_zero", Case(
            "MatMulNBits",
            [draw(2, 5, 40), packed, draw(6, 3).reshape(-1),
             whole(6, (3 * bits + 7) // 8), None, draw(6)], MICROSOFT, **size)


CASES = {name: case for family in (roundings, products, optimised)
         for name, case in family()}


def make_model(cases, opset=21):
    """All cases side by side, and what they take."""
    nodes, inputs, outputs, tensors, data = [], [], [], [], {}
    for name, case in cases.items():
        names = []
        for index, array in enumerate(case.operands):
            if array is None:
                names.append("")
                continue
            names.append(f"{name}_{index}")
            if index == 0:
                data[names[-1]] = array
                inputs.append(helper.make_tensor_value_info(
                    names[-1], helper.np_dtype_to_tensor_dtype(array.dtype),
                    array.shape))
            else:
                tensors.append(numpy_helper.from_array(array, names[-1]))
        results = [f"{name}.{i}" for i in range(case.outputs)]
        nodes.append(helper.make_node(case.op, names, results, name=name,
                                      domain=case.domain, **case.attributes))
        outputs += [onnx.ValueInfoProto(name=each) for each in results]
    graph = helper.make_graph(nodes, "quantised", inputs, outputs, tensors)
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])
    expected = run_model(model, data)
    for info in model.graph.output:
        array = expected[info.name]
        info.CopyFrom(helper.make_tensor_value_info(
            info.name, helper.np_dtype_to_tensor_dtype(array.dtype),
            array.shape))
    return model, data, expected


def run_model(model, data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Pairs stay pairs: fused, they are rounded elsewhere.
    options.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options,
        providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, data)))


# Without VNNI, ONNX Runtime adds up products of unsigned by signed bytes in 16
# bits that saturate: its results are not the operators' then.
SATURATES = "vnni" not in pathlib.Path("/proc/cpuinfo").read_text()


def saturates(case):
    types = {each.dtype for each in case.operands if each is not None}
    return SATURATES and {np.dtype("u1"), np.dtype("i1")} <= types


class QuantisedTest(ZcTest):
    def evaluate(self, path, data, *options):
        inputs = []
        for name, array in data.items():
            file = self.folder / f"{name}.npy"
            np.save(file, array)
            inputs += ["--input", f"{name}={file}", "--batch-dim",
                       f"{name}=none"]
        self.zc("eval", path, *inputs, "--output-dir", self.folder / "out",
                *options)
        return {file.name.removesuffix(".npy"): np.load(file)
                for file in (self.folder / "out").glob("*.npy")}

    def step(self, model, data, *options):
        """The amount that one step of SGD with a rate of 1 takes from each
        parameter."""
        path, artifact = self.folder / "m.onnx", self.folder / "m.zca"
        onnx.save(model, path)
        np.savez(self.folder / "data.npz", **data)
        self.zc("compile", path, "-o", artifact, "--loss", "mse",
                "--optimizer", "sgd", *options)
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", lr=1)
        after = load_tensors(latest_step(self.folder / "ckpt"))
        before = {each.name: numpy_helper.to_array(each)
                  for each in model.graph.initializer}
        return {name: before[name] - array for name, array in after.items()
                if name in before}


class Operators(QuantisedTest):
    def test_operators(self):
        """Each operator gives what ONNX Runtime gives."""
        model, data, expected = make_model(CASES)
        onnx.save(model, self.folder / "m.onnx")
        found = self.evaluate(self.folder / "m.onnx", data)
        for name, case in CASES.items():
            for index in range(case.outputs):
                ours, theirs = (each[f"{name}.{index}"]
                                for each in (found, expected))
                with self.subTest(name):
                    self.assertEqual(ours.dtype, theirs.dtype)
                    if saturates(case):
                        self.skipTest("ONNX Runtime saturates without VNNI")
                    if ours.dtype == np.float32:
                        np.testing.assert_allclose(ours, theirs, rtol=2e-5,
                                                   atol=2e-5)
                        continue
                    # ONNX Runtime rounds some results twice.
                    np.testing.assert_allclose(
                        ours.astype(np.int64), theirs.astype(np.int64),
                        rtol=0, atol=case.slack)
                    if theirs.size > 1:
                        self.assertGreater(len(np.unique(theirs)), 1)

    def test_packed(self):
        """Two numbers of four bits a byte, the last byte half full; those of
        the scale's blocks, and rounded to four bits."""
        rng = np.random.default_rng(1)
        tensors = []
        for kind, name, low in ((TensorProto.INT4, "w", -8),
                                (TensorProto.UINT4, "u", 0)):
            tensors.append(helper.make_tensor(
                name, kind, [5, 3], rng.integers(low, low + 16, 15)))
        tensors += [numpy_helper.from_array(draw(2, 3) ** 2 + 1, "scales"),
                    numpy_helper.from_array(f32(0.5), "scale"),
                    helper.make_tensor("zero", TensorProto.UINT4, [], [3])]
        nodes = [
            helper.make_node("DequantizeLinear", ["w", "scales"], ["a"],
                             axis=0, block_size=3),
            helper.make_node("DequantizeLinear", ["u", "scale", "zero"],
                             ["b"]),
            helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "scale", "zero"],
                             ["c"]),
            helper.make_node("Sum", ["a", "b", "c"], ["y"])]
        info = lambda name: helper.make_tensor_value_info(name, FLOAT, [5, 3])
        model = helper.make_model(
            helper.make_graph(nodes, "packed", [info("x")], [info("y")],
                              tensors),
            ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
        onnx.save(model, self.folder / "m.onnx")
        data = {"x": draw(5, 3, scale=5)}
        found = self.evaluate(self.folder / "m.onnx", data)
        np.testing.assert_allclose(found["y"], run_model(model, data)["y"],
                                   rtol=1e-6)



# From PyTorch's learnable fake quantisation (2.15), scale 0.25, zero point 16,
# 0 to 255: the values, their gradients and that of the scale where the result's
# gradient counts 1, 2, 3, ...
NUMBERS = f32(-5, -4.1, -3.96, -1.26, -0.25, 0, 0.13, 0.375, 0.3751, 2.4, 59.6,
              59.9, 70)
ROUNDED = f32(-4, -4, -4, -1.25, -0.25, 0, 0.25, 0.5, 0.5, 2.5, 59.5, 59.75,
              59.75)
PASSED = f32(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0)
SLOPE = 5970.9365
# Per channel, scales 0.01 and 0.02, -128 to 127.
ROWS = f32([-1.3, 0.2, 0.7], [0.9, -2.6, 2.55])
ROW_ROUNDED = f32([-1.28, 0.2, 0.7], [0.9, -2.56, 2.54])
ROW_PASSED = f32([0, 2, 3], [4, 0, 0])
ROW_SLOPES = f32(-128, 122)


def make_pair(numbers, scale, zero, axis=1):
    """A parameter that is rounded, and the input that a model has."""
    pair = [helper.make_node("QuantizeLinear", ["p", "scale", "zero"], ["q"],
                             axis=axis),
            helper.make_node("DequantizeLinear", ["q", "scale", "zero"],
                             ["d"], axis=axis),
            helper.make_node("Add", ["d", "z"], ["y"])]
    graph = helper.make_graph(
        pair, "pair", [helper.make_tensor_value_info("z", FLOAT, [1])],
        [helper.make_tensor_value_info("y", FLOAT, numbers.shape)],
        [numpy_helper.from_array(array, name) for name, array in
         (("p", numbers), ("scale", scale), ("zero", zero))])
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid("", 21)])


class Gradients(QuantisedTest):
    def slopes(self, model, rounded, *options):
        """Where the gradient of the mean squared error counts 1, 2, 3, ..."""
        wanted = np.arange(1, rounded.size + 1, dtype=np.float32)
        labels = rounded - wanted.reshape(rounded.shape) * rounded.size / 2
        return self.step(model, {"z": f32([0]), "labels": labels},
                         "--batch-dim", "z=none", *options)

    def check(self, scale, zero, numbers, rounded, passed, slopes, **axis):
        model = make_pair(numbers, scale, zero, **axis)
        found = self.slopes(model, rounded, "--train-scales")
        np.testing.assert_allclose(found["p"], passed, atol=1e-4)
        np.testing.assert_allclose(found["scale"], slopes, rtol=1e-5,
                                   atol=1e-3)

    def test_one_scale(self):
        self.check(f32(0.25), u8(16), NUMBERS, ROUNDED, PASSED, SLOPE)

    def test_channels(self):
        self.check(f32(0.01, 0.02), i8(0, 0), ROWS, ROW_ROUNDED, ROW_PASSED,
                   ROW_SLOPES, axis=0)

    def test_whole_multiples(self):
        """If numbers are whole multiples of the scale, as weights that a file
        stores as integers begin, the scale's gradient is 0. It is not the
        rounding of sums, of which Adam would make whole steps."""
        scale = f32(0.0057)
        numbers = np.arange(-128, 128).astype(np.float32) * scale
        found = self.slopes(make_pair(numbers, scale, i8(0)), numbers,
                            "--train-scales")
        self.assertEqual(found["scale"], 0)

    def test_scales_stay(self):
        """Unless they are asked for, scales are settings."""
        model = make_pair(NUMBERS, f32(0.25), u8(16))
        self.assertEqual(set(self.slopes(model, ROUNDED)), {"p"})

    def test_bf16(self):
        """Rounding to integers is computed in float32."""
        model = make_pair(NUMBERS, f32(0.25), u8(16))
        found = self.slopes(model, ROUNDED, "--precision", "bf16")
        np.testing.assert_allclose(found["p"], PASSED, atol=0.05)

    def test_refusals(self):
        """An option without effect is refused."""
        model = make_pair(NUMBERS, f32(0.25), u8(16))
        onnx.save(model, self.folder / "m.onnx")
        self.fails(2, ["--train-scales", "--mode train"], "compile",
                   self.folder / "m.onnx", "--mode", "infer",
                   "--train-scales", "-o", self.folder / "m.zca")
        del model.graph.node[:2]
        model.graph.node[0].input[0] = "p"
        onnx.save(model, self.folder / "m.onnx")
        self.fails(1, ["--train-scales", "no QuantizeLinear"], "compile",
                   self.folder / "m.onnx", "--loss", "mse", "--train-scales",
                   "--batch-dim", "z=none", "-o", self.folder / "m.zca")


if __name__ == "__main__":
    unittest.main()
