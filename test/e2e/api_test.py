#!/usr/bin/env python3
"""libzc as C and C++ programs use it: the same losses as zc run, what it
exports and needs, and its installation."""
import json
import os
import re
import shutil
import subprocess
import unittest

import numpy as np
from safetensors.numpy import load_file

from program_test import BARE
from zctest import (BIN, FIXTURES, TIMEOUT, Fixture, ZcTest, free_port,
                    is_sanitized, latest_step, load_tensors, read_log)

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


class TwentyLines(ApiTest):
    """The program that the guide begins with, against zc run."""

    def test_does_what_zc_run_does(self):
        page = (ROOT / "tools" / "guide" / "embed.md").read_text()
        program = re.search(r"^cat > train.c <<'END'\n(.*?)^END$", page,
                            re.MULTILINE | re.DOTALL).group(1)
        self.assertEqual(program.count("\n"), 20)
        (self.folder / "train.c").write_text(program)
        digits = FIXTURES / "digits"
        shutil.copy(digits / "train.npz", self.folder)
        self.zc("compile", digits / "model.onnx", "--loss",
                "softmax-cross-entropy", "--dim", "batch=64", "-o",
                self.folder / "step.zca")
        self.command("cc", *STRICT, f"-I{API}", self.folder / "train.c",
                     f"-L{LIB}", "-lzc", f"-Wl,-rpath,{LIB}", "-o",
                     self.folder / "train")
        said = self.command(self.folder / "train", cwd=self.folder)
        log, kept = self.folder / "log.jsonl", self.folder / "kept"
        self.train(self.folder / "step.zca", self.folder / "train.npz", 100,
                   "--no-shuffle", "--log", log, "--checkpoint", kept)
        self.assertEqual(said,
                         f"the loss is {read_log(log)[-1]['loss']:g}\n")
        for kind in ("model", "optimizer"):
            theirs = load_tensors(latest_step(kept), kind)
            mine = load_tensors(latest_step(self.folder / "embedded"), kind)
            self.assertEqual(theirs.keys(), mine.keys())
            for name, value in theirs.items():
                np.testing.assert_array_equal(value, mine[name], name)


class Ranks(ApiTest):
    """Several ranks: by a launcher's variables, and by the program's own
    messages."""

    def build(self, compiler="cc", *options):
        program = self.folder / "embedded_ranks"
        self.command(compiler, *options, "-std=gnu11", *STRICT, f"-I{API}",
                     SOURCE.with_name("embedded_ranks.c"), f"-L{LIB}", "-lzc",
                     f"-Wl,-rpath,{LIB}", "-o", program)
        return program

    def launch(self, ranks, *command):
        """Starts a command as torchrun would. Returns the output of all ranks,
        none of which may fail."""
        port = free_port()
        started = [subprocess.Popen(
            [str(each) for each in command], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks),
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
            for rank in range(ranks)]
        ends = [(*each.communicate(timeout=TIMEOUT), each.returncode)
                for each in started]
        self.assertEqual([code for _, _, code in ends], [0] * ranks, ends)
        return "".join(out for out, _, _ in ends)

    def check_ranks(self, name, ranks, mesh, *options, own=False, launched=True,
                    called=True):
        """Losses and checkpoints as zc run's with as many ranks."""
        fixture, steps = Fixture(name), 3
        data = self.samples(fixture, steps)
        artifact = self.compile(fixture, "adamw", "--mesh", mesh, *options)
        log, kept = self.folder / "log.jsonl", self.folder / "kept"
        self.train(artifact, data, steps, "--no-shuffle", "--log", log,
                   "--local-ranks", ranks, "--checkpoint", kept)
        expected = [np.float32(line["loss"]) for line in read_log(log)]
        own = ["own"] if own else []
        ways = [lambda: self.command(self.build(), artifact, steps, ranks, *own,
                                     cwd=self.folder)] if called else []
        if launched:
            ways.append(lambda: self.launch(ranks, self.build(), artifact,
                                            steps, 0, *own))
        for way in ways:
            losses = [np.float32(line) for line in way().split()]
            self.assertEqual(losses, expected)
            self.same_states(kept, self.folder / "embedded")
            shutil.rmtree(self.folder / "embedded")

    def same_states(self, left, right):
        for kind in ("model", "optimizer"):
            theirs = load_tensors(latest_step(left), kind)
            mine = load_tensors(latest_step(right), kind)
            self.assertEqual(theirs.keys(), mine.keys())
            for name, value in theirs.items():
                np.testing.assert_array_equal(value, mine[name], name)
        exported = load_file(self.folder / "embedded.safetensors")
        for name, value in load_tensors(latest_step(left)).items():
            np.testing.assert_array_equal(value, exported[name], name)

    def test_data_parallel(self):
        self.check_ranks("cnn", 2, "dp=2")

    @unittest.skipUnless(shutil.which("mpirun"), "needs MPI")
    def test_mpi(self):
        """Started by zc, and by the program itself before."""
        fixture, steps = Fixture("mlp"), 2
        data = self.samples(fixture, steps)
        artifact = self.compile(fixture, "adamw", "--mesh", "dp=2")
        log = self.folder / "log.jsonl"
        self.train(artifact, data, steps, "--no-shuffle", "--log", log,
                   "--local-ranks", 2)
        expected = [np.float32(line["loss"]) for line in read_log(log)]
        program = self.build()
        for starts in ([], ["-DSTARTS_MPI"] if shutil.which("mpicc") else []):
            if starts:
                self.build("mpicc", *starts)
            shutil.rmtree(self.folder / "embedded", ignore_errors=True)
            out = self.command(
                "mpirun", "-n", 2, "--allow-run-as-root", "--oversubscribe",
                "-x", "HWLOC_COMPONENTS=-gl", program, artifact, steps, 0,
                cwd=self.folder)
            self.assertEqual([np.float32(line) for line in out.split()],
                             expected)

    def test_micro_batches(self):
        self.check_ranks("mlp", 2, "dp=2", "--accumulate", 2, launched=False)

    def test_samples_of_ones_own(self):
        self.check_ranks("mlp", 2, "dp=2", own=True)

    def test_divided_parameters(self):
        self.check_ranks("gpt", 4, "dp=2,tp=2", "--zero", 1, launched=False)

    def test_stages(self):
        self.check_ranks("gpt", 2, "pp=2", "--accumulate", 2)


def without_comments(header):
    return re.sub(r"/\*.*?\*/", "", (API / header).read_text(),
                  flags=re.DOTALL)


class Abi(ZcTest):
    """Against abi.txt: functions, numbers, and where the fields of structures
    are on 64-bit machines. It only ever grows."""

    FUNCTIONS, NUMBERS, FIELDS = range(3)

    def promised(self, part):
        text = (API / "abi.txt").read_text()
        return [line for line in text.split("\n\n")[part].split("\n") if line]

    def test_symbols(self):
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", LIB / "libzc.so"], text=True,
            capture_output=True, check=True).stdout
        exported = {line.split()[2] for line in listed.splitlines()}
        self.assertEqual(exported - {"ZC_1"},
                         {line.partition("(")[0] + "@@ZC_1"
                          for line in self.promised(self.FUNCTIONS)})

    def test_declarations(self):
        """As "zc_open(const char *artifact, ...): zc_status"."""
        headers = "".join(map(without_comments, ("zc.h", "zc_samples.h")))
        declared = [" ".join(f"{name}({arguments}): {result}".split())
                    for result, name, arguments in re.findall(
                        r"\bZC_API\s+([^;()]+?)\s*\b(zc_\w+)\(([^)]*)\);",
                        headers)]
        self.assertEqual(sorted(declared), self.promised(self.FUNCTIONS))

    def test_numbers(self):
        found = re.findall(r"\b(ZC_[A-Z0-9_]+) = (\d+)",
                           (API / "zc_types.h").read_text())
        self.assertEqual([" ".join(each) for each in found],
                         self.promised(self.NUMBERS))

    def test_fields(self):
        """Each with its offset and size in bytes, as the compiler has it."""
        lines = []
        for body, name in re.findall(
                r"typedef struct \w+ \{(.*?)\} (\w+);",
                without_comments("zc_types.h"), re.DOTALL):
            for field in re.findall(r"\(\*(\w+)\)\(|(\w+)\s*;",
                                    re.sub(r"\)\([^;]*;", ")(", body)):
                lines.append(f"{name}.{''.join(field)}")
        source = "#include <stddef.h>\n#include <stdio.h>\n#include <zc.h>\n"
        source += "int main(void) {\n"
        for line in lines:
            name, _, field = line.partition(".")
            source += (f'printf("{line} %zu %zu\\n", offsetof({name}, {field}),'
                       f" sizeof((({name} *)0)->{field}));\n")
        (self.folder / "fields.c").write_text(source + "}\n")
        self.command("cc", *STRICT, f"-I{API}", self.folder / "fields.c", "-o",
                     self.folder / "fields")
        self.assertEqual(self.command(self.folder / "fields").splitlines(),
                         self.promised(self.FIELDS))

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

    def test_without_a_component(self):
        """The files of wheels do not replace those of a folder."""
        prefix = self.folder / "whole"
        self.command("cmake", "--install", BIN.parent, "--prefix", prefix)
        self.assertIn("0.1.0", self.command(prefix / "bin" / "zc-run",
                                            "--version"))
        self.assertEqual((prefix / "lib" / "libzc.so.1").resolve().name,
                         "libzc.so.0.1.0")

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
