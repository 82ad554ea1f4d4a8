#!/usr/bin/env python3
"""Pipelines of real processes, which meet by MPI or by torchrun's variables:
the losses and weights of ranks of one process to the bit, and an end for all
when a rank of a middle role dies or stands still.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np

from zctest import (BIN, TIMEOUT, Fixture, ZcTest, free_port, latest_step,
                    load_tensors, read_log)

KILLS, STOPS = 8, 2
STEPS, PARTS = 600, 4
SOON = 0.3  # of the strikes fall while ranks meet, or in the first steps
# Seconds that a rank waits for another, and that all may take to end then.
WAIT, GRACE = 3, 60  # of which a busy machine, and mpirun's end, take most


class Processes:
    """The ranks of one run, each a process that tells its number by a file."""

    def __init__(self, folder, count, how, *args):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        self.count = count
        command = [str(BIN / "zc"), "run", *map(str, args)]
        if how == "mpi":
            self.started = [self.start(
                0, ["mpirun", "-n", str(count), *self.told(
                    "$OMPI_COMM_WORLD_RANK"), *command],
                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1")]
        else:
            port = free_port()
            self.started = [self.start(
                rank, [*self.told("$RANK"), *command], RANK=str(rank),
                LOCAL_RANK=str(rank), WORLD_SIZE=str(count),
                MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
                for rank in range(count)]

    def told(self, rank):
        return ["sh", "-c", f'echo $$ > "{self.folder}/pid.{rank}.part" && mv '
                f'"{self.folder}/pid.{rank}.part" "{self.folder}/pid.{rank}" '
                '&& exec "$@"', "sh"]

    def start(self, index, command, **environment):
        with open(self.folder / f"said.{index}", "w") as said:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                    stderr=said,
                                    env={**os.environ, **environment})

    def said(self):
        return "".join(path.read_text(errors="replace")
                       for path in sorted(self.folder.glob("said.*")))

    def any_runs(self):
        """Whether any of those that were started still runs."""
        return any(process.poll() is None for process in self.started)

    def send(self, rank, what):
        """Sends a signal to a rank, as soon as there is one."""
        path = self.folder / f"pid.{rank}"
        while not path.exists():
            time.sleep(0.01)
        try:
            os.kill(int(path.read_text()), what)
        except ProcessLookupError:
            pass

    def wait(self, seconds, without=None):
        """The exit codes of all but one of them; fails where one still runs."""
        end = time.monotonic() + seconds
        return [process.wait(max(0.01, end - time.monotonic()))
                for rank, process in enumerate(self.started)
                if rank != without or len(self.started) == 1]

    def wait_for_ranks(self, seconds):
        """The exit codes of those that were started, when each rank has gone.
        Open MPI 4.1's mpirun may stand still in PMIx_server_finalize for ever
        after a rank was killed while it said hello; it is ended then."""
        end = time.monotonic() + seconds
        while any(map(self.runs, range(self.count))):
            if time.monotonic() > end:
                raise AssertionError(f"ranks still run: {self.said()}")
            time.sleep(0.05)
        try:
            return self.wait(2)
        except subprocess.TimeoutExpired:
            for process in self.started:
                process.kill()
            return self.wait(2)

    def runs(self, rank):
        path = self.folder / f"pid.{rank}"
        if not path.exists():
            # mpirun has not come to start it, or goes before it does.
            return self.any_runs()
        try:
            stat = pathlib.Path(f"/proc/{int(path.read_text())}/stat")
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def end(self):
        for rank in range(self.count):
            if (self.folder / f"pid.{rank}").exists() and any(
                    process.poll() is None for process in self.started):
                self.send(rank, signal.SIGKILL)
        for process in self.started:
            process.kill()
            process.wait()


class PipelineRanksTest(ZcTest):

    def build(self, *layout):
        fixture = Fixture("mlp")
        artifact = self.folder / f"{'-'.join(layout)}.zca".replace("/", "")
        self.zc("compile", fixture.model, "-o", artifact,
                *fixture.compile_options("adamw"), "--accumulate", PARTS,
                "--clip-norm", "0.5", "--mesh", *layout)
        return artifact, fixture.data

    def options(self, data, name, steps):
        return ["--data", data, "--steps", steps, "--lr", "1e-3",
                "--checkpoint", self.folder / name, "--log",
                self.folder / f"{name}.jsonl"]

    def found(self, name):
        lines = read_log(self.folder / f"{name}.jsonl")
        return ([line["loss"] for line in lines],
                load_tensors(latest_step(self.folder / name)))

    def same(self, name, other):
        losses, weights = self.found(name)
        expected, theirs = self.found(other)
        self.assertEqual(losses, expected)
        self.assertEqual(weights.keys(), theirs.keys())
        for key, weight in weights.items():
            np.testing.assert_array_equal(weight, theirs[key], key)


class Equality(PipelineRanksTest):

    def test_processes(self):
        for count, *layout in ((2, "pp=2"), (3, "pp=3", "--schedule", "gpipe"),
                               (3, "pp=3", "--schedule", "naive"),
                               (4, "pp=2,dp=2"), (4, "pp=2,tp=2")):
            artifact, data = self.build(*layout)
            self.zc("run", artifact, "--local-ranks", count, "--overwrite",
                    *self.options(data, "local", 10))
            for how in ("mpi", "tcp"):
                with self.subTest(layout=layout, how=how):
                    ranks = Processes(self.folder, count, how, artifact,
                                      *self.options(data, how, 10),
                                      "--overwrite")
                    self.addCleanup(ranks.end)
                    codes = ranks.wait(TIMEOUT)
                    self.assertEqual(codes, [0] * len(codes), ranks.said())
                    self.same(how, "local")


class Trace(PipelineRanksTest):

    def test_order(self):
        """Every rank has a track of calls and waiting, one after another, and
        messages beside it, from micro-batch to micro-batch."""
        artifact, data = self.build("pp=3")
        path, steps = self.folder / "trace.json", 2
        out = self.zc("run", artifact, "--local-ranks", 3, "--trace", path,
                      "--profile", *self.options(data, "traced", steps))
        events = json.loads(path.read_text())["traceEvents"]
        names = [event["args"]["name"] for event in events
                 if event["ph"] == "M" and event["name"] == "process_name"]
        self.assertEqual(names, [f"rank {i}, role {i}" for i in range(3)])
        for rank in range(3):
            self.of_rank([each for each in events if each["pid"] == rank],
                         rank, steps)
        # Activations to role 1 and gradients from it; what took little shares
        # a row.
        rows = out.split(" waiting\n")[1].split(" in all\n")[0].splitlines()
        self.assertEqual(sum(int(row.split()[2]) for row in rows[:-1]),
                         2 * steps * PARTS)

    def of_rank(self, events, rank, steps):
        track, = {each["tid"] for each in events if each["ph"] == "M" and
                  each["args"]["name"] == "order"}
        order = [each for each in events
                 if each["ph"] == "X" and each["tid"] == track]
        for before, after in zip(order, order[1:]):
            self.assertGreaterEqual(after["ts"] + 1e-3,
                                    before["ts"] + before["dur"])
        # The last role has both in one program.
        expected = {"forward {}", "backward {}"} if rank < 2 else {"micro {}"}
        if rank > 0:
            expected |= {"receive activation {} <- role %d" % (rank - 1),
                         "send gradient {} -> role %d" % (rank - 1)}
        if rank < 2:
            expected |= {"send activation {} -> role %d" % (rank + 1),
                         "receive gradient {} <- role %d" % (rank + 1)}
        begun = [each["name"] for each in events
                 if each["ph"] == "b" or each.get("cat") == "call"]
        for name in expected:
            for micro in range(PARTS):
                self.assertEqual(begun.count(name.format(micro)), steps, name)
        opened = {each["id"]: each for each in events if each["ph"] == "b"}
        closed = {each["id"]: each for each in events if each["ph"] == "e"}
        self.assertEqual(opened.keys(), closed.keys())
        self.assertEqual({f'wait: {each["name"]}' for each in opened.values()},
                         {each["name"] for each in order
                          if each["cat"] == "wait"})
        for key, event in opened.items():
            self.assertGreaterEqual(closed[key]["ts"], event["ts"])


class Failures(PipelineRanksTest):
    """Three roles, of which the middle one's rank goes. The others end within
    their time limit and say which rank it was; the run goes on from what was
    saved as if nothing had been."""

    def setUp(self):
        super().setUp()
        self.artifact, self.data = self.build("pp=3")
        self.local("whole", STEPS)
        self.local("kept", 2)
        self.moments = random.Random(39)  # the first soon, the second not

    def local(self, name, steps, *more):
        self.zc("run", self.artifact, "--local-ranks", 3, "--save-every", 1,
                "--keep", 2, *self.options(self.data, name, steps), *more)

    def strike(self, how, what, until):
        """Starts a run, and what happens to rank 1 at some moment: soon, or
        once step `until` is saved, however slow the machine is."""
        ranks = Processes(self.folder, 3, how, self.artifact,
                          *self.options(self.data, "kept", STEPS),
                          "--timeout", WAIT, "--save-every", 1, "--keep", 2,
                          "--resume")
        self.addCleanup(ranks.end)
        if self.moments.random() < SOON:
            time.sleep(self.moments.uniform(0.05, 1))
        else:
            end = time.monotonic() + TIMEOUT
            while self.newest() < until and ranks.any_runs():
                self.assertLess(time.monotonic(), end, ranks.said())
                time.sleep(0.005)
        ranks.send(1, what)
        return ranks

    def newest(self):
        """The last step that was saved."""
        return max(int(path.name.split("-")[1])
                   for path in (self.folder / "kept").glob("step-*"))

    def saved(self):
        """The last step that was saved, which is whole."""
        step = self.newest()
        for kind in ("model", "optimizer"):
            self.assertTrue(
                load_tensors(self.folder / "kept" / f"step-{step}", kind))
        return step

    def struck(self, how, what, times):
        done, reached = 2, set()
        for left in range(times, 0, -1):
            on = self.moments.randrange(1, max(2, (STEPS - done) // (left + 1)))
            ranks = self.strike(how, what, done + on)
            codes = (ranks.wait_for_ranks(WAIT + GRACE)
                     if how == "mpi" and what == signal.SIGKILL else
                     ranks.wait(WAIT + GRACE, without=1))
            if codes == [0] * len(codes):
                break  # it was done before
            self.assertNotIn(0, codes, ranks.said())
            self.names_the_rank(how, what, ranks.said())
            ranks.end()
            self.assertGreaterEqual(self.saved(), done)
            done = self.saved()
            reached.add(done)
        if self.saved() < STEPS:
            self.local("kept", STEPS, "--resume")
        self.same("kept", "whole")
        return reached

    def names_the_rank(self, how, what, said):
        # Where a process was killed, mpirun ends the others and says so, of
        # whichever it sees first. MPI tells nobody who keeps it from starting.
        if how == "mpi" and what == signal.SIGKILL:
            self.assertRegex(
                said, r"rank 1 .*signal 9|returned\s+a non-zero exit code")
        elif how == "mpi" and "for MPI to start" in said:
            self.assertRegex(said, "error: rank [02]: waited")
        else:
            self.assertRegex(said, "rank 1")
            self.assertEqual(said.count("error:"), 1, said)

    def test_killed(self):
        self.assertGreater(
            len(self.struck("tcp", signal.SIGKILL, KILLS)), 2)

    def test_killed_by_mpi(self):
        self.struck("mpi", signal.SIGKILL, 3)

    def test_stopped(self):
        self.struck("tcp", signal.SIGSTOP, STOPS)

    def test_stopped_by_mpi(self):
        self.struck("mpi", signal.SIGSTOP, STOPS)


if __name__ == "__main__":
    unittest.main()
