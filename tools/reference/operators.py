#!/usr/bin/env python3
"""Write models of the operators that no single ONNX operator of gradients.py
becomes, for tools/pack-gpu: what passes make of channels-last images, of
attention and of a language model's last layer.

  operators.py [--output test/fixtures/operators]

Written are `NAME.onnx` and `NAME.npz`, its inputs and labels. Needs ONNX's
package and numpy.
"""
import argparse
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

ROOT = pathlib.Path(__file__).resolve().parents[2]


def node(kind, inputs, output, *more, **attributes):
    return helper.make_node(kind, inputs.split(), [output, *more], **attributes)


def images(rng):
    """Two parts of rows are summed by channels; of the first images the signs
    may be kept, of maxima the places."""
    weights = {"filter": rng.normal(0, 0.3, (16, 3, 1, 1)),
               "scale": np.ones(16), "bias": rng.normal(0, 0.3, 16),
               "mean": np.zeros(16), "var": np.ones(16),
               "last": rng.normal(0, 0.3, (16, 16, 1, 1))}
    nodes = [node("Conv", "x filter", "c"),
             node("BatchNormalization", "c scale bias mean var", "n", "mean1",
                  "var1", training_mode=1),
             node("Relu", "n", "r"),
             node("AveragePool", "r", "a", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", "a last", "l"), node("Relu", "l", "s"),
             node("MaxPool", "s", "m", kernel_shape=[2, 2], strides=[2, 2]),
             node("GlobalAveragePool", "m", "p"), node("Flatten", "p", "y")]
    data = {"x": rng.normal(0, 1, (2, 3, 28, 28)).astype(np.float32),
            "labels": np.array([3, 11])}
    return nodes, weights, data, (2, 16)


def pools(rng):
    """Maxima that leave no places: nothing asks for the data's gradient."""
    weights = {"filter": rng.normal(0, 0.3, (8, 3, 1, 1))}
    nodes = [node("MaxPool", "x", "m", kernel_shape=[3, 2], strides=[2, 2],
                  pads=[1, 0, 1, 0]),
             node("Conv", "m filter", "c"), node("Relu", "c", "r"),
             node("GlobalAveragePool", "r", "p"), node("Flatten", "p", "y")]
    data = {"x": rng.normal(0, 1, (2, 3, 13, 12)).astype(np.float32),
            "labels": np.array([3, 5])}
    return nodes, weights, data, (2, 8)


def block(rng):
    """A transformer's layer: root mean squares, two heads of 8, a GELU."""
    weights = {name: rng.normal(0, 0.3, shape) for name, shape in (
        ("q", (16, 16)), ("k", (16, 16)), ("v", (16, 16)), ("fc", (16, 24)),
        ("bias", (24,)), ("out", (24, 16)))}
    weights["scale"] = np.ones(16)
    weights["heads"] = np.array([2, 8, 2, 8])
    weights["tokens"] = np.array([2, 8, 16])
    nodes = [node("RMSNormalization", "x scale", "n")]
    for name in "qkv":
        nodes += [node("MatMul", f"n {name}", name + "1"),
                  node("Reshape", f"{name}1 heads", name + "2"),
                  node("Transpose", name + "2", name + "3", perm=[0, 2, 1, 3])]
    nodes += [node("Attention", "q3 k3 v3", "a", is_causal=1),
              node("Transpose", "a", "b", perm=[0, 2, 1, 3]),
              node("Reshape", "b tokens", "c"), node("MatMul", "c fc", "d"),
              node("Add", "d bias", "e"),
              node("Gelu", "e", "f", approximate="tanh"),
              node("MatMul", "f out", "y")]
    data = {"x": rng.normal(0, 1, (2, 8, 16)).astype(np.float32),
            "labels": rng.integers(0, 16, (2, 8))}
    return nodes, weights, data, (2, 8, 16)


def vocabulary(rng):
    """Logits so many that they are computed in pieces."""
    weights = {"in": rng.normal(0, 0.5, (6, 4)),
               "head": (4, 32768)}  # drawn when a run begins
    nodes = [node("MatMul", "x in", "h"), node("MatMul", "h head", "y")]
    data = {"x": rng.normal(0, 1, (256, 6)).astype(np.float32),
            "labels": rng.integers(0, 32768, 256)}
    return nodes, weights, data, (256, 32768)


def relus(rng):
    """Two layers with a ReLU, rows of 128, behind biases of both forms of
    weights: their gradients' sums are over either factor's tokens."""
    weights = {"in": rng.normal(0, 0.4, (6, 128)),
               "bias": rng.normal(0, 0.3, 128),
               "middle": rng.normal(0, 0.1, (128, 128)),
               "shift": rng.normal(0, 0.3, 128),
               "out": rng.normal(0, 0.1, (4, 128)),
               "last": rng.normal(0, 0.3, 4)}
    nodes = [node("Gemm", "x in bias", "a"), node("Relu", "a", "b"),
             node("Gemm", "b middle shift", "c"), node("Relu", "c", "d"),
             node("Gemm", "d out last", "y", transB=1)]
    data = {"x": rng.normal(0, 1, (16, 6)).astype(np.float32),
            "labels": rng.integers(0, 4, 16)}
    return nodes, weights, data, (16, 4)


def functions(rng):
    """Trigonometric and hyperbolic functions of numbers inside their ranges."""
    weights = {"in": rng.normal(0, 0.4, (6, 32)),
               "bias": rng.normal(0, 0.3, 32),
               "shrink": np.array(0.9), "shift": np.array(2.5),
               "out": rng.normal(0, 0.1, (4, 32))}
    nodes = [node("Gemm", "x in bias", "a"), node("Tanh", "a", "t"),
             node("Mul", "t shrink", "h"), node("Add", "h shift", "above")]
    kinds = ("Tan", "Asin", "Acos", "Atanh", "Sinh", "Cosh", "Asinh",
             "Softsign")
    nodes += [node(kind, "h", kind.lower()) for kind in kinds]
    nodes += [node("Acosh", "above", "acosh"),
              node("Sum", " ".join(map(str.lower, kinds)) + " acosh", "s"),
              node("Gemm", "s out", "y", transB=1)]
    data = {"x": rng.normal(0, 1, (16, 6)).astype(np.float32),
            "labels": rng.integers(0, 4, 16)}
    return nodes, weights, data, (16, 4)


def initializer(name, value):
    if isinstance(value, np.ndarray):
        kind = np.int64 if value.dtype.kind == "i" else np.float32
        return numpy_helper.from_array(value.astype(kind), name)
    absent = TensorProto(name=name, dims=value, data_type=TensorProto.FLOAT,
                         data_location=TensorProto.EXTERNAL)
    absent.external_data.add(key="location", value="absent")
    return absent


def write(folder, build):
    nodes, weights, data, shape = build(np.random.default_rng(0))
    of = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
          for name, dims in (("x", data["x"].shape), ("y", shape))]
    graph = helper.make_graph(nodes, build.__name__, of[:1], of[1:],
                              [initializer(*each) for each in weights.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)],
                           ir_version=11), folder / f"{build.__name__}.onnx")
    np.savez(folder / f"{build.__name__}.npz", **data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=ROOT / "test" / "fixtures" / "operators")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for build in images, pools, block, vocabulary, relus, functions:
        write(folder, build)


if __name__ == "__main__":
    main()
