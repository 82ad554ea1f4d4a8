#!/usr/bin/env python3
"""Messages of a run when a GPU, its memory, a library or another rank is
missing or is lost, and the files that are kept: a fake of the driver fails
where it is told to."""
import shutil
import unittest

from cuda_run_test import HAS_NCCL, Fake
from zctest import Fixture, latest_step, read_log


class Failures(Fake):

    def test_a_gpu_that_falls_off_while_saving_leaves_no_half_file(self):
        artifact = self.artifact("mlp")
        folder = self.folder / "ckpt"
        command = self.command("mlp", artifact, 3, "--checkpoint", folder,
                               "--save-every", "1")
        self.zc(*self.command("mlp", artifact, 1, "--checkpoint", folder),
                env=self.gpu)
        before = {path: path.read_bytes()
                  for path in sorted(latest_step(folder).iterdir())}
        calls = self.run_fixture("mlp", artifact, 2, "--checkpoint", folder,
                                 "--resume")
        reads = sum(call.startswith("cuMemcpyDtoHAsync") for call in calls)
        # In the midst of the last checkpoint's tensors.
        err = self.fails(1, ["after step 3", "the GPU failed",
                             "step-2' is kept", "--resume"], *command,
                         "--resume",
                         env={**self.gpu, "ZC_FAKE_CUDA_FAIL":
                              f"cuMemcpyDtoHAsync:{reads - 10}:719"})
        self.assertEqual(err.count("the GPU failed"), 1, err)
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["step-1", "step-2"])
        self.assertEqual(before, {path: path.read_bytes() for path in before})

    def test_a_missing_library(self):
        (self.folder / "libraries" / "libcublasLt.so.13").unlink()
        (self.folder / "libraries" / "libcublasLt.so.13").write_text("no")
        err = self.fails(1, ["libcublasLt.so.13", "ZC_CUDA_LIBRARY_PATH"],
                         *self.command("mlp", self.artifact("mlp"), 1),
                         env=self.gpu)
        self.assertEqual(err.count("error:"), 1, err)

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

    def test_a_gpu_that_falls_off_while_the_next_batch_comes(self):
        """At each of the calls that bring a batch beside a step, and those that
        hand it to the next."""
        artifact, folder = self.artifact("mlp"), self.folder / "ckpt"
        save = ("--checkpoint", folder, "--save-every", "1")
        whole = self.run_fixture("mlp", artifact, 3, *save)
        losses = [line["loss"] for line in read_log(self.log)]
        # `init` and step 1; what comes beside step 2 is for step 3.
        launches = [i for i, call in enumerate(whole)
                    if call == "cuGraphLaunch stream 0"]
        feeding = next(i for i in range(launches[2], len(whole))
                       if whole[i].startswith("cuMemcpyHtoDAsync"))
        failures = {}
        for i in range(feeding, launches[3]):
            name = whole[i].split()[0]
            failures.setdefault(name, sum(call.split()[0] == name
                                          for call in whole[:i + 1]))
        self.assertLess({"cuMemcpyHtoDAsync", "cuEventRecord",
                         "cuStreamSynchronize", "cuStreamWaitEvent",
                         "cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync"},
                        set(failures))
        for name, nth in failures.items():
            shutil.rmtree(folder)
            err = self.fails(1, ["the GPU failed", "step-[12]'.* is kept",
                                 "--resume"],
                             *self.command("mlp", artifact, 3, *save),
                             env={**self.gpu, "ZC_FAKE_CUDA_FAIL":
                                  f"{name}:{nth}:719"})
            self.assertEqual(err.count("the GPU failed"), 1, err)
            kept = latest_step(folder)
            self.assertRegex(err, f"{kept.name}',? is kept")
            self.zc(*self.command("mlp", artifact, 3, *save), "--resume",
                    env=self.gpu)
            self.assertEqual([line["loss"] for line in read_log(self.log)],
                             losses, (name, kept.name))

    def test_a_gpu_that_falls_off_in_an_evaluation(self):
        """The evaluation comes before the checkpoint of its step."""
        artifact, folder = self.artifact("mlp"), self.folder / "ckpt"
        data = self.folder / "held-out.npz"
        shutil.copy(Fixture("mlp").data, data)
        command = (*self.command("mlp", artifact, 3, "--checkpoint", folder,
                                 "--save-every", "1"),
                   "--eval-data", data, "--eval-every", "2")
        # `init`, two steps, and the first batch that is held out.
        err = self.fails(1, ["evaluation after step 2: the GPU failed",
                             "step-1', is kept"], *command,
                         env={**self.gpu,
                              "ZC_FAKE_CUDA_FAIL": "cuGraphLaunch:4:719"})
        self.assertEqual(err.count("the GPU failed"), 1, err)
        self.zc(*command, "--resume", env=self.gpu)

    def test_out_of_memory(self):
        artifact = self.artifact("mlp")
        peak = self.memory_of(artifact)["peak"]
        self.fails(1, [f"the plan needs {peak} bytes on the GPU",
                       f"has {peak - 1} of its", "--memory-budget"],
                   *self.command("mlp", artifact, 1),
                   env={**self.gpu, "ZC_FAKE_CUDA_MEMORY": str(peak - 1)})

    def test_a_gpu_too_old(self):
        self.fails(1, ["needs a GPU of sm_80 or newer", "Fake GPU, sm_75",
                       "--target cuda:sm_75"],
                   *self.command("mlp", self.artifact("mlp"), 1),
                   env={**self.gpu, "ZC_FAKE_CUDA_ARCH": "75"})

    def test_no_memory_for_a_library(self):
        self.fails(1, ["cudnnCreate", "beside the plan's memory Fake GPU has",
                       "--memory-budget"],
                   *self.command("cnn", self.artifact("cnn"), 1),
                   env={**self.gpu, "ZC_FAKE_CUDNN_CREATE": "4004"})

    @unittest.skipUnless(HAS_NCCL, "there is no nccl.h")
    def test_a_rank_that_is_lost_ends_the_others(self):
        command = (*self.command("mlp", self.artifact("mlp", "--mesh", "dp=2"),
                                 5), "--local-ranks", "2")
        gpus = {**self.gpu, "ZC_FAKE_CUDA_GPUS": "2"}
        err = self.fails(1, ["waited 0.3 s in a collective on the device",
                             "--timeout"], *command, "--timeout", "0.3",
                         env={**gpus, "ZC_FAKE_NCCL_LOSE": "1:3",
                              "ZC_FAKE_NCCL_PATIENCE": "100"})
        self.assertEqual(err.count("error:"), 1, err)
        err = self.fails(1, ["NCCL: fake remote error",
                             "its machine is gone"], *command,
                         env={**gpus, "ZC_FAKE_CUDA_FAIL":
                              "ncclCommGetAsyncError:20:6"})
        self.assertEqual(err.count("error:"), 1, err)

    @unittest.skipUnless(HAS_NCCL, "there is no nccl.h")
    def test_a_message_that_is_lost_ends_all_roles(self):
        artifact = self.artifact("mlp", "--mesh", "pp=2", "--accumulate", "4")
        command = (*self.command("mlp", artifact, 5), "--local-ranks", "2")
        gpus = {**self.gpu, "ZC_FAKE_CUDA_GPUS": "2"}
        # Either end of a line does not come; its first collective connects.
        for end in ("0:3", "1:3"):
            err = self.fails(1, ["waited 0.5 s in a collective on the device",
                                 "--timeout"], *command, "--timeout", "0.5",
                             env={**gpus, "ZC_FAKE_NCCL_LOSE": end})
            self.assertEqual(err.count("error:"), 1, err)
        err = self.fails(1, ["NCCL: fake remote error",
                             "its machine is gone"], *command,
                         env={**gpus, "ZC_FAKE_CUDA_FAIL":
                              "ncclCommGetAsyncError:60:6"})
        self.assertEqual(err.count("error:"), 1, err)
        err = self.fails(1, ["role [01], (activation|gradient) '",
                             "micro-batch [0-3]",
                             "ncclBroadcast: fake NCCL error"], *command,
                         env={**gpus, "ZC_FAKE_CUDA_FAIL":
                              "ncclBroadcast:12:3"})
        self.assertEqual(err.count("error:"), 1, err)
        err = self.fails(1, ["the GPU failed"], *command,
                         env={**gpus, "ZC_FAKE_CUDA_FAIL":
                              "cuEventQuery:8:719"})
        self.assertEqual(err.count("error:"), 1, err)

    def test_no_gpu_and_no_driver(self):
        command = self.command("mlp", self.artifact("mlp"), 1)
        self.fails(1, ["finds no GPU"], *command,
                   env={**self.gpu, "ZC_FAKE_CUDA_GPUS": "0"})
        self.fails(1, ["no NVIDIA driver", "--target cpu"], *command,
                   env={**self.gpu, "ZC_CUDA_DRIVER": "libzc_none.so.1"})


if __name__ == "__main__":
    unittest.main()
