#!/usr/bin/env python3
"""Training through the plugin for NVIDIA GPUs on a machine without one: a fake
of the driver runs the generated PTX on the CPU, fakes of cuBLASLt and cuDNN
compute what they are asked for in their own terms. So the losses are PyTorch's,
or kernels, calls or their order are wrong."""
import os
import unittest

import train_test
from zctest import Fixture, ZcTest, read_log

FAKE = os.environ["ZC_FAKE_CUDA"]


class Fake(ZcTest):

    def setUp(self):
        super().setUp()
        libraries = self.folder / "libraries"
        libraries.mkdir()
        for name in ("libcublasLt.so.13", "libcudnn.so.9"):
            (libraries / name).symlink_to(FAKE)
        # A GPU of a generation that there is no cubin for runs the PTX.
        self.gpu = {**os.environ, "ZC_CUDA_DRIVER": FAKE, "ZC_PTXAS": "",
                    "ZC_CUDA_LIBRARY_PATH": str(libraries),
                    "ZC_FAKE_CUDA_LOG": str(self.folder / "calls"),
                    "ZC_FAKE_CUDA_ARCH": "121"}
        self.log = self.folder / "log.jsonl"

    def artifact(self, name, *extra):
        path = self.folder / f"{name}.zca"
        self.zc("compile", Fixture(name).model, "--target", "cuda", "-o", path,
                *Fixture(name).compile_options("adamw"), *extra, env=self.gpu)
        return path

    def command(self, name, artifact, steps, *extra):
        expected = Fixture(name).reference["optimizers"]["adamw"]
        return ("run", artifact, "--data", Fixture(name).data, "--steps", steps,
                "--lr", expected["learning_rate"], "--no-shuffle",
                "--log", self.log, *extra)


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

    def test_two_ranks_stage_through_the_host(self):
        artifact = self.artifact("mlp", "--mesh", "dp=2")
        self.zc(*self.command("mlp", artifact, 10, "--local-ranks", "2"),
                env=self.gpu)
        self.compare_losses(read_log(self.log),
                            Fixture("mlp").reference["optimizers"]["adamw"])

    def test_cnn(self):
        self.losses_are_pytorchs("cnn")

    def test_regression(self):
        self.losses_are_pytorchs("regression")


class Failures(Fake):

    def test_a_gpu_that_falls_off_leaves_checkpoints(self):
        artifact = self.artifact("mlp")
        save = ("--checkpoint", self.folder / "ckpt", "--save-every", "1")
        command = self.command("mlp", artifact, 5, *save)
        err = self.fails(1, ["the GPU failed: cuGraphLaunch", "--resume"],
                         *command,
                         env={**self.gpu,
                              "ZC_FAKE_CUDA_FAIL": "cuGraphLaunch:4:719"})
        self.assertEqual(err.count("the GPU failed"), 1, err)
        self.assertTrue((self.folder / "ckpt" / "step-2").is_dir())
        self.zc(*command, "--resume", env=self.gpu)
        self.assertEqual([line["step"] for line in read_log(self.log)],
                         [1, 2, 3, 4, 5])

    def test_out_of_memory(self):
        self.fails(1, ["the plan needs [0-9]+ bytes on the GPU",
                       "--memory-budget"],
                   *self.command("mlp", self.artifact("mlp"), 1),
                   env={**self.gpu, "ZC_FAKE_CUDA_MEMORY": "1000"})

    def test_a_gpu_too_old(self):
        self.fails(1, ["needs a GPU of sm_80 or newer", "Fake GPU, sm_75",
                       "--target cuda:sm_75"],
                   *self.command("mlp", self.artifact("mlp"), 1),
                   env={**self.gpu, "ZC_FAKE_CUDA_ARCH": "75"})

    def test_no_gpu_and_no_driver(self):
        command = self.command("mlp", self.artifact("mlp"), 1)
        self.fails(1, ["finds no GPU"], *command,
                   env={**self.gpu, "ZC_FAKE_CUDA_GPUS": "0"})
        self.fails(1, ["no NVIDIA driver", "--target cpu"], *command,
                   env={**self.gpu, "ZC_CUDA_DRIVER": "libzc_none.so.1"})


if __name__ == "__main__":
    unittest.main()
