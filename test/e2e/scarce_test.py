#!/usr/bin/env python3
"""Little memory, little disk, and folders that may not be written to: what each
command says."""
import contextlib
import json
import os
import pathlib
import resource
import subprocess
import unittest

import numpy as np

from bad_run_test import RunTest
from zctest import (BIN, TIMEOUT, Fixture, ZcTest, is_sanitized,
                    needs_few_addresses)

MIB = 1 << 20


class MemoryGroup:
    """A control group that may use so many bytes."""

    # Version 1, and version 2.
    PLACES = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", None),
              ("/sys/fs/cgroup", "memory.max", "memory.swap.max"))

    def __init__(self, test, size):
        for place, limit, swap in self.PLACES:
            self.folder = pathlib.Path(place) / f"zc-test-{os.getpid()}"
            with contextlib.suppress(OSError):
                self.folder.mkdir()
                test.addCleanup(self.remove)
                (self.folder / limit).write_text(str(size))
                if swap and (self.folder / swap).exists():
                    (self.folder / swap).write_text("0")
                return
        test.skipTest("this user may not limit the memory of a control group")

    def remove(self):
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def enter(self):
        """In a process that is about to become zc."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))


@unittest.skipIf(is_sanitized(), "sanitizers take memory of their own")
class ControlGroups(RunTest):

    def wide(self, *options, name="wide.zca"):
        """An artifact whose arena has some 100 MiB."""
        artifact = self.folder / name
        self.zc("compile", self.fixture.model, "-o", artifact, "--loss",
                "softmax-cross-entropy", "--dim", f"batch={1 << 17}",
                "--cpu-threads", 1, *options)
        memory = json.loads(self.zc("inspect", artifact, "--memory", "--json"))
        return artifact, memory["memory"]["peak"]

    def test_a_compilation(self):
        """Eight constants of 64 MiB or more, in 200 MiB."""
        group = MemoryGroup(self, 200 * MIB)
        model = self.folder / "m.onnxtext"
        products = "".join(f"r{i} = Mul (r{i - 1}, one)\n" for i in range(1, 8))
        model.write_text(
            '<ir_version: 8, opset_import: ["" : 18]>\n'
            "m (float[2] x) => (float[2] y) {\n"
            "z = Constant <value = float {0}> ()\n"
            f"n = Constant <value = float {{{1 << 24}}}> ()\n"
            "one = Constant <value = float {1}> ()\n"
            f"r0 = Range (z, n, one)\n{products}"
            "t = ReduceMax <keepdims = 0> (r7)\n y = Add (x, t) }")
        for command in (("compile", model, "-o", self.folder / "a.zca",
                         "--mode", "infer"),
                        ("plan", model, "--mode", "infer", "--cluster",
                         "cpu-cluster")):
            self.fails(1, ["error: out of memory; control group "
                           f"'{group.folder}' allows {200 * MIB} bytes"],
                       *command, preexec_fn=group.enter)
        self.assertEqual(list(self.folder.glob("a.zca*")), [])

    def test_a_run(self):
        artifact, peak = self.wide()
        group = MemoryGroup(self, peak // 2)
        self.fails(1, [r"the plan needs \d+ bytes for 1 rank, and control group "
                       rf"'{group.folder}' allows \d+; raise its limit, or "
                       r"compile with less \(--memory-budget\)"], "run",
                   artifact, "--data", self.fixture.data, "--steps", 1,
                   preexec_fn=group.enter)

    def test_two_ranks(self):
        """One has room, but not two, be they threads or processes."""
        artifact, peak = self.wide("--mesh", "dp=2")
        group = MemoryGroup(self, peak + peak // 2)
        options = (artifact, "--data", self.fixture.data, "--steps", 1,
                   "--checkpoint", self.folder / "ckpt")
        expected = r"needs \d+ bytes for 2 ranks, and control group"
        self.fails(1, [expected], "run", *options, "--local-ranks", 2,
                   preexec_fn=group.enter)
        self.fails(1, [expected, "no restart"], "launch", "-n", 2,
                   "--max-restarts", 2, *options, preexec_fn=group.enter)

    def test_ranks_that_are_killed(self):
        """The plans have room, but not what samples are read into."""
        artifact, peak = self.wide("--mesh", "dp=2")
        group = MemoryGroup(self, 2 * peak + 8 * MIB)
        self.fails(1, ["killed by signal 9 .*; the kernel has killed for lack "
                       rf"of memory meanwhile \(control group '{group.folder}' "
                       r"allows \d+ bytes\); it was the last of 1 restart"],
                   "launch", "-n", 2, "--max-restarts", 1, artifact, "--data",
                   self.fixture.data, "--steps", 1, "--checkpoint",
                   self.folder / "ckpt", preexec_fn=group.enter)


class Disks(RunTest):
    """Every command's output on a disk that is full, or may only be read."""

    FULL = "head -c 1M /dev/zero > {0}/fill 2>/dev/null"
    READ_ONLY = "mount -o remount,ro {0}"

    def setUp(self):
        super().setUp()
        self.disk, self.checkpoint = self.folder / "disk", self.folder / "ckpt"
        self.disk.mkdir()
        self.train(self.artifact, self.fixture.data, 1, "--checkpoint",
                   self.checkpoint)
        self.input = self.folder / "x.npy"
        np.save(self.input, np.zeros((4, 64), np.float32))
        self.key = self.folder / "key"
        self.zc("sign", "--new-key", self.key)

    def try_there(self, state, *arguments, place=None, **environment):
        """In a name space whose `place` is a small disk in this state."""
        place = place or self.disk
        script = (f"mount -t tmpfs -o size=16k none {place} || exit 77; " +
                  state.format(place) + '; exec "$@"')
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", BIN / "zc",
             *map(str, arguments)], text=True, capture_output=True,
            timeout=TIMEOUT, env={**os.environ, **environment})
        if done.returncode == 77 or "unshare failed" in done.stderr:
            self.skipTest("this user may not mount anything")
        return done

    def commands(self):
        """Each with the name that its message must have."""
        def there(name):
            return self.disk / name
        run = ("run", self.artifact, "--data", self.fixture.data, "--steps", 2)
        model = (self.fixture.model, *self.fixture.compile_options("sgd"))
        export = ("export", self.artifact, "--checkpoint", self.checkpoint)
        plan = ("plan", self.artifact, "--cluster", "cpu-cluster")
        return (("a.zca", "compile", *model, "-o", there("a.zca")),
                ("new", *run, "--checkpoint", there("new")),
                ("t.json", *run, "--trace", there("t.json")),
                ("out", "eval", self.artifact, "--input", f"x={self.input}",
                 "--output-dir", there("out")),
                ("out", "eval", self.fixture.model, "--input",
                 f"x={self.input}", "--output-dir", there("out")),
                ("t.onnx", *export, "-o", there("t.onnx")),
                ("t.safetensors", *export, "--safetensors",
                 there("t.safetensors")),
                ("p.html", "inspect", self.artifact, "--html", there("p.html")),
                ("p.html", *plan, "--html", there("p.html")),
                ("p.json", *plan, "--timeline", there("p.json")),
                ("chakra", *plan, "--chakra", there("chakra")),
                ("s.zca", "sign", self.artifact, "--key", self.key, "-o",
                 there("s.zca")),
                ("new-key", "sign", "--new-key", there("new-key")))

    def check(self, state, why):
        for name, *command in self.commands():
            with self.subTest(command=command):
                done = self.try_there(state, *command)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, f"error: .*{name}.*{why}")
                self.assertEqual(done.stderr.count("error:"), 1, done.stderr)

    def test_full(self):
        self.check(self.FULL, "No space left on device")

    def test_read_only(self):
        self.check(self.READ_ONLY, "Read-only file system")

    def test_a_launch(self):
        """Before the first step it is refused; later, a disk may have room at
        the next start."""
        launch = ("launch", "-n", 1, "--max-restarts", 1, self.artifact,
                  "--data", self.fixture.data, "--steps", 2, "--checkpoint",
                  self.disk / "new")
        for state, expected in (
                (self.READ_ONLY, "Read-only file system\nzc-run: note: no "
                 "restart"),
                (self.FULL, "(?s)No space left on device.*restart 1 of 1.*No "
                 "space left on device.*last of 1 restart")):
            done = self.try_there(state, *launch)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, expected)

    def test_dumped_ir(self):
        """It is told once that nothing more of it is written."""
        done = self.try_there(self.FULL, "compile", self.fixture.model, "-o",
                              self.folder / "b.zca", "--dump-ir",
                              self.disk / "ir",
                              *self.fixture.compile_options("sgd"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("No space left on device"), 1)
        self.assertRegex(done.stderr, "warning: .*disk/ir/0.*no more IR")

    def test_temporary_files(self):
        for state, why in ((self.FULL, "No space left on device"),
                           (self.READ_ONLY, "Read-only file system")):
            for command in (
                    ("compile", self.fixture.model, "-o", self.folder / "b.zca",
                     *self.fixture.compile_options("sgd")),
                    ("eval", self.fixture.model, "--input", f"x={self.input}",
                     "--output-dir", self.folder / "out")):
                with self.subTest(state=state, command=command):
                    done = self.try_there(state, *command,
                                          TMPDIR=str(self.disk))
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertRegex(done.stderr,
                                     f"error: .*disk.*(TMPDIR|{why})")
                    self.assertIn(why, done.stderr)

    def test_memory_that_ranks_share(self):
        """/dev/shm has 64 MiB in many containers, here less."""
        done = self.try_there(
            "true", "launch", "-n", 1, "--max-restarts", 1, "--replicate", 1,
            self.artifact, "--data", self.fixture.data, "--steps", 9,
            place="/dev/shm")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "/dev/shm/.*No space left on device.*"
                         "--shm-size")


if __name__ == "__main__":
    unittest.main()
