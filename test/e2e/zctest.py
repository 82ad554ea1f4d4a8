"""Helpers that the end-to-end tests share: running zc, its files, its fixtures.

The folder of the programs comes in ZC_BIN_DIR (CMake sets it).
"""
import functools
import json
import os
import pathlib
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors.numpy import load_file

BIN = pathlib.Path(os.environ["ZC_BIN_DIR"])
FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"


@functools.cache
def is_sanitized():
    """Whether the programs are built with sanitizers (preset asan or tsan)."""
    listed = subprocess.run(["nm", "-D", BIN / "zc-run"], text=True,
                            capture_output=True, check=True).stdout
    return any(name in listed for name in ("__asan", "__tsan", "__ubsan"))


TIMEOUT = 1500 if is_sanitized() else 300
# For tests that limit how many addresses a program may have.
needs_few_addresses = unittest.skipIf(
    is_sanitized(), "sanitizers reserve terabytes of addresses (ulimit -v)")

OPTIMIZER_OPTIONS = {
    "sgd": ["--optimizer", "sgd"],
    "sgd-nesterov": ["--optimizer", "sgd", "--momentum", "0.9", "--nesterov"],
    "adamw": ["--optimizer", "adamw"],
}

# Where to cut models whose values go to several stages, or over some: the
# U-Net at its levels, the translator behind its encoder and in its decoder.
UNET_STAGES = "down1: 0\ndown2: 1\nmiddle: 2\nup1: 3\n"
TRANSLATOR_STAGES = "encoder: 0\ndecoder\\.0: 1\ndecoder\\.1: 2\n"


def start(*args, tool="zc", **options):
    """Start a program with its output piped as text."""
    return subprocess.Popen([str(BIN / tool), *map(str, args)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            errors="replace", **options)


def run(*args, **options):
    """Run a program to its end: (exit code, stdout, stderr)."""
    process = start(*args, **options)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out, err


def limit_file_size(size):
    """For preexec_fn: files may not grow beyond `size`, as on a full disk; the
    system's signal, SIGXFSZ, ends a program that does not care."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class Fixture:
    """One model of test/fixtures, with what the recording says of it."""

    def __init__(self, name):
        self.folder = FIXTURES / name
        self.model = self.folder / "model.onnx"
        self.exports = sorted(self.folder.glob("model*.onnx"))
        self.data = self.folder / "data.npz"
        self.reference = json.loads((self.folder / "reference.json").read_text())

    def compile_options(self, optimizer):
        options = ["--loss", self.reference["loss"]]
        if self.reference["symbolic_batch"]:
            options += ["--dim", "{symbolic_batch}={batch}".format(
                **self.reference)]
        return options + OPTIMIZER_OPTIONS[optimizer]

    def weights(self, optimizer):
        return dict(np.load(self.folder / f"weights-{optimizer}.npz"))


class ZcTest(unittest.TestCase):
    """A test with a folder of its own and zc at hand."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="zc-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def zc(self, *args, **options):
        """Run zc, which must succeed; its stdout."""
        code, out, err = run(*args, **options)
        command = " ".join(map(str, args))
        self.assertEqual(code, 0, f"zc {command}\n{out}\n{err[:4000]}")
        return out

    def check_memory(self, used, most):
        """Whether a process took less than so many bytes; AddressSanitizer has
        notes of an eighth, and keeps 256 MiB of what was freed."""
        self.assertLess(used, most * 1.5 + (512 << 20) if is_sanitized()
                        else most, "bytes of memory")

    def instructions(self, artifact, program):
        """How many instructions a program has."""
        report = json.loads(self.zc("inspect", artifact, "--ops", "--json"))
        return sum(report["ops"]["programs"][program].values())

    def command(self, *args, **options):
        """Run a program that is not zc, which must succeed; its stdout."""
        done = subprocess.run([str(arg) for arg in args], text=True,
                              capture_output=True, timeout=TIMEOUT, **options)
        self.assertEqual(done.returncode, 0,
                         f"{args}\n{done.stdout}\n{done.stderr[:4000]}")
        return done.stdout

    def write_large(self, script="large_gpt.py", name="model.onnx", **options):
        """A model without data, as a program of tools/bench writes it; options
        by their names, key_heads for --key-heads."""
        model = self.folder / name
        flags = [each for option, value in options.items()
                 for each in ("--" + option.replace("_", "-"), value)]
        bench = FIXTURES.parents[1] / "tools" / "bench"
        self.command(sys.executable, bench / script, model, *flags)
        return model

    def fails(self, code, patterns, *args, **options):
        """Run zc, which must end with `code` and say every pattern on stderr
        (without regard to case), and never by a signal."""
        found, out, err = run(*args, **options)
        command = " ".join(map(str, args))
        said = f"zc {command}\nexit code {found}\n{out}\n{err[:4000]}"
        self.assertEqual(found, code, said)
        for pattern in patterns:
            self.assertRegex(err, "(?i)" + pattern, said)
        self.assertLess(len(err), 4000, "a message is for people")
        return err

    def full_device(self):
        """A device that takes no byte. A node of its own, so that a program
        that replaces what it should write to does not harm the system."""
        device = self.folder / "full"
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
            device.open("wb").close()
        except PermissionError:
            self.skipTest("this user may not make devices")
        return device

    def refused_to_nobody(self, name, *args):
        """zc run as a user who may not write: it says so and names `name`."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        nobody = ["setpriv", "--reuid=65534", "--regid=65534",
                  "--clear-groups", BIN / "zc"]
        if subprocess.run([*nobody, "--version"],
                          capture_output=True).returncode != 0:
            self.skipTest("an ordinary user cannot reach the build folder")
        self.folder.chmod(0o755)
        result = subprocess.run([*nobody, *map(str, args)], text=True,
                                capture_output=True, timeout=TIMEOUT)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(name, result.stderr)
        self.assertRegex(result.stderr, "(?i)permission denied")

    def compile(self, fixture, optimizer="adamw", *extra, name="model.zca",
                model=None):
        artifact = self.folder / name
        self.zc("compile", model or fixture.model, "-o", artifact,
                *fixture.compile_options(optimizer), *extra)
        return artifact

    def train(self, artifact, data, steps, *extra, lr=1e-3):
        self.zc("run", artifact, "--data", data, "--steps", steps, "--lr", lr,
                *extra)

    def numbers(self, artifact, data, *options, steps):
        """Losses and weights of a run, and the memory that it had."""
        log = self.folder / "log.jsonl"
        folder = self.folder / "ckpt"
        self.train(artifact, data, steps, "--no-shuffle", "--log", log,
                   "--checkpoint", folder, "--overwrite", *options)
        lines = read_log(log)
        weights = self.folder / "w.safetensors"
        self.zc("export", artifact, "--checkpoint", folder, "--safetensors",
                weights)
        return ([line["loss"] for line in lines], weights.read_bytes(),
                lines[-1]["peak_bytes"])


def free_port():
    """A port below those that the kernel gives to connections (from 32768), so
    that only another test could take it, and tests begin at different ones."""
    first, count = 10000, 20000
    for number in range(count):
        port = first + (os.getpid() * 64 + number) % count
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("every port is taken")


def has_avx512():
    """Whether oneDNN multiplies bfloat16 here, in blocks that it plans."""
    return "avx512f" in pathlib.Path("/proc/cpuinfo").read_text().split()


def read_log(path):
    """The step lines of a --log file."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if "loss" in line]


def latest_step(checkpoint):
    """The folder of the last step of a checkpoint."""
    return max(checkpoint.glob("step-*"),
               key=lambda folder: int(folder.name.split("-")[1]))


def load_tensors(step_folder, kind="model"):
    """All tensors of a step's model or optimizer files, by name."""
    tensors = {}
    for path in sorted(step_folder.glob(f"{kind}-*.safetensors")):
        tensors.update(load_file(path))
    return tensors
