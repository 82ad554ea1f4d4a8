#!/usr/bin/env python3
"""A layer of experts against a dense one of as many FLOPs, and against PyTorch.

  experts.py [--build BUILD] [--rounds N] [--threads N] [shape options]

Of 8 experts a token has 2; the dense layer is twice as wide as one expert. Both
are trained by SGD on a squared error, in turns with PyTorch's eager step of the
same layer of experts, which multiplies each expert's tokens by themselves
(tools/export/zc_moe.py). A row: the median step of each in milliseconds over
all rounds. Needs a Python with PyTorch and onnx; tools/bench/README.md has what
was measured.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "export"))
import zc_moe  # noqa: E402
import zc_moe_body  # noqa: E402


def save(path, nodes, weights, shape, functions=()):
    graph = helper.make_graph(
        nodes, "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name)
         for name, value in weights.items()])
    onnx.save(helper.make_model(
        graph, ir_version=10, functions=functions, opset_imports=[
            helper.make_opsetid("", zc_moe_body.OPSET),
            helper.make_opsetid(zc_moe.DOMAIN, 1)]), path)


def draw(random, *shape):
    return random.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)


def save_experts(path, options, random):
    """The layer of zc_moe, whose weights it has; returns these."""
    layer = zc_moe.MoE(options.hidden, options.inner, options.experts,
                       options.chosen)
    function = zc_moe_body.make_function(zc_moe.DOMAIN, layer.settings)
    weights = {
        "router": draw(random, options.experts, options.hidden),
        "w1": draw(random, options.experts, 2 * options.inner, options.hidden),
        "w2": draw(random, options.experts, options.hidden, options.inner)}
    node = helper.make_node("MoE", ["x", *weights], ["y", "balance", "z"],
                            domain=zc_moe.DOMAIN, overload=function.overload,
                            **vars(layer.settings))
    save(path, [node], weights, [options.tokens, options.hidden], [function])
    return layer, weights


def save_dense(path, options, random):
    """One expert of the width of all that a token has."""
    inner = options.chosen * options.inner
    weights = {"w1": draw(random, 2 * inner, options.hidden).T.copy(),
               "w2": draw(random, options.hidden, inner).T.copy()}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["up"]),
             helper.make_node("Split", ["up"], ["a", "b"], axis=-1,
                              num_outputs=2),
             helper.make_node("Sigmoid", ["a"], ["open"]),
             helper.make_node("Mul", ["a", "open"], ["active"]),
             helper.make_node("Mul", ["active", "b"], ["gated"]),
             helper.make_node("MatMul", ["gated", "w2"], ["y"])]
    save(path, nodes, weights, [options.tokens, options.hidden])


def compile_model(options, model):
    artifact = model.with_suffix(".zca")
    subprocess.run([options.build / "bin" / "zc", "compile", model, "-o",
                    artifact, "--loss", "mse", "--optimizer", "sgd",
                    "--cpu-threads", str(options.threads)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return artifact


def time_zc(options, artifact, data):
    """Milliseconds of each step but the first two."""
    log = artifact.with_suffix(".jsonl")
    subprocess.run([options.build / "bin" / "zc", "run", artifact, "--data", data,
                    "--steps", str(options.steps + 2), "--lr", "1e-3", "--log",
                    log, "--threads", str(options.threads)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["step_ms"] for line in lines[2:]]


def time_torch(options, layer, weights, data):
    for name, value in zip(("router", "gate_up_proj", "down_proj"),
                           weights.values()):
        getattr(layer, name).data.copy_(torch.tensor(value))
    x, labels = (torch.tensor(data[name]) for name in ("x", "labels"))
    optimizer = torch.optim.SGD(layer.parameters(), 1e-3)
    times = []
    for _ in range(options.steps + 2):
        begin = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(layer(x), labels).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times[2:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    for name, value in (("tokens", 2048), ("hidden", 512), ("inner", 1024),
                        ("experts", 8), ("chosen", 2), ("rounds", 3),
                        ("steps", 10), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    random = np.random.default_rng(0)
    data = {name: random.normal(size=(options.tokens, options.hidden))
            .astype(np.float32) for name in ("x", "labels")}
    times = {"dense": [], "experts": [], "torch": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        np.savez(folder / "data.npz", **data)
        layer, weights = save_experts(folder / "experts.onnx", options, random)
        save_dense(folder / "dense.onnx", options, random)
        artifacts = {name: compile_model(options, folder / f"{name}.onnx")
                     for name in ("dense", "experts")}
        for _ in range(options.rounds):
            for name, artifact in artifacts.items():
                times[name] += time_zc(options, artifact, folder / "data.npz")
            times["torch"] += time_torch(options, layer, weights, data)
    median = {name: statistics.median(each) for name, each in times.items()}
    print(", ".join(f"{name} {value:.1f} ms" for name, value in
                    median.items()))
    rate = median["dense"] / median["experts"]
    share = median["experts"] / median["torch"]
    print(f"experts have {rate:.2f} of the dense layer's rate and take "
          f"{share:.2f} of PyTorch's time")


if __name__ == "__main__":
    main()
