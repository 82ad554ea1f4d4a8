#!/usr/bin/env python3
"""Measure zc's threads on a machine that is busy, or that allows little time.

  busy.py [--model mlp gpt ...] [--rounds 3] [--before DIR]

Trains fixtures of test/ (or --artifact FILE --data FILE) with one thread and
with all: as the machine is, beside one and two busy loops a processor, and in
control groups with so much of a processor's time (as root). A row compares all
threads with the better of two: one thread, and the fair share. That is how much
more several runs of one thread, all at once, get done than a single one, but no
more than all threads gain where they are alone. --before DIR has the programs
of another build, which run all threads in the same rounds. Exits with 1 if a
ratio is above --limit.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from measure import ROOT, WARM_UP, output

CORES = len(os.sched_getaffinity(0))
GROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")


class BusyLoops:
    """So many processes a processor that do nothing, without end."""

    def __init__(self, each):
        self.count = each * CORES
        self.name = (f"{each} busy loop{'s' * (each > 1)} a processor"
                     if each else "alone")

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c",
                                        "while True: pass"])
                      for _ in range(self.count)]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()

    def enter(self):
        pass


class Quota:
    """A control group with so many processors' time."""

    def __init__(self, cores):
        self.cores, self.name = cores, f"the time of {cores:g} processors"

    def __enter__(self):
        for root in map(pathlib.Path, GROUPS):
            self.folder = root / f"zc-busy-{os.getpid()}"
            try:
                self.folder.mkdir()
            except OSError:
                continue
            for name, text in (("cpu.cfs_quota_us", f"{self.cores * 1e5:.0f}"),
                               ("cpu.max", f"{self.cores * 1e5:.0f} 100000")):
                if (self.folder / name).exists():
                    (self.folder / name).write_text(text)
                    return
            self.folder.rmdir()
        sys.exit("busy: no control group with a quota can be made here; "
                 "leave it out by --quota")

    def __exit__(self, *_):
        self.folder.rmdir()

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))


class Work:
    """An artifact with its data, and how long its step takes."""

    def __init__(self, name, artifact, data, options):
        self.name, self.artifact, self.data = name, artifact, data
        self.options, self.gain = options, None

    def start(self, condition, tools, arguments, log):
        return subprocess.Popen(
            [tools / "zc-run", "run", self.artifact, "--data", self.data,
             "--steps", str(self.steps), "--log", log, *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=condition.enter)

    def run(self, condition, tools, *arguments, copies=1):
        """Milliseconds of a step, of so many runs at once."""
        logs = [self.artifact.with_suffix(f".{i}.jsonl") for i in range(copies)]
        runs = [self.start(condition, tools, arguments, log) for log in logs]
        said = [run.communicate()[1] for run in runs]
        if any(run.returncode for run in runs):
            sys.exit(f"busy: {self.name} failed: {''.join(said)}")
        return statistics.mean(
            json.loads(line)["step_ms"] for log in logs
            for line in log.read_text().splitlines()[WARM_UP:])

    def choose_steps(self):
        """As many as take some tenths of a second."""
        self.steps = 4 * WARM_UP
        step = self.run(BusyLoops(0), self.options.tools, "--threads", "1")
        self.steps = WARM_UP + max(8, int(1000 * self.options.seconds / step))

    def measure(self, condition):
        """A row of the table, by medians of the rounds, and the ratio."""
        ones, fairs, alls, befores = [], [], [], []
        tools = self.options.tools
        with condition:
            for _ in range(self.options.rounds):
                ones.append(self.run(condition, tools, "--threads", "1"))
                alls.append(self.run(condition, tools))
                fairs.append(self.run(condition, tools, "--threads", "1",
                                      copies=CORES) / CORES)
                if self.options.before:
                    befores.append(self.run(condition, self.options.before))
        if self.gain is None: # the first condition: alone
            self.gain = max(1, statistics.median(
                one / every for one, every in zip(ones, alls)))
        better = [min(one, max(fair, one / self.gain))
                  for one, fair in zip(ones, fairs)]
        ratio = statistics.median(
            every / least for every, least in zip(alls, better))
        columns = [self.name, condition.name]
        columns += [f"{statistics.median(each):.3g}"
                    for each in (ones, better, alls, befores) if each]
        return columns + [f"{ratio:.2f}"], ratio


def fixtures(options, folder):
    """The tests' small models, compiled for all processors."""
    for name in options.model:
        fixture = ROOT / "test" / "fixtures" / name
        reference = json.loads((fixture / "reference.json").read_text())
        dims = ([] if not reference["symbolic_batch"] else
                ["--dim", "{symbolic_batch}={batch}".format(**reference)])
        output(options.tools / "zc", "compile", fixture / "model.onnx",
               "--loss", reference["loss"], "--cpu-threads", CORES, *dims,
               "-o", folder / f"{name}.zca")
        yield Work(name, folder / f"{name}.zca", fixture / "data.npz", options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", nargs="*", default=["mlp", "cnn", "gpt"])
    parser.add_argument("--artifact", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--loops", nargs="*", type=int, default=[1, 2],
                        help="busy loops a processor")
    parser.add_argument("--quota", nargs="*", type=float,
                        default=[0.5, 1.5] if os.geteuid() == 0 else [])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="of one thread in a run")
    parser.add_argument("--limit", type=float, default=1.3)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    options = parser.parse_args()
    conditions = [BusyLoops(each) for each in [0, *options.loops]]
    conditions += [Quota(cores) for cores in options.quota]
    header = ["model", "machine", "one thread, ms", "better of it and the fair "
              f"share, ms", f"{CORES} threads, ms"]
    header += ["before, ms"] * bool(options.before) + ["ratio"]
    print("| " + " | ".join(header) + " |\n" + "| --- " * len(header) + "|")
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="zc-busy-") as folder:
        works = ([Work(options.artifact.stem, options.artifact, options.data,
                       options)] if options.artifact else
                 fixtures(options, pathlib.Path(folder)))
        for work in works:
            work.choose_steps()
            for condition in conditions:
                columns, ratio = work.measure(condition)
                worst = max(worst, ratio)
                print("| " + " | ".join(columns) + " |", flush=True)
    sys.exit(worst > options.limit)


if __name__ == "__main__":
    main()
