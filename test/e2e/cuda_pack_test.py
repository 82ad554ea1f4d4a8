#!/usr/bin/env python3
"""The pack for a machine with a GPU: packed here, and run from the pack alone
on the fake of cuda_run_test.py."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import unittest

from zctest import BIN, ZcTest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
FAKE = os.environ["ZC_FAKE_CUDA"]
LIMIT = 25_000_000
DIALECT = TOOLS.parent / "dialects" / "Train"
# Operators of the dialect that no GPU computes.
NOT_COMPUTED = {
    "fused", "reshape",  # regions and views
    "dropout",  # becomes dropout_training, or nothing
    "sparse_encode", "sparse_decode",  # refused for GPUs
    "stop_gradient",  # gone behind the gradients
    "normal_tail",  # stands inside of other operators' kernels
    "place_experts",  # becomes a reshard
    "expert_slots",  # becomes running sums, where these are not too large
    # Of --precision fp8, for GPUs from sm_90 on: fixtures of their own.
    "amax", "floor_power", "scaled_matmul",
}


def load_tool(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  str(TOOLS / name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Pack(ZcTest):

    def run_tool(self, tool, *arguments, **environment):
        return subprocess.run([sys.executable, TOOLS / tool, *arguments],
                              cwd=self.folder, text=True, capture_output=True,
                              env={**os.environ, **environment})

    def test_a_pack_runs_by_itself(self):
        pack = self.folder / "pack.tar.xz"
        packed = self.run_tool("pack-gpu", "--build", BIN.parent, "--output",
                               pack, "--only", "mlp", "mlp-fp8", "logic", "drawn",
                               "sampling", "pools", "relus", "relus-bits",
                               "functions", "experts", "experts-rooms",
                               "--cubins", "none")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        self.assertLess(pack.stat().st_size, LIMIT)
        with tarfile.open(pack) as tar:
            names = tar.getnames()
        for name in ("bin/zc-run", "lib/libzc_cuda.so",
                     "fixtures/mlp/model.zca", "fixtures/mlp-bf16/model.zca",
                     "operators/logic/after.safetensors"):
            self.assertIn(name, names)
        libraries = self.folder / "libraries"
        libraries.mkdir()
        for name in ("libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2",
                     "libnvrtc.so.13"):
            (libraries / name).symlink_to(FAKE)
        gpu = {"ZC_CUDA_DRIVER": FAKE, "ZC_FAKE_CUDA_ARCH": "121",
               "ZC_CUDA_LIBRARY_PATH": str(libraries),
               "OUT": str(self.folder)}
        tested = self.run_tool("test-gpu", pack, **gpu)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)
        results = json.loads((self.folder / "gpu-results.json").read_text())
        tests = {result["test"] for result in results["results"]}
        for name in ("mlp: losses", "mlp: memory", "mlp: graphs",
                     "mlp-bf16: losses", "operators: logic",
                     "operators: drawn", "operators: sampling",
                     "operators: pools", "operators: relus",
                     "operators: relus-bits", "operators: functions",
                     "operators: experts", "operators: experts-rooms",
                     "mlp-fp8-current: losses", "mlp-fp8-delayed: losses"):
            self.assertIn(name, tests)
        # The fake is a later GPU, of which no library has scales of blocks.
        self.assertRegex(tested.stdout, r"skip  mlp-fp8-block .* 9\.0 alone")
        # A step that is wrong is seen.
        wrong = self.run_tool("test-gpu", pack, **gpu,
                              ZC_FAKE_CUDA_FAIL="cuGraphLaunch:5:719")
        self.assertEqual(wrong.returncode, 1, wrong.stdout)
        self.assertRegex(wrong.stdout, "(?s)FAIL  mlp .*the GPU failed")

    def test_every_operator_is_in_a_pack(self):
        """As a single one, or of a small model: what is wrong with one is seen
        there, not in the losses of a network."""
        text = "".join(path.read_text() for path in DIALECT.glob("*.td"))
        dialect = set(re.findall(r'Train_\w+\s*:\s*Train_\w+<"(\w+)"', text))
        self.assertGreater(len(dialect), 70)
        packed = set()
        for name, model, _, options in load_tool("pack-gpu").operators():
            program = self.folder / f"{name}.mlir"
            self.zc("compile", model, "--target", "cuda", "--emit", "sched",
                    "-o", program, *options)
            packed |= set(re.findall(r"\btrain\.(\w+)", program.read_text()))
        self.assertEqual(dialect - packed, NOT_COMPUTED)

    def test_without_a_gpu_it_is_skipped(self):
        result = self.run_tool("test-gpu", self.folder / "none.tar.xz", PATH="")
        self.assertEqual(result.returncode, 77)
        self.assertIn("skipped: nvidia-smi is not here", result.stdout)


if __name__ == "__main__":
    unittest.main()
