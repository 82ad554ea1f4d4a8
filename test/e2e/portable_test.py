#!/usr/bin/env python3
"""One artifact for several processors: it carries code for each and takes the
best that the machine can run."""
import pathlib
import unittest
import zipfile

from zctest import Fixture, ZcTest, read_log

HAS_AVX512 = "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text()


class Portable(ZcTest):

    def losses(self, archs):
        """Losses of some steps of a model compiled for `archs`."""
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "adamw", "--cpu-arch", archs,
                                name=f"{archs}.zca")
        with zipfile.ZipFile(artifact) as archive:
            code = [name for name in archive.namelist()
                    if name.startswith("code/")]
        self.assertEqual(code, [f"code/{arch}.so"
                                for arch in archs.split(",")])
        log = self.folder / "log.jsonl"
        self.train(artifact, fixture.data, 20, "--no-shuffle", "--log", log)
        return [line["loss"] for line in read_log(log)]

    def test_takes_the_best_that_runs_here(self):
        both = self.losses("x86-64-v3,x86-64-v4")
        v3 = self.losses("x86-64-v3")
        self.assertEqual(both, self.losses("x86-64-v4") if HAS_AVX512 else v3)
        for a, b in zip(both, v3):
            self.assertAlmostEqual(a, b, delta=1e-5 * abs(b))

    def test_unknown_processor(self):
        fixture = Fixture("mlp")
        self.fails(2, ["pentium-vii", "--cpu-arch"], "compile", fixture.model,
                   "-o", self.folder / "a.zca", "--cpu-arch",
                   "x86-64-v3,pentium-vii",
                   *fixture.compile_options("adamw"))


if __name__ == "__main__":
    unittest.main()
