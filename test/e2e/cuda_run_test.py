#!/usr/bin/env python3
"""Training through the plugin for NVIDIA GPUs on a machine without one: a fake
of the driver runs the generated PTX on the CPU, fakes of cuBLASLt and cuDNN
compute what they are asked for in their own terms. So the losses are PyTorch's,
or kernels, calls or their order are wrong."""
import json
import math
import os
import unittest

import numpy as np
import train_test
from zctest import Fixture, ZcTest, read_log

FAKE = os.environ["ZC_FAKE_CUDA"]
HAS_NCCL = os.environ["ZC_FAKE_NCCL"] == "1"
MODES = {**{mode: ("--mesh", "sp=2", "--sp-attention", mode)
            for mode in ("ring", "ring=contiguous", "gather", "ulysses")},
         "inside tp": ("--mesh", "tp=2", "--sequence-parallel", "on"),
         "inside tp, kept": ("--mesh", "tp=2", "--sequence-parallel",
                             "on=kept")}


class Fake(ZcTest):

    def setUp(self):
        super().setUp()
        libraries = self.folder / "libraries"
        libraries.mkdir()
        for name in ("libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2",
                     "libnvrtc.so.13"):
            (libraries / name).symlink_to(FAKE)
        # A GPU of a generation that there is no cubin for runs the PTX.
        self.gpu = {**os.environ, "ZC_CUDA_DRIVER": FAKE,
                    "ZC_CUDA_LIBRARY_PATH": str(libraries),
                    "ZC_FAKE_CUDA_LOG": str(self.folder / "calls"),
                    "ZC_FAKE_CUDA_ARCH": "121"}
        self.log = self.folder / "log.jsonl"

    def artifact(self, name, *extra):
        path = self.folder / (name.replace("/", "-") + ".zca")
        self.said = self.zc(
            "compile", Fixture(name).model, "--target", "cuda", "--cubins",
            "none", "-o", path, *Fixture(name).compile_options("adamw"), *extra,
            env=self.gpu)
        return path

    def command(self, name, artifact, steps, *extra):
        expected = Fixture(name).reference["optimizers"]["adamw"]
        return ("run", artifact, "--data", Fixture(name).data, "--steps", steps,
                "--lr", expected["learning_rate"], "--no-shuffle",
                "--log", self.log, *extra)


    def run_fixture(self, name, artifact, steps, *extra, **variables):
        """The calls of the driver that a run makes, from the beginning."""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        self.zc(*self.command(name, artifact, steps, *extra),
                env={**self.gpu, **variables})
        return calls.read_text().splitlines()

    def memory_of(self, artifact):
        return json.loads(self.zc("inspect", artifact, "--memory",
                                  "--json"))["memory"]


class Losses(Fake):
    compare_losses = train_test.Train.compare_losses

    def losses_are_pytorchs(self, name):
        fixture = Fixture(name)
        self.zc(*self.command(name, self.artifact(name),
                              fixture.reference["steps"]), env=self.gpu)
        self.compare_losses(read_log(self.log),
                            fixture.reference["optimizers"]["adamw"])

    def test_mlp(self):
        self.losses_are_pytorchs("mlp")
        calls = (self.folder / "calls").read_text().splitlines()
        # One graph for `init`, one for every step, each captured once.
        self.assertEqual(calls.count("cuGraphLaunch stream 0"), 11)
        self.assertEqual(calls.count("cuStreamBeginCapture stream 0"), 2)

    def check_precision(self, name, precision, least, mesh=(), extra=(),
                        **more):
        """As far from PyTorch's double precision as PyTorch's own bfloat16 is,
        or twice; and not nearer than what rounding makes."""
        fixture = Fixture(name)
        expected = fixture.reference["optimizers"]["adamw"]
        artifact = self.artifact(name, "--precision", precision, *mesh)
        self.zc(*self.command(name, artifact, fixture.reference["steps"], *extra),
                env={**self.gpu, **more})
        distance = max(abs(line["loss"] - loss) / abs(loss) for line, loss in
                       zip(read_log(self.log), expected["losses"]))
        self.assertLessEqual(distance, 2 * expected["bf16_spread"])
        self.assertGreaterEqual(distance, least * expected["bf16_spread"])

    def test_16_bits(self):
        self.check_precision("mlp", "bf16", 0.1)
        self.check_precision("cnn", "bf16", 0.1)
        self.check_precision("mlp", "fp16", 0.005)
        if HAS_NCCL:
            self.check_precision("mlp", "fp16", 0.005,
                                 ("--mesh", "dp=2", "--zero", "3"),
                                 ("--local-ranks", "2"), ZC_FAKE_CUDA_GPUS="2")

    def test_two_ranks_stage_through_the_host(self):
        artifact = self.artifact("mlp", "--mesh", "dp=2")
        self.zc(*self.command("mlp", artifact, 10, "--local-ranks", "2"),
                env=self.gpu)
        self.compare_losses(read_log(self.log),
                            Fixture("mlp").reference["optimizers"]["adamw"])

    def check_pipeline(self, name, ranks, *options, gpus="1", alone=()):
        """The losses of one rank of a CPU with as many micro-batches."""
        options = ("--accumulate", "4", *options)
        one = self.folder / "one.zca"
        self.zc("compile", Fixture(name).model, "-o", one,
                *Fixture(name).compile_options("adamw"), *options[:2], *alone)
        self.zc(*self.command(name, one, 6))
        expected = [line["loss"] for line in read_log(self.log)]
        artifact = self.artifact(name, *options)
        for eager in ("0", "1"):
            calls = self.run_fixture(name, artifact, 6, "--local-ranks", ranks,
                                     ZC_FAKE_CUDA_GPUS=gpus,
                                     ZC_FAKE_CUDA_EAGER=eager)
            lines = read_log(self.log)
            np.testing.assert_allclose([line["loss"] for line in lines],
                                       expected, 2e-6)
            if alone:  # steps that overlap send for one another
                continue
            comm = json.loads(self.zc("inspect", artifact, "--comm",
                                      "--json"))["comm"]
            self.assertEqual({line["sent_bytes"] for line in lines},
                             {comm["sent_bytes"]})
            self.check_messages(calls, comm, 6, by_nccl=gpus == ranks)

    def check_messages(self, calls, comm, steps, by_nccl):
        """Each message is a broadcast in its line's stream, and nothing that
        the host copies is as large as one; or there is no broadcast."""
        sizes = [int(call.split()[2]) for call in calls
                 if call.startswith("ncclBroadcast bytes ")
                 and call.endswith(" rank 0")]
        if not by_nccl:
            self.assertEqual(sizes, [])
            return
        sizes = [size for size in sizes if size > 1]  # but the connecting ones
        self.assertTrue(sizes)
        copied = {int(call.split()[1]) for call in calls
                  if call.startswith("cuMemcpyDtoHAsync")}
        self.assertFalse(copied & set(sizes))
        if all(not call.startswith(("ncclAll", "ncclReduce"))
               for call in calls):
            self.assertEqual(sum(sizes), steps * sum(
                role["sent_bytes"] for role in comm["roles"]))

    def check_divided(self, name, modes):
        """The losses of one rank of a CPU. Ranks of one GPU exchange through
        the host, those of two by NCCL."""
        one = self.folder / "one.zca"
        self.zc("compile", Fixture(name).model, "-o", one,
                *Fixture(name).compile_options("adamw"))
        self.zc(*self.command(name, one, 4))
        expected = [line["loss"] for line in read_log(self.log)]
        for gpus, mode, *mesh in modes:
            if gpus == "2" and not HAS_NCCL:
                continue
            options = [*mesh, *MODES[mode][2 if mesh else 0:]]
            ranks = math.prod(int(axis[-1]) for axis in
                              options[1].split(","))
            with self.subTest(name=name, mode=mode, mesh=mesh):
                self.run_fixture(name, self.artifact(name, *options), 4,
                                 "--local-ranks", ranks,
                                 ZC_FAKE_CUDA_GPUS="1" if gpus == "1"
                                 else str(ranks))
                np.testing.assert_allclose(
                    [line["loss"] for line in read_log(self.log)], expected,
                    5e-6)

    def test_divided_tokens(self):
        """Attention whose tokens ranks divide, with queries that share keys,
        and residuals' inside tp."""
        self.check_divided("llama", (
            ("1", "ring"), ("2", "ring=contiguous"), ("1", "gather"),
            ("2", "ulysses"), ("2", "inside tp"), ("1", "inside tp, kept")))

    def test_divided_tokens_beside_other_axes(self):
        """With stages, samples and heads divided, too, layers computed again and
        parameters gathered."""
        self.check_divided("llama", (
            ("2", "ring", "--mesh", "dp=2,sp=2", "--zero", "3"),
            ("1", "ring", "--mesh", "tp=2,sp=2", "--recompute", "layer"),
            ("1", "ulysses", "--mesh", "pp=2,sp=2", "--accumulate", "2"),
            ("1", "gather", "--mesh", "pp=2,dp=2,sp=2", "--accumulate", "2",
             "--zero", "1")))

    def test_divided_tokens_with_padding(self):
        self.check_divided("bert", (
            ("2", "ring"), ("1", "gather"), ("1", "ulysses"),
            ("2", "inside tp")))
        self.check_divided("attentions/padded", (
            ("1", "ring"), ("2", "ring=contiguous")))

    def test_divided_tokens_of_narrow_values(self):
        self.check_divided("attentions/deepseek", (("1", "ring"),
                                                   ("2", "ulysses")))

    def test_divided_tokens_in_16_bits(self):
        for mode in ("ring", "ring=contiguous", "gather", "ulysses",
                     "inside tp"):
            with self.subTest(mode):
                self.check_precision("llama", "bf16", 0.1, MODES[mode],
                                     ("--local-ranks", "2"))

    def test_pipeline(self):
        """Roles share a code object; where they share a GPU too, messages go
        through the host."""
        self.check_pipeline("mlp", "2", "--mesh", "pp=2")
        self.check_pipeline("gpt", "3", "--mesh", "pp=3", "--schedule", "gpipe")

    @unittest.skipUnless(HAS_NCCL, "there is no nccl.h")
    def test_schedules_of_pipelines(self):
        """Several stages a role, replicas, gradients of older parameters."""
        self.check_pipeline("mlp", "2", "--mesh", "pp=2", "--schedule",
                            "zero-bubble=v")
        self.check_pipeline("mlp", "3", "--mesh", "pp=3", "--stage-replicas",
                            "2,1", gpus="3")
        self.check_pipeline("mlp", "2", "--mesh", "pp=2", "--schedule", "2bw",
                            alone=("--schedule", "2bw"))

    def test_pipeline_by_nccl(self):
        self.check_pipeline("mlp", "2", "--mesh", "pp=2", gpus="2")
        for schedule in ("gpipe", "1f1b"):
            self.check_pipeline("gpt", "3", "--mesh", "pp=3", "--schedule",
                                schedule, gpus="3")
        self.check_pipeline("mlp", "4", "--mesh", "pp=2,dp=2", "--zero", "2",
                            gpus="4")

    @unittest.skipUnless(HAS_NCCL, "there is no nccl.h")
    def test_two_gpus_by_nccl(self):
        artifact = self.artifact("mlp", "--mesh", "dp=2", "--zero", "2")
        # Whichever stream runs ahead, events keep the order that counts.
        for eager in ("0", "1"):
            self.zc(*self.command("mlp", artifact, 10, "--local-ranks", "2"),
                    env={**self.gpu, "ZC_FAKE_CUDA_GPUS": "2",
                         "ZC_FAKE_CUDA_EAGER": eager})
            lines = read_log(self.log)
            self.compare_losses(lines,
                                Fixture("mlp").reference["optimizers"]["adamw"])
            planned = json.loads(self.zc("inspect", artifact, "--comm",
                                         "--json"))["comm"]["sent_bytes"]
            self.assertEqual({line["sent_bytes"] for line in lines}, {planned})
        calls = (self.folder / "calls").read_text().splitlines()
        # NCCL's work is in the graphs: `init` and ten steps, twice two ranks.
        self.assertEqual(calls.count("cuGraphLaunch stream 0"), 2 * 2 * 11)
        self.assertTrue(any(call.startswith("ncclReduceScatter")
                            for call in calls))

    def test_cnn(self):
        self.losses_are_pytorchs("cnn")

    def test_values_kept_in_8_bits(self):
        """The processor's losses, and other ones than without."""
        options = Fixture("vgg").compile_options("adamw")
        found = {}
        for target in ("cpu", "cuda"):
            for kinds in ("none", "bits,fp8"):
                artifact = self.folder / f"{target}-{kinds}.zca"
                said = self.zc(
                    "compile", Fixture("vgg").model, "-o", artifact, *options,
                    "--compress-activations", kinds, "--target", target,
                    *(("--cubins", "none") if target == "cuda" else ()),
                    env=self.gpu)
                self.assertEqual("in fewer bytes, which" in said,
                                 kinds != "none")
                self.zc(*self.command("vgg", artifact, 3), env=self.gpu)
                found[target, kinds] = [line["loss"]
                                        for line in read_log(self.log)]
        for kinds in ("none", "bits,fp8"):
            np.testing.assert_allclose(found["cuda", kinds],
                                       found["cpu", kinds], 1e-4)
        self.assertNotEqual(found["cuda", "bits,fp8"][1:],
                            found["cuda", "none"][1:])

    def test_regression(self):
        self.losses_are_pytorchs("regression")


class Memory(Fake):

    def check(self, *options):
        """All that is asked of the GPU is the plan's peak, at once; the log has
        it too."""
        artifact = self.artifact("mlp", *options)
        calls = self.run_fixture("mlp", artifact, 2)
        asked, = [int(call.split()[1]) for call in calls
                  if call.startswith("cuMemAlloc ")]
        logged = {line["peak_bytes"] for line in read_log(self.log)}
        self.assertEqual(logged, {asked}, options)
        self.assertEqual(self.memory_of(artifact)["peak"], asked, options)
        return calls

    def test_the_peak_is_the_plans(self):
        self.check()
        self.check("--accumulate", "2", "--recompute", "full")
        self.check("--precision", "bf16")

    def test_programs_are_captured_once_and_launched_whole(self):
        calls = self.check("--accumulate", "2")
        # `init`, and twice the two micro-batches and the update.
        self.assertEqual(calls.count("cuGraphLaunch stream 0"), 1 + 2 * 3)
        self.assertEqual(calls.count("cuStreamBeginCapture stream 0"), 3)
        last = max(i for i, call in enumerate(calls)
                   if call.startswith("cuStreamEndCapture"))
        self.assertFalse([call for call in calls[last:]
                          if call.startswith("cuLaunchKernel")])


class Feeding(Fake):

    def test_the_next_batch_comes_while_a_step_runs(self):
        calls = self.run_fixture("mlp", self.artifact("mlp"), 3)
        launches = [i for i, call in enumerate(calls)
                    if call == "cuGraphLaunch stream 0"]
        self.assertEqual(len(launches), 4)
        for number, first in enumerate(launches[1:], 1):
            end = calls.index("cuStreamSynchronize stream 0", first)
            copies = [call for call in calls[first:end]
                      if call.startswith("cuMemcpyHtoDAsync")]
            # Images and labels; behind the last step nothing comes.
            self.assertEqual([call.split()[-1] for call in copies],
                             ["2", "2"] if number < 3 else [])
        # The inputs become the new ones once they are there, and before that
        # may not be overwritten.
        between = calls[launches[1]:launches[2]]
        written = [i for i, call in enumerate(between)
                   if call.startswith("cuMemcpyHtoDAsync")
                   and call.endswith("stream 2")][-1]
        taken = [i for i, call in enumerate(between)
                 if call.startswith("cuMemcpyDtoDAsync")]
        self.assertEqual(len(taken), 2)
        waits = [i for i, call in enumerate(between)
                 if call.startswith("cuStreamWaitEvent stream 0")]
        self.assertTrue(any(written < wait < taken[0] for wait in waits))
        between = calls[launches[2]:launches[3]]
        self.assertTrue(between[1].startswith("cuStreamWaitEvent stream 2"),
                        between[:3])

    def test_a_bad_batch_ends_the_run_at_its_step(self):
        """An error that is found while a step runs is told when that step's
        turn comes."""
        fixture = Fixture("mlp")
        arrays = dict(np.load(fixture.data))
        batch = fixture.reference["batch"]
        arrays["labels"] = arrays["labels"].copy()
        arrays["labels"][2 * batch] = 1000000
        bad = self.folder / "bad.npz"
        np.savez(bad, **arrays)
        self.fails(1, [f"sample {2 * batch}", "out of range"], "run",
                   self.artifact("mlp"), "--data", bad, "--steps", 5,
                   "--no-shuffle", "--log", self.log, env=self.gpu)
        self.assertEqual([line["step"] for line in read_log(self.log)], [1, 2])

    def test_no_relu_hides_a_nan(self):
        """The library's ReLU makes 0 of it; the gradients tell."""
        arrays = dict(np.load(Fixture("mlp").data))
        arrays["x"] = arrays["x"].copy()
        arrays["x"][1, 3] = np.nan
        bad = self.folder / "bad.npz"
        np.savez(bad, **arrays)
        self.fails(1, ["step 1: the gradients' norm is nan", "'x'",
                       "holds a NaN at sample 1"],
                   "run", self.artifact("mlp"), "--data", bad, "--steps", 2,
                   "--no-shuffle", env=self.gpu)


if __name__ == "__main__":
    unittest.main()
