#!/usr/bin/env python3
"""Compares what `zc plan --search` finds with all layouts of some ranks, each
compiled and simulated by a `zc plan` of its own.

  search_all.py [--zc BUILD/bin/zc] [--ranks 8] [--cluster FILE] [--sample N]
                [--processes 2] [--seed 0]

The layouts are listed here, and not as the search lists them: every way to write
the ranks as a product over pp, dp, ep, sp and tp, every ZeRO stage, every number
of micro-batches that divides the samples, every schedule that trains as one rank
does, every kind of recomputation, messages between stages whole or divided. Those that zc
refuses are none. --sample takes so many of them, drawn by --seed. Ends with 1
if one that fits into the memory is quicker than the search's by more than 2%.
"""
import argparse
import concurrent.futures
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
AXES = ("pp", "dp", "ep", "sp", "tp")
# Without a flush gradients are of older weights: that is other training.
SCHEDULES = (("naive",), ("gpipe",), ("1f1b",), ("zero-bubble=h1",),
             ("zero-bubble=h2",), ("zero-bubble=v",),
             *(("interleaved", "--chunks", str(chunks))
               for chunks in (2, 3, 4, 8)))
RECOMPUTE = ("none", "layer", "sqrt", "selective", "full")
NEAR = 1.02
SIZES = dict(layers=4, width=32, heads=2, length=16, batch=8, vocabulary=64)
# Small links and small memory, so that layouts differ, and many do not fit.
CLUSTER = {
    "name": "small", "device": {
        "name": "d", "memory_bytes": 1.2e6, "memory_bytes_per_s": 2e10,
        "flops_per_s": {"f32": 1e11}, "call_s": 2e-5, "launch_s": 2e-6},
    "levels": [
        {"name": "node", "size": 4, "bytes_per_s": 5e9, "latency_s": 5e-6},
        {"name": "net", "size": 8, "bytes_per_s": 1e9, "latency_s": 2e-5}]}


def products(number, factors):
    """All ways to write a number as a product of so many factors in order."""
    if factors == 1:
        return [(number,)]
    return [(first, *rest) for first in range(1, number + 1)
            if number % first == 0
            for rest in products(number // first, factors - 1)]


def layouts(ranks, samples):
    """The options of each: for a step of so many samples."""
    for sizes in products(ranks, len(AXES)):
        size = dict(zip(AXES, sizes))
        mesh = ",".join(f"{axis}={size[axis]}" for axis in AXES
                        if size[axis] > 1)
        share = samples // (size["dp"] * size["ep"])
        counts = [count for count in range(1, share + 1) if share % count == 0]
        piped, split = size["pp"] > 1, size["pp"] > 1 and size["tp"] > 1
        for zero, count, schedule, recompute, divided in itertools.product(
                range(4), counts, SCHEDULES if piped else [()], RECOMPUTE,
                (False, True) if split else (False,)):
            yield ["--mesh", mesh, "--zero", str(zero), "--accumulate",
                   str(count), "--recompute", recompute,
                   *(["--schedule", *schedule] if schedule else []),
                   *(["--divide-messages"] if divided else [])]


def key(options):
    """The same for options that mean the same."""
    found = {"--zero": "0", "--accumulate": "1", "--recompute": "none",
             "--schedule": "1f1b", "--divide-messages": ""}
    for at, option in enumerate(options):
        if option.startswith("--"):
            values = options[at + 1:at + 2]
            found[option] = (values[0] if values and
                             not values[0].startswith("--") else "on")
    return tuple(sorted(found.items()))


class Planner:
    """zc plan of one model on one cluster."""

    def __init__(self, zc, model, *options):
        self.given = [str(zc), "plan", str(model), *map(str, options),
                      "--json", "--verify", "off"]

    def search(self, *options):
        done = subprocess.run([*self.given, "--search", *options], text=True,
                              capture_output=True, check=True)
        return json.loads(done.stdout)["search"]

    def plan(self, options):
        """(seconds, whether it fits) or None, where zc refuses it."""
        done = subprocess.run([*self.given, *options], text=True,
                              capture_output=True)
        if done.returncode not in (0, 1, 2):
            sys.exit(f"{' '.join(done.args)}\n{done.stderr}")
        if done.returncode != 0:
            return None
        found = json.loads(done.stdout)["plan"]
        return found["step_s"], found["fits"]

    def best(self, listed, processes=2):
        """The quickest that fits: (seconds, options), and how many layouts there
        are among those listed."""
        with concurrent.futures.ThreadPoolExecutor(processes) as pool:
            planned = list(pool.map(self.plan, listed))
        found = [(each[0], " ".join(options))
                 for each, options in zip(planned, listed) if each and each[1]]
        return min(found, default=None), sum(each is not None
                                             for each in planned)


def write_model(path):
    flags = [str(each) for name, value in SIZES.items()
             for each in ("--" + name, value)]
    subprocess.run([sys.executable, HERE / "large_gpt.py", path, *flags],
                   check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zc", default=HERE.parents[1] / "build/bin/zc")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--cluster", type=pathlib.Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, cluster = folder / "gpt.onnx", folder / "small.json"
        write_model(model)
        cluster.write_text(json.dumps(CLUSTER))
        planner = Planner(given.zc, model, "--loss", "softmax-cross-entropy",
                          "--optimizer", "adamw", "--cluster",
                          given.cluster or cluster)
        found = planner.search("--ranks", str(given.ranks), "--time-limit",
                               "1000")
        winner = found["winner"]
        listed = list(layouts(given.ranks, SIZES["batch"]))
        if given.sample is not None:
            listed = random.Random(given.seed).sample(listed, given.sample)
        best, count = planner.best(listed, given.processes)
    print(f"the search tried {found['exact']} layouts; its best takes "
          f"{winner['step_s'] * 1e3:.4f} ms: {winner['options']}")
    print(f"of {len(listed)} listed here {count} are layouts; the best that "
          f"fits takes {best[0] * 1e3:.4f} ms: {best[1]}")
    print(f"the search's by that: {winner['step_s'] / best[0]:.4f}")
    return winner["step_s"] > NEAR * best[0]


if __name__ == "__main__":
    sys.exit(main())
