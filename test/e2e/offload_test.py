#!/usr/bin/env python3
"""Tensors lie in a file while nothing needs them: never the numbers change,
only the place."""
import json
import unittest
from itertools import combinations

import numpy as np

from zctest import Fixture, ZcTest, latest_step, limit_file_size

PARTS = ("optimizer", "parameters", "activations")


class Offload(ZcTest):

    def plan(self, name, *options):
        artifact = self.folder / "a.zca"
        fixture = Fixture(name)
        self.zc("compile", fixture.model, "-o", artifact,
                *fixture.compile_options("adamw"), *options)
        plan = json.loads(self.zc("inspect", artifact, "--memory", "--json"))
        return artifact, fixture.data, plan["memory"]

    def check(self, name, *options, parts, run=()):
        """Returns the plans, without offloading and with each of `parts`."""
        plans, expected = [], None
        for offload in ("",) + parts:
            chosen = ("--offload", offload) if offload else ()
            artifact, data, plan = self.plan(name, *options, *chosen)
            losses, weights, used = self.numbers(artifact, data, *run,
                                                 steps=2)
            self.assertEqual(plan["peak"], used, offload)
            expected = expected or (losses, weights)
            self.assertEqual((losses, weights), expected, offload)
            plans.append(plan)
        return plans

    def test_transformer(self):
        none, optimizer, parameters, activations, everything = self.check(
            "gpt",
            parts=PARTS + (",".join(PARTS), ))
        self.assertEqual(none["offloaded"], 0)
        # Small tensors are not offloaded.
        self.assertGreater(optimizer["offloaded"], 0.9 * none["optimizer"])
        self.assertGreater(parameters["offloaded"], 0.9 * none["parameters"])
        self.assertEqual(optimizer["persistent"] + optimizer["offloaded"],
                         none["persistent"])
        for plan in (optimizer, parameters, activations):
            self.assertLess(plan["peak"], none["peak"])
            self.assertLess(everything["peak"], plan["peak"])

    def test_ranks(self):
        """One file a rank; gathers and reductions beside the copies."""
        for stage in (1, 3):
            plans = self.check("gpt", "--mesh", "dp=2", "--zero", stage,
                               "--cpu-threads", 1, parts=(",".join(PARTS), ),
                               run=("--local-ranks", 2))
            self.assertLess(plans[1]["peak"], plans[0]["peak"])

    def test_units_are_stored_in_their_order(self):
        self.check("gpt", "--mesh", "dp=2", "--zero", 2, "--unit", "layer",
                   "--cpu-threads", 1, parts=("parameters", ),
                   run=("--local-ranks", 2))

    def test_micro_batches_in_16_bits(self):
        """The float32 weights are the optimizer's; programs of two kinds."""
        plans = self.check("gpt", "--precision", "bf16", "--accumulate", 2,
                           "--recompute", "sqrt",
                           parts=("optimizer", ",".join(PARTS)))
        self.assertGreater(plans[1]["offloaded"], 0.9 * plans[0]["optimizer"])

    def test_resume(self):
        """Checkpoints hold what lies in the file; any plan resumes from it."""
        artifact, data, _ = self.plan("gpt", "--offload", "optimizer")
        whole = self.numbers(artifact, data, steps=4)
        folder = self.folder / "parts"
        for steps, offload in enumerate((("--offload", "optimizer"), (),
                                         ("--offload", ",".join(PARTS)))):
            artifact, data, _ = self.plan("gpt", *offload)
            resume = ("--resume", ) if steps else ()
            self.train(artifact, data, steps + 2, "--no-shuffle",
                       "--checkpoint", folder, *resume)
        weights = self.folder / "parts.safetensors"
        self.zc("export", artifact, "--checkpoint", folder, "--safetensors",
                weights)
        self.assertEqual(weights.read_bytes(), whole[1])

    def test_budget(self):
        """Offloading saves the memory that recomputation alone cannot; both
        cost nothing where they are not needed."""
        expected = None
        peaks = []
        for options in ((), ("--recompute", "full"),
                        ("--memory-budget", "800KiB"),
                        ("--memory-budget", "1000KiB", "--offload", "none"),
                        ("--memory-budget", "2MiB")):
            artifact, data, plan = self.plan("gpt", *options)
            peaks.append(plan)
            losses, weights, used = self.numbers(artifact, data, steps=2)
            self.assertEqual(plan["peak"], used)
            expected = expected or (losses, weights)
            self.assertEqual((losses, weights), expected)
        free, full, tight, kept, wide = peaks
        self.assertGreater(full["peak"], 800 * 1024)
        self.assertLessEqual(tight["peak"], 800 * 1024)
        self.assertGreater(tight["offloaded"], 0)
        self.assertEqual(kept["offloaded"], 0)
        self.assertEqual(wide["peak"], free["peak"])

    def compile_sgd(self, name, *options):
        """The peak of a plan, and what is said of it."""
        artifact = self.folder / "a.zca"
        said = self.zc("compile", Fixture(name).model, "-o", artifact,
                       *Fixture(name).compile_options("sgd"), *options)
        memory = self.zc("inspect", artifact, "--memory", "--json")
        return json.loads(memory)["memory"]["peak"], said

    def test_no_list_takes_more_than_a_part(self):
        """Staging buffers may take more at the peak than what they are for. Those
        parts of a list are left out, which is said."""
        vgg = [self.compile_sgd("vgg", *options) for options in
               ((), ("--offload", "activations"), ("--offload", "optimizer"),
                ("--offload", "activations,optimizer"))]
        self.assertEqual({peak for peak, _ in vgg}, {vgg[0][0]})
        for _, said in (vgg[1], vgg[3]):
            self.assertIn("--offload leaves activations where they are", said)
        fp16, both = (
            self.compile_sgd("cnn", "--mesh", "tp=2", "--compress-activations",
                             "fp16", *options)
            for options in ((), ("--partition-activations", )))
        self.assertLessEqual(both[0], fp16[0])
        self.assertIn("--partition-activations is left out", both[1])
        self.assertNotIn("left out", fp16[1])

    def test_no_list_of_encodings_takes_more_than_a_part(self):
        """Each value has the first encoding of a list that may keep it, which need
        not be the best: then one is left out."""
        peaks = {}
        for count in (1, 2, 3):
            for part in combinations(("bits", "sparse=0.5", "fp16"), count):
                peaks[part], _ = self.compile_sgd(
                    "vgg", "--compress-activations", ",".join(part))
                for smaller in combinations(part, count - 1):
                    self.assertLessEqual(peaks[part],
                                         peaks.get(smaller, peaks[part]))
        self.assertGreater(len(set(peaks.values())), 1)

    def test_a_full_disk(self):
        artifact, data, _ = self.plan("gpt", "--offload", "optimizer")
        folder, place = self.folder / "ckpt", self.folder / "offload"
        place.mkdir()
        run = ("run", artifact, "--data", data, "--checkpoint", folder,
               "--offload-dir", place)
        self.zc(*run, "--steps", 1)
        before = {path: path.read_bytes()
                  for path in sorted(latest_step(folder).iterdir())}
        self.fails(1, ["cannot offload [0-9]+ bytes to", "offload", "too large",
                       "--offload-dir DIR"], *run, "--steps", 2, "--resume",
                   preexec_fn=limit_file_size(100 * 1024))
        after = {path: path.read_bytes()
                 for path in sorted(latest_step(folder).iterdir())}
        self.assertEqual(before, after)
        self.assertEqual(list(place.iterdir()), [])
        self.zc(*run, "--steps", 2, "--resume")
        self.assertEqual(list(place.iterdir()), [])

    def test_evaluation(self):
        """Whatever the artifact offloads lies in the folder that one says."""
        artifact, data, _ = self.plan("gpt", "--offload", "optimizer")
        tokens = self.folder / "tokens.npy"
        np.save(tokens, next(array for name, array in np.load(data).items()
                             if name != "labels"))
        name = next(name for name in np.load(data) if name != "labels")
        say = ("eval", artifact, "--input", f"{name}={tokens}", "--output-dir",
               self.folder / "out", "--offload-dir")
        self.fails(1, ["cannot offload", "missing", "--offload-dir"], *say,
                   self.folder / "missing")
        self.zc(*say, self.folder)

    def test_wrong_folder(self):
        artifact, data, _ = self.plan("gpt", "--offload", "optimizer")
        self.fails(1, ["cannot offload", "missing", "no such file"], "run",
                   artifact, "--data", data, "--steps", 1, "--offload-dir",
                   self.folder / "missing")

    def test_wrong_options(self):
        model = Fixture("mlp").model
        for options, patterns in {
                ("--offload", "optimiser"): ["activations", "'optimiser'"],
                ("--offload", "optimizer,"): ["found 'optimizer,'"],
                ("--offload", ""): ["optimizer, update, parameters"],
                ("--offload", "update"): ["--target cuda", "its own host"],
                ("--target", "cuda", "--offload", "update"):
                ["--precision bf16, fp16 or fp8"],
                ("--target", "cuda", "--precision", "bf16", "--offload",
                 "update,parameters"): ["does not go with parameters"],
                ("--target", "cuda", "--precision", "bf16", "--offload",
                 "update", "--optimizer", "adafactor"): ["adam, adamw or sgd"],
                ("--target", "cuda", "--precision", "bf16", "--offload",
                 "update", "--optimizer", "adamw", "--ema", "0.9"):
                ["does not go with --ema"],
                ("--mesh", "dp=2", "--aggregation", "server", "--offload",
                 "optimizer"): ["--unit layer"],
                ("--target", "cuda", "--precision", "bf16", "--mesh", "dp=2",
                 "--aggregation", "server", "--offload", "update"):
                ["--zero 1 divides"],
                ("--mode", "infer", "--offload", "optimizer"):
                ["--mode train"],
        }.items():
            self.fails(2, patterns, "compile", model, "-o",
                       self.folder / "a.zca", "--loss", "mse", *options)


if __name__ == "__main__":
    unittest.main()
