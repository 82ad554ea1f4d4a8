#!/usr/bin/env python3
"""Recomputation and budgets never change the numbers, only the memory."""
import json
import re
import unittest

from zctest import FIXTURES, Fixture, ZcTest

POLICIES = ("none", "layer", "sqrt", "selective", "full")


class Memory(ZcTest):

    def compile(self, model, *options):
        artifact = self.folder / "a.zca"
        self.zc("compile", model, "-o", artifact, *options)
        plan = json.loads(self.zc("inspect", artifact, "--memory", "--json"))
        return artifact, plan["memory"]

    def check(self, model, data, *options, policies=("none", "sqrt", "full")):
        expected = None
        peaks = {}
        for policy in policies:
            artifact, plan = self.compile(model, *options, "--recompute", policy)
            losses, weights, used = self.numbers(artifact, data, steps=3)
            self.assertEqual(plan["peak"], used, policy)
            expected = expected or (losses, weights)
            self.assertEqual((losses, weights), expected, policy)
            peaks[policy] = plan["peak"]
        self.assertLessEqual(peaks["full"], min(peaks.values()))
        return peaks

    def test_transformer(self):
        fixture = Fixture("gpt")
        peaks = self.check(fixture.model, fixture.data,
                           *fixture.compile_options("adamw"),
                           policies=POLICIES)
        self.assertLess(peaks["layer"], peaks["none"])

    def test_batch_normalisation(self):
        """Statistics are updated once."""
        fixture = Fixture("resnet")
        self.check(fixture.model, fixture.data, *fixture.compile_options("sgd"))

    def test_dropout_and_micro_batches(self):
        options = FIXTURES / "options"
        model, loss = options / "dropped.onnx", ["--loss",
                                                 "softmax-cross-entropy"]
        for parts in ([], ["--accumulate", "2"]):
            self.check(model, options / "dropped.npz", *loss, *parts)
            said = self.zc("compile", model, "-o", self.folder / "a.zca",
                           *loss, *parts, "--recompute", "full")
            self.assertRegex(said,
                             r"computes \d+ kernels? of the forward again")

    def test_micro_batches(self):
        """Saved activations of each micro-batch are recomputed, kept in fewer
        bytes, in a file, and planned under a budget, as those of a whole batch
        are."""
        fixture = Fixture("gpt")
        parts = (*fixture.compile_options("adamw"), "--accumulate", "2")
        peaks = self.check(fixture.model, fixture.data, *parts,
                           policies=POLICIES)
        for policy in ("layer", "selective", "full"):
            self.assertLess(peaks[policy], peaks["none"], policy)
        artifact, _ = self.compile(fixture.model, *parts)
        expected = self.numbers(artifact, fixture.data, steps=3)[:2]
        for options in (("--offload", "activations"),
                        ("--memory-budget", peaks["full"] + 1024, "--offload",
                         "none"), ("--memory-budget", peaks["full"] * 3 // 4)):
            with self.subTest(options=options):
                artifact, plan = self.compile(fixture.model, *parts, *options)
                self.assertLess(plan["peak"], peaks["none"])
                self.assertEqual(plan["offloaded"] > 0, "none" not in options)
                self.assertEqual(
                    self.numbers(artifact, fixture.data, steps=3),
                    (*expected, plan["peak"]))

    def test_small_tensors(self):
        """Kernels of one block round alike, whatever buffers they share."""
        fixture = Fixture("recommender")
        self.check(fixture.model, fixture.data,
                   *fixture.compile_options("adamw"), "--cpu-threads", "1",
                   policies=POLICIES)

    def test_budget(self):
        fixture = Fixture("gpt")
        options = fixture.compile_options("adamw")
        artifact, free = self.compile(fixture.model, *options)
        expected = self.numbers(artifact, fixture.data, steps=3)
        self.assertEqual(expected[2], free["peak"])
        _, least = self.compile(fixture.model, *options, "--recompute", "full")
        for part in (0, 0.5, 1):
            budget = round(least["peak"] + part * (free["peak"] - least["peak"]))
            artifact, plan = self.compile(fixture.model, *options,
                                          "--memory-budget", budget)
            self.assertLessEqual(plan["peak"], budget)
            numbers = self.numbers(artifact, fixture.data, steps=3)
            self.assertEqual(numbers, (*expected[:2], plan["peak"]))
            if part == 1:
                self.assertEqual(plan["peak"], free["peak"])

    def test_sqrt_of_the_layers(self):
        """With l layers, sqrt keeps a + b sqrt(l) bytes, none a + b l."""
        growth = {"none": lambda layers: layers, "sqrt": lambda layers:
                  layers ** 0.5}
        kept = {policy: [] for policy in growth}
        artifacts = {policy: [] for policy in growth}
        counts = (4, 9, 16, 25)
        for layers in counts:
            model = self.write_large(name=f"gpt-{layers}.onnx", layers=layers,
                                     width=32, heads=2, length=32, batch=4,
                                     vocabulary=64)
            for policy, values in kept.items():
                _, plan = self.compile(
                    model, "--init", "normal:0.02", "--loss",
                    "softmax-cross-entropy", "--optimizer", "sgd",
                    "--recompute", policy)
                values.append(plan["activations"])
                artifacts[policy].append(
                    self.folder / f"{policy}-{layers}.zca")
                (self.folder / "a.zca").rename(artifacts[policy][-1])
        for policy, values in kept.items():
            x = [growth[policy](layers) for layers in counts]
            slopes = [(values[i + 1] - values[i]) / (x[i + 1] - x[i])
                      for i in range(3)]
            self.assertGreater(slopes[0], 0)
            for slope in slopes:
                # Ends of segments fall where layers end.
                self.assertAlmostEqual(slope / slopes[0], 1, delta=0.1,
                                       msg=f"{policy}: {values}")
        # In no order: as a glob gives them, 16 in front of 4.
        self.check_page(kept, sorted(artifacts["none"] + artifacts["sqrt"]))

    def check_page(self, kept, artifacts):
        """The page finds the two curves and which power of the layers each
        is of."""
        page = self.folder / "page.html"
        self.zc("inspect", *artifacts, "--html", page)
        text = page.read_text()
        self.assertNotRegex(text, "(src|href|http)=")
        for policy, values in kept.items():
            for value in values:
                self.assertIn(f"{value / 2 ** 20:.2f} MiB", text)
            best, root, linear = re.search(
                f"<tr><td>{policy}</td><td>.*layers(?:<sup>(.*)</sup>)?</td>"
                r".*<td class=\"n\">(.*)%</td><td class=\"n\">(.*)%</td>"
                "</tr>", text).groups()
            power = {"none": 1, "sqrt": 0.5}[policy]
            self.assertAlmostEqual(float(best or 1), power, delta=0.1)
            wrong, right = sorted((float(root), float(linear)), reverse=True)
            self.assertEqual(right, float(root if policy == "sqrt" else linear))
            self.assertLess(3 * right, wrong)
        self.assertEqual(text.count("<svg"), 2 + len(artifacts))

    def test_no_plan_fits(self):
        fixture = Fixture("gpt")
        out = self.folder / "none.zca"
        self.fails(1, ["model.onnx: no plan fits into 20.00 KiB: the least is",
                       "too much"],
                   "compile", fixture.model, "-o", out, "--memory-budget",
                   "20KiB", *fixture.compile_options("adamw"))
        self.assertFalse(out.exists())

    def test_the_least_is_least(self):
        """No choice by hand needs less than the least that zc names."""
        for name in ("unet", "lstm"):
            fixture = Fixture(name)
            options = (*fixture.compile_options("adamw"), "--cpu-threads", "1")
            said = self.fails(1, ["the least is"], "compile", fixture.model,
                              "-o", self.folder / "a.zca", "--memory-budget",
                              "1KiB", *options)
            least = float(re.search(r"least is ([0-9.]+) KiB", said)[1]) * 1024
            for policy in ("layer", "full"):
                for offload in ("none", "optimizer,parameters,activations"):
                    _, plan = self.compile(fixture.model, *options,
                                           "--recompute", policy, "--offload",
                                           offload)
                    self.assertLessEqual(least, plan["peak"] + 16,
                                         (name, policy, offload))

    def test_an_explicit_none_recomputes_nothing(self):
        fixture = Fixture("gpt")
        options = fixture.compile_options("adamw")
        _, free = self.compile(fixture.model, *options)
        said = self.zc("compile", fixture.model, "-o", self.folder / "a.zca",
                       *options, "--recompute", "none", "--memory-budget",
                       free["peak"] * 3 // 4)
        self.assertNotIn("again", said)
        self.assertIn("offloads", said)

    def test_wrong_options(self):
        model = Fixture("mlp").model
        for options, patterns in {
                ("--memory-budget", "much"): ["16GiB", "found 'much'"],
                ("--memory-budget", "-1GiB"): ["found '-1GiB'"],
                ("--recompute", "half"): ["layer", "half"],
                ("--mode", "infer", "--recompute", "layer"): ["--mode train"],
        }.items():
            self.fails(2, patterns, "compile", model, "-o",
                       self.folder / "a.zca", "--loss", "mse", *options)


if __name__ == "__main__":
    unittest.main()
