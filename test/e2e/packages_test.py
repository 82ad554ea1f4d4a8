#!/usr/bin/env python3
"""tools/package: the runtime's wheel, made of this build, installed without a
network where no library of Debian's is looked for, trains."""
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile

import numpy as np

from zctest import BIN, FIXTURES, Fixture, ZcTest

ROOT = FIXTURES.parents[1]
sys.path.insert(0, str(ROOT / "tools" / "package.d"))

import bundle  # noqa: E402
import components  # noqa: E402
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
            self.assertNotIn(parts[name]["versionInfo"], ("", None))
        self.assertIn(f"{folder}/licenses/common/GPL-3", names)
        self.check_files_are_listed(wheel, names, parts)

    def check_files_are_listed(self, wheel, names, parts):
        """Each library of others is said to be of some part."""
        packed, = (name for name in names if name.endswith(".tar.xz"))
        with zipfile.ZipFile(wheel) as archive, \
                tarfile.open(fileobj=io.BytesIO(archive.read(packed))) as tar:
            libraries = {pathlib.Path(name).name for name in tar.getnames()
                         if name.startswith("lib/")}
        foreign = {name for name in libraries
                   if not re.match(r"libzc(_\w+)?\.so", name)}
        stubs_made = {bundle.own_name(name) for name in stubs.NEVER_CALLED}
        listed = {name for part in parts.values()
                  for name in part.get("comment", "files: ")[7:].split(", ")}
        self.assertEqual(foreign - stubs_made, listed - {""})

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
        """The package needs only those system libraries that every Linux
        has."""
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

    def test_what_is_linked_is_listed(self):
        """The archives of others on the programs' link lines, by the part that
        is said to hold each."""
        rules = (BIN.parent / "build.ninja").read_text()
        owners = {"libprotobuf": "libprotobuf-dev", "libz": "zlib1g-dev",
                  "libonnx": "onnx", "libonnx_proto": "onnx"}
        for target, has_compiler in (("package/libzc.so.1", False),
                                     ("bin/zc", True)):
            line, = re.findall(rf"^build {target}: .*?\n.*?LINK_LIBRARIES = (.*?)\n",
                               rules, re.MULTILINE | re.DOTALL)
            archives = {pathlib.Path(word).stem.partition("-")[0]
                        for word in line.split()
                        if word.startswith("/") and word.endswith(".a")}
            listed = {part.name for part in components.components_of(
                {}, BIN.parent, has_compiler)}
            self.assertLessEqual({owners[name] for name in archives}, listed)

    def test_debian_packages_say_what_is_linked(self):
        self.command(ROOT / "tools" / "package", "deb", "--quick", "--build",
                     BIN.parent, "--output", self.folder)
        for name, part in (("zc-runtime", "libprotobuf-dev"), ("zc", "onnx")):
            deb, = self.folder.glob(f"{name}_*.deb")
            self.command("dpkg-deb", "-x", deb, self.folder / name)
            documents = self.folder / name / "usr" / "share" / "doc" / name
            listed = json.loads((documents / "zc.spdx.json").read_text())
            version, = (each["versionInfo"] for each in listed["packages"]
                        if each["name"] == part)
            self.assertIn(f" {part} {version}: ",
                          (documents / "copyright").read_text())
            self.assertTrue((documents / "licenses" / f"{part}.txt").exists())
        deb, = self.folder.glob("python3-zc_*.deb")
        self.command("dpkg-deb", "-e", deb, self.folder / "control")
        self.assertIn("/usr/lib/python3/dist-packages/zc/__pycache__",
                      (self.folder / "control" / "prerm").read_text())

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
