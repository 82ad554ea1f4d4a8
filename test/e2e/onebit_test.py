#!/usr/bin/env python3
"""1-bit Adam beyond its losses (options_test.py): every state against the
reference implementation in double precision, what is sent, memory, resuming
before, at and behind the freeze step, on other meshes and with other precisions.
"""
import json
import os
import subprocess
import sys
import unittest

import numpy as np

from zctest import (BIN, FIXTURES, TIMEOUT, Fixture, ZcTest, latest_step,
                    load_tensors, read_log)

sys.path.insert(0, str(FIXTURES.parents[1] / "tools" / "reference"))
from onebit_adam import OnebitAdam, Share  # noqa: E402

CLASSIFIER = FIXTURES / "options" / "classifier"
ONEBIT = ["--loss", "softmax-cross-entropy", "--optimizer", "onebit-adam"]
SHAPES = {"hidden.weight": (16, 6), "hidden.bias": (16,),
          "head.weight": (5, 16), "head.bias": (5,)}
DIVIDED = {"hidden.weight": 0, "hidden.bias": 0, "head.weight": 1}
FREEZE = 4


def share_of_term(rank, ranks):
    """How much of a sum the interpreter gives a rank: 1/2, 1/4, ... and of the
    last two's part 3/4 and 1/4."""
    return (0.5 ** (rank + 1) if rank < ranks - 2 else 1.0 if ranks == 1 else
            0.5 ** (ranks - 2) * (0.75 if rank == ranks - 2 else 0.25))


class Onebit(ZcTest):

    def build(self, *options, freeze=FREEZE, model=f"{CLASSIFIER}.onnx"):
        artifact = self.folder / f"{len(list(self.folder.glob('*.zca')))}.zca"
        self.zc("compile", model, "-o", artifact, *ONEBIT, "--freeze-step",
                freeze, *options)
        return artifact

    def go(self, artifact, steps, ranks, *options, name="checkpoint"):
        folder = self.folder / name
        self.train(artifact, f"{CLASSIFIER}.npz", steps, "--no-shuffle",
                   "--log", self.folder / "log.jsonl", "--checkpoint", folder,
                   *([] if "--resume" in options else ["--overwrite"]),
                   *(["--local-ranks", ranks] if ranks > 1 else []), *options)
        return folder, read_log(self.folder / "log.jsonl")

    def equal(self, found, expected):
        """The last checkpoints of two folders, bit for bit."""
        for kind in ("model", "optimizer"):
            mine = load_tensors(latest_step(found), kind)
            theirs = load_tensors(latest_step(expected), kind)
            self.assertEqual(mine.keys(), theirs.keys())
            for name, tensor in theirs.items():
                np.testing.assert_array_equal(mine[name], tensor, name)


class Reference(Onebit):
    """One compressed step from random states, on simulated ranks."""

    def test_the_reference_averages_as_deepspeed(self):
        recorded = np.load(FIXTURES / "options" / "onebit_messages.npz")
        momenta, averages = recorded["momenta"], recorded["averages"]
        _, workers, size = momenta.shape
        share = Share(size, workers, np.float64)
        for own, average in zip(momenta, averages, strict=True):
            found = share.average(list(own.astype(np.float64)))
            # Float32 against double: errors of rounding, no flipped sign.
            np.testing.assert_allclose(found, average, rtol=1e-6)

    def draw(self, workers, tp, steps, seen):
        random = np.random.default_rng(11)
        rule = OnebitAdam(
            {name: random.uniform(-1, 1, shape)
             for name, shape in SHAPES.items()}, workers, seen, lr=0.01,
            betas=(0.875, 0.999), eps=2.0 ** -20, weight_decay=0.1,
            divided={name: (dim, tp) for name, dim in DIVIDED.items()})
        rule.steps = steps
        for name, shape in SHAPES.items():
            rule.m[name] = random.uniform(-1, 1, shape)
            rule.v[name] = random.uniform(0.1, 1, shape)
            rule.v[name].flat[1] = 0
            for share in rule.shares[name]:
                share.worker_errors += random.uniform(
                    -1, 1, share.worker_errors.shape)
                share.server_errors += random.uniform(
                    -1, 1, share.server_errors.shape)
        return rule, {name: random.uniform(-1, 1, shape)
                      for name, shape in SHAPES.items()}

    @staticmethod
    def states(rule):
        """As zc has them: [workers, shares, N], [shares, workers, N/workers]."""
        states = {}
        for name, shares in rule.shares.items():
            states[name] = rule.parameters[name]
            states[f"state.{name}.exp_avg"] = rule.m[name]
            states[f"state.{name}.exp_avg_sq"] = rule.v[name]
            states[f"state.{name}.worker_error"] = np.stack(
                [share.worker_errors for share in shares], 1)
            states[f"state.{name}.server_error"] = np.stack(
                [share.server_errors for share in shares])
        return {name: np.array(value) for name, value in states.items()}

    def compare(self, workers, tp, *layout):
        rule, gradient = self.draw(workers, tp, steps=7, seen=5)
        module = self.folder / "step.mlir"
        # Numbers that float32 has, as constants of float32 tensors are.
        self.zc("compile", f"{CLASSIFIER}.onnx", *ONEBIT, "--beta1", 0.875,
                "--eps", 2.0 ** -20, "--weight-decay", 0.1, *layout,
                "--emit", "sharded" if layout else "step", "-o", module)
        inputs = {**self.states(rule), "accumulated.loss": np.array(1.5),
                  "lr": np.array(0.01), "optimizer.step": np.array(7),
                  "optimizer.variance_step": np.array(5),
                  **{f"accumulated.{name}": each
                     for name, each in gradient.items()}}
        options = []
        for name, array in inputs.items():
            path = self.folder / f"{len(options)}.npy"
            np.save(path, array)
            options += ["--input", f"{name}={path}"]
        results = self.folder / "results"
        results.mkdir()
        self.zc(module, "--program", "apply.compressed", *options,
                "--output-dir", results, tool="zc-interpret")
        own = [{name: each * (workers * share_of_term(rank, workers))
                for name, each in gradient.items()} for rank in range(workers)]
        norm = rule.step(own)
        expected = {**self.states(rule), "grad_norm": norm, "loss": 1.5,
                    "optimizer.step": 8,
                    **{f"accumulated.{name}": np.zeros(shape)
                       for name, shape in SHAPES.items()},
                    "accumulated.loss": 0.0}
        found = {path.name[:-len(".npy")]: np.load(path)
                 for path in results.iterdir()}
        still = {name for name in expected if name.endswith("exp_avg_sq")}
        self.assertEqual(found.keys(), expected.keys() - still)
        for name, value in found.items():
            # The root of the number of ranks is a float32, too.
            close = 1e-7 if name == "grad_norm" else 1e-12
            np.testing.assert_allclose(value, expected[name], rtol=close,
                                       atol=1e-12, err_msg=name)

    def test_one_rank(self):
        self.compare(1, 1)

    def test_ranks(self):
        self.compare(2, 1, "--mesh", "dp=2")

    def test_more_ranks(self):
        self.compare(4, 1, "--mesh", "dp=4")

    def test_tensor_parallel(self):
        self.compare(2, 2, "--mesh", "dp=2,tp=2", "--shard",
                     "hidden.weight=tp,-", "--shard", "head.weight=-,tp")


class Traffic(Onebit):

    def inspect(self, artifact, *sections):
        return json.loads(self.zc("inspect", artifact, "--json", *sections))

    def test_bytes(self):
        """A bit for an element in place of 32, and scales."""
        fixture = Fixture("gpt")
        artifact = self.build("--mesh", "dp=4", model=fixture.model)
        comm = self.inspect(artifact, "--comm")["comm"]
        later = comm["compressed"]
        self.assertEqual(later["after_step"], FREEZE)
        self.assertEqual(comm["by_kind"]["gradients"]["bytes"] * 4,
                         2 * 3 * comm["parameter_bytes"])
        kinds = {kind for kind, sent in later["by_kind"].items()
                 if sent["bytes"]}
        self.assertEqual(kinds, {"gradients", "scalars"})
        sent = later["by_kind"]["gradients"]
        self.assertEqual(sent["count"], 4)
        # To each of 3 others a quarter of the signs, and as many back, where a
        # parameter of no 32 elements more is sent as if it had them; a scale
        # per parameter and rank either way.
        parameters = len(fixture.weights("adamw"))
        exact = 2 * 3 * comm["parameter_bytes"] / 4 / 32
        self.assertGreaterEqual(sent["bytes"], exact)
        self.assertLessEqual(sent["bytes"], exact + parameters * (
            2 * 3 * 1 + 2 * 3 * 4))

    def test_as_planned(self):
        for mesh, ranks in (("dp=2", 2), ("dp=2,tp=2", 4)):
            artifact = self.build("--mesh", mesh)
            report = self.inspect(artifact, "--comm", "--memory")
            _, lines = self.go(artifact, FREEZE + 2, ranks)
            self.assertEqual(
                [line["sent_bytes"] for line in lines],
                [report["comm"]["sent_bytes"]] * FREEZE +
                [report["comm"]["compressed"]["sent_bytes"]] * 2)
            self.assertEqual({line["peak_bytes"] for line in lines},
                             {report["memory"]["peak"]})

    def test_one_rank(self):
        artifact = self.build()
        self.assertEqual(self.inspect(artifact, "--comm")["comm"]["compressed"]
                         ["sent_bytes"], 0)

    def test_for_people(self):
        out = self.zc("inspect", self.build("--mesh", "dp=2"), "--comm")
        self.assertRegex(out, "per step\n(?s:.*)per step, after step 4\n")


class Resume(Onebit):

    def test_bit_exact(self):
        """Whether a run stops before, at or behind the last step of warm-up."""
        artifact = self.build("--mesh", "dp=2")
        whole, lines = self.go(artifact, 9, 2, name="whole")
        for first in (FREEZE - 1, FREEZE, FREEZE + 2):
            name = f"parts-{first}"
            self.go(artifact, first, 2, name=name)
            parts, more = self.go(artifact, 9, 2, "--resume", name=name)
            self.equal(parts, whole)
            self.assertEqual([line["loss"] for line in more],
                             [line["loss"] for line in lines])

    def test_other_mesh(self):
        """The errors that each rank has kept for itself begin anew, and the run
        says so."""
        two = self.build("--mesh", "dp=2")
        four = self.build("--mesh", "dp=4")
        folder, _ = self.go(two, FREEZE + 3, 2)
        before = load_tensors(latest_step(folder), "optimizer")
        command = ("run", four, "--data", f"{CLASSIFIER}.npz", "--steps",
                   FREEZE + 3, "--resume", "--checkpoint", folder,
                   "--local-ranks", 4)
        error = self.stderr(*command)
        self.assertRegex(error, "lost to compression so far is forgotten")
        self.assertEqual(error.count("forgotten"), 1)
        self.go(four, FREEZE + 5, 4, "--resume")
        after = load_tensors(latest_step(folder), "optimizer")
        for name, tensor in before.items():
            if name.endswith("_error"):
                self.assertNotEqual(tensor.shape, after[name].shape)
            if name.endswith("exp_avg_sq"):
                np.testing.assert_array_equal(tensor, after[name])

    def stderr(self, *command):
        done = subprocess.run([str(BIN / "zc"), *map(str, command)], text=True,
                              capture_output=True, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_another_optimizer(self):
        adam = self.folder / "adam.zca"
        self.zc("compile", f"{CLASSIFIER}.onnx", "-o", adam, *ONEBIT[:2],
                "--optimizer", "adam")
        folder, _ = self.go(adam, 2, 1)
        self.fails(1, ["lacks 'state.hidden.weight.worker_error'"], "run",
                   self.build(), "--data", f"{CLASSIFIER}.npz", "--steps", 4,
                   "--resume", "--checkpoint", folder)


class Runs(Onebit):

    def test_processes(self):
        """Two processes of mpirun do what two ranks of one process do."""
        artifact = self.build("--mesh", "dp=2")
        local, _ = self.go(artifact, FREEZE + 3, 2, name="local")
        apart = self.folder / "apart"
        done = subprocess.run(
            ["mpirun", "-n", "2", str(BIN / "zc"), "run", str(artifact),
             "--data", f"{CLASSIFIER}.npz", "--steps", str(FREEZE + 3),
             "--no-shuffle", "--lr", "1e-3", "--checkpoint", str(apart)],
            text=True, capture_output=True, timeout=TIMEOUT,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                 "OMPI_MCA_rmaps_base_oversubscribe": "1"})
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        self.equal(apart, local)

    def test_precisions(self):
        """16 bits follow float32, and weights and their copies stay finite."""
        _, expected = self.go(self.build("--mesh", "dp=2"), 12, 2)
        for precision in ("bf16", "fp16"):
            _, found = self.go(self.build("--mesh", "dp=2", "--precision",
                                          precision), 12, 2)
            for mine, theirs in zip(found, expected):
                self.assertAlmostEqual(mine["loss"], theirs["loss"],
                                       delta=0.02)


class Refusals(Onebit):

    def refuse(self, patterns, *options):
        self.fails(2, patterns, "compile", f"{CLASSIFIER}.onnx", "-o",
                   self.folder / "a.zca", *options)

    def test_options(self):
        self.refuse(["--clip-norm", "onebit-adam"], *ONEBIT, "--clip-norm", 1)
        for stage in (1, 2, 3):
            self.refuse(["--zero", f"expected --zero 0, found {stage}"],
                        *ONEBIT, "--mesh", "dp=2", "--zero", stage)
        self.refuse(["--freeze-step", "belongs to --optimizer onebit-adam"],
                    *ONEBIT[:2], "--freeze-step", 4)
        self.refuse(["--freeze-step", "belongs to --mode train"], "--mode",
                    "infer", "--freeze-step", 4)
        for steps in (0, -1, "many"):
            self.refuse(["--freeze-step"], *ONEBIT, "--freeze-step", steps)
        self.refuse(["--momentum"], *ONEBIT, "--momentum", 0.9)

    def test_parameters_that_divide_samples_axes(self):
        self.fails(1, ["'hidden.weight' is divided as", "dp",
                       "axes that divide no samples"], "compile",
                   f"{CLASSIFIER}.onnx", "-o", self.folder / "a.zca", *ONEBIT,
                   "--mesh", "dp=2", "--shard", "hidden.weight=dp,-")


if __name__ == "__main__":
    unittest.main()
