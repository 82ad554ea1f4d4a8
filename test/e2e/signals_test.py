#!/usr/bin/env python3
"""Ctrl-C, SIGTERM and SIGHUP: what stops, what is saved, what stays behind."""
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import numpy as np

from bad_run_test import RunTest
from zctest import (Fixture, free_port, latest_step, load_tensors, read_log,
                    start)


class Interrupted(RunTest):

    def interrupt(self, number, code):
        log, checkpoint = self.folder / "log.jsonl", self.folder / "ckpt"
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 10**7, "--log", log, "--checkpoint",
                        checkpoint, "--no-shuffle")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if log.exists() and log.read_bytes().count(b"\n") >= 3:
                break
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        return log, checkpoint

    def test_ctrl_c_saves_and_the_run_goes_on(self):
        log, checkpoint = self.interrupt(signal.SIGINT, 130)
        done = read_log(log)[-1]["step"]
        self.assertEqual(latest_step(checkpoint).name, f"step-{done}")
        self.train(self.artifact, self.fixture.data, done + 3, "--log", log,
                   "--checkpoint", checkpoint, "--resume", "--no-shuffle")
        steps = [line["step"] for line in read_log(log)]
        self.assertEqual(steps, list(range(1, done + 4)))

    def test_an_evaluation_stops(self):
        """Two million held-out samples, all 0: a file that takes no space."""
        held, checkpoint = self.folder / "held", self.folder / "ckpt"
        held.mkdir()
        for name, shape, kind in (("x", (2 * 10**6, 64), np.float32),
                                  ("labels", (2 * 10**6,), np.int64)):
            np.lib.format.open_memmap(held / f"{name}.npy", "w+", kind, shape)
        log = self.folder / "log.jsonl"
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 1, "--log", log, "--checkpoint", checkpoint,
                        "--eval-data", held)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (
                log.exists() and log.read_bytes().endswith(b"}\n")):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertNotIn("eval_loss", log.read_text())
        self.assertEqual(latest_step(checkpoint).name, "step-1")

    def test_a_model_in_evaluation_leaves_no_temporary_files(self):
        """Interrupted while compiling, linking or running."""
        fixture, scratch = Fixture("gpt"), self.folder / "scratch"
        scratch.mkdir()
        data = np.load(fixture.data)
        options = []
        for name in data.files:
            if name != "labels":
                np.save(self.folder / f"{name}.npy", data[name])
                options += ["--input", f"{name}={self.folder / name}.npy"]
        codes = []
        for delay in (0.1, 0.2, 0.4, 0.8):
            process = start("eval", fixture.model, *options, "--output-dir",
                            self.folder / "out", start_new_session=True,
                            env={**os.environ, "TMPDIR": str(scratch)})
            time.sleep(delay)
            try:
                os.killpg(process.pid, signal.SIGINT)
            except ProcessLookupError:
                pass
            process.communicate(timeout=60)
            codes.append(process.returncode)
            self.assertEqual(list(scratch.iterdir()), [], f"after {delay} s")
        # Before the handler is there, the signal's own action.
        self.assertLessEqual(set(codes), {0, 130, -signal.SIGINT})

    def test_the_end_of_its_terminal(self):
        log, checkpoint = self.interrupt(signal.SIGHUP, 129)
        done = read_log(log)[-1]["step"]
        self.assertEqual(latest_step(checkpoint).name, f"step-{done}")

    def test_nohup(self):
        """A run that was started with SIGHUP ignored goes on ignoring it."""
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 10**7, preexec_fn=lambda: signal.signal(
                            signal.SIGHUP, signal.SIG_IGN))
        self.addCleanup(process.kill)
        time.sleep(1)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)

    def test_terminated(self):
        log, checkpoint = self.interrupt(signal.SIGTERM, 143)
        self.assertTrue(load_tensors(latest_step(checkpoint)))


def proc(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def listens_to_signals(pid):
    """Whether zc-run has its handlers there."""
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return False
    command = proc(pid, "cmdline").split("\0")[1:2]
    if not program.endswith("zc-run") or command not in (["run"], ["eval"]):
        return False  # zc, or a launcher's copy, that becomes it
    caught = [line.split()[1] for line in proc(pid, "status").splitlines()
              if line.startswith("SigCgt")]
    return bool(caught) and bool(
        int(caught[0], 16) >> (signal.SIGTERM - 1) & 1)


def has_sockets(pid):
    """Beside what it was started with."""
    return any(os.readlink(fd).startswith("socket:")
               for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()
               if int(fd.name) > 2)


class BeforeTheFirstStep(RunTest):
    """Whatever is waited for, nothing has to be finished."""

    SOON = 5  # seconds; a rank waits for others for 600

    def setUp(self):
        super().setUp()
        self.ranks = self.compile(self.fixture, "adamw", "--mesh", "dp=2",
                                  "--cpu-threads", 1, name="ranks.zca")
        self.meeting = self.folder / "meeting"

    def until(self, holds):
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def command(self):
        return ("run", self.ranks, "--data", self.fixture.data, "--steps", 3,
                "--checkpoint", self.folder / "ckpt")

    def rank(self, rank, *command, **place):
        process = start(*(command or self.command()), env=dict(
            os.environ, RANK=str(rank), WORLD_SIZE="2", **place))
        self.addCleanup(process.kill)
        self.until(lambda: listens_to_signals(process.pid))
        return process

    def ends(self, process, number, began):
        out, err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - began, self.SOON)
        self.assertEqual(process.returncode, 128 + number, err)
        self.assertIn(f"ended by {signal.Signals(number).name}", err)
        self.assertIn("nothing was begun", err)
        self.assertEqual(out, "")
        self.assertFalse((self.folder / "ckpt").exists())

    def test_a_rank_that_waits_for_others(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number=number):
                process = self.rank(0, ZC_RENDEZVOUS_FILE=str(self.meeting))
                self.until(self.meeting.exists)
                began = time.monotonic()
                process.send_signal(number)
                self.ends(process, number, began)
                self.assertFalse(self.meeting.exists())

    def test_a_rank_that_waits_for_the_first(self):
        for place in ({"ZC_RENDEZVOUS_FILE": str(self.meeting)},
                      {"MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port())}):
            for command in ((), ("eval", self.ranks, "--data",
                                 self.fixture.data)):
                with self.subTest(place=place, command=command):
                    process = self.rank(1, *command, **place)
                    time.sleep(0.3)
                    began = time.monotonic()
                    process.send_signal(signal.SIGTERM)
                    self.ends(process, signal.SIGTERM, began)

    def children(self, process):
        return [int(pid) for pid in proc(
            process.pid, f"task/{process.pid}/children").split()]

    @unittest.skipUnless(shutil.which("mpirun"), "no MPI")
    def test_a_rank_that_waits_for_mpi(self):
        """Its neighbour does something else."""
        names = self.folder / "pid"
        command = " ".join(map(str, self.command()))
        zc = pathlib.Path(os.environ["ZC_BIN_DIR"]) / "zc"
        process = subprocess.Popen(
            ["mpirun", "-n", "2", "--allow-run-as-root", "--oversubscribe",
             "sh", "-c", f"test $OMPI_COMM_WORLD_RANK = 1 && exec sleep 100; "
                         f"echo $$ > {names}.new; mv {names}.new {names}; "
                         f"exec {zc} {command}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1"))
        self.addCleanup(process.kill)
        self.until(names.exists)
        pid = int(names.read_text())
        self.until(lambda: listens_to_signals(pid))
        time.sleep(0.5)
        began = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        self.until(lambda: not listens_to_signals(pid))
        self.assertLess(time.monotonic() - began, self.SOON)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertIn("ended by SIGTERM: nothing was begun", err)

    def launched(self, stopped, *options):
        """zc launch with one rank that stands still before it meets others."""
        launcher = start("launch", "-n", 2, *options, *self.command()[1:])
        self.addCleanup(launcher.kill)
        self.until(lambda: len(self.children(launcher)) == 2)
        ranks = self.children(launcher)
        still, other = ranks[stopped], ranks[1 - stopped]
        os.kill(still, signal.SIGSTOP)
        # Until it has stopped, a signal that it does not handle yet ends it.
        self.until(lambda: "\nState:\tT" in proc(still, "status"))
        if has_sockets(still):  # this test was slower than the rank
            os.kill(still, signal.SIGKILL)
            launcher.kill()
            launcher.communicate()
            return self.launched(stopped, *options)
        self.until(lambda: listens_to_signals(other))
        return launcher, still, other

    def test_launched_ranks(self):
        launcher, still, other = self.launched(1)
        began = time.monotonic()
        launcher.send_signal(signal.SIGTERM)
        self.until(lambda: not proc(other, "cmdline"))
        self.assertLess(time.monotonic() - began, self.SOON)
        os.kill(still, signal.SIGCONT)
        _, err = launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 143, err)
        self.assertIn("ended by SIGTERM: nothing was begun", err)
        self.assertNotIn("error", err)

    def test_one_launched_rank(self):
        """The first waits for it no longer, and it is no reason to restart."""
        launcher, still, other = self.launched(0, "--max-restarts", 3)
        os.kill(other, signal.SIGTERM)
        self.until(lambda: not proc(other, "cmdline"))
        os.kill(still, signal.SIGCONT)
        began = time.monotonic()
        _, err = launcher.communicate(timeout=60)
        self.assertLess(time.monotonic() - began, self.SOON)
        self.assertEqual(launcher.returncode, 143, err)
        self.assertNotRegex(err, "restart|error")

    def test_an_order_to_stop_that_came_before(self):
        """While zc-run was not there yet; threads as ranks, too."""
        for options in ((), ("--local-ranks", 2)):
            process = start(*self.command()[:1],
                            self.ranks if options else self.artifact,
                            *self.command()[2:], *options,
                            preexec_fn=lambda: (
                                signal.pthread_sigmask(
                                    signal.SIG_BLOCK, [signal.SIGTERM]),
                                os.kill(os.getpid(), signal.SIGTERM)))
            self.ends(process, signal.SIGTERM, time.monotonic())


class WhileAnotherRankHangs(RunTest):
    """The step that has to be finished first does not end."""

    def begin(self, rank, artifact, log):
        process = start(
            "run", artifact, "--data", self.fixture.data, "--steps", 10**7,
            "--log", log, "--checkpoint", self.folder / "ckpt",
            env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2",
                     ZC_RENDEZVOUS_FILE=str(self.folder / "meeting")))
        self.addCleanup(process.kill)
        return process

    def test_a_signal_says_what_it_does(self):
        artifact = self.compile(self.fixture, "adamw", "--mesh", "dp=2",
                                "--cpu-threads", 1, name="ranks.zca")
        log = self.folder / "log.jsonl"
        first, other = (self.begin(rank, artifact, log) for rank in (0, 1))
        deadline = time.monotonic() + 60
        while not (log.exists() and log.read_bytes().count(b"\n") > 3):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        other.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        first.send_signal(signal.SIGTERM)
        said = next(line for line in first.stderr if "SIGTERM" in line)
        self.assertEqual(said, "zc-run: note: SIGTERM: stops after this step "
                         "and saves; once more to end at once\n")
        self.assertIsNone(first.poll())
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=20)
        self.assertEqual(first.returncode, 143)
        other.kill()
        other.communicate()


if __name__ == "__main__":
    unittest.main()
