"""What the benchmarks share: where things are, and how a run is timed."""
import json
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = ROOT / "tools" / "bench" / "peer_torch.py"
WARM_UP = 2  # steps that no time is taken of


def output(*args, **options):
    """What a command prints; ends the benchmark if the command fails."""
    return subprocess.run([str(arg) for arg in args], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          **options).stdout


def median_step(log):
    """Milliseconds of a step by a log of zc run, once it is warm."""
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    return statistics.median(step["step_ms"] for step in steps[WARM_UP:])
