#!/usr/bin/env python3
"""zc plan: a step in simulated time on a described cluster. Memory and traffic
are those of `zc inspect` and of a run."""
import argparse
import json
import pathlib
import resource
import sys
import unittest
from unittest import mock

import numpy as np
import onnx
from onnx import numpy_helper

from zctest import Fixture, ZcTest, is_sanitized, read_log, run

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS / "bench"))
import large_gpt  # noqa: E402
import large_llama  # noqa: E402

LOSS = ("--loss", "softmax-cross-entropy")


class PlanTest(ZcTest):

    def setUp(self):
        super().setUp()
        self.gpt = Fixture("gpt")

    def plan(self, *args):
        return json.loads(self.zc("plan", *args, "--json"))["plan"]


class Figures(PlanTest):

    def check_layout(self, *mesh, model="gpt", ranks=1):
        """The plan's bytes are those of `zc inspect`, and what a run counts."""
        fixture, artifact = Fixture(model), self.folder / "one.zca"
        options = fixture.compile_options("adamw")
        self.zc("compile", fixture.model, "-o", artifact, *options, *mesh)
        inspected = json.loads(self.zc("inspect", artifact, "--json"))
        of_model = self.plan(fixture.model, *options, *mesh, "--target",
                             "cpu", "--cluster", "ideal")
        of_artifact = self.plan(artifact, "--cluster", "ideal")
        self.assertEqual(of_model, of_artifact)
        memory = dict(of_model["memory"])
        found = self.inspected = inspected["memory"]
        self.assertEqual(memory, {name: found[name] for name in memory})
        traffic = of_model["traffic"]
        self.assertEqual(traffic["sent_bytes"],
                         inspected["comm"]["sent_bytes"])
        for axes, sent in traffic["by_axis"].items():
            self.assertEqual(sent["bytes"],
                             inspected["comm"]["by_axis"][axes]["bytes"])
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", fixture.data, "--steps", 2,
                "--no-shuffle", "--log", log, "--local-ranks", ranks)
        lines = read_log(log)
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertEqual(line["sent_bytes"], traffic["sent_bytes"])
            self.assertEqual(line["peak_bytes"], memory["peak"])
        return of_model

    def test_memory_and_traffic(self):
        for ranks, *mesh in (
                (1,), (2, "--mesh", "tp=2"),
                *((2, "--mesh", "dp=2", "--zero", stage) for stage in (1, 2, 3)),
                (2, "--mesh", "pp=2", "--accumulate", "2"),
                (4, "--mesh", "pp=2,dp=2", "--accumulate", "2", "--zero", "2"),
                (2, "--mesh", "sp=2"),
                (2, "--mesh", "sp=2", "--sp-attention", "ring", "--zero", "3")):
            with self.subTest(mesh=mesh):
                plan = self.check_layout(*mesh, ranks=ranks)
                self.assertEqual(plan["traffic"]["sent_bytes"] > 0, ranks > 1)

    def test_memory_and_traffic_of_experts(self):
        for ranks, *mesh in ((2, "--mesh", "ep=2"),
                             (4, "--mesh", "dp=2,ep=2", "--zero", "1")):
            with self.subTest(mesh=mesh):
                plan = self.check_layout(*mesh, model="experts/mixtral",
                                         ranks=ranks)
                self.assertIn("ep", plan["traffic"]["by_axis"])

    def test_memory_and_traffic_of_what_is_offloaded(self):
        for ranks, *mesh in (
                (1, "--offload", "optimizer,parameters,activations"),
                (2, "--mesh", "dp=2", "--zero", "2", "--offload", "optimizer")):
            with self.subTest(mesh=mesh):
                self.check_layout(*mesh, ranks=ranks)
                self.assertGreater(self.inspected["offloaded"], 0)

    def test_sent_bytes_are_those_of_the_links(self):
        """Gradients' sums of ZeRO-0: what a rank sends by the plan."""
        cluster = self.folder / "c.json"
        cluster.write_text(json.dumps({
            "name": "slow", "device": {
                "name": "d", "memory_bytes_per_s": 1e10,
                "flops_per_s": {"f32": 1e11}},
            "levels": [{"name": "wire", "size": 8, "bytes_per_s": 1e9,
                        "latency_s": 1e-5}]}))
        plan = self.plan(self.gpt.model, *self.gpt.compile_options("sgd"),
                         "--mesh", "dp=2", "--cluster", cluster)
        wire = plan["traffic"]["by_level"]["wire"]
        self.assertEqual(wire["bytes"], plan["traffic"]["sent_bytes"])
        self.assertGreater(plan["exposed_s"]["dp"], 0)
        self.assertAlmostEqual(wire["busy"],
                               wire["bytes"] / 1e9 / plan["step_s"])

    def test_measured_sums(self):
        """Sums of two ranks were timed at a third of the level's rate."""
        cluster = self.folder / "c.json"
        rows = [{"kind": "all_reduce", "ranks": 2, "bytes": size,
                 "seconds": 1e-5 + 3 * size / 1e9} for size in (4, 1 << 26)]
        cluster.write_text(json.dumps({
            "name": "slow", "device": {
                "name": "d", "memory_bytes_per_s": 1e10,
                "flops_per_s": {"f32": 1e11}},
            "levels": [{"name": "wire", "size": 8, "bytes_per_s": 1e9,
                        "latency_s": 1e-5}],
            "collectives": {"algorithms": ["ring"], "measured": rows}}))
        given = [self.gpt.model, *self.gpt.compile_options("sgd"), "--cluster",
                 cluster, "--mesh"]
        two, four = (self.plan(*given, f"dp={ranks}") for ranks in (2, 4))
        wire = two["traffic"]["by_level"]["wire"]
        self.assertAlmostEqual(
            wire["busy"] / (3 * wire["bytes"] / 1e9 / two["step_s"]), 1, 3)
        # Four ranks were not timed; they wait no shorter.
        self.assertGreaterEqual(four["exposed_s"]["dp"], two["exposed_s"]["dp"])
        # The cluster has the ring alone: to ask for it changes nothing.
        ring = self.plan(*given, "dp=2", "--collective-algorithm", "ring")
        self.assertAlmostEqual(ring["step_s"] / two["step_s"], 1, 9)

    def test_faster_machines_take_less(self):
        """And the text for people says what the JSON does."""
        options = [self.gpt.model, *self.gpt.compile_options("adamw"),
                   "--mesh", "dp=2", "--cluster"]
        ideal, real = (self.plan(*options, name)
                       for name in ("ideal", "h100-dgx"))
        self.assertLess(ideal["step_s"], real["step_s"])
        self.assertAlmostEqual(ideal["ideal_s"], ideal["step_s"])
        self.assertAlmostEqual(real["ideal_s"], sum(
            real["compute_s"].values()))
        self.assertLess(real["ideal_s"], real["step_s"])
        self.assertEqual(ideal["exposed_s"].get("dp", 0), 0)
        text = self.zc("plan", *options, "h100-dgx", "--tokens", "1e9")
        self.assertIn("dp 2", text)
        self.assertIn("exposed", text)
        self.assertIn("days", text)

    def test_days(self):
        plan = self.plan(self.gpt.model, *self.gpt.compile_options("adamw"),
                         "--cluster", "ideal", "--tokens", "1e12")
        self.assertAlmostEqual(
            plan["days"], 1e12 / plan["tokens_per_s"] / 86400)


class Masks(PlanTest):

    def kinds(self, mask):
        """The kinds of ops that a GPT with this mask of 512 tokens computes."""
        model = self.folder / "gpt.onnx"
        options = argparse.Namespace(
            output=str(model), layers=1, width=256, heads=2, vocabulary=100,
            batch=2, length=512, causal=1, tied=0)
        built, _ = large_gpt.build(options)
        stored = next(each for each in built.graph.initializer
                      if each.name == "mask")
        stored.CopyFrom(numpy_helper.from_array(mask, "mask"))
        onnx.save(built, model)
        plan = self.plan(model, *LOSS, "--cluster", "h100-dgx",
                         "--precision", "bf16")
        return plan["compute_s"]

    def test_stored_masks(self):
        """A causal mask is known by its values, whatever its size; one that
        hides another token is added to the scores."""
        causal = np.triu(np.full((512, 512), -np.inf, np.float32), 1)
        self.assertIn("attention", self.kinds(causal))
        causal[400, 399] = -np.inf
        self.assertNotIn("attention", self.kinds(causal))


class Large(PlanTest):

    def test_405b_on_16384(self):
        """Llama 3 405B: within a minute and 2 GB. A minute of two cores is two
        of processor time; a plan takes some seconds, so that half of it is
        enough for the slowest machine."""
        model = self.folder / "llama.onnx"
        with mock.patch.object(sys, "argv", ["large_llama", str(model)]):
            large_llama.main()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        plan = self.plan(
            model, *LOSS, "--cluster", "h100-dgx", "--mesh",
            "dp=128,pp=16,tp=8", "--accumulate", "16", "--schedule",
            "interleaved", "--chunks", "4", "--precision", "bf16", "--zero",
            "1", "--recompute", "layer", "--placement", "dp,pp,tp")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not is_sanitized():
            self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime -
                            before.ru_stime, 60, "seconds of processors")
        self.assertEqual(plan["ranks"], 16384)
        self.assertAlmostEqual(plan["parameters"] / 405.85e9, 1, places=3)
        self.assertEqual(len(plan["roles"]), 16)
        self.assertGreater(plan["hfu"], plan["mfu"])
        # The largest child of this process, whichever it was.
        self.check_memory(after.ru_maxrss * 1024, 2e9)

    def test_its_ranks_are_compared(self):
        """Half of those layers, as 64 ranks of the same stages."""
        model = self.folder / "llama.onnx"
        with mock.patch.object(sys, "argv", ["large_llama", str(model),
                                             "--layers", "64"]):
            large_llama.main()
        code, out, error = run(
            "plan", model, *LOSS, "--cluster", "h100-dgx", "--mesh",
            "dp=128,pp=16,tp=8", "--accumulate", "16", "--schedule",
            "interleaved", "--chunks", "4", "--precision", "bf16", "--zero",
            "1", "--recompute", "layer", "--verify", "on")
        self.assertEqual(code, 0, error)
        self.assertRegex(error, r"verified: on small dims 64 ranks train as one "
                                r"does, in all \d{4} tensors")

    def test_a_million_tokens_on_64(self):
        """A layer of Llama 3 8B with its vocabulary, in a GPU's 80 GB."""
        model = self.folder / "llama.onnx"
        with mock.patch.object(sys, "argv", [
                "large_llama", str(model), "--layers", "1", "--width", "4096",
                "--heads", "32", "--key-heads", "8", "--inner", "14336",
                "--length", str(1 << 20), "--vocabulary", "128256", "--batch",
                "1"]):
            large_llama.main()
        plan = self.plan(model, *LOSS, "--cluster", "h100-dgx", "--mesh",
                         "sp=64", "--precision", "bf16", "--zero", "3")
        self.assertEqual(plan["ranks"], 64)
        self.assertLess(plan["roles"][0]["memory"]["peak"], 20 << 30)


class Memory(PlanTest):
    """Bytes of a rank, by the number of layers of a Llama."""
    WIDTH, TOKENS = 512, 16384

    def bytes_of(self, layers, *options, length=256):
        model = self.folder / f"{layers}-{length}.onnx"
        if not model.exists():
            with mock.patch.object(sys, "argv", [
                    "large_llama", str(model), "--layers", str(layers),
                    "--width", str(self.WIDTH), "--heads", "8", "--key-heads",
                    "2", "--inner", "1536", "--length", str(length),
                    "--vocabulary", "512", "--batch",
                    "1" if length == self.TOKENS else "32"]):
                large_llama.main()
        plan = self.plan(model, *LOSS, "--cluster", "h100-dgx", "--zero", "3",
                         "--optimizer", "adamw", "--precision", "bf16",
                         *options)
        return plan["roles"][0]["memory"]

    def test_gathered_weights_go(self):
        """ZeRO-3: of gathered weights a rank has few layers', however many
        there are, in each pass."""
        for how in (("--mesh", "dp=16"),
                    ("--mesh", "dp=16", "--recompute", "layer"),
                    ("--mesh", "dp=16", "--recompute", "selective"),
                    ("--mesh", "sp=16", "--sp-attention", "ring")):
            with self.subTest(how=how):
                few, many = (self.bytes_of(layers, *how)["communication"]
                             for layers in (6, 12))
                self.assertLess(many, 1.05 * few)

    def test_recomputed_layers(self):
        """With layers computed again a rank keeps what enters each of them,
        and of a ring of attention its result and log sum exp: no keys of
        others, no turn's terms, and nothing at all of what is in a layer."""
        how = ("--mesh", "sp=16", "--sp-attention", "ring", "--recompute",
               "layer")
        few, many = (self.bytes_of(layers, *how,
                                   length=self.TOKENS)["activations"]
                     for layers in (12, 20))
        tokens = self.TOKENS // 16
        kept = tokens * (2 * self.WIDTH * 2 + 8 * 4)
        self.assertAlmostEqual((many - few) / 8 / kept, 1, delta=0.05)


class Refusals(PlanTest):

    def test_refusals(self):
        model = [self.gpt.model, *self.gpt.compile_options("sgd")]
        self.fails(1, ["no cluster file 'nowhere.json'", "h100-dgx"],
                   "plan", *model, "--cluster", "nowhere.json")
        self.fails(2, ["--cluster"], "plan", *model)
        bad = self.folder / "bad.json"
        bad.write_text('{"name": "x"}')
        self.fails(1, ["bad.json: device: is missing"], "plan", *model,
                   "--cluster", bad)
        small = self.folder / "small.json"
        small.write_text(json.dumps({
            "name": "small", "device": {
                "name": "d", "memory_bytes_per_s": 0,
                "flops_per_s": {"f32": 1}},
            "levels": [{"name": "l", "size": 1, "bytes_per_s": 0,
                        "latency_s": 0}]}))
        self.fails(1, ["room for 1 ranks, fewer than 2: take a"], "plan", *model, "--mesh",
                   "dp=2", "--cluster", small)
        self.fails(1, ["--placement", "'pp' is no axis"], "plan", *model,
                   "--mesh", "dp=2", "--cluster", "ideal", "--placement",
                   "pp,dp")
        self.fails(1, ["--mode infer"], "plan", self.gpt.model, "--mode",
                   "infer", "--cluster", "ideal")

    def test_artifacts_are_compiled(self):
        artifact = self.folder / "model.zca"
        self.zc("compile", self.gpt.model, "-o", artifact,
                *self.gpt.compile_options("sgd"))
        self.fails(2, ["--mesh", "compiled already"], "plan", artifact,
                   "--mesh", "dp=2", "--cluster", "ideal")


if __name__ == "__main__":
    unittest.main()
