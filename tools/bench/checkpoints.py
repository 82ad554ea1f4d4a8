#!/usr/bin/env python3
"""Measure what checkpoints cost a run, and how soon it is back after a kill.

  checkpoints.py [--layers 12 --width 768 ...] [--every 50] [--periods 1]
                 [--rounds 1] [--waiting] [--restarts-alone] [--work DIR]

A GPT (by default GPT-2 124M, 4 x 256 tokens) trains without checkpoints and
with those that are written beside the steps (with --waiting also with those
that steps wait for), by turns, each round in the reverse order of the one
before. It compares so many times `every` steps, in the midst of which each
checkpoint is begun and also written to its end, and prints for each way the
medians of these steps' seconds by the clock, of processors' time of the whole
process and of the thread that writes, and of the time that saving held steps up;
the ratios to the run without beside it; and the processors' time of whole runs,
with their start and, where there are checkpoints, the one at their end. Below,
what one checkpoint costs by these ratios, and its share of 50 steps: with
`--every 8 --periods 2` a short run shows it better than a long one, of which it
is less than what other things move. Then two ranks of `zc launch`, of which one
is killed: seconds until another has begun the step that follows.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from measure import ROOT, output

sys.path.insert(0, str(ROOT / "tools"))
from process_use import seconds_of, seconds_of_thread  # noqa: E402

ZC = ROOT / "build" / "bin" / "zc"
WRITER = "zc-saves"  # the thread's name
# The step behind which the measurement begins: the first ones are slower. It
# ends as many behind the last checkpoint, which is written meanwhile.
BEGIN = 6
COLUMNS = ("steps, s", "processors, s", "held up, s", "writer, s of a processor",
           "whole run, s of processors")


def lines_in(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


class Bench:

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.model, self.data = work / "gpt.onnx", work / "tokens.npz"
        output(sys.executable, ROOT / "tools" / "bench" / "large_gpt.py",
               self.model, "--layers", options.layers, "--width",
               options.width, "--heads", options.heads, "--length",
               options.length, "--vocabulary", options.vocabulary)
        tokens = np.random.default_rng(0).integers(
            0, options.vocabulary, (64, options.length + 1))
        np.savez(self.data, tokens=tokens[:, :-1], labels=tokens[:, 1:])

    def compile(self, name, *more):
        artifact = self.work / name
        output(ZC, "compile", self.model, "-o", artifact, "--loss",
               "softmax-cross-entropy", "--optimizer", "adamw", "--init",
               "normal:0.02", "--batch", self.options.batch, *more)
        return artifact

    def run(self, artifact, *saving):
        """A row of COLUMNS."""
        log = self.work / "log.jsonl"
        log.unlink(missing_ok=True)
        begin, end = BEGIN, BEGIN + self.options.periods * self.options.every
        process = subprocess.Popen(
            [str(ZC), "run", str(artifact), "--data", str(self.data), "--steps",
             str(end + 1), "--log", str(log), "--quiet", *map(str, saving)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        at = {}  # a number of lines in the log: seconds of the clock and others
        written = last = 0  # of writers that have ended, and of this one
        while len(at) < 2 and os.waitid(os.P_PID, process.pid, os.WEXITED |
                                        os.WNOHANG | os.WNOWAIT) is None:
            count = lines_in(log)
            now = seconds_of_thread(process.pid, WRITER)
            written, last = written + (last if now < last else 0), now
            for line in (begin, end):
                if count >= line and line not in at:
                    at[line] = (time.monotonic(), seconds_of(process.pid),
                                written + last)
            time.sleep(0.02)
        _, status, use = os.wait4(process.pid, 0)
        process.returncode = status
        if status or len(at) < 2:
            sys.exit("checkpoints: a run failed")
        clock, processors, writer = (last - first for first, last in
                                     zip(at[begin], at[end]))
        steps = [json.loads(line)["step_ms"] / 1e3
                 for line in log.read_text().splitlines()[begin:end]]
        return (clock, processors, clock - sum(steps), writer,
                use.ru_utime + use.ru_stime)

    def measure(self):
        artifact = self.compile("gpt.zca")
        ways = {"none": (), "beside": ("--save-beside", "auto")}
        if self.options.waiting:
            ways["waiting"] = ("--save-beside", "off")
        found = {way: [] for way in ways}
        for number in range(self.options.rounds):
            order = list(ways) if number % 2 == 0 else [*ways][::-1]
            for way in order:
                saving = () if way == "none" else (
                    "--checkpoint", self.work / "ckpt", "--overwrite", "--keep",
                    1, "--save-every", self.options.every, *ways[way])
                found[way].append(self.run(artifact, *saving))
        print("| checkpoints | " + " | ".join(COLUMNS) +
              " | of none by the clock | of processors |")
        print("| --- " * (len(COLUMNS) + 3) + "|")
        for way, rows in found.items():
            print(f"| {way} | " + " | ".join(
                f"{statistics.median(column):.2f}" for column in zip(*rows)) +
                  "".join(f" | {ratio:.4f}" for ratio in
                          self.ratios(rows, found["none"])) + " |")
        for way in list(ways)[1:]:
            self.print_each(way, found[way], found["none"])

    @staticmethod
    def ratios(rows, base):
        """By the clock and of processors, each beside its neighbour."""
        return [statistics.median(row[kind] / none[kind]
                                  for row, none in zip(rows, base))
                for kind in (0, 1)]

    def print_each(self, way, rows, base):
        periods, every = self.options.periods, self.options.every
        said = []
        for kind, ratio in enumerate(self.ratios(rows, base)):
            none = statistics.median(row[kind] for row in base)
            share = (ratio - 1) * every / 50
            said.append(f"{(ratio - 1) * none / periods:.2f} s "
                        f"({share:.2%} of 50 steps)")
        print(f"{way}: a checkpoint costs {said[0]} by the clock, {said[1]} of "
              "processors", flush=True)

    def restart(self, *launch):
        """Seconds from a kill to the begin of the first step afterwards."""
        artifact = self.compile("two.zca", "--mesh", "dp=2", "--cpu-threads", 1)
        log, every = self.work / "launch.jsonl", 4
        log.unlink(missing_ok=True)  # of the launch before
        launcher = subprocess.Popen(
            [str(ZC), "launch", "-n", "2", "--max-restarts", "1",
             *map(str, launch), str(artifact), "--data", str(self.data),
             "--steps", str(3 * every), "--log", str(log), "--quiet",
             "--checkpoint", str(self.work / "two"), "--save-every", str(every),
             "--overwrite"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while lines_in(log) < every + 2:
            time.sleep(0.005)
        children = pathlib.Path(
            f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text()
        os.kill(int(children.split()[1]), signal.SIGKILL)
        killed, before = time.monotonic(), log.stat().st_mtime_ns
        cut = False
        while True:
            count = lines_in(log)
            cut |= log.stat().st_mtime_ns != before and count <= every + 1
            if cut and count > every:
                break
            time.sleep(0.005)
        back = time.monotonic() - killed
        _, err = launcher.communicate()
        step = json.loads(log.read_text().splitlines()[every])["step_ms"] / 1e3
        said = next(line for line in err.splitlines() if "restart 1" in line)
        print(f"killed: {back - step:.1f} s until the next step began "
              f"({said.rsplit(', ', 1)[1]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("layers", 12), ("width", 768), ("heads", 12),
                        ("length", 256), ("vocabulary", 50304), ("batch", 4),
                        ("every", 50), ("periods", 1), ("rounds", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--work", type=pathlib.Path)
    for name in ("--waiting", "--restarts-alone"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or pathlib.Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        bench = Bench(options, work)
        if not options.restarts_alone:
            bench.measure()
        bench.restart()
        bench.restart("--replicate", 1)


if __name__ == "__main__":
    main()
