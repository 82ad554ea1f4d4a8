#!/usr/bin/env python3
"""The instructions that compute are asked for: the library itself reports them
(ONEDNN_VERBOSE), for each set that this processor has. The kernels of our own,
which some processors' rules prefer to the library's, name theirs in unit tests
(NamesItsTiles and others of kernels-test); so products go to the library here,
but for AVX2's, of which a profile tells."""
import os
import pathlib
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import Fixture, ZcTest, read_log, run

FLAGS = set(pathlib.Path("/proc/cpuinfo").read_text().split())


@unittest.skipUnless("sse4_1" in FLAGS, "of x86 alone")
class Report(ZcTest):

    def need(self, *flags):
        if lacking := set(flags) - FLAGS:
            self.skipTest("this processor has no " + ", ".join(lacking))

    def compile_model(self, fixture, *options):
        artifact = self.folder / "a.zca"
        self.zc("compile", fixture.model, "-o", artifact,
                *fixture.compile_options("sgd"), *options)
        return artifact

    def kernels(self, fixture, artifact, largest, ours):
        """The kernels that the library ran, by operator, and the first loss;
        nothing above the set `largest` may run."""
        log = self.folder / "log.jsonl"
        code, out, err = run(
            "run", artifact, "--data", fixture.data, "--steps", 1,
            "--no-shuffle", "--log", log,
            env={**os.environ, "ONEDNN_VERBOSE": "1",
                 "ONEDNN_MAX_CPU_ISA": largest, "ZC_MAX_CPU_ISA": ours})
        self.assertEqual(code, 0, err)
        found = {}
        for line in out.splitlines():
            if line.startswith("onednn_verbose,exec,cpu,"):
                operator, name = line.split(",")[3:5]
                found.setdefault(operator, set()).add(name)
        return found, read_log(log)[0]["loss"]

    def check_products(self, found, name):
        if "matmul" not in found:
            self.skipTest("tiles of our own multiply on this processor")
        self.assertTrue(any(name in each for each in found["matmul"]), found)

    def test_convolutions(self):
        """The losses of sets differ by roundings: 1e-5 has room for 160."""
        fixture = Fixture("resnet")
        artifact = self.compile_model(fixture)
        losses = []
        for largest, ours, name, others, flags in (
                ("SSE41", "baseline", "sse41", ("avx",), []),
                ("AVX2", "avx2", "avx2", ("avx512",), ["avx2", "fma"]),
                ("AVX512_CORE", "avx512", "avx512_core", (),
                 ["avx512f", "avx512bw", "avx512vl", "avx512dq"])):
            if set(flags) - FLAGS:
                continue
            found, loss = self.kernels(fixture, artifact, largest, ours)
            names = found["convolution"]
            self.assertTrue(any(name in each for each in names), names)
            for other in others:
                self.assertFalse(any(other in each for each in names), names)
            losses.append(loss)
        for loss in losses[1:]:
            self.assertAlmostEqual(loss / losses[0], 1, delta=1e-5)

    def test_products_by_avx512(self):
        self.need("avx512f", "avx512bw", "avx512vl", "avx512dq")
        fixture = Fixture("mlp")
        found, _ = self.kernels(fixture, self.compile_model(fixture),
                                "AVX512_CORE", "avx512")
        self.check_products(found, "avx512_core")

    def test_bfloat16_products(self):
        self.need("avx512_bf16")
        fixture = Fixture("mlp")
        artifact = self.compile_model(fixture, "--precision", "bf16")
        found, _ = self.kernels(fixture, artifact, "AVX512_CORE_BF16", "avx512")
        self.check_products(found, "avx512_core_bf16")

    def test_bfloat16_products_by_amx(self):
        self.need("amx_tile", "amx_bf16")
        fixture = Fixture("mlp")
        artifact = self.compile_model(fixture, "--precision", "bf16")
        found, _ = self.kernels(fixture, artifact, "ALL", "amx")
        self.check_products(found, "amx")

    def write_product(self):
        """A model of one product that is large for AVX2, and its data."""
        rows, inner, columns = 1024, 512, 512
        random = np.random.default_rng(0)
        value = helper.make_tensor_value_info
        weight = random.normal(size=(inner, columns)).astype("f4") * 0.05
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
            [value("x", TensorProto.FLOAT, (rows, inner))],
            [value("y", TensorProto.FLOAT, (rows, columns))],
            [numpy_helper.from_array(weight, "w")])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 18)]), self.folder / "m.onnx")
        np.savez(self.folder / "d.npz",
                 x=random.normal(size=(rows, inner)).astype("f4"),
                 labels=random.normal(size=(rows, columns)).astype("f4"))

    def profile(self, ours, *options):
        """A run's profile, and its second loss."""
        self.zc("compile", self.folder / "m.onnx", "-o", self.folder / "m.zca",
                "--loss", "mse", "--cpu-arch", "x86-64-v3", *options)
        log = self.folder / "log.jsonl"
        out = self.zc("run", self.folder / "m.zca", "--data",
                      self.folder / "d.npz", "--steps", 2, "--lr", 0.1,
                      "--threads", 1,
                      "--no-shuffle", "--profile", "--log", log,
                      env={**os.environ, "ZC_MAX_CPU_ISA": ours})
        return out, read_log(log)[1]["loss"]

    def test_products_by_avx2(self):
        """Losses are about 1, where float32 rounds to 6e-8, bfloat16's factors
        to 2e-3 each, in sums of 512. For AVX2 the artifact multiplies bfloat16
        as it is stored."""
        self.need("avx2", "fma")
        self.write_product()
        out, by_library = self.profile("baseline")
        self.assertIn("matmul train.matmul (library by rule)", out)
        self.assertNotIn("tiles", out)
        for options, delta in (([], 1e-5), (["--precision", "bf16"], 1e-3)):
            out, loss = self.profile("avx2", *options)
            self.assertIn("matmul train.matmul (tiles by rule)", out)
            self.assertNotIn("(library by rule)", out)
            self.assertAlmostEqual(loss / by_library, 1, delta=delta)
        self.zc("compile", self.folder / "m.onnx", "-o", self.folder / "m.zca",
                "--loss", "mse", "--cpu-arch", "x86-64-v3,x86-64-v4",
                "--precision", "bf16", "--dump-ir", self.folder / "ir")
        [regions] = (self.folder / "ir").glob("*zc-form-regions.mlir")
        # The forward's product and its weight's gradient; evaluation computes in
        # float32.
        self.assertEqual(2, len(re.findall(
            r"train\.matmul .* : \(tensor<[\dx]+xbf16>, tensor<[\dx]+xbf16>\)",
            regions.read_text())))


if __name__ == "__main__":
    unittest.main()
