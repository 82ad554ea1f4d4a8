#!/usr/bin/env python3
"""How many threads a run has: by the affinity mask, control groups, the ranks of
its host, and by what the user says."""
import os
import pathlib
import unittest

import zctest
from zctest import Fixture, ZcTest, read_log

ONE_PROCESSOR = min(os.sched_getaffinity(0))


def on_one_processor():
    os.sched_setaffinity(0, {ONE_PROCESSOR})


class ControlGroup:
    """A group of its own with so many processors' time, where that may be made;
    version 1 and version 2 say it in different files."""

    ROOTS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")

    def __init__(self, cores):
        for root in map(pathlib.Path, self.ROOTS):
            self.folder = root / f"zc-test-{os.getpid()}"
            if self.create(cores):
                return
        raise unittest.SkipTest("no control group with a quota can be made")

    def create(self, cores):
        try:
            self.folder.mkdir()
        except OSError:
            return False
        for name, text in (("cpu.cfs_quota_us", f"{int(cores * 1e5)}"),
                           ("cpu.max", f"{int(cores * 1e5)} 100000")):
            if (self.folder / name).exists():
                (self.folder / name).write_text(text)
                return True
        self.remove()
        return False

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.folder.rmdir()


class Threads(ZcTest):

    @classmethod
    def setUpClass(cls):
        cls.fixture = Fixture("mlp")

    def train_here(self, artifact, *options, **process):
        found, out, err = zctest.run(
            "run", artifact, "--data", self.fixture.data, "--steps", 3,
            "--no-shuffle", "--log", self.folder / "log.jsonl", *options,
            **process)
        self.assertEqual(found, 0, err)
        return out

    def losses(self):
        return [line["loss"] for line in read_log(self.folder / "log.jsonl")]

    def test_one_processor_has_one_thread(self):
        artifact = self.compile(self.fixture, "sgd", "--cpu-threads", 2)
        self.train_here(artifact, "--threads", 1)
        expected = self.losses()
        out = self.train_here(artifact, preexec_fn=on_one_processor)
        self.assertIn("runs 1 of the 2 threads that it was compiled for: there "
                      "is 1 processor\n", out)
        self.assertEqual(self.losses(), expected)

    def test_what_the_user_says_counts(self):
        artifact = self.compile(self.fixture, "sgd", "--cpu-threads", 2)
        out = self.train_here(artifact, "--threads", 2,
                         preexec_fn=on_one_processor)
        self.assertNotIn("threads", out)

    def test_ranks_of_a_process_share_its_processors(self):
        artifact = self.compile(self.fixture, "sgd", "--cpu-threads", 2,
                                "--mesh", "dp=2")
        out = self.train_here(artifact, "--local-ranks", 2,
                         preexec_fn=on_one_processor)
        self.assertEqual(out.count("there is 1 processor for 2 ranks"), 1, out)

    def test_a_control_group_limits_runs(self):
        artifact = self.compile(self.fixture, "sgd", "--cpu-threads", 2)
        group = ControlGroup(0.5)
        self.addCleanup(group.remove)
        out = self.train_here(artifact, preexec_fn=group.enter)
        if len(os.sched_getaffinity(0)) == 1:
            self.assertIn("there is 1 processor", out)
        else:
            self.assertRegex(out, "runs 1 of the 2 threads .*: control group "
                             "'.*' allows the time of 0.5 processors\n")

    def pinning(self, *options, **process):
        """The last line of a profile."""
        artifact = self.compile(self.fixture, "sgd", "--cpu-threads", 2)
        out = self.train_here(artifact, "--profile", *options, **process)
        return "\n".join(line for line in out.splitlines() if "pinned" in line)

    def test_a_profile_says_where_threads_stay(self):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            self.skipTest("there is one processor")
        both = set(allowed[:2])
        free = {name: value for name, value in os.environ.items()
                if name != "OMP_PROC_BIND"}
        found = self.pinning(
            env=free, preexec_fn=lambda: os.sched_setaffinity(0, both))
        if not found or "limits the time" in found:
            self.skipTest("a control group limits the processors' time")
        self.assertRegex(
            found,
            r"^threads are pinned to processors \d+[-,]\d+ while nobody else "
            "wants them$")
        expected = self.losses()
        self.assertEqual(
            self.pinning(env={**os.environ, "OMP_PROC_BIND": "false"}),
            "threads are not pinned: OMP_PROC_BIND=false")
        self.assertEqual(self.losses(), expected)
        self.assertEqual(
            self.pinning("--threads", 2, env=free,
                         preexec_fn=on_one_processor),
            "threads are not pinned: they are 2 on 1 processor")
        self.assertEqual(self.losses(), expected)
        self.assertEqual(self.pinning("--threads", 1), "")

    def test_ranks_of_more_threads_than_processors_are_not_pinned(self):
        artifact = self.compile(self.fixture, "sgd", "--cpu-threads", 2,
                                "--mesh", "dp=2")
        out = self.train_here(artifact, "--local-ranks", 2, "--threads", 2,
                              "--profile", preexec_fn=on_one_processor)
        self.assertIn("threads are not pinned: there are fewer processors than "
                      "ranks, 1 to 2", out)

    def planned_threads(self, artifact):
        return int(self.zc("inspect", artifact).split("at most ")[1].split()[0])

    def test_an_artifact_is_for_the_processors_of_its_compile(self):
        found, _, err = zctest.run(
            "compile", self.fixture.model, "-o", self.folder / "one.zca",
            *self.fixture.compile_options("sgd"), preexec_fn=on_one_processor)
        self.assertEqual(found, 0, err)
        self.assertEqual(self.planned_threads(self.folder / "one.zca"), 1)
        group = ControlGroup(0.5)
        self.addCleanup(group.remove)
        found, _, err = zctest.run(
            "compile", self.fixture.model, "-o", self.folder / "half.zca",
            *self.fixture.compile_options("sgd"), preexec_fn=group.enter)
        self.assertEqual(found, 0, err)
        self.assertEqual(self.planned_threads(self.folder / "half.zca"), 1)


if __name__ == "__main__":
    unittest.main()
