#!/usr/bin/env python3
"""Schedules without flush: which parameters a step's gradients are of.

One rank, and roles, drained or not, come to the same as PyTorch with copies of
parameters (tools/reference/stale.py).
"""
import json
import signal
import unittest

import numpy as np

from roles_test import RolesTest
from zctest import (FIXTURES, TIMEOUT, Fixture, ZcTest, latest_step,
                    load_tensors, read_log, start)

STALE = json.loads((FIXTURES / "odd" / "stale.json").read_text())
# The same stages as in tools/reference/stale.py.
STAGES = ("node_linear$: 0\nnode_linear_1: 1\nnode_linear_2: 2\n"
          "node_linear_3: 3\n")
OPTIMIZERS = {"sgd": (["--optimizer", "sgd", "--momentum", "0.8"], 0.2),
              "adamw": (["--optimizer", "adamw"], 0.02)}
STEPS = 12
# Options with the delays of a recording: schedule, micro-batches, stages.
VARIANTS = {
    "2bw": ["--schedule", "2bw", "--accumulate", "4"],
    "stash-1": ["--schedule", "stash"],
    "stash-2": ["--schedule", "stash", "--accumulate", "2"],
    "vertical-1": ["--schedule", "stash", "--vertical-sync"],
    "vertical-2": ["--schedule", "stash", "--vertical-sync", "--accumulate",
                   "2"],
}


class NoFlush(ZcTest):

    def setUp(self):
        super().setUp()
        self.stages = self.folder / "stages"
        self.stages.write_text(STAGES)
        self.odd = Fixture("odd")

    def build(self, name, *options, optimizer="sgd", fixture=None):
        fixture = fixture or self.odd
        artifact = self.folder / f"{name}.zca"
        batch = (["--dim", f"{fixture.reference['symbolic_batch']}="
                  f"{STALE['batch']}"]
                 if fixture.reference["symbolic_batch"] else [])
        self.zc("compile", fixture.model, "-o", artifact, "--loss",
                fixture.reference["loss"], *batch, *OPTIMIZERS[optimizer][0],
                *options)
        return artifact

    def go(self, artifact, ranks, *options, steps=STEPS, optimizer="sgd",
           name="run", data=None, rate=None):
        """Losses, the model's tensors and the optimizer's."""
        log, folder = self.folder / f"{name}.jsonl", self.folder / name
        again = [] if "--resume" in options else ["--overwrite"]
        self.train(artifact, data or self.odd.data, steps, "--no-shuffle",
                   "--log", log, "--checkpoint", folder, *again,
                   *(["--local-ranks", ranks] if ranks > 1 else []), *options,
                   lr=rate or OPTIMIZERS[optimizer][1])
        step = latest_step(folder)
        return ([line["loss"] for line in read_log(log)], load_tensors(step),
                load_tensors(step, "optimizer"))

    def close(self, found, expected, limit=1e-5):
        losses, weights = found[:2]
        np.testing.assert_allclose(losses, expected[0], rtol=limit)
        for name, tensor in expected[1].items():
            np.testing.assert_allclose(
                weights[name], tensor, rtol=0, err_msg=name,
                atol=10 * limit * np.abs(tensor).max())

    def same(self, found, expected):
        self.assertEqual(found[0], expected[0])
        for mine, theirs in zip(found[1:], expected[1:]):
            self.assertEqual(mine.keys(), theirs.keys())
            for name, tensor in theirs.items():
                np.testing.assert_array_equal(mine[name], tensor, name)


class Reference(NoFlush):
    """The losses and weights that PyTorch comes to."""

    def check(self, found, name, optimizer):
        recorded = STALE[optimizer][name]
        np.testing.assert_allclose(found[0], recorded["losses"], rtol=1e-5)
        for bias, values in recorded["biases"].items():
            np.testing.assert_allclose(found[1][bias], values, rtol=0,
                                       atol=1e-5, err_msg=bias)

    def test_versions_differ(self):
        """No variant would pass for another one."""
        for optimizer in OPTIMIZERS:
            last = [STALE[optimizer][name]["losses"][-1]
                    for name in STALE["delays"]]
            for i, loss in enumerate(last):
                for other in last[:i]:
                    self.assertGreater(abs(loss / other - 1), 5e-5)

    def test_one_rank(self):
        for name, options in VARIANTS.items():
            for optimizer in OPTIMIZERS:
                with self.subTest(name=name, optimizer=optimizer):
                    artifact = self.build("one", *options, "--stages",
                                          self.stages, optimizer=optimizer)
                    found = self.go(artifact, 1, optimizer=optimizer)
                    self.check(found, name, optimizer)

    def test_roles(self):
        for name, options in VARIANTS.items():
            optimizer = "adamw" if name == "stash-1" else "sgd"
            with self.subTest(name=name):
                artifact = self.build("roles", *options, "--stages",
                                      self.stages, "--mesh", "pp=4",
                                      optimizer=optimizer)
                found = self.go(artifact, 4, optimizer=optimizer)
                self.check(found, name, optimizer)

    def test_two_roles(self):
        """2bw is as old whatever the roles are."""
        artifact = self.build("two", "--schedule", "2bw", "--mesh", "pp=2",
                              "--accumulate", "2")
        self.check(self.go(artifact, 2), "2bw", "sgd")


class Runs(NoFlush):
    """Where a run is drained changes nothing."""

    def roles(self):
        return self.build("roles", *VARIANTS["2bw"], "--stages", self.stages,
                          "--mesh", "pp=4")

    def test_resume(self):
        """Interrupted at step 5, and taken over by another number of roles."""
        artifact = self.roles()
        whole = self.go(artifact, 4)
        self.go(artifact, 4, steps=5, name="parts")
        versions = load_tensors(latest_step(self.folder / "parts"),
                                "optimizer")
        self.assertIn("version.1.0.weight", versions)
        rest = self.go(artifact, 4, "--resume", name="parts")
        self.same(rest, whole)
        one = self.build("one", *VARIANTS["2bw"])
        self.go(artifact, 4, steps=5, name="moved")
        self.close(self.go(one, 1, "--resume", name="moved"), whole)

    def test_resume_in_warm_up(self):
        """Versions of before the first step are the first one."""
        artifact = self.build("stash", *VARIANTS["stash-1"], "--stages",
                              self.stages, "--mesh", "pp=4")
        whole = self.go(artifact, 4)
        self.go(artifact, 4, steps=1, name="parts")
        self.same(self.go(artifact, 4, "--resume", name="parts"), whole)

    def test_drained(self):
        artifact = self.roles()
        whole = self.go(artifact, 4)
        self.same(self.go(artifact, 4, "--save-every", 3, name="saved"), whole)
        self.same(self.go(artifact, 4, "--eval-data", self.odd.data,
                          "--eval-every", 4, name="seen"), whole)

    def test_stopped(self):
        """Steps that have begun are done, so that the run goes on as if never
        stopped."""
        artifact = self.roles()
        folder = self.folder / "stopped"
        process = start("run", artifact, "--data", self.odd.data, "--steps",
                        10**9, "--no-shuffle", "--lr", "0.01", "--checkpoint",
                        folder, "--local-ranks", 4, "--log", "-")
        for _ in range(20):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        step = int(latest_step(folder).name.split("-")[1])
        self.assertGreaterEqual(step, 20)
        steps = step + 7
        rest = self.go(artifact, 4, "--resume", name="stopped", steps=steps,
                       rate=0.01)
        whole = self.go(artifact, 4, name="whole", steps=steps, rate=0.01)
        self.same(rest, (whole[0][-len(rest[0]):], *whole[1:]))

    def test_no_numbers(self):
        """A loss that is none ends all ranks, though others are ahead."""
        data = self.folder / "nan.npz"
        arrays = dict(np.load(self.odd.data))
        arrays["x"][70] = np.nan
        np.savez(data, **arrays)
        self.fails(1, ["step 3: the (loss|gradients' norm) is nan", "sample 70"], "run",
                   self.roles(), "--data", data, "--steps", 20, "--no-shuffle",
                   "--local-ranks", 4, "--timeout", 20)

    def test_labels_out_of_range(self):
        """Samples that cannot be fed end all ranks as well."""
        data = self.folder / "labels.npz"
        arrays = dict(np.load(self.odd.data))
        arrays["labels"][70] = 99
        np.savez(data, **arrays)
        self.fails(1, ["labels", "99"], "run", self.roles(), "--data", data,
                   "--steps", 20, "--no-shuffle", "--local-ranks", 4,
                   "--timeout", 20)

    def test_initial_weights(self):
        """All versions begin as what --init-from gives."""
        one = self.build("one", *VARIANTS["2bw"])
        self.go(one, 1, name="first")
        weights = latest_step(self.folder / "first")
        expected = self.go(one, 1, "--init-from", weights, name="second")
        found = self.go(self.roles(), 4, "--init-from", weights, name="third")
        self.close(found, expected)

    def test_other_delays(self):
        """A run cannot go on with versions of other steps."""
        flush = self.build("flush", "--accumulate", "4")
        late = self.build("late", *VARIANTS["2bw"])
        stash = self.build("stash", *VARIANTS["stash-1"], "--stages",
                           self.stages)
        for index, (first, second) in enumerate(
                [(flush, late), (late, flush), (stash, late), (late, stash)]):
            with self.subTest(index=index):
                name = f"run{index}"
                self.go(first, 1, steps=3, name=name)
                self.fails(1, ["schedule that applies gradients of",
                               "--init-from"],
                           "run", second, "--data", self.odd.data, "--steps",
                           6, "--checkpoint", self.folder / name, "--resume")


class Together(NoFlush):
    """With what else divides a step: as on one rank."""

    def compare(self, name, ranks, *options, one=(), model="odd", limit=1e-5,
                stages=None, schedule=VARIANTS["2bw"]):
        fixture = Fixture(model)
        cut = ["--stages", stages] if stages else []
        alone = self.build("alone", *schedule, *one,
                           *(cut if "stash" in schedule else []),
                           fixture=fixture)
        roles = self.build(name, *schedule, *cut, *options, *one,
                           fixture=fixture)
        expected = self.go(alone, 1, name="alone", data=fixture.data)
        found = self.go(roles, ranks, name=name, data=fixture.data)
        self.close(found, expected, limit)

    def test_samples_divided(self):
        self.compare("dp", 4, "--mesh", "pp=2,dp=2")
        self.compare("stash", 4, "--mesh", "pp=2,dp=2", stages=self.halves(),
                     schedule=VARIANTS["stash-2"])

    def halves(self):
        stages = self.folder / "halves"
        stages.write_text("node_linear$: 0\nnode_linear_2: 1\n")
        return stages

    def test_tensors_divided(self):
        self.compare("tp", 4, "--mesh", "pp=2,tp=2")

    def test_zero(self):
        for stage in (1, 2, 3):
            with self.subTest(stage=stage):
                self.compare(f"zero{stage}", 4, "--mesh", "pp=2,dp=2",
                             "--zero", stage)

    def test_recompute(self):
        self.compare("recompute", 2, "--mesh", "pp=2", "--recompute", "full")

    def test_halves(self):
        """16-bit copies have versions, their parameters one."""
        self.compare("bf16", 2, "--mesh", "pp=2", limit=5e-4,
                     one=["--precision", "bf16"])
        self.compare("zero", 4, "--mesh", "pp=2,dp=2", "--zero", "1",
                     limit=5e-4, one=["--precision", "bf16"])

    def test_resumed_halves(self):
        artifact = self.build("bf16", *VARIANTS["2bw"], "--mesh", "pp=2",
                              "--precision", "bf16")
        whole = self.go(artifact, 2)
        self.go(artifact, 2, steps=5, name="parts")
        self.same(self.go(artifact, 2, "--resume", name="parts"), whole)

    def test_dropout(self):
        """Draws are told apart by the step and micro-batch that they are of,
        whatever has been done in between."""
        model = FIXTURES / "options" / "dropped.onnx"
        data = model.with_suffix(".npz")
        stages = self.folder / "two"
        stages.write_text("node_linear$: 0\nnode_linear_1: 1\n")
        losses = []
        for mesh, ranks in ("pp=1", 1), ("pp=2", 2):
            artifact = self.folder / f"{ranks}.zca"
            self.zc("compile", model, "-o", artifact, "--loss",
                    "softmax-cross-entropy", "--accumulate", 2, "--optimizer",
                    "adamw", "--schedule", "2bw", "--mesh", mesh, "--stages",
                    stages)
            losses.append(self.go(artifact, ranks, "--seed", 3, data=data,
                                  name=mesh)[0])
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)

    def test_statistics(self):
        """Batch norm counts each micro-batch once, in their order."""
        self.compare("cnn", 2, "--mesh", "pp=2", model="cnn",
                     schedule=["--schedule", "2bw", "--accumulate", "2"])


class Interpreted(RolesTest):
    """In double precision, roles and one rank differ by rounding alone."""

    def compare(self, name, accumulate, batch, schedule, cut, *meshes):
        fixture = Fixture(name)
        options = ["--loss", fixture.reference["loss"], "--optimizer", "sgd",
                   "--momentum", "0.9", "--accumulate", accumulate]
        if fixture.reference["symbolic_batch"]:
            options += ["--dim",
                        f"{fixture.reference['symbolic_batch']}={batch}"]
        stages = self.folder / "stages"
        stages.write_text(cut)

        def train(label, *more):
            module = self.emit(label, fixture.model, "sharded", *options, *more)
            return self.train(module, fixture, accumulate, batch)

        flush = train("flush")
        late = [*schedule, "--stages", stages]
        expected = train("one", *late)
        self.assertGreater(max(np.abs(value - flush[key]).max()
                               for key, value in expected.items()
                               if key in flush), 1e-6)
        for index, mesh in enumerate(meshes):
            with self.subTest(mesh=mesh):
                self.check(train(f"roles{index}", *late, "--mesh", *mesh),
                           expected)

    def test_2bw(self):
        self.compare("odd", 3, 18, ["--schedule", "2bw"],
                     "node_linear$: 0\nnode_linear_2: 1\n", ["pp=2"],
                     ["pp=2,tp=2"], ["pp=2,dp=2", "--zero", "1"])

    def test_stash(self):
        self.compare("odd", 1, 6, ["--schedule", "stash"], STAGES, ["pp=4"])

    def test_vertical_sync(self):
        self.compare("odd", 2, 12, ["--schedule", "stash", "--vertical-sync"],
                     STAGES, ["pp=4"])


class Refused(NoFlush):

    def refuse(self, patterns, *options, model=None):
        self.fails(2, patterns, "compile", model or self.odd.model, "-o",
                   self.folder / "x.zca", "--loss", "softmax-cross-entropy",
                   "--dim", "batch=24", *options)

    def test_sums_over_roles(self):
        late = ["--schedule", "2bw", "--mesh", "pp=2"]
        self.refuse(["--clip-norm needs the norm over all roles", "no flush"],
                    *late, "--clip-norm", "1")
        self.refuse(["fp16 scales the loss", "bf16"], *late, "--precision",
                    "fp16")
        self.refuse(["onebit-adam"], *late, "--optimizer", "onebit-adam")

    def test_sizes(self):
        self.refuse(["expected --accumulate 4 or more with pp=4, found 2"],
                    "--schedule", "2bw", "--mesh", "pp=4", "--accumulate", "2")

    def test_options(self):
        self.refuse(["--vertical-sync belongs to --schedule stash"],
                    "--vertical-sync")
        self.refuse(["give --stages FILE"], "--schedule", "stash")
        self.refuse(["--offload does not go with"], "--schedule", "2bw",
                    "--offload", "optimizer")

    def test_tied(self):
        """The embedding is the head."""
        gpt = Fixture("gpt")
        self.fails(1, ["is read by stages 0 and 1", "--stages"], "compile",
                   gpt.model, "-o", self.folder / "x.zca", "--loss",
                   gpt.reference["loss"], "--schedule", "2bw", "--mesh",
                   "pp=2", "--accumulate", "2")


if __name__ == "__main__":
    unittest.main()
