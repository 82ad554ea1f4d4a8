#!/usr/bin/env python3
"""tools/package: the runtime's wheel, made of this build, installed without a
network where no library of Debian's is looked for, trains."""
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

from zctest import BIN, FIXTURES, Fixture, ZcTest

ROOT = FIXTURES.parents[1]
sys.path.insert(0, str(ROOT / "tools" / "package.d"))

import bundle  # noqa: E402
import elf  # noqa: E402
import stubs  # noqa: E402

TRAIN = """
import json, sys
import numpy as np
import zc
data = np.load(sys.argv[2])
with zc.Session(sys.argv[1]) as session:
    losses = session.train([dict(data)] * 3)
libraries = [line.split()[-1] for line in open("/proc/self/maps")
             if ".so" in line]
print(json.dumps([zc.__file__, losses, sorted(set(libraries))]))
"""


class RuntimeWheel(ZcTest):

    def package(self, kind, *options):
        self.command(ROOT / "tools" / "package", kind, *options, "--build",
                     BIN.parent, "--output", self.folder)
        wheel, = self.folder.glob("*.whl")
        return wheel

    def install(self, wheel):
        """Into a new environment, with the NumPy that the tests have."""
        venv = self.folder / "venv"
        self.command(sys.executable, "-m", "venv", venv)
        site, = venv.glob("lib/python*/site-packages")
        tests = pathlib.Path(np.__file__).parents[1]
        (site / "tests.pth").write_text(f"{tests}\n")
        self.command(venv / "bin" / "pip", "install", "--no-index", "--no-deps",
                     "--disable-pip-version-check", wheel)
        return venv

    def check_contents(self, wheel):
        names = zipfile.ZipFile(wheel).namelist()
        self.assertIn("zc/py.typed", names)
        self.assertEqual(sum(name.endswith(".tar.xz") for name in names), 1)
        self.assertFalse([name for name in names if "LLVM" in name])
        info = next(name for name in names if name.endswith("/METADATA"))
        folder = info.rpartition("/")[0]
        listed = json.loads(zipfile.ZipFile(wheel).read(
            f"{folder}/sboms/zc.spdx.json"))
        parts = {each["name"]: each for each in listed["packages"]}
        self.assertEqual(parts["libdnnl2"]["licenseConcluded"], "Apache-2.0")
        for name in parts.keys() - {"zc-runtime"}:
            self.assertIn(f"{folder}/licenses/{name}.txt", names)

    def test_trains(self):
        fixture = Fixture("cnn")
        artifact = self.compile(fixture)
        batch = fixture.reference["batch"]
        data = self.folder / "batch.npz"
        np.savez(data, **{name: np.resize(array, (batch, *array.shape[1:]))
                          for name, array in np.load(fixture.data).items()})
        # As it is given away: packaging fails where it has become too large.
        wheel = self.package("runtime-wheel")
        self.check_contents(wheel)
        venv = self.install(wheel)
        bare = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)}
        file, losses, libraries = json.loads(self.command(
            venv / "bin" / "python", "-c", TRAIN, artifact, data, env=bare))
        self.assertTrue(file.startswith(str(venv)), file)
        log = self.folder / "log.jsonl"
        self.train(artifact, data, 3, "--no-shuffle", "--log", log)
        self.assertEqual([np.float32(loss) for loss in losses],
                         [np.float32(json.loads(line)["loss"])
                          for line in log.read_text().splitlines()])
        self.check_libraries(venv, libraries)
        self.check_program(venv, artifact, data, bare)

    def check_libraries(self, venv, libraries):
        """Of the system there are those alone that every Linux has."""
        own = {pathlib.Path(path).name for path in libraries
               if path.startswith(str(venv))}
        self.assertLessEqual({"libzc.so.1", "libzc_cpu.so", "libdnnl-zc.so.2"},
                             own)
        of_zc = re.compile(r"lib(dnnl|gomp|OpenCL|protobuf|MLIR|LLVM)[.-]")
        self.assertEqual([path for path in libraries
                          if of_zc.match(pathlib.Path(path).name)
                          and not path.startswith(str(venv))], [])

    def check_program(self, venv, artifact, data, environment):
        run = venv / "bin" / "zc-run"
        out = self.command(run, "eval", artifact, "--data", data, "--json",
                           env=environment)
        self.assertGreater(json.loads(out)["loss"], 0)
        package, = venv.glob("lib/python*/site-packages/zc")
        unpacked, = (path for path in package.glob("runtime-*") if path.is_dir())
        shutil.rmtree(unpacked)
        again = self.as_nobody(run, "eval", artifact, "--data", data, "--json",
                               env=environment)
        self.assertEqual(again, out)
        self.assertFalse(unpacked.exists())
        self.assertTrue((self.folder / "cache" / "zc" / unpacked.name /
                         "lib" / "libzc.so.1").exists())

    def as_nobody(self, *args, env):
        """Where the package may not be written, the cache has the rest."""
        cache = self.folder / "cache"
        cache.mkdir(mode=0o777)
        cache.chmod(0o777)
        self.folder.chmod(0o755)
        if os.geteuid() != 0:
            self.command("chmod", "-R", "a-w", self.folder / "venv")
            self.addCleanup(self.command, "chmod", "-R", "u+w",
                            self.folder / "venv")
        user = (["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
                if os.geteuid() == 0 else [])
        return self.command(*user, *args,
                            env={**env, "XDG_CACHE_HOME": str(cache)})

    def test_uninstalls(self):
        venv = self.install(self.package("runtime-wheel", "--quick"))
        python = venv / "bin" / "python"
        self.command(python, "-c", "import zc; print(zc.version())")
        package, = venv.glob("lib/python*/site-packages/zc")
        self.command(python, "-m", "pip", "uninstall", "--yes", "zc-runtime")
        self.assertEqual([path for path in package.rglob("*")
                          if path.suffix in (".so", ".1", ".2")], [])

    def test_what_lacks_is_named(self):
        made = bundle.Bundle(self.folder / "zc")
        made.add(BIN.parent / "lib" / "libzc_cpu.so")
        with self.assertRaisesRegex(SystemExit, "libzc_cpu.so needs libdnnl"):
            bundle.audit(made)

    def test_stubs_end_the_program(self):
        """A library that is never called: by the same names and versions."""
        (self.folder / "real.c").write_text("void used(void){} void other(void){}")
        (self.folder / "map").write_text("V_1 { global: used; other; };")
        (self.folder / "caller.c").write_text(
            "void used(void); int main(int n, char **a) { if (n > 1) used(); }")
        real, caller = self.folder / "libreal.so.1", self.folder / "caller"
        self.command("cc", "-shared", "-fPIC", f"-Wl,-soname,{real.name}",
                     f"-Wl,--version-script={self.folder / 'map'}", "-o", real,
                     self.folder / "real.c")
        self.command("cc", self.folder / "caller.c", real, "-o", caller)
        (self.folder / "stub").mkdir()
        stub = self.folder / "stub" / real.name
        stubs.make(real, [caller], stub)
        self.assertEqual(elf.defined(stub).get("used"), "V_1")
        self.assertNotIn("other", elf.defined(stub))
        environment = {"LD_LIBRARY_PATH": str(stub.parent), "LD_BIND_NOW": "1"}
        self.command(caller, env=environment)
        done = subprocess.run([caller, "now"], text=True, capture_output=True,
                              env=environment)
        self.assertLess(done.returncode, 0)
        self.assertIn("this package has no used (of libreal.so.1)", done.stderr)


if __name__ == "__main__":
    unittest.main()
