#!/usr/bin/env python3
"""libzc as C and C++ programs use it: the same losses as zc run, what it
exports and needs, and its installation."""
import json
import re
import shutil
import subprocess
import unittest

import numpy as np

from program_test import BARE
from zctest import BIN, FIXTURES, TIMEOUT, Fixture, ZcTest, read_log

ROOT = FIXTURES.parents[1]
API = ROOT / "runtime" / "Api"
LIB = (BIN.parent / "lib").resolve()
SOURCE = ROOT / "test" / "e2e" / "embedded.c"
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]

CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer C CXX)
find_package(zc 0.1 REQUIRED)
add_executable(embedded embedded.c)
set_target_properties(embedded PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_link_libraries(embedded zc::zc)
add_executable(wrapped wrapped.cpp)
set_target_properties(wrapped PROPERTIES CXX_STANDARD 17)
target_link_libraries(wrapped zc::zc)
"""
WRAPPED = """
#include <cstdio>
#include <zc.hpp>
int main(int, char **argv) try {
  zc::Session session(argv[1]);
  std::printf("%zu inputs, %s\\n", session.inputs().size(), zc_version());
  session.step();
} catch (const zc::Error &error) {
  std::puts(error.what());
  return error.status() == ZC_INVALID_ARGUMENT ? 0 : 1;
}
"""


def is_sanitized():
    listed = subprocess.run(["nm", "-D", LIB / "libzc.so"], text=True,
                            capture_output=True, check=True).stdout
    return "__asan" in listed or "__tsan" in listed or "__ubsan" in listed


@unittest.skipIf(is_sanitized(), "programs without sanitizers cannot load it")
class ApiTest(ZcTest):

    def samples(self, fixture, steps):
        """So many whole batches of a fixture's data, as .npz and as files."""
        batch = fixture.reference["batch"]
        arrays = dict(np.load(fixture.data))
        for name, array in arrays.items():
            arrays[name] = np.resize(array, (batch * steps, *array.shape[1:]))
            arrays[name].tofile(self.folder / f"{name}.bin")
        np.savez(self.folder / "steps.npz", **arrays)
        return self.folder / "steps.npz"


class Embedded(ApiTest):

    def build(self):
        program = self.folder / "embedded"
        self.command("cc", "-std=c11", *STRICT, f"-I{API}", SOURCE,
                     f"-L{LIB}", "-lzc", f"-Wl,-rpath,{LIB}", "-o", program)
        return program

    def check_losses(self, name, *options):
        fixture, steps = Fixture(name), 4
        data = self.samples(fixture, steps)
        artifact = self.compile(fixture, "adamw", *options)
        log = self.folder / "log.jsonl"
        self.train(artifact, data, steps, "--no-shuffle", "--log", log)
        out = self.command(self.build(), artifact, steps, cwd=self.folder)
        expected = [line["loss"] for line in read_log(log)]
        # zc run writes the shortest decimal of a float32.
        found = [float(np.float32(line)) for line in out.split()]
        self.assertEqual(found, [float(np.float32(loss)) for loss in expected])
        self.assertEqual(len(found), steps)

    def test_losses_of_mlp(self):
        self.check_losses("mlp")

    def test_losses_of_cnn(self):
        self.check_losses("cnn")

    def test_losses_of_gpt(self):
        self.check_losses("gpt")

    def test_losses_of_micro_batches(self):
        self.check_losses("mlp", "--accumulate", 4, "--clip-norm", 0.1)

    def test_losses_of_drawn_weights_and_16_bits(self):
        self.check_losses("mlp", "--init", "normal:0.1", "--precision", "bf16")

    def test_a_failure_is_told(self):
        done = subprocess.run([self.build(), "none.zca", "1"], text=True,
                              capture_output=True, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "ZC_NOT_FOUND: .*none.zca")


class Abi(unittest.TestCase):

    def test_symbols(self):
        """What is exported is what the header declares and what was promised:
        abi.txt only ever grows."""
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", LIB / "libzc.so"], text=True,
            capture_output=True, check=True).stdout
        exported = {line.split()[2] for line in listed.splitlines()}
        promised = set((API / "abi.txt").read_text().split("\n\n")[0].split())
        declared = set(re.findall(r"\b(zc_\w+)\(", re.sub(
            r"/\*.*?\*/", "", (API / "zc.h").read_text(), flags=re.DOTALL)))
        self.assertEqual(declared, promised)
        self.assertEqual(exported - {"ZC_1"},
                         {name + "@@ZC_1" for name in promised})

    def test_numbers(self):
        promised = (API / "abi.txt").read_text().split("\n\n")[1].split("\n")
        found = re.findall(r"\b(ZC_[A-Z0-9_]+) = (\d+)",
                           (API / "zc_types.h").read_text())
        self.assertEqual([" ".join(each) for each in found],
                         [line for line in promised if line])

    @unittest.skipIf(is_sanitized(), "sanitizers are libraries, too")
    def test_needs_nothing_but_the_system(self):
        listed = subprocess.run(["ldd", LIB / "libzc.so"], text=True,
                                check=True, capture_output=True).stdout
        needed = [line.split()[0].rpartition("/")[2]
                  for line in listed.splitlines()]
        self.assertEqual([name for name in needed
                          if not BARE.search(name)], [])
        self.assertNotIn("libstdc++.so.6", needed)


class Installed(ApiTest):

    def setUp(self):
        super().setUp()
        first = self.folder / "first"
        self.command("cmake", "--install", BIN.parent, "--prefix", first,
                     "--component", "runtime")
        # Whoever moves the folder finds everything again.
        self.prefix = self.folder / "moved"
        first.rename(self.prefix)

    def check_program(self, program):
        fixture = Fixture("mlp")
        self.samples(fixture, 2)
        artifact = self.compile(fixture)
        out = self.command(program, artifact, 2, cwd=self.folder)
        self.assertEqual(len(out.split()), 2)
        return artifact

    def test_by_cmake(self):
        source = self.folder / "source"
        source.mkdir()
        shutil.copy(SOURCE, source)
        (source / "wrapped.cpp").write_text(WRAPPED)
        (source / "CMakeLists.txt").write_text(CONSUMER)
        build = self.folder / "build"
        self.command("cmake", "-S", source, "-B", build,
                     f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.command("cmake", "--build", build)
        artifact = self.check_program(build / "embedded")
        out = self.command(build / "wrapped", artifact)
        self.assertIn("2 inputs, 0.1.0", out)
        self.assertIn("the input 'x' was not set", out)

    def test_by_pkg_config(self):
        lib = self.prefix / "lib"
        flags = self.command(
            "pkg-config", "--cflags", "--libs", "zc",
            env={"PATH": "/usr/bin:/bin",
                 "PKG_CONFIG_PATH": str(lib / "pkgconfig")}).split()
        program = self.folder / "embedded"
        self.command("cc", "-std=c11", *STRICT, SOURCE, *flags,
                     f"-Wl,-rpath,{lib}", "-o", program)
        self.check_program(program)

    def test_all_plugins_are_there(self):
        self.assertEqual(
            {path.name for path in (self.prefix / "lib" / "zc").iterdir()},
            {path.name for path in LIB.glob("libzc_*.so")
             if "fake" not in path.name})  # a GPU of the tests

    def test_zc_run_finds_its_plugins(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        out = self.command(self.prefix / "bin" / "zc-run", "eval", artifact,
                           "--data", fixture.data, "--json",
                           env={"PATH": "/usr/bin:/bin"})
        self.assertGreater(json.loads(out)["loss"], 0)


if __name__ == "__main__":
    unittest.main()
