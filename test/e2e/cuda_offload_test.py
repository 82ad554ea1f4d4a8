#!/usr/bin/env python3
"""A GPU's host keeps tensors in its memory, and its processor updates some: on
the fakes of cuda_run_test."""
import json
import unittest

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import load_file

from cuda_run_test import Fake
from zctest import Fixture, latest_step, load_tensors, read_log, run


class Offload(Fake):
    ALL = "optimizer,parameters,activations"

    def numbers(self, *options, run=(), **variables):
        artifact = self.artifact("gpt", *options)
        folder = self.folder / "ckpt"
        calls = self.run_fixture("gpt", artifact, 2, "--checkpoint", folder,
                                 "--overwrite", *run, **variables)
        weights = self.folder / "w.safetensors"
        self.zc("export", artifact, "--checkpoint", folder, "--safetensors",
                weights)
        return ([line["loss"] for line in read_log(self.log)],
                weights.read_bytes()), self.memory_of(artifact), calls

    def test_values_are_those_without(self):
        expected, none, _ = self.numbers()
        # Whichever stream runs ahead, events keep the order that counts.
        for eager in ("0", "2", "4"):
            found, plan, calls = self.numbers("--offload", self.ALL,
                                              ZC_FAKE_CUDA_EAGER=eager)
            self.assertEqual(found, expected, f"stream {eager} ahead")
            self.assertLess(plan["peak"], none["peak"])
            self.assertIn(f"cuMemHostAlloc {plan['offloaded']}", calls)
            begin = max(i for i, call in enumerate(calls)
                        if call.startswith("cuStreamBeginCapture"))
            end = calls.index("cuStreamEndCapture stream 0", begin)
            captured = calls[begin:end]
            for kind, stream in (("cuMemcpyHtoDAsync", "2"),
                                 ("cuMemcpyDtoHAsync", "4")):
                streams = {call.split()[-1] for call in captured
                           if call.startswith(kind)}
                self.assertEqual(streams, {stream}, kind)
            self.assertEqual(calls.count("cuGraphLaunch stream 0"), 3)

    def test_parameters_that_micro_batches_begin_with(self):
        """They stay on the device, for the update, too; others are copied."""
        parts = ("--accumulate", "2")
        expected, none, _ = self.numbers(*parts)
        found, plan, _ = self.numbers(*parts, "--offload", "parameters")
        self.assertEqual(found, expected)
        self.assertGreater(plan["offloaded"], 0)
        self.assertLess(plan["offloaded"], none["parameters"])
        self.assertLessEqual(plan["peak"], none["peak"])

    def test_parameters_that_stages_begin_with(self):
        """In a pipeline forward and backward are programs of their own: what
        either begins with stays on its stage's device, all else is copied, and
        losses and weights are those without offloading, to the bit. One rank adds
        up in another order: its losses by float32's rounding."""
        micro = ("--accumulate", "2")
        (alone, _), *_ = self.numbers(*micro)
        stages = (*micro, "--mesh", "pp=2")
        expected, none, _ = self.numbers(*stages, run=("--local-ranks", "2"))
        np.testing.assert_allclose(expected[0], alone, 2e-6)
        for eager in ("0", "4"):
            found, plan, _ = self.numbers(
                *stages, "--offload", "parameters",
                run=("--local-ranks", "2"), ZC_FAKE_CUDA_EAGER=eager)
            self.assertEqual(found, expected, f"stream {eager} ahead")
        self.assertGreater(plan["offloaded"], 0)
        self.assertLess(plan["offloaded"], none["parameters"])
        notes = [line for line in self.said.splitlines()
                 if "on the device (" in line]
        self.assertEqual([note.split(":")[2] for note in notes],
                         [" role 0", " role 1"])
        self.assertIn("wpe.weight", notes[0])

    def test_a_note_of_all_roles_is_told_once(self):
        """A parameter server and its workers keep the same parameters."""
        self.artifact("gpt", "--mesh", "dp=2", "--aggregation", "server",
                      "--unit", "layer", "--offload", "parameters")
        self.assertEqual(self.said.count("on the device ("), 1)
        self.assertNotIn("role 0", self.said)

    def test_a_budget_moves_parameters(self):
        """Where a budget has no room for what steps begin with, that is copied,
        too, and values are the same."""
        options = ("--recompute", "none", "--memory-budget")
        expected, *_ = self.numbers(*options, "1GiB", "--offload", "none")
        options = ("--offload", "parameters", *options)
        _, quick, _ = self.numbers(*options, "1GiB")
        for eager in ("0", "4"):
            found, low, _ = self.numbers(*options, quick["peak"] - 1,
                                         ZC_FAKE_CUDA_EAGER=eager)
            self.assertEqual(found, expected, f"stream {eager} ahead")
        self.assertLess(low["peak"], quick["peak"])
        self.assertGreater(low["offloaded"], quick["offloaded"])

    def check_updates(self, *options, run=(), rounds=False, **variables):
        """The host's processor computes what the GPU did, and holds what only
        that reads. Its code may join a product and a sum that the GPU's rounds
        apart: losses by float32's rounding, weights by a step's. `rounds`: the
        GPU adds products of micro-batches to float32 sums before they are
        rounded, and what the host adds up has 16 bits."""
        found = []
        for offload in ("optimizer", "update"):
            artifact = self.artifact("gpt", "--offload", offload, *options)
            folder = self.folder / "ckpt"
            calls = self.run_fixture("gpt", artifact, 3, "--checkpoint", folder,
                                     "--overwrite", *run, **variables)
            weights = self.folder / "w.safetensors"
            self.zc("export", artifact, "--checkpoint", folder, "--safetensors",
                    weights)
            found.append(([line["loss"] for line in read_log(self.log)],
                          load_file(weights), calls, self.memory_of(artifact)))
        (losses, weights, device, self.on_device) = found[0]
        (own, updated, calls, plan) = found[1]
        self.assertEqual(own[0], losses[0])
        if rounds:
            np.testing.assert_allclose(own, losses, 1e-3)
            self.check_changes(updated, weights)
        else:
            np.testing.assert_allclose(own, losses, 1e-6)
            for name, array in weights.items():
                np.testing.assert_allclose(updated[name], array, 2e-6, 1e-7,
                                           name)
        self.assertFalse(any(call.startswith("cuLaunchHostFunc")
                             for call in device))
        self.assertTrue(any(call == "cuLaunchHostFunc stream 3"
                            for call in calls))
        return plan, calls

    def large_sizes(self):
        """Elements of the tensors that are large enough for the host."""
        return [int(np.prod(array.shape)) for array in
                load_file(self.folder / "w.safetensors").values()
                if 4 * np.prod(array.shape) >= 4096]

    def check_changes(self, found, expected):
        """Weights have changed by as much and in the same direction, but for
        what 8 bits of gradients round: one part in 500 of each, more where
        micro-batches' gradients cancel. A micro-batch that is not added, or
        twice, changes them by a third and more."""
        initial = {tensor.name: numpy_helper.to_array(tensor) for tensor in
                   onnx.load(Fixture("gpt").model).graph.initializer}
        apart = sum(np.abs(found[name] - array).sum()
                    for name, array in expected.items())
        changed = sum(np.abs(array - initial[name]).sum()
                      for name, array in expected.items())
        self.assertGreater(changed, 0)
        self.assertLess(apart, 0.01 * changed)  # found: 0.002

    def test_the_host_adds_up(self):
        """K-03: micro-batches leave gradients of 16 bits with the host, which
        adds them up in float32, sums up their squares for the norm, and begins
        with zeros in the next step: nothing of any size stays on the GPU."""
        for options in (("--precision", "bf16"),
                        ("--precision", "bf16", "--clip-norm", "0.1"),
                        ("--precision", "fp16")):
            with self.subTest(options=options):
                plan, _ = self.check_updates(*options, "--accumulate", "2",
                                             rounds=True)
                large = sum(self.large_sizes())
                self.assertAlmostEqual(
                    self.on_device["persistent"] - plan["persistent"],
                    4 * large, delta=4096)
                self.assertGreaterEqual(plan["offloaded"], 16 * large)

    def test_the_host_updates(self):
        """ZeRO-Offload: gradients and weights of 16 bits cross, nothing else of
        any size, and the GPU keeps 2 bytes a parameter."""
        for eager in ("0", "2", "3", "4"):
            plan, calls = self.check_updates("--precision", "bf16",
                                             ZC_FAKE_CUDA_EAGER=eager)
        large = self.large_sizes()
        # Beside the large tensors: settings of the optimizer, 8 bytes at most.
        for way in ("away", "back"):
            self.assertGreaterEqual(plan["copied"][way], 2 * sum(large))
            self.assertLess(plan["copied"][way], 2 * sum(large) + 256)
        self.assertEqual(calls.count("cuGraphLaunch stream 0"), 1 + 1 + 3)
        # Gradients leave while the GPU computes others.
        begin = max(i for i, call in enumerate(calls)
                    if call.startswith("cuStreamBeginCapture"))
        captured = calls[begin:calls.index("cuStreamEndCapture stream 0", begin)]
        computed = max(i for i, call in enumerate(captured)
                       if call.startswith("cuLaunchKernel"))
        sizes = [2 * size for size in large]
        left = [i for i, call in enumerate(captured)
                if call.startswith("cuMemcpyDtoHAsync")
                and int(call.split()[1]) in sizes]
        self.assertEqual(len(left), len(large))
        self.assertGreater(sum(i < computed for i in left), len(large) - 2)

    def test_the_host_updates_in_other_programs(self):
        for options in (("--precision", "fp16"),
                        ("--precision", "bf16", "--clip-norm", "0.1"),
                        ("--precision", "bf16", "--moment-precision", "bf16"),
                        ("--precision", "bf16", "--recompute", "full")):
            with self.subTest(options=options):
                self.check_updates(*options)

    def test_the_host_updates_its_ranks_part(self):
        for options in (("dp=2", "--zero", "1"), ("dp=2", "--zero", "2"),
                        ("dp=2", "--zero", "3"), ("pp=2", "--accumulate", "2")):
            with self.subTest(options=options):
                self.check_updates("--precision", "bf16", "--mesh", *options,
                                   run=("--local-ranks", "2"),
                                   rounds="--accumulate" in options)

    def update_artifact(self, *options):
        return self.artifact("gpt", "--offload", "update", *options)

    def test_skipped_steps_of_the_host(self):
        """A step whose gradients overflow changes no weight, no moment and no
        count of steps, and the next one is as if there had been none."""
        kept = self.folder / "kept"
        artifact = self.update_artifact("--precision", "fp16", "--loss-scale",
                                        "4294967296")
        code, _, err = run(*self.command("gpt", artifact, 2, "--checkpoint",
                                         kept), env=self.gpu)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("the step is skipped"), 2)
        initial = {tensor.name: numpy_helper.to_array(tensor) for tensor in
                   onnx.load(Fixture("gpt").model).graph.initializer}
        for name, array in load_tensors(latest_step(kept)).items():
            np.testing.assert_array_equal(array, initial[name], name)
        for name, array in load_tensors(latest_step(kept),
                                        "optimizer").items():
            self.assertFalse(array.any(), name)
        state = json.loads((latest_step(kept) / "train_state.json").read_text())
        self.assertEqual(state["scalars"]["optimizer.step"]["value"], 0)

    def test_the_host_goes_on(self):
        """A run resumes to the same bits: masters and moments, which the host
        has, are those of the checkpoint, and the GPU's copies are made of
        them."""
        losses, weights = {}, {}
        artifact = self.update_artifact("--precision", "bf16")
        for name, parts in (("whole", (4,)), ("parts", (2, 4))):
            folder = self.folder / name
            losses[name] = []
            for steps in parts:
                self.run_fixture("gpt", artifact, steps, "--checkpoint", folder,
                                 *(("--resume",) if folder.exists() else ()))
                losses[name] += [line["loss"] for line in read_log(self.log)
                                 if line["step"] > len(losses[name])]
            step = latest_step(folder)
            weights[name] = {**load_tensors(step),
                             **load_tensors(step, "optimizer")}
        self.assertEqual(losses["parts"], losses["whole"])
        self.assertGreater(len(weights["whole"]), 20)
        for name, array in weights["whole"].items():
            np.testing.assert_array_equal(weights["parts"][name], array, name)

    def test_evaluation_of_what_the_host_updates(self):
        """The GPU's weights of 16 bits are made of a checkpoint's: those of the
        same artifact without offloading."""
        found = {}
        trained = self.folder / "trained"
        self.run_fixture("gpt", self.update_artifact("--precision", "bf16"), 2,
                         "--checkpoint", trained)
        for offload in ("update", "none"):
            artifact = self.artifact("gpt", "--offload", offload, "--precision",
                                     "bf16")
            out = self.zc("eval", artifact, "--data", Fixture("gpt").data,
                          "--checkpoint", trained, "--json", env=self.gpu)
            found[offload] = json.loads(out)
        self.assertEqual(found["update"], found["none"])

    def test_a_budget_takes_the_hosts_memory(self):
        """A megabyte is the products' workspace. A budget that takes nothing has
        the same products too, whose activations are kernels of their own."""
        expected, none, _ = self.numbers("--memory-budget", "1GiB")
        self.assertEqual(none["offloaded"], 0)
        found, plan, _ = self.numbers("--memory-budget", "1400KiB")
        self.assertEqual(found, expected)
        self.assertLessEqual(plan["peak"], 1400 * 1024)
        self.assertGreater(plan["offloaded"], 0)

    def test_a_host_without_so_much_memory(self):
        artifact = self.artifact("gpt", "--offload", "optimizer")
        bytes_ = self.memory_of(artifact)["offloaded"]
        self.fails(1, [f"keeps {bytes_} bytes in this machine's memory",
                       "ulimit -l", "--offload"],
                   *self.command("gpt", artifact, 1),
                   env={**self.gpu, "ZC_FAKE_CUDA_PINNED": str(bytes_ - 1)})


if __name__ == "__main__":
    unittest.main()
