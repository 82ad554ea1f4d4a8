#!/usr/bin/env python3
"""Measure a step by libzc, from C and from Python, beside a step of zc run.

  overhead.py [--rounds 5] [--large] [--cpu | --turns SECONDS]

A tiny model (the tests' mlp), a small GPT (4 layers, 256 wide, 8 x 128 tokens),
and with --large GPT-2's sizes (12 layers, 768 wide, 4 x 256 tokens). Runs alternate; of each round the median step is taken,
and of the rounds the least: what else the machine does only adds. --cpu takes
processor time in place of the clock's, of steps by one thread, which a machine
that is busy with other things changes little: what a long run takes more than a
short one. --turns takes the largest model alone, in two processes that do one
step each by turns, in the order run, C, C, run and so on, so that what else the
machine does meets both ways alike. After so many seconds it ends them and begins
anew with C as the first, since the first process may get the better memory, and
so on for --rounds. It prints the median of the ratios of neighbouring steps.
"""
import argparse
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from measure import ROOT, WARM_UP, output

HERE = pathlib.Path(__file__).resolve().parent
WAYS = ["zc run", "libzc, C", "libzc, Python"]


def make_tiny(folder):
    fixture = ROOT / "test" / "fixtures" / "mlp"
    arrays = {name: array[:4] for name, array in
              np.load(fixture / "data.npz").items()}
    return fixture / "model.onnx", arrays, ["--dim", "batch=4"]


def make_gpt(folder, layers, width, vocabulary, length, batch):
    model = folder / "gpt.onnx"
    output(sys.executable, HERE / "large_gpt.py", model, "--layers", layers,
           "--width", width, "--heads", width // 64, "--vocabulary", vocabulary,
           "--length", length, "--batch", batch)
    tokens = np.random.default_rng(0).integers(0, vocabulary, (batch, length))
    return model, {"tokens": tokens, "labels": tokens}, [
        "--init", "normal:0.02"]


def make_small(folder):
    return make_gpt(folder, 4, 256, 512, 128, 8)


def make_gpt2(folder):
    return make_gpt(folder, 12, 768, 50304, 256, 4)


class Case:
    """One model: the artifact, its one batch, and a run of each way."""

    def __init__(self, options, make, steps, folder):
        self.options, self.steps, self.folder = options, steps, folder
        if (folder / "step.zca").exists():
            self.arrays = dict(np.load(folder / "data.npz"))
            return
        folder.mkdir()
        model, arrays, further = make(folder)
        output(options.tools / "zc", "compile", model, "-o",
               folder / "step.zca", "--loss", "softmax-cross-entropy",
               *further, *(["--cpu-threads", 1] if options.cpu else []))
        np.savez(folder / "data.npz", **arrays)
        for name, array in arrays.items():
            array.tofile(folder / f"{name}.bin")
        self.arrays = arrays

    def by_run(self):
        log = self.folder / "log.jsonl"
        output(*self.run(self.steps), "--log", log)
        return [1e3 * json.loads(line)["step_ms"]
                for line in log.read_text().splitlines()]

    def run(self, steps):
        return [self.options.tools / "zc-run", "run", self.folder / "step.zca",
                "--data", self.folder / "data.npz", "--steps", steps,
                "--no-shuffle", "--quiet"]

    def by_c(self):
        lines = output(self.options.program, self.folder / "step.zca",
                       self.steps, cwd=self.folder)
        return [float(line) for line in lines.split()]

    def by_python(self):
        import zc  # pylint: disable=import-outside-toplevel
        times = []
        with zc.Session(self.folder / "step.zca") as session:
            for _ in range(self.steps):
                begin = time.perf_counter()
                session.step(self.arrays)
                times.append(1e6 * (time.perf_counter() - begin))
        return times

    def processor_time(self, way, steps):
        """Seconds that so many steps take by a way, with all before them."""
        if way == WAYS[2]:
            begin = time.process_time()
            self.steps = steps
            self.by_python()
            return time.process_time() - begin
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if way == WAYS[0]:
            output(*self.run(steps))
        else:
            output(self.options.program, self.folder / "step.zca", steps,
                   cwd=self.folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime
                - before.ru_utime - before.ru_stime)

    def measure_processor_time(self):
        """Microseconds of a step, by way."""
        least, few = {}, self.steps
        for _ in range(self.options.rounds):
            for way in WAYS:
                step = 1e6 * (self.processor_time(way, 4 * few)
                              - self.processor_time(way, few)) / (3 * few)
                least[way] = min(step, least.get(way, step))
        return least

    def measure(self):
        """Microseconds of a step, by way."""
        if self.options.cpu:
            return self.measure_processor_time()
        least = {}
        for _ in range(self.options.rounds):
            for way, run in zip(WAYS, (self.by_run, self.by_c, self.by_python)):
                step = statistics.median(run()[WARM_UP:])
                least[way] = min(step, least.get(way, step))
        return least


class Turn:
    """A way in a process of its own, which stands still between its steps."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen(
            [str(part) for part in command], cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.step(count=WARM_UP)

    def step(self, count=1):
        """The seconds until its lines say that so many steps are done. It is
        stopped some microseconds into the next one, as every way is."""
        self.process.send_signal(signal.SIGCONT)
        begin = time.perf_counter()
        for _ in range(count):
            if not self.process.stdout.readline():
                raise SystemExit("overhead: a way ended before its time")
        seconds = time.perf_counter() - begin
        self.process.send_signal(signal.SIGSTOP)
        return seconds

    def end(self):
        self.process.kill()
        self.process.communicate()


def start_turns(case, by_c_first):
    """Both ways, warmed up, which stand still; in the order zc run, C."""
    many = 10**6
    commands = [[*case.run(many), "--log", "-"],
                [case.options.program, case.folder / "step.zca", many, "each"]]
    if by_c_first:
        return [Turn(each, case.folder) for each in commands[::-1]][::-1]
    return [Turn(each, case.folder) for each in commands]


def measure_turns(ways, seconds):
    """Seconds of neighbouring steps: (zc run, C)."""
    pairs = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ran = ways[0].step()
        by_c = [ways[1].step(), ways[1].step()]
        pairs += [(ran, by_c[0]), (ways[0].step(), by_c[1])]
    return pairs


def print_turns(pairs):
    ratios = sorted(by_c / ran for ran, by_c in pairs)
    ran, by_c = (statistics.median(each) for each in zip(*pairs))
    print(f"{len(pairs)} steps each: zc run {1e3 * ran:.1f} ms, libzc "
          f"{1e3 * by_c:.1f} ms; ratio of neighbours: median "
          f"{statistics.median(ratios):.4f}, half of them from "
          f"{ratios[len(ratios) // 4]:.4f} to {ratios[-1 - len(ratios) // 4]:.4f}")


def build_program(options, folder):
    lib = options.tools.parent / "lib"
    output("cc", "-O2", f"-I{ROOT / 'runtime' / 'Api'}",
           HERE / "step_times.c", f"-L{lib}", "-lzc", f"-Wl,-rpath,{lib}",
           "-o", folder / "step_times")
    return folder / "step_times"


def run_turns(options):
    with tempfile.TemporaryDirectory() as name:
        options.program = build_program(options, pathlib.Path(name))
        make = make_gpt2 if options.large else make_small
        folder = options.artifact or pathlib.Path(name) / "case"
        case, pairs = Case(options, make, 0, folder), []
        for number in range(options.rounds):
            ways = start_turns(case, by_c_first=number % 2 == 1)
            try:
                pairs += measure_turns(ways, options.turns)
            finally:
                for way in ways:
                    way.end()
        print_turns(pairs)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--turns", type=float, metavar="SECONDS")
    parser.add_argument("--artifact", type=pathlib.Path,
                        help="with --turns: a folder that such a run has made")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools" / "python"))
    os.environ.setdefault("ZC_LIBRARY", str(options.tools.parent / "lib" /
                                            "libzc.so.1"))
    cases = {"mlp of the tests": (make_tiny, 2000),
             "GPT, 4 layers x 256 wide, 8 x 128 tokens":
             (make_small, 4 if options.cpu else 12)}
    if options.large:
        cases["GPT-2 124M, 4 x 256 tokens"] = (
            make_gpt2, 1 if options.cpu else WARM_UP + 6)
    if options.turns:
        return run_turns(options)
    print("| model | " + ", us | ".join(WAYS) + ", us | more, us | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        options.program = build_program(options, pathlib.Path(name))
        for number, (title, (make, steps)) in enumerate(cases.items()):
            least = Case(options, make, steps,
                         pathlib.Path(name) / str(number)).measure()
            ran, by_c, by_python = (least[way] for way in WAYS)
            print(f"| {title} | {ran:.1f} | {by_c:.1f} | {by_python:.1f} | "
                  f"{by_c - ran:+.1f}, {by_python - ran:+.1f} | "
                  f"{by_c / ran:.3f}, {by_python / ran:.3f} |", flush=True)


if __name__ == "__main__":
    main()
