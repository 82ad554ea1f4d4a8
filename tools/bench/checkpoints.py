#!/usr/bin/env python3
"""Measure what checkpoints cost a run, and how soon it is back after a kill.

  checkpoints.py [--layers 12 --width 768 ...] [--steps 100] [--every 50]
                 [--rounds 1] [--work DIR]

A GPT (by default GPT-2 124M, 4 x 256 tokens) trains without checkpoints, with
those that are written beside the steps, and with those that steps wait for, in
turns. It prints for each the seconds from the first step's line in the log to
the last one's, the time that saving held the steps up, and the processor time
of the thread that writes. Then two ranks of `zc launch`, of which one is killed: seconds until
another has begun the step that follows.
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
from process_use import seconds_of_thread  # noqa: E402

ZC = ROOT / "build" / "bin" / "zc"
WRITER = "zc-saves"  # the thread's name


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
        """Seconds of all steps but the first, those of them in which saving
        held them up, and the writer's processor time."""
        log = self.work / "log.jsonl"
        log.unlink(missing_ok=True)
        process = subprocess.Popen(
            [str(ZC), "run", str(artifact), "--data", str(self.data), "--steps",
             str(self.options.steps + 1), "--log", str(log), "--quiet",
             *map(str, saving)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        first = last = None
        written = 0
        while last is None and process.poll() is None:
            count = lines_in(log)
            if count and first is None:
                first = time.monotonic()
            if count > self.options.steps:
                last = time.monotonic()
            written = max(written, seconds_of_thread(process.pid, WRITER))
            time.sleep(0.02)
        last = last or time.monotonic()  # it has ended at once
        process.wait()
        if process.returncode or lines_in(log) <= self.options.steps:
            sys.exit("checkpoints: a run failed")
        seconds = last - first
        steps = [json.loads(line)["step_ms"] / 1e3
                 for line in log.read_text().splitlines()]
        return seconds, seconds - sum(steps[1:]), written

    def measure(self):
        artifact = self.compile("gpt.zca")
        ways = {"none": (), "beside": ("--save-beside", "auto"),
                "waiting": ("--save-beside", "off")}
        found = {way: [] for way in ways}
        for _ in range(self.options.rounds):
            for way, option in ways.items():
                saving = () if way == "none" else (
                    "--checkpoint", self.work / "ckpt", "--overwrite", "--keep",
                    1, "--save-every", self.options.every, *option)
                found[way].append(self.run(artifact, *saving))
        print("| checkpoints | run, s | of it held up, s | writer's processor "
              "time, s | of the run without |")
        print("| --- | --- | --- | --- | --- |")
        base = statistics.median(row[0] for row in found["none"])
        for way, rows in found.items():
            seconds, held, written = map(statistics.median, zip(*rows))
            print(f"| {way} | {seconds:.1f} | {held:.2f} | {written:.2f} | "
                  f"{seconds / base:.3f} |")

    def restart(self, *launch):
        """Seconds from a kill to the begin of the first step afterwards."""
        artifact = self.compile("two.zca", "--mesh", "dp=2", "--cpu-threads", 1)
        log, every = self.work / "launch.jsonl", 4
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
                        ("steps", 100), ("every", 50), ("rounds", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--restarts-alone", action="store_true")
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
