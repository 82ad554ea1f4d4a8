#!/usr/bin/env python3
"""One artifact for several processors: it carries code for each and takes the
best that the machine can run; code for others is refused by name."""
import pathlib
import struct
import unittest
import zipfile

from zctest import Fixture, ZcTest, read_log

HAS_AVX512 = "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text()
MACHINES = {62: "x86-64", 183: "aarch64"}  # as ELF files say it


def code_of(artifact):
    """Every code object of an artifact, and the machine that it is for."""
    with zipfile.ZipFile(artifact) as archive:
        objects = {name: archive.read(name) for name in archive.namelist()
                   if name.startswith("code/")}
    return {name: MACHINES[struct.unpack_from("<H", code, 18)[0]]
            for name, code in objects.items()}


class PortableTest(ZcTest):

    def compile_for(self, archs):
        return self.compile(Fixture("mlp"), "adamw", "--cpu-arch", archs,
                            name=f"{archs}.zca")

    def losses(self, archs):
        """Losses of some steps of a model compiled for `archs`."""
        artifact = self.compile_for(archs)
        self.assertEqual(list(code_of(artifact)),
                         [f"code/{arch}.so" for arch in archs.split(",")])
        log = self.folder / "log.jsonl"
        self.train(artifact, Fixture("mlp").data, 20, "--no-shuffle", "--log",
                   log)
        return [line["loss"] for line in read_log(log)]


class Sets(PortableTest):
    """Instruction sets of one architecture."""

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


class Architectures(PortableTest):
    """Code for ARM is made on x86-64; tools/arm64 runs it."""

    def test_code_for_another_is_refused(self):
        for arch in ("armv8.2-a", "neoverse-v1", "cortex-a76", "apple-m1"):
            artifact = self.compile_for(arch)
            self.assertEqual(code_of(artifact),
                             {f"code/{arch}.so": "aarch64"})
        for command, steps in (("run", ["--steps", 1]), ("eval", [])):
            self.fails(1, ["apple-m1.zca': code for 'apple-m1' cannot run",
                           "made for processors of the architecture 'aarch64'",
                           "this one is of 'x86-64'", "zc compile --cpu-arch"],
                       command, artifact, "--data", Fixture("mlp").data,
                       *steps)

    def test_each_code_that_is_refused_is_named(self):
        artifact = self.compile_for("armv8-a,cortex-a76")
        self.fails(1, ["'armv8-a' cannot run", "'cortex-a76' cannot run"],
                   "run", artifact, "--data", Fixture("mlp").data,
                   "--steps", 1)

    def test_one_artifact_for_both(self):
        alone = self.losses("x86-64-v3")
        self.assertEqual(self.losses("armv8.2-a,x86-64-v3,neoverse-v1"), alone)
        self.assertEqual(
            code_of(self.folder / "armv8.2-a,x86-64-v3,neoverse-v1.zca"),
            {"code/armv8.2-a.so": "aarch64", "code/x86-64-v3.so": "x86-64",
             "code/neoverse-v1.so": "aarch64"})


if __name__ == "__main__":
    unittest.main()
