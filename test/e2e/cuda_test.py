#!/usr/bin/env python3
"""Compiling for NVIDIA GPUs, on machines that have none: every fixture becomes
an artifact with PTX, which CUDA's assembler takes for three generations."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import numpy as np
from onnx import TensorProto, helper, load, numpy_helper, save

from zctest import BIN, FIXTURES, Fixture, ZcTest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
ARCHS = ("sm_80", "sm_90", "sm_100")
# A model of each kind; ZC_TEST_PTXAS=all assembles every fixture's kernels.
KINDS = ("cnn", "gpt", "lstm")


def find_ptxas():
    usual = pathlib.Path("/usr/local/cuda/bin/ptxas")
    return str(usual) if usual.exists() else shutil.which("ptxas")


def fixtures():
    return [folder.name for folder in sorted(FIXTURES.iterdir())
            if (folder / "reference.json").exists()
            and "optimizers" in Fixture(folder.name).reference]


class Compile(ZcTest):

    def entries_of(self, ptx):
        return set(re.findall(r"^\.visible \.entry (\w+)\(", ptx, re.M))

    def test_every_fixture_has_ptx(self):
        for name in fixtures():
            with self.subTest(name):
                artifact = self.folder / "m.zca"
                self.zc("compile", Fixture(name).model, "--target", "cuda",
                        "--cubins", "none", "-o", artifact,
                        *Fixture(name).compile_options("adamw"))
                with zipfile.ZipFile(artifact) as file:
                    code = [entry for entry in file.namelist()
                            if entry.startswith("code/")]
                    self.assertEqual(code, ["code/sm_80.ptx"])
                    entries = self.entries_of(file.read(code[0]).decode())
                ops = json.loads(self.zc("inspect", artifact, "--ops",
                                         "--json"))["ops"]
                self.assertEqual(ops["ptx_entries"], len(entries))
                self.assertGreater(len(entries), 10)

    @unittest.skipUnless(find_ptxas(), "CUDA's ptxas is not on this machine")
    def test_cubins_for_three_generations(self):
        artifact = self.compile(Fixture("mlp"), "adamw", "--target",
                                "cuda:sm_90")
        with zipfile.ZipFile(artifact) as file:
            code = [entry for entry in file.namelist() if "code/" in entry]
            self.assertEqual(code, ["code/sm_80.ptx"] +
                             [f"code/{arch}.cubin" for arch in ARCHS])
            for entry in code[1:]:
                self.assertEqual(file.read(entry)[:4], b"\x7fELF")

    @unittest.skipUnless(find_ptxas(), "CUDA's ptxas is not on this machine")
    def test_emitted_ptx_assembles(self):
        everything = os.environ.get("ZC_TEST_PTXAS") == "all"
        ptx = self.folder / "kernels.ptx"
        for name in fixtures() if everything else KINDS:
            self.zc("compile", Fixture(name).model, "--target", "cuda",
                    "--emit", "ptx", "-o", ptx,
                    *Fixture(name).compile_options("adamw"))
            self.assertGreater(len(self.entries_of(ptx.read_text())), 10)
            for arch in ARCHS:
                with self.subTest(f"{name}, {arch}"):
                    subprocess.run([find_ptxas(), f"-arch={arch}", "-O0", ptx,
                                    "-o", self.folder / "out.cubin"],
                                   check=True)

    def test_rows_are_read_16_bytes_at_a_time(self):
        """Kernels of a norm's rows, which are of 768 elements."""
        model = self.folder / "norm.onnx"
        weights = [numpy_helper.from_array(np.full(768, value, np.float32),
                                           name)
                   for name, value in (("scale", 1), ("bias", 0))]
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT,
                                                 (4096, 768))
                   for name in "xy"]  # too large to be joined with others
        graph = helper.make_graph(
            [helper.make_node("LayerNormalization", ["x", "scale", "bias"],
                              ["y"])], "norm", tensors[:1], tensors[1:],
            weights)
        save(helper.make_model(graph,
                               opset_imports=[helper.make_opsetid("", 18)],
                               ir_version=9), model)
        ptx = self.folder / "kernels.ptx"
        self.zc("compile", model, "--target", "cuda", "--emit", "ptx", "-o",
                ptx, "--loss", "mse", "--optimizer", "adamw")
        bodies = re.findall(r"^\.visible \.entry .*?^}", ptx.read_text(),
                            re.M | re.S)
        def wide(kind, body):
            return len(re.findall(kind + r"\.global\S*\.v4\.b32", body))
        rows = [body for body in bodies if "entry kernel_" in body
                and "shfl.sync" in body and "sqrt." in body]
        self.assertEqual(len(rows), 2)  # of step and eval
        for body in rows:
            self.assertGreaterEqual(wide("ld", body), 2)
            self.assertEqual(wide("st", body), 1)
        # AdamW of scale and bias, joined: parameter, gradient, two moments.
        updates = [body for body in bodies
                   if "sqrt." in body and "shfl.sync" not in body
                   and body.count("div.") >= 4]
        self.assertEqual(len(updates), 1)
        self.assertEqual(wide("ld", updates[0]), 4)
        self.assertEqual(wide("st", updates[0]), 3)

    def test_channels_of_16_bits_are_read_16_bytes_at_a_time(self):
        """A batch norm's gradient reads two images and vectors of channels."""
        ptx = self.folder / "kernels.ptx"
        images = load(FIXTURES / "operators" / "images.onnx")
        for value in (*images.graph.input, *images.graph.output):
            # Too large to be joined with others.
            value.type.tensor_type.shape.dim[0].dim_value = 1024
        save(images, self.folder / "images.onnx")
        self.zc("compile", self.folder / "images.onnx", "--target",
                "cuda", "--emit", "ptx", "-o", ptx, "--precision", "bf16",
                "--loss", "softmax-cross-entropy", "--optimizer", "sgd",
                "--libraries=-cudnn.norm")
        bodies = re.findall(r"^\.visible \.entry .*?^}", ptx.read_text(),
                            re.M | re.S)
        reads = [re.findall(r"ld\.global\S*", body) for body in bodies
                 if "bar.sync" not in body]
        wide = [of for of in reads if sum("v4.b32" in each for each in of) >= 8]
        self.assertGreater(len(wide), 0)
        for of in wide:
            self.assertNotRegex(" ".join(of), "b16")

    def test_rows_of_8192_scores(self):
        """A layer of Llama 3 405B for training in bfloat16, but for a narrower
        inner layer and fewer words: its evaluation keeps a row of float32 scores
        in memory that a team of threads shares."""
        model, artifact = self.folder / "l.onnx", self.folder / "l.zca"
        subprocess.run(
            [sys.executable, TOOLS / "bench" / "large_llama.py", model,
             "--layers", "1", "--inner", "1024", "--vocabulary", "512",
             "--batch", "1"], check=True, stdout=subprocess.DEVNULL)
        self.zc("compile", model, "-o", artifact, "--target", "cuda",
                "--cubins", "none", "--mesh", "tp=8", "--precision", "bf16",
                "--init", "normal:0.02", "--loss", "softmax-cross-entropy")
        ops = json.loads(self.zc("inspect", artifact, "--ops", "--json"))["ops"]
        self.assertGreater(ops["ptx_entries"], 10)

    def test_wrong_libraries(self):
        for options, patterns in (
                (["--libraries", "all,cudnn.poling"],
                 ["--libraries", "'cudnn.poling' is no library call of device "
                  "cuda", r"cudnn\.pooling"]),
                (["--matmul-precision", "fp8"], ["--matmul-precision", "tf32"])):
            self.fails(2, patterns, "compile", Fixture("mlp").model, "--target",
                       "cuda", "-o", self.folder / "m.zca", *options,
                       *Fixture("mlp").compile_options("sgd"))
        for option, value in (("--matmul-precision", "tf32"),
                              ("--cubins", "none"), ("--cuda-path", "cuda")):
            self.fails(2, [option, "belongs to --target cuda"], "compile",
                       Fixture("mlp").model, option, value, "-o",
                       self.folder / "m.zca",
                       *Fixture("mlp").compile_options("sgd"))

    def test_wrong_targets(self):
        for target in ("cuda:sm_70", "cuda:90", "cuda:", "rocm"):
            self.fails(2, ["sm_NN", re.escape(target)], "compile", "m.onnx",
                       "--target", target, "-o", self.folder / "m.zca")
        self.fails(2, ["ptx belongs to --target cuda"], "compile",
                   Fixture("mlp").model, "--emit", "ptx",
                   *Fixture("mlp").compile_options("sgd"))


class Benchmark(ZcTest):
    """The script of the guide's table, up to the point where a GPU is needed."""

    def test_a_row_without_gpu_and_without_torch(self):
        fixture, folder = Fixture("gpt"), self.folder / "bench" / "gpt2"
        folder.mkdir(parents=True)
        self.zc("compile", fixture.model, "-o", folder / "model.zca",
                "--precision", "bf16", *fixture.compile_options("adamw"))
        with np.load(fixture.data) as data:
            inputs = [{"name": name, "shape": list(data[name].shape),
                       "high": int(data[name].max()) + 1} for name in data]
        (folder / "work.json").write_text(json.dumps(
            {"items": 128, "flops": 1e9, "plan_bytes": 2**30,
             "inputs": inputs}))
        script = FIXTURES.parents[1] / "tools" / "bench" / "gpu.py"
        command = [sys.executable, script, "run", folder.parent, "--steps", "3",
                   "--model", "gpt2", "--rounds", "1", "--zc-run",
                   BIN / "zc-run"]
        result = subprocess.run([*command, "--dry-run", "--peak-tflops", "1"],
                                text=True, capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        row = next(line for line in result.stdout.splitlines()
                   if line.startswith("| GPT-2 124M, 32 x 1024 tokens")
                   ).split(" | ")
        rate, share = float(row[1]), float(row[2].removesuffix("%"))
        # FLOPs of a step in the time of a step, of 1 TFLOP/s; both are rounded.
        self.assertAlmostEqual(share, rate / 128 * 1e9 / 1e12 * 100, delta=0.1)
        self.assertEqual(row[3], "1.0 GiB")
        for part in ("% compute  matmul", "% memory   kernel", "limits: "):
            self.assertIn(part, result.stdout)
        result = subprocess.run(command, text=True, capture_output=True,
                                env={**os.environ, "PATH": ""})
        self.assertIn("no NVIDIA driver", result.stderr)


if __name__ == "__main__":
    unittest.main()
