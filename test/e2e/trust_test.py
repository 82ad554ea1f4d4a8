#!/usr/bin/env python3
"""Only trusted artifacts are run (zc sign, --trust), and a sandbox limits what
their code can do (--sandbox)."""
import ctypes
import errno
import fcntl
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import unittest
import zipfile

import numpy as np

from zctest import Fixture, ZcTest, latest_step, read_log, run, start

ATTEMPTS = ("read", "write", "create", "truncate", "remove", "rename", "link",
            "mode", "rights", "inherited", "socket", "connect", "fork",
            "signal", "owner", "async", "priority", "user", "queue",
            "attribute", "flags")
# Calls that a kernel or a file system may lack.
NEWER = ("attribute", "flags")
LACKING = os.strerror(errno.ENOSYS)


def replace_entry(source, target, name, data):
    """A copy of an artifact with other bytes in one entry, or one more."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        names = old.namelist()
        for each in names + ([name] if name not in names else []):
            new.writestr(each, data if each == name else old.read(each))


def landlock():
    """The version that this kernel has, or -1."""
    create_ruleset, version = 444, 1  # the same on all machines
    return ctypes.CDLL(None).syscall(create_ruleset, None, 0, version)


def code_entry(artifact):
    with zipfile.ZipFile(artifact) as archive:
        return next(name for name in archive.namelist()
                    if name.startswith("code/"))


class Trust(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.artifact = self.compile(self.fixture)
        self.key, self.other = self.folder / "key", self.folder / "other"
        for key in (self.key, self.other):
            self.zc("sign", "--new-key", key)
        self.public = pathlib.Path(f"{self.key}.pub")

    def run_options(self, artifact, *extra):
        return ("run", artifact, "--data", self.fixture.data, "--steps", 3,
                *extra)

    def test_signed(self):
        refused = "none that --trust names; nothing of it was run"
        self.fails(1, ["is not signed", refused], *self.run_options(
            self.artifact, "--trust", self.public))
        signed = self.folder / "signed.zca"
        self.assertIn("signed", self.zc("sign", self.artifact, "--key", self.key,
                                        "-o", signed))
        self.zc(*self.run_options(signed, "--trust", self.public))
        self.zc(*self.run_options(signed))
        self.fails(1, ["signed by another key", refused], *self.run_options(
            signed, "--trust", f"{self.other}.pub"))
        self.zc(*self.run_options(signed, "--trust", f"{self.other}.pub",
                                  "--trust", self.public))
        # Again, by another: one signature stays.
        self.zc("sign", signed, "--key", self.other)
        self.fails(1, ["another key"], *self.run_options(
            signed, "--trust", self.public))
        self.zc(*self.run_options(signed, "--trust", f"{self.other}.pub"))
        self.zc("inspect", signed)
        self.fails(1, ["another key"], "eval", signed, "--data",
                   self.fixture.data, "--trust", self.public)
        self.zc("eval", signed, "--data", self.fixture.data, "--trust",
                f"{self.other}.pub")

    def test_changed_since(self):
        self.zc("sign", self.artifact, "--key", self.key)
        changed = self.folder / "changed.zca"
        with zipfile.ZipFile(self.artifact) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        for name, data in entries.items():
            if name == "signature.txt":
                continue
            with self.subTest(name=name):
                replace_entry(self.artifact, changed, name,
                              data[:-1] + bytes([data[-1] ^ 1]))
                self.fails(1, [r"another key|cannot be parsed|'"],
                           *self.run_options(changed, "--trust", self.public))
        replace_entry(self.artifact, changed, "more", b"code")
        self.fails(1, ["changed since"], *self.run_options(
            changed, "--trust", self.public))
        for text in (b"", b"zc-signature-1\nzz\nzz\n", entries[
                "signature.txt"].replace(b"1", b"2")):
            replace_entry(self.artifact, changed, "signature.txt", text)
            self.fails(1, ["nothing of it was run"], *self.run_options(
                changed, "--trust", self.public))

    def test_hash(self):
        digest = hashlib.sha256(self.artifact.read_bytes()).hexdigest()
        self.zc(*self.run_options(self.artifact, "--trust", f"sha256:{digest}"))
        wrong = digest[:-1] + ("0" if digest[-1] != "0" else "1")
        self.fails(1, [f"hash is sha256:{digest}: none that --trust names"],
                   *self.run_options(self.artifact, "--trust",
                                     f"sha256:{wrong}"))
        self.fails(2, ["--trust", "64 hexadecimal digits"], *self.run_options(
            self.artifact, "--trust", "sha256:12"))
        self.fails(2, [f"a hash is given as sha256:{digest}"],
                   *self.run_options(self.artifact, "--trust", digest))

    def test_keys(self):
        self.assertEqual(self.key.stat().st_mode & 0o777, 0o600)
        self.fails(1, ["file exists"], "sign", "--new-key", self.key)
        self.key.chmod(0o644)
        self.fails(1, ["others may read; chmod 600"], "sign", self.artifact,
                   "--key", self.key)
        self.key.chmod(0o600)
        self.fails(1, ["no Ed25519 key"], "sign", self.artifact, "--key",
                   shutil.copy(self.public, self.folder / "public"))
        self.fails(1, ["--trust", "no Ed25519 key"], *self.run_options(
            self.artifact, "--trust", self.key))
        self.fails(1, ["--trust", "nowhere"], *self.run_options(
            self.artifact, "--trust", self.folder / "nowhere"))
        self.fails(1, ["model.onnx"], "sign", self.fixture.model, "--key",
                   self.key)
        for arguments in ((), (self.artifact,), ("--key", self.key),
                          (self.artifact, "--new-key", self.folder / "k")):
            self.fails(2, ["zc sign --help"], "sign", *arguments)
        self.fails(2, ["belongs to artifacts"], "eval", self.fixture.model,
                   "--input", f"x={self.public}", "--output-dir", self.folder,
                   "--trust", self.public)

    def test_half_a_key(self):
        """A public key whose private one lies elsewhere stays."""
        half = self.folder / "half"
        kept = shutil.copy(self.public, f"{half}.pub")
        self.fails(1, ["half.pub", "file exists"], "sign", "--new-key", half)
        self.assertFalse(half.exists())
        self.assertEqual(pathlib.Path(kept).read_bytes(),
                         self.public.read_bytes())

    def test_rights_stay(self):
        self.artifact.chmod(0o600)
        self.zc("sign", self.artifact, "--key", self.key)
        self.assertEqual(self.artifact.stat().st_mode & 0o777, 0o600)
        copy = self.folder / "copy.zca"
        self.zc("sign", self.artifact, "--key", self.key, "-o", copy)
        self.assertEqual(copy.stat().st_mode & 0o777, 0o600)

    def test_keys_of_openssl(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl")
        key, public = self.folder / "pem", self.folder / "pem.pub"
        self.command("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
        self.command("openssl", "pkey", "-in", key, "-pubout", "-out", public)
        self.zc("sign", self.artifact, "--key", key)
        self.zc(*self.run_options(self.artifact, "--trust", public))
        text = self.command("openssl", "pkey", "-pubin", "-in", self.public,
                            "-text", "-noout")
        self.assertIn("ED25519", text)


@unittest.skipIf(landlock() >= 3, "the kernel can")
class NoSandbox(ZcTest):

    def test_refused(self):
        fixture = Fixture("mlp")
        self.fails(1, ["--sandbox: this kernel has no Landlock"], "run",
                   self.compile(fixture), "--data", fixture.data, "--steps", 2,
                   "--sandbox")


@unittest.skipIf(landlock() < 3, "the kernel cannot")
class Sandbox(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.artifact = self.compile(self.fixture)
        self.ckpt, self.log = self.folder / "ckpt", self.folder / "l.jsonl"

    def planted(self, *options):
        """The attempts of planted code: {attempt: what came of it}."""
        artifact, folder = self.folder / "planted.zca", self.folder / "home"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "secret").write_text("secret")
        code = pathlib.Path(os.environ["ZC_PLANTED_CODE"]).read_bytes()
        replace_entry(self.artifact, artifact, code_entry(self.artifact), code)
        shutil.rmtree(self.ckpt, ignore_errors=True)
        self.ckpt.mkdir()
        with (socket.create_server(("127.0.0.1", 0)) as server,
              open(self.folder / "open", "wb") as inherited):
            # A number that nothing else gets once it is closed.
            high = fcntl.fcntl(inherited.fileno(), fcntl.F_DUPFD, 200)
            environment = dict(
                os.environ, ZC_PLANTED_FOLDER=str(folder),
                ZC_PLANTED_PORT=str(server.getsockname()[1]),
                ZC_PLANTED_OWN=str(self.ckpt / "own"),
                ZC_PLANTED_DESCRIPTOR=str(high))
            code, out, err = run("run", artifact, "--data", self.fixture.data,
                                 "--steps", 3, "--checkpoint", self.ckpt,
                                 "--log", self.log, "--overwrite", *options,
                                 env=environment,
                                 pass_fds=[high])
            os.close(high)
        self.assertEqual(code, 1, out + err)  # it has no kernels
        found = dict(line[len("planted "):].split(": ", 1)
                     for line in err.splitlines()
                     if line.startswith("planted "))
        self.assertEqual(set(found), set(ATTEMPTS), err)
        return found, folder

    def test_planted_code(self):
        found, folder = self.planted()
        self.assertEqual({name: found[name] for name in ATTEMPTS if name not in
                          ("rename", "mode", *NEWER)},
                         {name: "done" for name in ATTEMPTS if name not in
                          ("rename", "mode", *NEWER)})
        for name in NEWER:
            self.assertIn(found[name], ("done", LACKING, os.strerror(
                errno.EOPNOTSUPP)), name)
        self.assertTrue((folder / "made").exists(), "it can do all of that")
        found, folder = self.planted("--sandbox")
        for name, came in found.items():
            refused = (LACKING if name in NEWER else
                       "Permission denied|Operation not permitted|"
                       "Bad file descriptor")
            self.assertRegex(came, refused, name)
        self.assertEqual((self.ckpt / "own").stat().st_mode & 0o7777, 0o600)
        self.assertEqual((self.folder / "open").read_bytes(), b"")
        self.assertEqual([path.name for path in folder.iterdir()], ["secret"])
        self.assertEqual((folder / "secret").read_text(), "secret")

    def numbers_of(self, artifact, *options):
        self.zc("run", artifact, "--data", self.fixture.data, "--steps", 6,
                "--checkpoint", self.ckpt, "--save-every", 2, "--keep", 2,
                "--log", self.log, "--overwrite", *options)
        return ([line["loss"] for line in read_log(self.log)],
                {path.name: path.read_bytes() for path in
                 latest_step(self.ckpt).glob("*.safetensors")})

    def test_a_run_is_the_same(self):
        self.assertEqual(self.numbers_of(self.artifact, "--sandbox"),
                         self.numbers_of(self.artifact))
        ranks = self.compile(self.fixture, "adamw", "--mesh", "dp=2",
                             "--cpu-threads", 1, name="two.zca")
        self.assertEqual(
            self.numbers_of(ranks, "--local-ranks", 2, "--sandbox"),
            self.numbers_of(ranks, "--local-ranks", 2))
        losses = self.numbers_of(ranks, "--local-ranks", 2)[0]
        self.zc("launch", "-n", 2, ranks, "--data", self.fixture.data, "--steps",
                6, "--log", self.log, "--sandbox")
        self.assertEqual([line["loss"] for line in read_log(self.log)], losses)

    def test_all_files_that_are_named(self):
        """Resumed, evaluated, from token files by a pattern, with TensorBoard,
        from weights of another run."""
        self.numbers_of(self.artifact, "--sandbox", "--tensorboard",
                        self.folder / "tb" / "run")
        self.zc("run", self.artifact, "--checkpoint", self.ckpt, "--resume",
                "--steps", 9, "--sandbox", "--data", self.fixture.data,
                "--eval-data", self.fixture.data, "--keep-best", "loss")
        self.zc("run", self.artifact, "--data", self.fixture.data, "--steps", 2,
                "--init-from", self.ckpt, "--sandbox")
        self.zc("eval", self.artifact, "--data", self.fixture.data,
                "--checkpoint", self.ckpt, "--sandbox")
        folder = self.folder / "arrays"
        folder.mkdir()
        for name, array in np.load(self.fixture.data).items():
            np.save(folder / f"{name}.npy", array)
        self.zc("run", self.artifact, "--data", folder, "--steps", 2,
                "--sandbox")

    def test_files_named_by_their_descriptors(self):
        """As shells hand them on: /dev/fd/N, open for reading or for both."""
        plain = self.folder / "plain.jsonl"
        self.zc("run", self.artifact, "--data", self.fixture.data, "--steps", 3,
                "--log", plain)
        with (open(self.artifact, "rb") as artifact,
              open(self.fixture.data, "r+b") as data,
              open(self.log, "w+b") as log):
            given = [file.fileno() for file in (artifact, data, log)]
            for folder in ("/dev/fd", "/proc/self/fd"):
                names = [f"{folder}/{number}" for number in given]
                code, out, err = run(
                    "run", names[0], "--data", names[1], "--log", names[2],
                    "--steps", 3, "--sandbox", pass_fds=given)
                self.assertEqual(code, 0, out + err)
                self.assertEqual([line["loss"] for line in read_log(self.log)],
                                 [line["loss"] for line in read_log(plain)])

    def test_log_into_a_pipe(self):
        reader, writer = os.pipe()
        code, out, err = run(
            "run", self.artifact, "--data", self.fixture.data, "--steps", 3,
            "--log", f"/dev/fd/{writer}", "--sandbox", pass_fds=[writer])
        os.close(writer)
        with open(reader) as lines:
            self.assertEqual(code, 0, out + err)
            self.assertEqual(len(lines.readlines()), 3)

    def test_what_its_code_has_written_opens_nothing(self):
        """Links, and options of a checkpoint."""
        self.numbers_of(self.artifact, "--sandbox")
        self.fails(2, ["--data is required"], "run", self.artifact,
                   "--checkpoint", self.ckpt, "--resume", "--steps", 9,
                   "--sandbox")
        other, link = self.folder / "other", self.ckpt / "log.jsonl"
        other.write_text("mine")
        link.symlink_to(other)
        self.fails(1, ["is a link; name the file itself"], "run", self.artifact,
                   "--data", self.fixture.data, "--steps", 9, "--log", link,
                   "--sandbox")
        self.assertEqual(other.read_text(), "mine")

    def test_where_it_cannot(self):
        self.fails(2, ["--trace.*does not go with --sandbox"], "run",
                   self.artifact, "--data", self.fixture.data, "--steps", 2,
                   "--sandbox", "--trace", self.folder / "t.json")
        if shutil.which("mpirun"):
            done = subprocess.run(
                ["mpirun", "-n", "1", "--allow-run-as-root", "--oversubscribe",
                 str(pathlib.Path(os.environ["ZC_BIN_DIR"]) / "zc"), "run",
                 str(self.artifact), "--data", str(self.fixture.data),
                 "--steps", "2", "--sandbox"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, "MPI opens connections")


class Token(ZcTest):
    """Ranks over TCP know each other by ZC_TOKEN."""

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.artifact = self.compile(self.fixture, "adamw", "--mesh", "dp=2",
                                     "--cpu-threads", 1)

    def ranks(self, tokens, timeout=20):
        processes = [start(
            "run", self.artifact, "--data", self.fixture.data, "--steps", 3,
            "--timeout", timeout,
            env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2",
                     ZC_RENDEZVOUS_FILE=str(self.folder / "meet"),
                     ZC_TOKEN=token, ZC_BIND_ADDR="127.0.0.1"))
            for rank, token in enumerate(tokens)]
        ends = [process.communicate(timeout=90) for process in processes]
        return [process.returncode for process in processes], [
            err for _, err in ends]

    def test_same(self):
        codes, errors = self.ranks(["a word", "a word"])
        self.assertEqual(codes, [0, 0], errors)

    def test_different(self):
        for tokens, said in ((("one", "other"), "different tokens"),
                             (("one", ""), "rank 0 has a token, rank 1 has none"),
                             (("", "other"), "rank 1 has a token, rank 0 has")):
            with self.subTest(tokens=tokens):
                codes, errors = self.ranks(tokens, timeout=2)
                self.assertEqual(codes, [1, 1], errors)
                self.assertIn(said, errors[1])
                self.assertRegex(errors[0], "rank 1 of 2 did not come in time"
                                 r".*; 1 connections? of others .*ZC_TOKEN")


if __name__ == "__main__":
    unittest.main()
