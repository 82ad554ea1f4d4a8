#!/usr/bin/env python3
"""Measure how exact the elementwise functions of generated code are.

  tools/elementwise_accuracy.py [--zc build/bin/zc] [--points N]
      [--readme passes/Codegen/README.md] [FUNCTION ...]

Every function is computed by `zc eval` at N float32 points (a million unless
told), of all exponents and both signs alike, and its gradient by one step of
gradient descent from zeros that are added to them; both are compared with
float64. Errors are in ulp, units of the last place of the true value; where a
gradient passes through zero, of its largest term. Numbers below the smallest
normal one, 2^-126, may be off by that. The table goes between the two lines of
the README that name this tool, or to the terminal.
"""
import argparse
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper
from safetensors.numpy import load_file

BEGIN = "<!-- begin: tools/elementwise_accuracy.py -->"
END = "<!-- end: tools/elementwise_accuracy.py -->"
VALUE_ULP, GRADIENT_ULP = 4, 8
SMALLEST = 2.0 ** -126
# A loss is the sum of all results: beyond this it would be infinite.
LARGEST_SUMMED = 1e31

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])
ROOT = 0.7071067811865475244
TANH_SCALE = 2 * 0.7978845608028653559


def sigmoid(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-abs(x)))


def density(x):
    return np.exp(-x * x / 2) * 0.3989422804014326779


def normal(x):
    return 0.5 * erfc(-x * ROOT)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))


def tanh_gelu_terms(x):
    u = TANH_SCALE * (x + 0.044715 * x ** 3)
    slope = TANH_SCALE * (1 + 3 * 0.044715 * x * x)
    return [sigmoid(u), x * sigmoid(u) * sigmoid(-u) * slope]


def mish_terms(x):
    power = np.exp(np.minimum(x, 40))
    n = power * (power + 2)
    return [n / (n + 2),
            np.minimum(x, 40) * 4 * power * (power + 1) / (n + 2) ** 2]


def swish_terms(alpha):
    return lambda x: [sigmoid(alpha * x),
                      alpha * x * sigmoid(alpha * x) * sigmoid(-alpha * x)]


ALPHA = float(np.float32(1.1))
ELU = float(np.float32(1.5))
CELU = float(np.float32(0.7))
SELU = 1.67326319217681884765625, 1.05070102214813232421875
SLOPE = float(np.float32(0.2))


def power(exponent):
    exponent = float(np.float32(exponent))
    return (lambda x: np.power(x, exponent),
            lambda x: [exponent * np.power(x, exponent - 1)],
            {"exponent": exponent})


def elu(scale, width=1.0, all_of=1.0):
    return (lambda x: all_of * np.where(
        x > 0, x, scale * np.expm1(np.minimum(x, 0) / width)),
        lambda x: [all_of * np.where(
            x > 0, 1, scale / width * np.exp(np.minimum(x, 0) / width))])


# Function: value, terms of the gradient, attributes. The operator is the name
# up to a blank.
FUNCTIONS = {
    "Exp": (np.exp, lambda x: [np.exp(x)], {}),
    "Log": (np.log, lambda x: [1 / x], {}),
    "Sqrt": (np.sqrt, lambda x: [0.5 / np.sqrt(x)], {}),
    "Reciprocal": (lambda x: 1 / x, lambda x: [-1 / x / x], {}),
    "Sin": (np.sin, lambda x: [np.cos(x)], {}),
    "Cos": (np.cos, lambda x: [-np.sin(x)], {}),
    "Tan": (np.tan, lambda x: [1 + np.tan(x) ** 2], {}),
    "Asin": (np.arcsin, lambda x: [1 / np.sqrt((1 - x) * (1 + x))], {}),
    "Acos": (np.arccos, lambda x: [-1 / np.sqrt((1 - x) * (1 + x))], {}),
    "Atan": (np.arctan, lambda x: [1 / (1 + x * x)], {}),
    "Sinh": (np.sinh, lambda x: [np.cosh(x)], {}),
    "Cosh": (np.cosh, lambda x: [np.sinh(x)], {}),
    "Tanh": (np.tanh, lambda x: [np.ones_like(x), -np.tanh(x) ** 2], {}),
    "Asinh": (np.arcsinh, lambda x: [1 / np.sqrt(1 + x * x)], {}),
    "Acosh": (np.arccosh, lambda x: [1 / np.sqrt((x - 1) * (x + 1))], {}),
    "Atanh": (np.arctanh, lambda x: [1 / ((1 - x) * (1 + x))], {}),
    "Erf": (erf, lambda x: [1.1283791670955125739 * np.exp(-x * x)], {}),
    "Sigmoid": (sigmoid, lambda x: [sigmoid(x), -sigmoid(x) ** 2], {}),
    "Softplus": (softplus, lambda x: [sigmoid(x)], {}),
    "Softsign": (lambda x: x / (1 + abs(x)),
                 lambda x: [1 / (1 + abs(x)) ** 2], {}),
    "Elu": (*elu(ELU), {"alpha": ELU}),
    "Celu": (*elu(CELU, CELU), {"alpha": CELU}),
    "Selu": (*elu(SELU[0], 1.0, SELU[1]), {}),
    "LeakyRelu": (lambda x: np.where(x > 0, x, SLOPE * x),
                  lambda x: [np.where(x > 0, 1, SLOPE)], {"alpha": SLOPE}),
    "HardSigmoid": (lambda x: np.clip(SLOPE * x + 0.5, 0, 1),
                    lambda x: [np.where(abs(SLOPE * x) < 0.5, SLOPE, 0)],
                    {"alpha": SLOPE}),
    "HardSwish": (lambda x: x * np.clip((x + 3) / 6, 0, 1),
                  lambda x: [np.clip((x + 3) / 6, 0, 1),
                             np.where(abs(x) <= 3, x / 6, 0)], {}),
    "Mish": (lambda x: x * mish_terms(x)[0], mish_terms, {}),
    "Swish": (lambda x: x * sigmoid(x), swish_terms(1.0), {}),
    "Swish alpha": (lambda x: x * sigmoid(ALPHA * x), swish_terms(ALPHA),
                    {"alpha": ALPHA}),
    "Gelu": (lambda x: x * normal(x),
             lambda x: [normal(x), x * density(x)], {}),
    "Pow -0.06": power(-0.06),
    "Pow 0.3": power(0.3),
    "Pow 2.5": power(2.5),
    "Gelu tanh": (lambda x: x * tanh_gelu_terms(x)[0], tanh_gelu_terms,
                  {"approximate": "tanh"}),
}


def points_of(count):
    """Float32 numbers of every sign and exponent, and each exponent's
    mantissas alike; the corners of the functions besides."""
    step = 2 ** 32 // count
    bits = np.arange(count, dtype=np.uint64) * step
    bits += np.random.default_rng(1).integers(0, step, count, np.uint64)
    points = bits.astype(np.uint32).view(np.float32)
    corners = np.float32([0, -0.0, 1, -1, 0.5, -0.5, 3, -3, 2, 88.5, 89, -87.3,
                          -88, -104, math.pi / 2, math.pi, 11, -17.5, -13.2,
                          np.inf, -np.inf, np.nan, 3e38, -3e38])
    near = np.concatenate([np.nextafter(corners, np.float32(np.inf)), corners,
                           np.nextafter(corners, np.float32(-np.inf))])
    points[:len(near)] = near
    return points


def nodes_of(name, source, result):
    """The function; an "exponent" is a constant operand, no attribute."""
    attributes = dict(FUNCTIONS[name][2])
    nodes, sources = [], [source]
    if "exponent" in attributes:
        sources.append(f"exponent_{result}")
        nodes.append(helper.make_node("Constant", [], [sources[1]],
                                      value_float=attributes.pop("exponent")))
    nodes.append(helper.make_node(name.split()[0], sources, [result],
                                  f"f_{result}", **attributes))
    return nodes


def save(path, nodes, inputs, outputs, parameters=()):
    graph = helper.make_graph(
        nodes, "functions",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
         for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
         for name, shape in outputs], list(parameters))
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 24)]), path)


def run(command):
    result = subprocess.run([str(part) for part in command],
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr[:4000]}")


def values_of(zc, folder, names, points):
    """The values that zc computes of each function at the points."""
    count = len(points)
    save(folder / "values.onnx",
         [node for i, name in enumerate(names)
          for node in nodes_of(name, "x", f"y{i}")],
         [("x", [1, count])],
         [(f"y{i}", [1, count]) for i in range(len(names))])
    np.save(folder / "x.npy", points[None])
    run([zc, "eval", folder / "values.onnx", "--input",
         f"x={folder / 'x.npy'}", "--output-dir", folder / "out"])
    return {name: np.load(folder / "out" / f"y{i}.npy")[0]
            for i, name in enumerate(names)}


def gradients_of(zc, folder, points):
    """The gradient of each function at points of its own: name -> points. A
    parameter of zeros is added to them; a step of rate 1 leaves minus the
    gradient in it."""
    count = max(map(len, points.values()))
    nodes, sums, parameters, data = [], [], [], {}
    for i, (name, own) in enumerate(points.items()):
        parameters.append(onnx.numpy_helper.from_array(
            np.zeros([1, count], np.float32), f"p{i}"))
        nodes += [helper.make_node("Add", [f"x{i}", f"p{i}"], [f"h{i}"]),
                  *nodes_of(name, f"h{i}", f"y{i}"),
                  helper.make_node("ReduceSum", [f"y{i}"], [f"s{i}"],
                                   keepdims=0)]
        sums.append(f"s{i}")
        data[f"x{i}"] = np.resize(own, count)[None]
    nodes.append(helper.make_node("Sum", sums, ["cost"]))
    save(folder / "gradients.onnx", nodes,
         [(name, [1, count]) for name in data], [("cost", [])], parameters)
    np.savez(folder / "data.npz", **data)
    run([zc, "compile", folder / "gradients.onnx", "--loss", "none",
         "--loss-output", "cost", "--optimizer", "sgd", "-o",
         folder / "g.zca"])
    run([zc, "run", folder / "g.zca", "--data", folder / "data.npz", "--steps",
         "1", "--lr", "1", "--checkpoint", folder / "ckpt"])
    run([zc, "export", folder / "g.zca", "--checkpoint", folder / "ckpt",
         "--safetensors", folder / "g.safetensors"])
    found = load_file(folder / "g.safetensors")
    return {name: -found[f"p{i}"][0][:len(own)]
            for i, (name, own) in enumerate(points.items())}


def errors_of(found, exact, unit_of, smallest=None):
    """In ulp of `unit_of`; infinite where one of both is no number or beyond
    all, or a tiny one is off by more than the smallest normal number. Tiny is
    what is made of a subnormal number: `smallest`, or the result itself."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        unit = np.spacing(np.abs(unit_of).astype(np.float32)).astype(float)
        off = np.abs(found.astype(float) - exact)
        error = off / np.maximum(unit, SMALLEST * 2.0 ** -23)
        tiny = np.abs(exact if smallest is None else smallest) < SMALLEST
        error[tiny & (off <= SMALLEST)] = 0
        error[(np.abs(exact) < SMALLEST) & (off > SMALLEST)] = np.inf
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        odd = ~np.isfinite(found) | ~np.isfinite(rounded)
        # Next to infinity either side will do.
        edge = np.abs(np.nan_to_num(np.where(np.isinf(found), exact, found)))
        error[odd] = np.where(edge[odd] > 3.4028230e38, 0, np.inf)
        error[same] = np.minimum(error[same], 0.5)
        error[same & odd] = 0
    return error


def gradient_points(name, points):
    """Where a function's value can be added up and its gradient is finite."""
    value, terms, _ = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        x = points.astype(float)
        slope = sum(terms(x))
        fine = (np.abs(value(x)) < LARGEST_SUMMED) & (np.abs(slope) < 1e37)
        # Below 2^-126, e^x is flushed to 0, and nothing is left to be scaled.
        if name in ("Elu", "Celu", "Selu"):
            fine &= x > -61
    return points[fine & (points != 0)]


def measure(zc, count, names=None):
    """(function, what, largest error in ulp, where) of values, gradients."""
    names = list(names or FUNCTIONS)
    points = points_of(count)
    rows = []
    with tempfile.TemporaryDirectory(prefix="zc-accuracy-") as folder, \
            np.errstate(all="ignore"):
        folder = pathlib.Path(folder)
        own = {name: gradient_points(name, points) for name in names}
        values = values_of(zc, folder, names, points)
        slopes = gradients_of(zc, folder, own)
        for name in names:
            value, terms, _ = FUNCTIONS[name]
            exact = value(points.astype(float))
            error = errors_of(values[name], exact, exact)
            # At infinite operands the limit or NaN is right, as in PyTorch.
            error[np.isinf(points) & (np.isnan(values[name]) |
                                      np.isnan(exact))] = 0
            rows.append((name, "value", error.max(), points[error.argmax()]))
            parts = terms(own[name].astype(float))
            sizes = np.abs(parts)
            error = errors_of(slopes[name], sum(parts), sizes.max(0),
                              sizes.min(0))
            rows.append((name, "gradient", error.max(),
                         own[name][error.argmax()]))
    return rows


def limit_of(name, what):
    return VALUE_ULP if what == "value" else GRADIENT_ULP


def table(rows, count):
    lines = [f"Largest errors in ulp at {count} points, the gradient's in ulp "
             "of its largest term:", "",
             "| function | value | at | gradient | at |",
             "| --- | --- | --- | --- | --- |"]
    for (name, _, value, place), (_, _, slope, there) in zip(rows[::2],
                                                             rows[1::2]):
        lines.append(f"| {name} | {value:.2f} | {place:.6g} | {slope:.2f} | "
                     f"{there:.6g} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--zc", default="build/bin/zc")
    parser.add_argument("--points", type=int, default=2 ** 20)
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("functions", nargs="*")
    options = parser.parse_args()
    rows = measure(options.zc, options.points, options.functions)
    text = table(rows, options.points)
    if options.readme:
        old = options.readme.read_text()
        options.readme.write_text(re.sub(
            f"{BEGIN}.*{END}", f"{BEGIN}\n{text}\n{END}", old, flags=re.S))
    else:
        print(text)
    return any(error > limit_of(name, what) for name, what, error, _ in rows)


if __name__ == "__main__":
    sys.exit(main())
