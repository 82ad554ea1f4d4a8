#!/usr/bin/env python3
"""Figures of offloading: what is copied, how long a step waits for it, what a
GPU keeps."""
import json
import unittest

from requirements_test import CLUSTERS, LOSS, SMALL, RequirementsTest


class Figures(RequirementsTest):

    def memory_on_gpu(self, model, *options):
        artifact = self.folder / "a.zca"
        self.zc("compile", model, *LOSS, "--init", "normal:0.02", "--verify",
                "off", "--target", "cuda", "--cubins", "none", *options, "-o",
                artifact)
        return json.loads(self.zc("inspect", artifact, "--json",
                                  "--memory"))["memory"]

    def test_copies_of_offloading(self):
        """K-01: what lies in the second memory is copied there in each step, and
        back once or, where it is read far apart, twice; what the peak falls by is
        a part of it."""
        plain, away = (self.inspect(self.write_large(**SMALL), *options)["memory"]
                       for options in ((), ("--offload", "activations")))
        self.assertEqual(plain["copied"], {"away": 0, "back": 0})
        # Found: 8.9 MB, and a peak that falls by 7.4 MB of 20.2.
        self.assertGreater(away["offloaded"], 8e6)
        self.assertGreater(plain["peak"] - away["peak"], 7e6)
        self.assertLessEqual(away["copied"]["away"], away["copied"]["back"])
        self.assertLessEqual(away["copied"]["back"],
                             2 * away["copied"]["away"])
        self.assertGreaterEqual(away["copied"]["away"], away["offloaded"])
        # Room there is used again, by a quarter at most: found, 11.0 MB go.
        self.assertLess(away["copied"]["away"], 1.25 * away["offloaded"])
        self.assertGreaterEqual(away["offloaded"], plain["peak"] - away["peak"])

    def test_copies_of_vdnns_network(self):
        """K-01: what VGG-16 keeps, one of those that the paper has, is read again
        once, so that it goes once and comes back once, and the peak falls by what
        lies with the host."""
        model = self.write_large("large_cnn.py", net="vgg16", batch=2, size=224)
        plain, away = (self.memory_on_gpu(model, "--optimizer", "sgd",
                                          "--offload", offload)
                       for offload in ("none", "activations"))
        self.assertEqual(away["copied"]["back"], away["copied"]["away"])
        self.assertGreaterEqual(away["copied"]["away"], away["offloaded"])
        # Found: 93.1 MB each way, in room of 76.2 MB that is used again.
        self.assertLess(away["copied"]["away"], 1.25 * away["offloaded"])
        self.assertAlmostEqual(
            (plain["peak"] - away["peak"]) / away["offloaded"], 1, delta=0.02)

    def test_copies_hide(self):
        """K-02: a step that keeps its parameters in the host's memory is as long
        as one that does not while a layer's copies take no longer than it, on
        the preset's link with so many tokens; where the link is slower, the step
        waits."""
        model = self.write_large(**dict(SMALL, width=512, length=256,
                                        batch=256, vocabulary=1024))
        cluster = json.loads((CLUSTERS / "h100-dgx.json").read_text())
        own = cluster["host"]["bytes_per_s"]
        steps = {}
        for rate in (own, own / 50):
            cluster["host"]["bytes_per_s"] = rate
            path = self.folder / "c.json"
            path.write_text(json.dumps(cluster))
            for offload in ("none", "parameters"):
                steps[rate, offload] = self.plan(
                    model, *LOSS, "--cluster", path, "--precision", "bf16",
                    "--offload", offload)["step_s"]
        self.assertEqual(steps[own, "none"], steps[own / 50, "none"])
        self.assertLess(steps[own, "parameters"], 1.02 * steps[own, "none"])
        self.assertGreater(steps[own / 50, "parameters"],
                           1.2 * steps[own / 50, "none"])

    def test_a_table_that_steps_begin_with(self):
        """K-02: GPT-2 of 16 x 1024 tokens, whose embedding is its head, too. No
        step can hide the table's ways in front of its first read, between two
        parts of the loss, and behind its update: there it stays on the device. All
        else hides, and the plan falls by most of the layers' 171 MB, of which
        two layers' are there at a time."""
        for micro in (1, 8):
            model = self.write_large(layers=12, width=768, heads=12,
                                     length=1024, vocabulary=50257,
                                     batch=16 * micro, tied=1)
            options = (model, *LOSS, "--optimizer", "adamw", "--cluster",
                       "h200", "--precision", "bf16", "--accumulate", micro,
                       "--offload")
            plain, away = (self.plan(*options, offload)
                           for offload in ("none", "parameters"))
            # Found: 1.014 and 1.010; with the table away, 1.25 and 1.22.
            self.assertLess(away["step_s"], 1.02 * plain["step_s"])
            fallen = plain["memory"]["peak"] - away["memory"]["peak"]
            self.assertGreater(fallen, 0.14e9)

    def test_a_budget_moves_the_table(self):
        """K-02: what stays costs memory. A budget that this exceeds has all
        parameters away."""
        model = self.write_large(layers=4, width=256, heads=4, length=256,
                                 batch=8, vocabulary=4000, tied=0)
        away = (model, "--optimizer", "sgd", "--recompute", "none", "--offload",
                "parameters")
        quick, roomy, low = (
            self.memory_on_gpu(*away, *budget)
            for budget in ((), ("--memory-budget", "212MiB"),
                           ("--memory-budget", "208MiB")))
        # Found: 210.6 and 206.7 MiB.
        self.assertGreater(quick["peak"], 208 << 20)
        self.assertEqual(roomy["peak"], quick["peak"])
        self.assertLess(low["peak"], 208 << 20)
        table = 4 * 4000 * 256
        self.assertEqual(low["offloaded"] - quick["offloaded"], table)

    def test_smaller_budgets_are_no_quicker(self):
        """K-02: to recompute and to move what steps begin with both take seconds;
        of the plans that fit the quickest is taken, whichever of the two it does,
        so that a smaller budget never makes a shorter step."""
        model = self.write_large(layers=8, width=512, heads=8, length=512,
                                 batch=8, vocabulary=16000, tied=0)
        steps = [self.plan(model, *LOSS, "--optimizer", "sgd", "--cluster",
                           "h200", "--precision", "bf16", "--offload",
                           "parameters", "--memory-budget", f"{budget}MiB")
                 ["step_s"] for budget in (900, 838, 819, 500, 460)]
        # Found: 4.86 ms with all, 4.90 for 838 and 819 MiB (with the table away it
        # is 5.44), 5.39 for 500; for 460 the table leaves as well.
        self.assertEqual(steps, sorted(steps))
        self.assertEqual(len(set(steps)), 4)

    def test_a_table_whose_moments_leave(self):
        """K-02: only parameters stay. With a budget that this fits zc offloads an
        optimizer's moments, those of the table that steps begin with, too."""
        model = self.write_large(layers=2, width=256, heads=4, length=128,
                                 batch=4, vocabulary=20000, tied=1)
        adam = model, "--optimizer", "adamw"
        moments = self.memory_on_gpu(*adam, "--offload", "optimizer")
        self.assertGreater(moments["offloaded"], 8 * 20000 * 256)
        # Found: 114.0 and 117.6 MiB.
        for offload in ((), ("--offload", "parameters,optimizer")):
            memory = self.memory_on_gpu(*adam, *offload, "--memory-budget",
                                        "120MiB")
            self.assertLess(memory["peak"], 120 << 20)

    def plan_offloaded(self, samples, *options):
        """A model of 13e9 parameters that the host updates, and how many it
        has."""
        layers, width, vocabulary = 10, 10240, 25600
        model = self.write_large(layers=layers, width=width, heads=80,
                                 length=256, batch=samples,
                                 vocabulary=vocabulary)
        memory = self.memory_on_gpu(
            model, "--optimizer", "adamw", "--recompute", "layer", "--offload",
            "update", *options)
        return memory, 12 * layers * width**2 + 2 * vocabulary * width

    def test_zero_offload(self):
        """K-03: of 13e9 parameters a GPU keeps the weights in 16 bits, 26 GB;
        moments and float32 weights are the host's, 12 bytes a parameter, and in
        a step 2 bytes a parameter go there and 2 come back. The peak is that of
        a step, not of what makes the weights, and a GPU of 32 GB has room."""
        memory, weights = self.plan_offloaded(1, "--precision", "bf16")
        self.assertAlmostEqual(memory["parameters"] / 1e9, 26, delta=1)
        self.assertLess(memory["persistent"], 2.02 * weights)
        self.assertLess(memory["peak"], 30e9)
        init, step = (memory["programs"][name]["transient"]
                      for name in ("init", "step"))
        self.assertLess(init, step)
        # Beside the states gradients and new weights on their way.
        self.assertGreater(memory["offloaded"], 11.9 * weights)
        self.assertLess(memory["offloaded"], 16.1 * weights)
        for way in ("away", "back"):
            self.assertAlmostEqual(memory["copied"][way] / weights, 2,
                                   delta=0.02)

    def test_gradients_leave_before_the_norm(self):
        """K-03: clipping, and the loss scale of fp16, need all gradients before
        the first update. They wait for it with the host: the same 2 bytes a
        parameter cross, and the GPU keeps 2."""
        for options in (("--precision", "bf16", "--clip-norm", 1),
                        ("--precision", "fp16")):
            with self.subTest(options=options):
                memory, weights = self.plan_offloaded(1, *options)
                self.assertLess(memory["persistent"], 2.02 * weights)
                self.assertLess(memory["peak"], 31e9)
                for way in ("away", "back"):
                    self.assertAlmostEqual(memory["copied"][way] / weights, 2,
                                           delta=0.02)

    def test_gradients_of_micro_batches_leave(self):
        """K-03: those of 8 micro-batches are added up with the host: 2 bytes a
        parameter go there for each, and the GPU keeps no sums."""
        memory, weights = self.plan_offloaded(8, "--precision", "bf16",
                                              "--accumulate", 8)
        self.assertLess(memory["persistent"], 2.02 * weights)
        self.assertLess(memory["peak"], 31e9)
        self.assertAlmostEqual(memory["copied"]["back"] / weights, 2,
                               delta=0.02)
        self.assertAlmostEqual(memory["copied"]["away"] / weights, 16,
                               delta=0.5)


if __name__ == "__main__":
    unittest.main()
