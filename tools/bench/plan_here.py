#!/usr/bin/env python3
"""How near plans of this machine come to what `zc run` takes: six models, each
on one rank and in several layouts of two.

  plan_here.py [--cluster FILE] [--rounds 3] [--seconds 2] [--only REGEX]
               [--keep FOLDER | --measured FOLDER]

Without --cluster it calibrates first, on models of other shapes. Every layout is
compiled once, and run --rounds times for about --seconds, in turns. Compared is
the mean of the quickest quarter of a run's steps, of the quietest round: where
the machine does nothing else, that is near the median, which is printed beside
it. Where it is not, neither is to be trusted: the load is printed, too.

--keep leaves the cluster file, the artifacts and the times in a folder, by which
--measured plans once more, without runs: the machine must be quiet once only.

Ends with how many of the plans are within 15%, and in how many of the pairs of
one model's layouts that differ by more than 10% the quicker one is planned to be
quicker.
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from measure import ROOT, WARM_UP

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = ROOT / "test" / "fixtures"
LAYOUTS = {"1 rank": [], "dp=2": ["--mesh", "dp=2"],
           "tp=2": ["--mesh", "tp=2"],
           "pp=2": ["--mesh", "pp=2", "--accumulate", "4"],
           "ZeRO-3": ["--mesh", "dp=2", "--zero", "3"]}
NEAR, APART = 0.15, 0.10
TIMES = "times.json"  # of --keep


def call(*args):
    """The output of a command, or None where it fails."""
    done = subprocess.run([str(arg) for arg in args], text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        print(f"# {' '.join(map(str, args[:3]))}: {done.stderr[:300]}",
              file=sys.stderr)
    return done.stdout if done.returncode == 0 else None


class Model:
    """A model, its options and its samples."""

    def __init__(self, name, path, data, options):
        self.name, self.path, self.data = name, path, data
        self.options = ["--loss", "softmax-cross-entropy", *options]


def language(folder, script, name, **sizes):
    path = folder / f"{name}.onnx"
    flags = [part for key, value in sizes.items()
             for part in (f"--{key.replace('_', '-')}", value)]
    call(sys.executable, HERE / script, path, *flags)
    draw = np.random.default_rng(0)
    tokens = draw.integers(0, sizes["vocabulary"],
                           (sizes["batch"], sizes["length"]))
    data = folder / f"{name}.npz"
    np.savez(data, tokens=tokens, labels=tokens)
    return Model(name, path, data, ["--init", "normal:0.02"])


def dense(folder, name, batch, widths):
    """Layers with sigmoids between them."""
    draw = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for i, (rows, columns) in enumerate(zip(widths, widths[1:])):
        weight = draw.normal(0, rows ** -0.5, (columns, rows))
        weights.append(numpy_helper.from_array(
            weight.astype(np.float32), f"fc{i}.weight"))
        weights.append(numpy_helper.from_array(
            np.zeros(columns, np.float32), f"fc{i}.bias"))
        nodes.append(helper.make_node(
            "Gemm", [value, f"fc{i}.weight", f"fc{i}.bias"], [f"fc{i}"],
            transB=1))
        value = f"fc{i}"
        if i + 2 < len(widths):
            nodes.append(helper.make_node("Relu", [value], [f"act{i}"]))
            value = f"act{i}"
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                       [batch, widths[0]])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT,
                                       [batch, widths[-1]])], weights)
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9), path)
    data = folder / f"{name}.npz"
    np.savez(data, x=draw.normal(size=(batch, widths[0])).astype(np.float32),
             labels=draw.integers(0, widths[-1], batch))
    return Model(name, path, data, [])


def fixture(name, batch):
    folder = FIXTURES / name
    reference = json.loads((folder / "reference.json").read_text())
    symbol = reference["symbolic_batch"]
    sizes = ["--dim", f"{symbol}={batch}"] if symbol else ["--batch", batch]
    model = Model(name, folder / "model.onnx", folder / "data.npz", sizes)
    model.options[1] = reference["loss"]
    return model


def make_models(folder):
    return [
        language(folder, "large_gpt.py", "gpt", layers=3, width=192, heads=6,
                 length=96, batch=8, vocabulary=1000),
        language(folder, "large_llama.py", "llama", layers=3, width=192,
                 heads=6, key_heads=2, inner=448, length=80, batch=8,
                 vocabulary=800),
        dense(folder, "dense", 192, [384, 768, 1152, 640, 80]),
        fixture("vit", 256), fixture("bert", 256), fixture("unet", 32)]


class Layout:
    def __init__(self, model, name, artifact):
        self.model, self.name, self.artifact = model, name, artifact
        self.ranks = 1 if name == "1 rank" else 2
        self.quiet, self.median, self.planned = math.inf, math.inf, None

    def run(self, zc, log, seconds):
        steps = 20 if self.quiet == math.inf else int(
            min(400, max(40, seconds * 1e3 / self.quiet)))
        if call(zc, "run", self.artifact, "--data", self.model.data, "--steps",
                steps, "--quiet", "--log", log, "--local-ranks",
                self.ranks) is None:
            return
        times = sorted(json.loads(line)["step_ms"] for line in
                       log.read_text().splitlines()[WARM_UP:])
        quarter = times[:(len(times) + 3) // 4]
        self.quiet = min(self.quiet, statistics.mean(quarter))
        self.median = min(self.median, statistics.median(times))

    def plan(self, zc, cluster):
        said = call(zc, "plan", self.artifact, "--cluster", cluster, "--json")
        self.planned = said and json.loads(said)["plan"]["step_s"] * 1e3


def keep_times(folder, layouts):
    (folder / TIMES).write_text(json.dumps(
        {f"{each.model.name} {each.name}": [each.quiet, each.median]
         for each in layouts}, indent=1))


def take_times(folder, layouts):
    times = json.loads((folder / TIMES).read_text())
    for each in layouts:
        each.quiet, each.median = times.get(f"{each.model.name} {each.name}",
                                            (math.inf, math.inf))


def compile_all(zc, folder, only):
    found = []
    for model in make_models(folder):
        for name, mesh in LAYOUTS.items():
            if not re.search(only, f"{model.name} {name}"):
                continue
            artifact = folder / f"{model.name}-{name}.zca"
            if call(zc, "compile", model.path, "-o", artifact, *model.options,
                    *mesh) is not None:
                found.append(Layout(model, name, artifact))
    return found


def report(layouts):
    print("| model | layout | measured, ms | median, ms | planned, ms | "
          "planned by measured |\n| --- | --- | --- | --- | --- | --- |")
    near = 0
    for each in layouts:
        by = each.planned / each.quiet
        near += abs(by - 1) <= NEAR
        print(f"| {each.model.name} | {each.name} | {each.quiet:.2f} | "
              f"{each.median:.2f} | {each.planned:.2f} | {by:.2f} |")
    right, pairs = 0, 0
    for a, b in itertools.combinations(layouts, 2):
        differ = abs(math.log(a.quiet / b.quiet)) > math.log(1 + APART)
        if a.model is b.model and differ:
            pairs += 1
            right += (a.quiet < b.quiet) == (a.planned < b.planned)
    print(f"\nwithin {NEAR:.0%}: {near} of {len(layouts)}; ranked right: "
          f"{right} of {pairs} pairs that differ by more than {APART:.0%}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zc", default=ROOT / "build" / "bin" / "zc")
    parser.add_argument("--cluster", help="a file; by default calibrate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="", help="of 'gpt dp=2'")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--keep", type=pathlib.Path, metavar="FOLDER")
    kept.add_argument("--measured", type=pathlib.Path, metavar="FOLDER",
                      help="that --keep left; plans by its cluster file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or options.measured or pathlib.Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        layouts = compile_all(options.zc, folder, options.only)
        cluster = options.cluster or folder / "here.json"
        if options.measured:
            take_times(folder, layouts)
        else:
            measure(options, folder, layouts, cluster)
        for each in layouts:
            each.plan(options.zc, cluster)
        report([each for each in layouts
                if each.planned and each.quiet < math.inf])


def measure(options, folder, layouts, cluster):
    """The times of all layouts, and a cluster file where none is given."""
    loads = [os.getloadavg()[0]]
    if not options.cluster and call(options.zc, "plan", "--calibrate", "-o",
                                    cluster) is None:
        sys.exit(1)
    for _ in range(options.rounds + 1):  # the first says how many steps
        for each in layouts:
            each.run(options.zc, folder / "log.jsonl", options.seconds)
    loads.append(os.getloadavg()[0])
    if options.keep:
        keep_times(folder, layouts)
    print(f"load average {loads[0]:.1f} before, {loads[1]:.1f} after, on "
          f"{os.cpu_count()} cores (these runs count for two)")


if __name__ == "__main__":
    main()
