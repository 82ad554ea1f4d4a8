#!/usr/bin/env python3
"""Shared experts compute while tokens travel to the others and back."""
import itertools
import json
import unittest

from zctest import Fixture, ZcTest

LAYERS = 2
PRODUCTS = ("gate_proj", "up_proj", "down_proj")


class Overlap(ZcTest):
    def events(self, *options, ranks=2):
        """Rank 0's instructions of a step, in their order."""
        fixture = Fixture("experts/qwen")
        artifact = self.compile(fixture, "adamw", "--mesh", f"ep={ranks}",
                                *options)
        path = self.folder / "trace.json"
        self.train(artifact, fixture.data, 2, "--trace", path, "--trace-steps",
                   "2:2", "--local-ranks", ranks)
        events = [event for event in
                  json.loads(path.read_text())["traceEvents"]
                  if event["pid"] == 0
                  and event.get("args", {}).get("program") == "step"]
        return sorted(events, key=lambda event: event["args"]["instruction"])

    def check(self, *options):
        """Behind what hands the tokens over and in front of what waits for
        them: each product of the shared expert, in the forward."""
        events = self.events(*options)
        by_number = {event["args"]["instruction"]: event for event in events}
        exchanges = {}  # of those on another stream: what sent, who waits
        for event in events:
            if event["name"].startswith("dist.all_to_all") and event["tid"]:
                sender, = event["args"]["waits"]
                exchanges[event["args"]["instruction"]] = [by_number[sender]]
        for event in events:
            for number in event["args"]["waits"]:
                if number in exchanges:
                    exchanges[number].append(event)
        for layer, name in itertools.product(range(LAYERS), PRODUCTS):
            block = f"layers.{layer}.mlp."
            product = next(event for event in events if event["name"].startswith(
                f"train.matmul model.model.{block}shared_expert.{name}"))
            self.assertEqual(product["tid"], 0)
            self.assertTrue(any(
                block in by_number[number]["name"]
                and sender["ts"] + sender["dur"] <= product["ts"]
                and product["ts"] + product["dur"] <= waits["ts"]
                for number, (sender, waits, *_) in exchanges.items()),
                product["name"])

    def test_of_a_run(self):
        self.check()

    def test_in_16_bits(self):
        """Weights are rounded where the products read them."""
        self.check("--precision", "bf16")


if __name__ == "__main__":
    unittest.main()
