#!/usr/bin/env python3
"""zc plan --timeline: the events of a run, of each stream in the same order."""
import json
import unittest

import numpy as np

from plan_test import LOSS, PlanTest
from zctest import Fixture

# Tracks of instructions in a trace: compute, collectives, fetches, stores.
STREAMS = (0, 1, 2, 4)


def calls_of(events):
    """For each rank, the programs that its order calls, one after another."""
    calls = {}
    for event in sorted(events, key=lambda each: each.get("ts", 0)):
        if event["ph"] == "X" and event["tid"] == 16 and (
                event.get("cat", "call") == "call"):
            calls.setdefault(event["pid"], []).append(event["name"])
    return calls


def instructions_of(events):
    """For each rank and stream the instructions, one after another."""
    found = {}
    for event in sorted(events, key=lambda each: each.get("ts", 0)):
        if event["ph"] == "X" and event["tid"] in STREAMS:
            found.setdefault((event["pid"], event["tid"]), []).append(
                (event["args"]["program"], event["args"]["instruction"]))
    return found


class Events(PlanTest):
    """A plan's events are those of a run on four ranks, in the same order on
    each stream, and of the same streams."""

    # Stages of the model "odd", a role each.
    STAGES = ("node_linear$: 0\nnode_linear_1: 1\nnode_linear_2: 2\n"
              "node_linear_3: 3\n")

    def compare(self, *options, model=None, data=None, overlaps=False):
        """Where steps overlap, a plan has several of them."""
        model, data = model or self.gpt.model, data or self.gpt.data
        artifact = self.folder / "model.zca"
        self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                *LOSS, "--optimizer", "sgd", *options)
        trace, timeline = self.folder / "run.json", self.folder / "plan.json"
        self.zc("plan", artifact, "--cluster", "h100-dgx", "--timeline",
                timeline)
        planned = json.loads(timeline.read_text())
        calls = calls_of(planned)
        steps = max(1, sum(name.startswith("apply")
                           for name in calls.get(0, [])))
        self.assertEqual(steps > 1, overlaps)
        self.zc("run", artifact, "--data", data, "--steps", steps, "--lr",
                "1e-3", "--no-shuffle", "--trace", trace, "--local-ranks", 4)
        ran = json.loads(trace.read_text())["traceEvents"]
        if "pp=4" in options:
            # A run counts micro-batches in each step, a plan through all.
            words = slice(None) if steps == 1 else slice(1)
            self.assertEqual(*(
                {rank: [name.split()[words] for name in names]
                 for rank, names in each.items()}
                for each in (calls, calls_of(ran))))
        found = instructions_of(planned)
        roles = len({role for role, _ in found})
        # A role stands for its ranks, which do the same.
        self.assertEqual(
            {(rank, stream): instructions for rank in range(4)
             for (role, stream), instructions in found.items()
             if role == rank * roles // 4},
            self.instructions_of_run(ran))

    def instructions_of_run(self, ran):
        """By streams that have any, without those that draw weights."""
        found = {place: [each for each in list_ if each[0] != "init"]
                 for place, list_ in instructions_of(ran).items()}
        return {place: list_ for place, list_ in found.items() if list_}

    def test_schedules(self):
        for name in ("naive", "gpipe", "1f1b", "flush", "zero-bubble=h1",
                     "zero-bubble=h2"):
            with self.subTest(schedule=name):
                self.compare("--mesh", "pp=4", "--accumulate", "4",
                             "--schedule", name)

    def test_several_stages_a_role(self):
        """Eight stages of four ranks, and four of two that have copies."""
        model = self.write_large(layers=8, width=16, heads=2, vocabulary=32,
                                 batch=8, length=8)
        data = self.folder / "tokens.npz"
        tokens = np.arange(64).reshape(8, 8) % 32
        np.savez(data, tokens=tokens, labels=tokens)
        for name, micro in (("interleaved", 4), ("zero-bubble=v", 8)):
            with self.subTest(schedule=name):
                self.compare("--mesh", "pp=4", "--accumulate", micro,
                             "--schedule", name, model=model, data=data)
        self.compare("--mesh", "pp=2,dp=2", "--accumulate", "2", "--schedule",
                     "interleaved")

    def test_steps_that_overlap(self):
        odd, stages = Fixture("odd"), self.folder / "stages"
        stages.write_text(self.STAGES)
        for options in (["--schedule", "2bw", "--accumulate", "4"],
                        ["--schedule", "stash"],
                        ["--schedule", "stash", "--accumulate", "2",
                         "--vertical-sync"]):
            with self.subTest(options=options):
                self.compare("--mesh", "pp=4", "--stages", stages, "--dim",
                             "batch=24", *options, model=odd.model,
                             data=odd.data, overlaps=True)

    def test_divided(self):
        self.compare("--mesh", "dp=2,tp=2", "--zero", "3")

    def test_offloaded(self):
        self.compare("--mesh", "dp=4", "--offload",
                     "optimizer,parameters,activations")


class Copies(PlanTest):

    def test_both_directions_at_once(self):
        """K-05: on a GPU stores and fetches are on their way at once."""
        model = self.write_large(layers=6, width=256, heads=4, vocabulary=512,
                                 batch=8, length=128)
        timeline = self.folder / "plan.json"
        self.zc("plan", model, *LOSS, "--optimizer", "adamw", "--cluster",
                "h100-dgx", "--offload", "optimizer,activations",
                "--timeline", timeline)
        events = [event for event in json.loads(timeline.read_text())
                  if event["ph"] == "X"]
        spans = {}  # by track
        for event in events:
            if event["tid"] in (2, 4):
                self.assertEqual(event["name"].split()[0],
                                 "fetch" if event["tid"] == 2 else "store")
                spans.setdefault(event["tid"], []).append(
                    (event["ts"], event["ts"] + event["dur"]))
        at_once = sum(
            max(0, min(end, their_end) - max(begin, their_begin))
            for begin, end in spans[2] for their_begin, their_end in spans[4])
        busy = sum(end - begin for begin, end in spans[4])
        self.assertGreater(at_once, 0.2 * busy)


if __name__ == "__main__":
    unittest.main()
