#!/usr/bin/env python3
"""Outputs that nobody asks for: a run's evaluation and `zc eval --data` compute
what loss and metrics need, `zc eval --output-dir` all of them."""
import json
import unittest

import numpy as np

from small_models import LABELS, X, SmallModels, drawn

WEIGHTS = drawn({"first": (5, 5), "w": (5, 3), "v": (5, 16), "u": (16, 7)})
NODES = [("MatMul", ["x", "first"], "g"), ("Relu", ["g"], "h"), ("MatMul", ["h", "w"], "y"),
         # Nodes that the loss does not need:
         ("MatMul", ["h", "v"], "side0"), ("Tanh", ["side0"], "side1"),
         ("MatMul", ["side1", "u"], "side2")]


def side(x):
    return np.tanh(np.maximum(x @ WEIGHTS["first"], 0) @ WEIGHTS["v"]) @ WEIGHTS["u"]


class Unasked(SmallModels):

    def setUp(self):
        super().setUp()
        nodes = [(*node, ("name", f"node_{node[2]}")) for node in NODES]
        self.model = self.save("m.onnx", nodes, WEIGHTS, outputs={
            "y": (4, 3), "side2": (4, 7)})
        self.data = self.folder / "held.npz"
        np.savez(self.data, x=X, labels=LABELS)

    def run_and_trace(self, artifact, *options):
        """The evaluation's loss, and what its instructions were made of."""
        trace, log = self.folder / "t.json", self.folder / "log.jsonl"
        self.train(artifact, self.data, 2, "--eval-data", self.data, "--trace",
                   trace, "--log", log, "--no-shuffle", *options)
        events = json.loads(trace.read_text())["traceEvents"]
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return ([line for line in lines if "eval_loss" in line][-1],
                {event["name"] for event in events})

    def check_pruned(self, *mesh, ranks=1, options=()):
        artifact, _ = self.compiled(self.model, *mesh)
        planned = json.loads(self.zc("inspect", artifact, "--schedule",
                                     "--json"))["schedule"]["eval"]
        self.assertTrue([each for each in planned
                         if "node_side" in each["label"]])
        many = ["--local-ranks", ranks] if ranks > 1 else []
        line, names = self.run_and_trace(artifact, *many, *options)
        self.assertTrue(any("node_y" in name for name in names), names)
        self.assertFalse([name for name in names if "node_side" in name])
        # All that the model gives is there for who wants it.
        np.save(self.folder / "x.npy", X)
        out = self.folder / "out"
        self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                "--output-dir", out, *many)
        np.testing.assert_allclose(np.load(out / "side2.npy"), side(X), 1e-4,
                                   1e-5)
        y = np.load(out / "y.npy")
        scores = json.loads(self.zc("eval", artifact, "--data", self.data,
                                    "--json", "--metrics", "mae", *many))
        self.assertAlmostEqual(scores["loss"], np.mean((y - LABELS) ** 2), 5)
        self.assertAlmostEqual(scores["mae"], np.mean(np.abs(y - LABELS)), 5)
        return line

    def test_who_is_trained(self):
        """Parameters of an output that is no part of the loss do not count as
        trained: they keep their values."""
        artifact, said = self.compiled(self.model)
        self.assertIn("trains 40 of 232 parameters in 2 of 4 tensors", said)
        self.assertRegex(said, "the loss does not depend on (v, u|u, v), ")
        _, found = self.trained(artifact, X, LABELS, steps=2)
        for name in ("v", "u"):
            if name in found:
                np.testing.assert_array_equal(found[name], WEIGHTS[name])
        self.assertGreater(np.abs(found["w"] - WEIGHTS["w"]).max(), 0)
        shown = self.zc("inspect", artifact)
        self.assertIn("trained parameters by module, 40 in 2 tensors", shown)
        self.assertIn(", 4 of gradients, ", shown)
        checked = self.zc("check", self.model)
        self.assertIn("would train 40 of 232 parameters in 2 of 4", checked)
        self.assertRegex(checked, "does not depend on (v, u|u, v), which")
        _, said = self.compiled(self.model, "--add-loss", "side2=0.1")
        self.assertIn("trains 232 parameters in 4 tensors", said)
        self.assertNotIn("does not depend", said)

    def test_one_rank(self):
        line = self.check_pruned()
        self.assertNotIn("mae", line)

    def test_metrics_take_the_loss_s_output(self):
        line = self.check_pruned(options=["--metrics", "mae,r2"])
        self.assertGreater(line["eval_mae"], 0)

    def test_ranks(self):
        alone = self.check_pruned()
        line = self.check_pruned("--mesh", "dp=2", ranks=2)
        self.assertAlmostEqual(line["eval_loss"], alone["eval_loss"], 5)

    def test_stages(self):
        """The messages of the role that has the other output stay."""
        artifact, _ = self.compiled(self.model, "--mesh", "pp=2",
                                    "--accumulate", 2)
        line, _ = self.run_and_trace(artifact, "--local-ranks", 2)
        alone, _ = self.compiled(self.model, name="alone.zca")
        self.assertAlmostEqual(line["eval_loss"],
                               self.run_and_trace(alone)[0]["eval_loss"], 5)


if __name__ == "__main__":
    unittest.main()
