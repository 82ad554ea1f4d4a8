"""Helpers that the benchmarks share: where things are, and how a run is
timed."""
import ctypes
import ctypes.util
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = ROOT / "tools" / "bench" / "peer_torch.py"
ONNX_PEER = PEER.with_name("peer_onnx.py")
WARM_UP = 2  # steps that no time is taken of
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def output(*args, **options):
    """The output of a command; ends the benchmark if the command fails."""
    return subprocess.run([str(arg) for arg in args], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          **options).stdout


def median_step(log):
    """Milliseconds of a step by a log of zc run, once it is warm."""
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    return statistics.median(step["step_ms"] for step in steps[WARM_UP:])


def first_losses(log, count):
    """The losses of a run's first steps, by its log."""
    lines = log.read_text().splitlines()[:count]
    return [json.loads(line)["loss"] for line in lines]


class LibraryVersion(ctypes.Structure):
    """The beginning of oneDNN's dnnl_version_t."""
    _fields_ = [(name, ctypes.c_int) for name in ("major", "minor", "patch")]


def library_version():
    """oneDNN's, "2.6.3"; empty where it is not found."""
    name = ctypes.util.find_library("dnnl")
    if not name:
        return ""
    version = ctypes.CDLL(name).dnnl_version
    version.restype = ctypes.POINTER(LibraryVersion)
    found = version().contents
    return f"{found.major}.{found.minor}.{found.patch}"


def cache_size(level):
    """A processor's cache for data of this level, "512K"; empty where the
    system does not say."""
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob(
            "index*")):
        if ((index / "level").read_text().strip() == str(level)
                and (index / "type").read_text().strip() != "Instruction"):
            return (index / "size").read_text().strip()
    return ""


def machine():
    """The processor: its name and generation, for clouds call several alike, its
    widest instruction set that matters, second-level cache and number, and
    oneDNN's version."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = fields.get("flags", "").split()
    widest = next((name for flag, name in
                   (("amx_bf16", "AMX"), ("avx512_bf16", "AVX-512 with BF16"),
                    ("avx512f", "AVX-512"), ("avx2", "AVX2"))
                   if flag in flags), platform.machine())
    parts = [fields.get("model name", platform.processor())]
    if "cpu family" in fields:
        parts.append(f"family {fields['cpu family']} model {fields['model']}")
    parts.append(widest)
    if cache := cache_size(2):
        parts.append(f"{cache} second-level cache")
    parts.append(f"{len(os.sched_getaffinity(0))} processors")
    if version := library_version():
        parts.append(f"oneDNN {version}")
    return ", ".join(parts)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_peers(python, ranks, *args):
    """The last report of each rank of PyTorch: processes of one thread, with
    torchrun's variables where there are several."""
    command = [str(arg) for arg in (python, PEER, *args, "--threads", 1)]
    place = {} if ranks == 1 else {
        "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port())}
    processes = [subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, **place, "RANK": str(rank),
             "LOCAL_RANK": str(rank)}) for rank in range(ranks)]
    lines = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: PyTorch failed: "
                 + " ".join(command))
    return [json.loads(line) for line in lines]
