#!/usr/bin/env python3
"""zc launch: ranks that are processes, and that begin again where one of them
is killed, at whatever moment; the run is that of ranks which nobody killed."""
import io
import os
import pathlib
import random
import shutil
import signal
import time
import unittest
import zipfile

import numpy as np

from zctest import Fixture, ZcTest, latest_step, read_log, run, start

STEPS, KILLS, BACK = 2000, 4, 10  # seconds that a restart may take


def ranks_of(launcher):
    """The processes that a launcher has started, by rank."""
    path = pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def lines_in(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


class Launch(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.ckpt, self.log = self.folder / "ckpt", self.folder / "log.jsonl"

    def compile_ranks(self, *options):
        return self.compile(self.fixture, "adamw", *options, "--cpu-threads", 1)

    def options(self, steps=STEPS):
        return ("--data", self.fixture.data, "--steps", steps, "--checkpoint",
                self.ckpt, "--log", self.log)

    def wait_until(self, what, holds, launcher, seconds=60):
        end = time.monotonic() + seconds
        while not holds():
            self.assertIsNone(launcher.poll(), what)
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.002)

    def expected(self, artifact, ranks):
        """Losses and the last checkpoint of a run that nobody disturbs."""
        log, ckpt = self.folder / "whole.jsonl", self.folder / "whole"
        self.zc("run", artifact, "--data", self.fixture.data, "--steps", STEPS,
                "--checkpoint", ckpt, "--overwrite", "--log", log,
                "--local-ranks", ranks)
        return ([line["loss"] for line in read_log(log)],
                self.tensors_of(latest_step(ckpt)))

    def tensors_of(self, step):
        return {path.name: path.read_bytes()
                for path in step.glob("*.safetensors")}

    def kill_often(self, artifact, ranks, *launch, save_every=100):
        """Kill one rank after another; what the launcher said."""
        moments = random.Random(ranks)
        launcher = start("launch", "-n", ranks, "--max-restarts", KILLS,
                         *launch, artifact, *self.options(), "--save-every",
                         save_every, "--keep", 2)
        done = 0
        for kill in range(KILLS):
            until = done + moments.randrange(20, STEPS // (KILLS + 1))
            self.wait_until("steps are done",
                            lambda: lines_in(self.log) > until, launcher)
            victims = ranks_of(launcher)
            os.kill(moments.choice(victims), signal.SIGKILL)
            killed = time.monotonic()
            self.wait_until("all ranks are others", lambda: len(
                set(ranks_of(launcher)) - set(victims)) == ranks, launcher)
            done = lines_in(self.log)
            size = self.log.stat().st_size
            self.wait_until("steps go on", lambda:
                            self.log.stat().st_size > size, launcher)
            self.assertLess(time.monotonic() - killed, BACK)
            done = lines_in(self.log)
        _, err = launcher.communicate(timeout=120)
        self.assertEqual(launcher.returncode, 0, err)
        for kill in range(KILLS):
            self.assertRegex(err, r"rank \d \(process \d+\) was killed by "
                             rf"signal 9 .*restart {kill + 1} of {KILLS}, from")
        return err

    def check_run(self, expected):
        losses, tensors = expected
        self.assertEqual([line["loss"] for line in read_log(self.log)], losses)
        self.assertEqual(self.tensors_of(latest_step(self.ckpt)), tensors)
        left = [path for path in pathlib.Path("/dev/shm").glob("zc-launch-*.*.*")
                if not pathlib.Path(
                    f"/proc/{path.name.split('-')[3].split('.')[0]}").exists()]
        self.assertEqual(left, [])

    def test_any_rank_at_any_time(self):
        artifact = self.compile_ranks("--mesh", "dp=2", "--zero", 1)
        expected = self.expected(artifact, 2)
        self.kill_often(artifact, 2)
        self.check_run(expected)

    def test_no_step_is_lost(self):
        """With a copy of every step in memory; most of a pipeline's stages."""
        artifact = self.compile_ranks("--mesh", "pp=2")
        expected = self.expected(artifact, 2)
        err = self.kill_often(artifact, 2, "--replicate", 1, save_every=STEPS)
        self.check_run(expected)
        self.assertEqual(err.count("from the copy in memory of step"), KILLS)

    def test_copy_in_memory_alone(self):
        """Without a checkpoint, and a copy that is steps old."""
        artifact = self.compile_ranks("--mesh", "dp=2")
        launcher = start("launch", "-n", 2, "--max-restarts", 1, "--replicate",
                         10, artifact, "--data", self.fixture.data, "--steps",
                         STEPS, "--log", self.log)
        self.wait_until("steps", lambda: lines_in(self.log) > 300, launcher)
        os.kill(ranks_of(launcher)[1], signal.SIGKILL)
        _, err = launcher.communicate(timeout=120)
        self.assertEqual(launcher.returncode, 0, err)
        self.assertRegex(err, r"restart 1 of 1, from the copy in memory of step "
                         r"\d+0\n")
        self.assertEqual([line["loss"] for line in read_log(self.log)],
                         self.expected(artifact, 2)[0])

    def test_no_more_restarts(self):
        artifact = self.compile_ranks("--mesh", "dp=2")
        for restarts in (0, 1):
            launcher = start("launch", "-n", 2, *(
                ("--max-restarts", restarts) if restarts else ()), artifact,
                *self.options(10 ** 6), "--save-every", 50, "--overwrite")
            for kill in range(restarts + 1):
                self.wait_until("both run", lambda: len(ranks_of(launcher)) == 2,
                                launcher)
                size = lines_in(self.log)
                victim = ranks_of(launcher)[1]
                self.wait_until("steps", lambda: lines_in(self.log) > size + 60,
                                launcher)
                os.kill(victim, signal.SIGSEGV)
                self.wait_until("it is gone", lambda: victim not in ranks_of(
                    launcher) or launcher.poll() is not None, launcher)
                if kill < restarts:
                    self.wait_until("both begin again", lambda: len(
                        ranks_of(launcher)) == 2, launcher)
            _, err = launcher.communicate(timeout=60)
            self.assertEqual(launcher.returncode, 1, err)
            self.assertRegex(err, r"error: rank 1 \(process \d+\) was killed by "
                             r"signal 11 .*; " + (
                                 "it was the last of 1 restart" if restarts
                                 else "--max-restarts K would begin again"))

    def test_another_runs_checkpoints(self):
        """A restart of a run that overwrites others begins anew until it has a
        checkpoint of its own."""
        artifact = self.compile_ranks("--mesh", "dp=2")
        self.zc("run", artifact, "--data", self.fixture.data, "--steps", 900,
                "--checkpoint", self.ckpt, "--seed", 3, "--local-ranks", 2)
        expected = self.expected(artifact, 2)
        launcher = start("launch", "-n", 2, "--max-restarts", 2, artifact,
                         *self.options(), "--overwrite", "--save-every", 400)
        self.wait_until("early", lambda: lines_in(self.log) > 5, launcher)
        first = ranks_of(launcher)
        os.kill(first[0], signal.SIGKILL)
        self.wait_until("others", lambda: len(ranks_of(launcher)) == 2 and
                        not set(first) & set(ranks_of(launcher)), launcher)
        self.wait_until("a checkpoint", lambda: (
            self.ckpt / "step-400").exists() and lines_in(self.log) > 450,
            launcher)
        os.kill(ranks_of(launcher)[1], signal.SIGKILL)
        _, err = launcher.communicate(timeout=120)
        self.assertEqual(launcher.returncode, 0, err)
        self.assertIn("1 of 2, from the beginning", err)
        self.assertRegex(err, "2 of 2, from '.*step-[48]00'")
        self.check_run(expected)

    def test_told_to_stop(self):
        artifact = self.compile_ranks("--mesh", "dp=2")
        for kill_launcher in (False, True):
            with self.subTest(kill_launcher=kill_launcher):
                size = lines_in(self.log)
                launcher = start("launch", "-n", 2, "--max-restarts", 3,
                                 artifact, *self.options(10 ** 6), "--resume")
                self.wait_until("steps", lambda: lines_in(self.log) > size + 50,
                                launcher)
                ranks = ranks_of(launcher)
                launcher.send_signal(signal.SIGKILL if kill_launcher
                                     else signal.SIGTERM)
                _, err = launcher.communicate(timeout=60)
                self.assertEqual(launcher.returncode,
                                 -9 if kill_launcher else 143, err)
                end = time.monotonic() + 20
                while any(pathlib.Path(f"/proc/{rank}").exists()
                          for rank in ranks):
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.01)
                step = int(latest_step(self.ckpt).name.split("-")[1])
                self.assertGreater(step, size)
                self.assertNotIn("restart", err)

    def test_one_rank_is_told_to_stop(self):
        """All ranks save and stop together, which is no reason to restart."""
        artifact = self.compile_ranks("--mesh", "dp=2")
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            size = lines_in(self.log)
            launcher = start("launch", "-n", 2, "--max-restarts", 3, artifact,
                             *self.options(10 ** 6), "--resume")
            self.wait_until("steps", lambda: lines_in(self.log) > size + 50,
                            launcher)
            os.kill(ranks_of(launcher)[1], number)
            _, err = launcher.communicate(timeout=60)
            self.assertEqual(launcher.returncode, code, err)
            self.assertNotRegex(err, "restart|error")
            self.assertEqual(latest_step(self.ckpt).name,
                             f"step-{lines_in(self.log)}")

    def test_ranks_that_are_left(self):
        """An artifact for 4, 2 and 1 ranks: what dies is not replaced."""
        meshes = ("--mesh", "dp=4", "--mesh", "dp=2", "--mesh", "dp=1")
        artifact = self.compile_ranks(*meshes)
        expected = self.expected(artifact, 4)[0]
        self.assertEqual(expected, self.expected_alone("dp=4", 4))
        launcher = start("launch", "-n", 4, "--max-restarts", 5, "--min-ranks",
                         1, "--replicate", 1, artifact, *self.options())
        for left in (4, 2, 1):
            self.wait_until("so many ranks", lambda: len(
                ranks_of(launcher)) == left, launcher)
            done = lines_in(self.log)
            self.wait_until("steps", lambda: lines_in(self.log) > done + 150,
                            launcher)
            if left > 1:
                os.kill(ranks_of(launcher)[1], signal.SIGKILL)
                self.wait_until("fewer", lambda: len(ranks_of(launcher)) < left,
                                launcher)
        _, err = launcher.communicate(timeout=120)
        self.assertEqual(launcher.returncode, 0, err)
        self.assertRegex(err, "(?s)restart 1 of 5 on 2 ranks, from .*"
                              "restart 2 of 5 on 1 rank, from ")
        np.testing.assert_allclose(
            [line["loss"] for line in read_log(self.log)], expected, rtol=1e-3)

    def expected_alone(self, mesh, ranks):
        """The losses of an artifact for one mesh."""
        artifact = self.compile(self.fixture, "adamw", "--mesh", mesh,
                                "--cpu-threads", 1, name="alone.zca")
        return self.expected(artifact, ranks)[0]

    def test_several_meshes(self):
        artifact = self.compile_ranks("--mesh", "dp=4", "--mesh", "pp=2")
        for mesh, ranks in (("dp=4", 4), ("pp=2", 2)):
            shutil.rmtree(self.folder / "whole", ignore_errors=True)
            found = self.expected(artifact, ranks)[0]
            shutil.rmtree(self.folder / "whole")
            self.assertEqual(found, self.expected_alone(mesh, ranks))
        with zipfile.ZipFile(artifact) as archive:
            inner = zipfile.ZipFile(io.BytesIO(archive.read("meshes/2.zca")))
            self.assertIn("weights.safetensors", archive.namelist())
        self.assertIn("manifest.pb", inner.namelist())
        # A constant of a stage alone.
        self.assertLess(inner.getinfo("weights.safetensors").file_size, 500)
        self.assertNotIn("model.onnx", inner.namelist())
        self.fails(1, ["is for 4 or 2 ranks, but 3 were"], "run", artifact,
                   "--data", self.fixture.data, "--steps", 2, "--local-ranks",
                   3)
        self.assertEqual([path.name for path in self.folder.glob("*mesh*")], [])
        compile_both = ("compile", self.fixture.model, "-o",
                        self.folder / "no.zca",
                        *self.fixture.compile_options("adamw"))
        self.fails(2, ["two meshes are for 2 ranks"], *compile_both, "--mesh",
                   "dp=2", "--mesh", "tp=2")
        self.fails(2, ["--emit"], *compile_both, "--mesh", "dp=2", "--mesh",
                   "dp=4", "--emit", "train")
        self.fails(2, ["by-reference.*one --mesh"], *compile_both, "--mesh",
                   "dp=2", "--mesh", "dp=4", "--weights", "by-reference")
        self.fails(1, ["divisible|batch"], *compile_both, "--mesh", "dp=2",
                   "--mesh", "dp=3")
        self.assertFalse((self.folder / "no.zca").exists())
        launch = ("launch", "-n", 2, "--max-restarts", 1, "--replicate", 1)
        self.fails(1, ["no mesh for so many"], *launch, "--min-ranks", 1,
                   artifact, *self.options())
        self.fails(2, ["fewer than the 2"], *launch, "--min-ranks", 2, artifact,
                   *self.options())

    def test_a_killed_launcher_leaves_nothing_for_long(self):
        """Its ranks end with it; its folders, with the next launch."""
        artifact = self.compile_ranks("--mesh", "dp=2")
        launch = ("launch", "-n", 2, "--max-restarts", 1, "--replicate", 1,
                  artifact)
        launcher = start(*launch, *self.options(steps=10 ** 6))
        self.wait_until("steps are done", lambda: lines_in(self.log) > 5,
                        launcher)
        ranks = ranks_of(launcher)
        launcher.kill()
        launcher.communicate()
        left = list(pathlib.Path("/dev/shm").glob(
            f"zc-launch-*-{launcher.pid}.*"))
        self.assertGreaterEqual(len(left), 2)
        end = time.monotonic() + 60
        while any(pathlib.Path(f"/proc/{rank}").exists() for rank in ranks):
            self.assertLess(time.monotonic(), end, "ranks go on")
            time.sleep(0.02)
        self.zc(*launch, "--data", self.fixture.data, "--steps", 2)
        self.assertEqual([path for path in left if path.exists()], [])

    def test_a_killed_compiler_leaves_nothing_for_long(self):
        place = self.folder / "tmp"
        place.mkdir()
        arguments = ("compile", self.fixture.model, "-o",
                     self.folder / "k.zca",
                     *self.fixture.compile_options("adamw"), "--mesh", "dp=4",
                     "--mesh", "dp=2")
        environment = dict(os.environ, TMPDIR=str(place))
        left = []
        for _ in range(20):
            compiler = start(*arguments, env=environment)
            while compiler.poll() is None and not left:
                left = [path for path in (*place.iterdir(),
                                          *self.folder.glob("k.zca.mesh-*"))]
                if left:
                    compiler.kill()
            compiler.communicate()
            left = [path for path in left if path.exists()]
            if left:
                break
        self.assertNotEqual(left, [], "no moment was early enough")
        self.zc(*arguments, env=environment)
        self.assertEqual([*place.iterdir(), *self.folder.glob("*mesh-*")], [])

    def test_refusals(self):
        artifact = self.compile_ranks("--mesh", "dp=2")
        run_options = (artifact, "--data", self.fixture.data, "--steps", 5)
        for pattern, *arguments in (
                ("--ranks is required", artifact),
                ("artifact", "-n", 2),
                ("--max-restarts.*needs --checkpoint", "-n", 2,
                 "--max-restarts", 1, *run_options),
                ("--replicate.*needs --max-restarts", "-n", 2, "--replicate", 1,
                 *run_options),
                ("--data -", "-n", 2, "--max-restarts", 1, artifact, "--data",
                 "-", "--steps", 5, "--checkpoint", self.ckpt),
                ("--stpes", "-n", 2, *run_options, "--stpes", 7),
                ("--lr.*no option of zc launch", "-n", 2, "--lr", 1, artifact),
                ("--local-ranks", "-n", 2, *run_options, "--local-ranks", 2),
                ("--keep.*needs", "-n", 2, *run_options, "--keep", 2)):
            with self.subTest(arguments=arguments):
                err = self.fails(2, [pattern], "launch", *arguments)
                self.assertEqual(err.count("error:"), 1)
        err = self.fails(1, ["2 ranks"], "launch", "-n", 3, "--max-restarts", 1,
                         *run_options, "--checkpoint", self.ckpt)
        self.fails(1, ["launcher has started 2"], "launch", "-n", 2,
                   *run_options, env=dict(os.environ, WORLD_SIZE="2"))
        self.assertIn("launch", run("launch", "--help")[1])


if __name__ == "__main__":
    unittest.main()
