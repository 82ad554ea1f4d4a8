#!/usr/bin/env python3
"""Measure a pipeline's schedules against one another, and the bubble that each
has against the one that its order should have.

  schedules.py --torch-python VENV/bin/python [--rounds 3]

Two ranks of one thread train a GPT in 8 micro-batches of a sample, in turns by
each schedule. Prints the least and the median step, the time by that of 1f1b,
and two bubbles, parts of the time from a step's first call to its last one in
front of the update: as a trace has it, and as the same order has it when every
program takes its mean time in that trace and messages take none. They should be
within 5 points of one another.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import sys
import tempfile

import measure
from measure import MPI, PEER, ROOT, WARM_UP

RANKS, MICRO_BATCHES = 2, 8
SCHEDULES = ["1f1b", "zero-bubble=h1", "zero-bubble=h2", "interleaved",
             "zero-bubble=v"]
KINDS = {"forward": "F", "backward": "B", "weight_gradients": "W",
         "micro": "F"}


def read_calls(path):
    """By role and step: program, micro-batch, begin and end, without updates."""
    trace = json.loads(path.read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    roles = collections.defaultdict(lambda: [[]])
    calls = sorted((each for each in events if each.get("cat") == "call"),
                   key=lambda each: each["ts"])
    for call in calls:
        steps = roles[call["pid"]]
        program, number = call["name"].rsplit(" ", 1)
        if program.startswith("apply"):
            steps.append([])
        else:
            steps[-1].append((program, int(number), call["ts"],
                              call["ts"] + call["dur"]))
    # The first step warms up.
    return {role: [step for step in steps if step][1:]
            for role, steps in roles.items()}


def traced_bubble(roles):
    """The mean of all steps."""
    bubbles = []
    for steps in zip(*roles.values()):
        begin = min(calls[0][2] for calls in steps)
        end = max(calls[-1][3] for calls in steps)
        busy = sum(call[3] - call[2] for calls in steps for call in calls)
        bubbles.append(1 - busy / len(steps) / (end - begin))
    return statistics.mean(bubbles)


def simulated_bubble(roles, role_of_stage):
    """The bubble of the first step's order, with the mean times of programs."""
    times = collections.defaultdict(list)
    for role, steps in roles.items():
        for calls in steps:
            for program, _, begin, end in calls:
                times[role, program].append(end - begin)
    stages = collections.defaultdict(list)
    for stage, role in enumerate(role_of_stage):
        stages[role].append(stage)
    done, clock = {}, dict.fromkeys(roles, 0.0)
    places, busy = dict.fromkeys(roles, 0), 0.0
    last = len(role_of_stage) - 1

    def needs(kind, stage, k):
        if kind == "F":
            return [("F", stage - 1, k)] if stage else []
        if kind == "W":
            return [("B", stage, k)]
        return [("F", stage, k)] + ([("B", stage + 1, k)]
                                    if stage < last else [])

    while any(places[role] < len(steps[0]) for role, steps in roles.items()):
        moved = False
        for role, steps in roles.items():
            while places[role] < len(steps[0]):
                program, k, *_ = steps[0][places[role]]
                name, _, chunk = program.partition(".")
                stage = stages[role][int(chunk or 0)]
                wanted = needs(KINDS[name], stage, k)
                if any(each not in done for each in wanted):
                    break
                cost = statistics.mean(times[role, program])
                clock[role] = cost + max(
                    [clock[role], *(done[each] for each in wanted)])
                done[KINDS[name], stage, k] = clock[role]
                if name == "micro":
                    done["B", stage, k] = clock[role]
                busy += cost
                places[role] += 1
                moved = True
        if not moved:
            sys.exit("schedules: the trace's order has no end")
    return 1 - busy / len(roles) / max(clock.values())


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.times = collections.defaultdict(list)

    def prepare(self):
        if not (self.work / "model.onnx").exists():
            self.work.mkdir(parents=True, exist_ok=True)
            measure.output(self.options.torch_python, PEER, "--model",
                           f"gpt:{self.options.model},{MICRO_BATCHES}",
                           "--export", self.work)
        for name in SCHEDULES:
            measure.output(
                self.options.tools / "zc", "compile", self.work / "model.onnx",
                "--loss", "softmax-cross-entropy", "--mesh", f"pp={RANKS}",
                "--accumulate", MICRO_BATCHES, "--cpu-threads", 1,
                "--schedule", name, "-o", self.work / f"{name}.zca")

    def run_once(self, name, *options):
        log = self.work / "log.jsonl"
        measure.output("mpirun", "-n", RANKS, self.options.tools / "zc", "run",
                       self.work / f"{name}.zca", "--data",
                       self.work / "data.npz", "--no-shuffle", "--steps",
                       WARM_UP + self.options.steps, "--lr", "1e-4",
                       "--threads", 1, "--log", log, *options,
                       env={**os.environ, **MPI})
        return measure.median_step(log)

    def bubbles(self, name):
        trace = self.work / "trace.json"
        self.run_once(name, "--trace", trace)
        schedule = json.loads(measure.output(
            self.options.tools / "zc", "inspect", self.work / f"{name}.zca",
            "--schedule", "--json"))["schedule"]
        roles = read_calls(trace)
        return (traced_bubble(roles), simulated_bubble(
            roles, [each["role"] for each in schedule["stages"]]))

    def run(self):
        self.prepare()
        for number in range(self.options.rounds):
            for name in SCHEDULES:
                self.times[name].append(self.run_once(name))
            print(f"round {number + 1}: " + ", ".join(
                f"{name} {times[-1]:.0f} ms"
                for name, times in self.times.items()), file=sys.stderr,
                flush=True)
        print("| schedule | step, ms, least | median | by 1f1b | bubble, traced "
              "| of the order |\n" + "| --- " * 6 + "|")
        for name, times in self.times.items():
            traced, simulated = self.bubbles(name)
            print(f"| {name} | {min(times):.0f} | {statistics.median(times):.0f}"
                  f" | {min(times) / min(self.times['1f1b']):.3f} "
                  f"| {traced:.3f} | {simulated:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--torch-python", required=True,
                        help="a Python that has torch and onnxscript")
    parser.add_argument("--model", default="8192,8,8,512,256",
                        help="vocabulary, layers, heads, width and tokens")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--work", type=pathlib.Path,
                        help="keeps the model here")
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build/bin")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Bench(options, options.work or pathlib.Path(folder)).run()


if __name__ == "__main__":
    main()
