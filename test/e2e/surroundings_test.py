#!/usr/bin/env python3
"""A run on a machine that others use as well meets files cut short, pipes,
closed descriptors, no memory, no IPv6, a port that is taken, a folder that
another run writes to, ranks that were started otherwise."""
import ctypes
import os
import resource
import signal
import socket
import struct
import time
import unittest
import zipfile

import numpy as np

from bad_run_test import RunTest
from zctest import (Fixture, ZcTest, free_port, latest_step, load_tensors,
                    needs_few_addresses, read_log, run, start)

MANY = 10**7  # steps that no test waits for
RANKS = ["--local-ranks", 2]


def wait_for(done, seconds=60):
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)


class LongRun(RunTest):
    """A run that goes on until something happens to it."""

    def begin(self, data, *options, artifact=None):
        self.log, self.checkpoint = (self.folder / "log.jsonl",
                                     self.folder / "ckpt")
        process = start("run", artifact or self.artifact, "--data", data,
                        "--steps", MANY, "--log", self.log, "--checkpoint",
                        self.checkpoint, "--save-every", 2, "--keep", 2,
                        *([] if "--resume" in options else ["--overwrite"]),
                        *options)
        self.addCleanup(process.kill)
        wait_for(lambda: process.poll() is not None or
                 (self.checkpoint / ".lock").exists() and
                 len(list(self.checkpoint.glob("step-*"))) > 1)
        return process

    def ends(self, process, *parts, code=1):
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        for part in parts:
            self.assertIn(part, err)
        return err


class CutShort(LongRun):

    def cut(self, path, size):
        """Without a moment at which the whole file is gone."""
        os.truncate(path, size)

    def test_data_beyond_a_page(self):
        """The system takes pages away from whoever reads them."""
        data = self.folder / "data"
        data.mkdir()
        samples = 40000
        np.save(data / "x.npy", np.zeros((samples, 64), np.float32))
        np.save(data / "labels.npy", np.zeros(samples, np.int64))
        process = self.begin(data)
        self.cut(data / "x.npy", 8192)
        self.ends(process, "x.npy' was cut short", "the last checkpoint",
                  "is kept")
        self.assertTrue(load_tensors(latest_step(self.checkpoint)))

    def test_data_within_a_page(self):
        """The rest of the page reads as zeros, and nothing else tells."""
        data = self.folder / "d.npz"
        np.savez(data, x=np.ones((4, 64), np.float32),
                 labels=np.zeros(4, np.int64))
        process = self.begin(data)
        self.cut(data, data.stat().st_size - 10)
        self.ends(process, "d.npz' was cut short", "is kept")

    def test_tokens(self):
        artifact = self.compile(Fixture("gpt"), "sgd", name="gpt.zca")
        data = self.folder / "train.bin"
        data.write_bytes(np.zeros(10**6, np.uint16).tobytes())
        process = self.begin(data, artifact=artifact)
        self.cut(data, 4096)
        self.ends(process, "train.bin' was cut short", "is kept")

    def test_a_file_that_another_replaces_stays_readable(self):
        data = self.folder / "d.npz"
        data.write_bytes(self.fixture.data.read_bytes())
        process = self.begin(data)
        other = self.folder / "other"
        other.write_bytes(b"short")
        other.rename(data)
        time.sleep(1.5)  # files are looked at once a second
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.ends(process, code=143)


class Pipes(RunTest):
    """A pipe where a file is expected keeps nobody waiting."""

    def setUp(self):
        super().setUp()
        self.pipe = self.folder / "pipe"
        os.mkfifo(self.pipe)

    def test_read(self):
        not_a_file = ["pipe", "not? .*regular file"]
        self.refuse(not_a_file, data=self.pipe)
        self.refuse(not_a_file, artifact=self.pipe)
        self.refuse(not_a_file, "--eval-data", self.pipe)
        self.fails(1, ["pipe", "regular file"], "eval", self.fixture.model,
                   "--input", f"x={self.pipe}", "--output-dir", self.folder)
        tokens = self.folder / "tokens.bin"
        self.pipe.rename(tokens)
        self.refuse(["tokens.bin", "regular file"], data=tokens)
        model = self.folder / "m.onnx"
        tokens.rename(model)
        self.fails(1, ["m.onnx", "regular file"], "compile", model, "-o",
                   self.folder / "a.zca", "--loss", "mse")

    def test_written_without_a_reader(self):
        for option in ("--trace", "--log"):
            code = self.fails_or_ends(option)
            self.assertIn(code, (0, 1), option)
        self.fails(1, ["pipe", "nobody reads"], "inspect", self.artifact,
                   "--html", self.pipe)

    def fails_or_ends(self, option):
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 1, option, self.pipe)
        self.addCleanup(process.kill)
        process.communicate(timeout=60)
        return process.returncode


class Descriptors(RunTest):

    def test_closed(self):
        """Printed text goes nowhere, and not into a file of the run."""
        log = self.folder / "log.jsonl"
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 3, "--log", log, "--checkpoint",
                        self.folder / "ckpt", "--save-every", 1,
                        preexec_fn=lambda: os.closerange(0, 3))
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertEqual([line["step"] for line in read_log(log)], [1, 2, 3])
        self.assertEqual(len(log.read_text().splitlines()), 3)
        output = self.folder / "b.zca"
        process = start("compile", self.fixture.model, "-o", output,
                        *self.fixture.compile_options("sgd"),
                        preexec_fn=lambda: os.closerange(0, 3))
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.train(output, self.fixture.data, 1)


class Memory(RunTest):

    @staticmethod
    def limited(size):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))

    @needs_few_addresses
    def test_data_too_large_to_inflate(self):
        """Two GiB of zeros, which a zip holds in two MiB."""
        data = self.folder / "d.npz"
        piece = bytes(1 << 20)
        header = np.lib.format.header_data_from_array_1_0(
            np.zeros((1, 64), np.float32))
        header["shape"] = (1 << 23, 64)
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("x.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array_header_1_0(entry, header)
                for _ in range(2 << 10):
                    entry.write(piece)
        self.refuse(["zc: error: out of memory"], data=data,
                    artifact=self.artifact, preexec_fn=self.limited(1 << 30))

    @needs_few_addresses
    def test_every_limit_of_addresses(self):
        """Up to the first that is enough; oneDNN makes code where no room for
        it was given."""
        for size in range(16, 200):
            code, _, err = run("run", self.artifact, "--data",
                               self.fixture.data, "--steps", 2, tool="zc-run",
                               preexec_fn=self.limited(size << 20))
            if code == 0:
                break
            self.assertIn(code, (1, 127), f"{size} MiB: {err}")
            self.assertRegex(err, "error|error while loading", size)
        self.assertEqual(code, 0)
        self.assertGreater(size, 32)

    def refuse(self, patterns, *options, data, artifact, **more):
        return self.fails(1, patterns, "run", artifact, "--data", data,
                          "--steps", 1, *options, **more)

    def test_a_file_that_may_not_grow(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        output = self.folder / "b.zca"
        self.fails(1, ["b.zca|temporary|write", "file too large"], "compile",
                   self.fixture.model, "-o", output,
                   *self.fixture.compile_options("sgd"), preexec_fn=limit)
        self.assertFalse(output.exists())


class Folders(LongRun):

    def test_two_runs_in_one_folder(self):
        for options in ([], RANKS):
            artifact = self.compile(self.fixture, "sgd", *(
                ["--mesh", "dp=2"] if options else []), name="two.zca")
            process = self.begin(self.fixture.data, *options,
                                 artifact=artifact)
            for more in ([], ["--resume"]):
                self.refuse([f"ckpt' is in use by another run, process "
                             f"{process.pid} on host", "another folder"],
                            "--checkpoint", self.checkpoint, *more, *options,
                            artifact=artifact)
            process.send_signal(signal.SIGTERM)
            self.ends(process, code=143)

    def test_the_lock_ends_with_its_holder(self):
        process = self.begin(self.fixture.data)
        process.kill()
        process.communicate()
        done = int(latest_step(self.checkpoint).name.split("-")[1])
        self.train(self.artifact, self.fixture.data, done + 1, "--checkpoint",
                   self.checkpoint, "--resume")
        names = {path.name.split("-")[0] for path in
                 self.checkpoint.iterdir()}
        self.assertEqual(names, {"step"}, "the lock leaves no file behind")


def without_ipv6():
    """No IPv6 socket for this process: a filter of system calls (seccomp)."""
    def statement(code, k, yes=0, no=0):
        return struct.pack("HBBI", code, yes, no, k)
    load, equal, answer = 0x20, 0x15, 0x06
    refused = 0x00050000 | 97  # SECCOMP_RET_ERRNO, EAFNOSUPPORT
    program = b"".join([
        statement(load, 0), statement(equal, 41, 0, 3),  # socket, on x86-64
        statement(load, 16), statement(equal, socket.AF_INET6, 0, 1),
        statement(answer, refused), statement(answer, 0x7fff0000)])
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(program) // 8,
                         ctypes.addressof(text))
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class Ranks(ZcTest):
    """Two processes by torchrun's variables."""

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.artifact = self.compile(self.fixture, "sgd", "--mesh", "dp=2")
        self.port = free_port()

    def begin(self, rank, *options, data=None, steps=3, **more):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2",
                       "MASTER_ADDR": "localhost",
                       "MASTER_PORT": str(self.port)}
        process = start("run", self.artifact, "--data",
                        data or self.fixture.data, "--steps", steps, *options,
                        env=environment, **more)
        self.addCleanup(process.kill)
        return process

    def end(self, processes):
        said = [process.communicate(timeout=60)[1] for process in processes]
        return [process.returncode for process in processes], said

    def test_ipv4_alone(self):
        codes, said = self.end([self.begin(rank, preexec_fn=without_ipv6)
                                for rank in (0, 1)])
        self.assertEqual(codes, [0, 0], said)

    def test_one_with_and_one_without_ipv6(self):
        for rank in (0, 1):
            self.port = free_port()
            codes, said = self.end([
                self.begin(rank, preexec_fn=without_ipv6),
                self.begin(1 - rank)])
            self.assertEqual(codes, [0, 0], said)

    def test_a_port_that_another_program_has(self):
        """It takes connections and says nothing; and one that speaks."""
        for words in (b"", b"220 mail.example ESMTP ready\r\n"):
            with socket.create_server(("", self.port)) as other:
                first = self.begin(0)
                second = self.begin(1)
                other.settimeout(30)
                caller, _ = other.accept()
                caller.sendall(words)
                codes, said = self.end([first, second])
                caller.close()
            self.assertEqual(codes, [1, 1], said)
            self.assertIn(f"cannot listen on port {self.port}", said[0])
            self.assertIn("is no rank 0 of zc", said[1])
            self.assertIn("MASTER_PORT", said[1])

    def begin_by(self, environment):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("OMPI", "PMI", "SLURM"))}
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 3, env={**kept, **environment})
        self.addCleanup(process.kill)
        return process

    def test_numbers_that_are_none(self):
        """2^32 is no other name of 0, and no word means: alone."""
        place = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost",
                 "MASTER_PORT": str(self.port)}
        for name, wrong in (("RANK", "4294967297"), ("RANK", "-1"),
                            ("WORLD_SIZE", "2abc"), ("WORLD_SIZE", "0"),
                            ("WORLD_SIZE", "9" * 20), ("WORLD_SIZE", "-2"),
                            ("MASTER_PORT", "65536"), ("MASTER_PORT", "x")):
            codes, said = self.end([self.begin_by({**place, name: wrong})])
            self.assertEqual(codes, [1], said)
            self.assertRegex(
                said[0], f"{name} is '{wrong}', but must be a whole number")

    def test_srun_with_pmi2(self):
        """Open MPI does not know it: the ranks meet by Slurm's variables."""
        codes, said = self.end([self.begin_by({
            "SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2",
            "SLURM_STEP_NODELIST": "localhost", "SLURM_JOB_ID": "7",
            "MASTER_PORT": str(self.port), "PMI_RANK": str(rank),
            "PMI_SIZE": "2", "PMI_FD": "9"}) for rank in (0, 1)])
        self.assertEqual(codes, [0, 0], said)

    def test_an_mpi_that_does_not_know_its_launcher(self):
        codes, said = self.end([self.begin_by({"PMI_RANK": "0",
                                               "PMI_SIZE": "2"})])
        self.assertEqual(codes, [1], said)
        if "MPI support" in said[0]:
            self.skipTest("zc was built without MPI")
        self.assertRegex(said[0], "has started 2 processes.*mpirun.*"
                         "srun --mpi=none.*RANK, WORLD_SIZE")

    def differ(self, patterns, first, second, **more):
        codes, said = self.end([self.begin(0, *first),
                                self.begin(1, *second, **more)])
        self.assertEqual(codes, [1, 1], said)
        for pattern in patterns:
            self.assertRegex(said[0] + said[1], pattern)

    def test_options_that_differ(self):
        self.differ([r"rank 1 was started with --lr 0\.1, rank 0 with "
                     r"--lr 0\.001"], [], ["--lr", "0.1"])
        self.differ([r"--seed 3 --shuffle 0, rank 0 with --seed unset "
                     r"--shuffle unset"], [], ["--seed", 3, "--no-shuffle"])
        self.differ(["--save-every 2"], [], [
            "--save-every", 2, "--checkpoint", self.folder / "c"])
        self.differ(["--steps 4"], [], [], steps=4)

    def test_data_that_differ(self):
        arrays = dict(np.load(self.fixture.data))
        same, other = self.folder / "same.npz", self.folder / "other.npz"
        np.savez(same, **arrays)
        codes, said = self.end([self.begin(0), self.begin(1, data=same)])
        self.assertEqual(codes, [0, 0], said)
        arrays["x"] = arrays["x"].copy()
        arrays["x"][-1, -1] += 1
        np.savez(other, **arrays)
        self.differ(["other.npz' .*contents", "same data"], [], [], data=other)
        self.differ(["--eval-data"], ["--eval-data", same],
                    ["--eval-data", other])


if __name__ == "__main__":
    unittest.main()
