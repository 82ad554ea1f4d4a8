#!/usr/bin/env python3
"""Measure zc against PyTorch on this machine's NVIDIA GPU: GPT-2 124M, a Llama
of 1B and ResNet-50 in bfloat16 with AdamW, as the table of tools/guide/gpus.md has them.

  gpu.py make DIR --torch-python VENV/bin/python [--model gpt2 ...]
  gpu.py run DIR [--zc-run PROGRAM] [--torch-python PYTHON] [--steps N]

The first form needs zc and PyTorch, no GPU: it exports the models, without
weights, compiles them and notes what a step of each is. The second one needs
neither: it draws data, trains by zc-run and, where PyTorch is, by peer_gpu.py
(torch.compile, fused AdamW, flash attention), in turns, and prints a row of a
table a model. The share of the peak counts FLOPs by the rule that peer_gpu.py
names. Below the table it says where time goes by kind of op, against the rates of products
and of copies. `make --small --target cpu` and `run --dry-run` do the same on CPUs with
tiny models, for tests.
"""
import argparse
import array
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEER = HERE / "peer_gpu.py"
NAMES = {"gpt2": "GPT-2 124M, 32 x 1024 tokens",
         "llama": "Llama-style 1B, 4 x 2048 tokens",
         "resnet50": "ResNet-50, 256 x 224 x 224, channels last"}
WARM_UP = 5  # steps that no time is taken of
# Dense bfloat16 TFLOP/s, from NVIDIA's data sheets, by a part of the name.
PEAKS = {"H200": 989, "H100 PCIe": 756, "H100": 989, "B200": 2250,
         "A100": 312, "L40S": 362, "RTX 4090": 165}


def output(*args, **options):
    """The output of a command; its error and the end if it fails."""
    result = subprocess.run([str(arg) for arg in args], text=True,
                            capture_output=True, **options)
    if result.returncode != 0:
        sys.exit(f"gpu.py: {args[0]} failed: {result.stderr.strip()[-2000:]}")
    return result.stdout


# --- make -----------------------------------------------------------------


def make(options):
    zc = options.build / "bin" / "zc"
    for model in options.model:
        folder = options.dir / model
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            command = [options.torch_python, PEER, "--model", model,
                       "--export", scratch]
            work = json.loads(output(*command, *(["--small"] if options.small
                                                 else [])).splitlines()[-1])
            artifact = folder / "model.zca"
            output(zc, "compile", pathlib.Path(scratch) / "model.onnx",
                   "--loss", "softmax-cross-entropy", "--optimizer", "adamw",
                   "--precision", "bf16", "--init", "normal:0.02",
                   "--target", options.target, "-o", artifact)
        plan = json.loads(output(zc, "inspect", artifact, "--memory", "--json"))
        work["plan_bytes"] = plan["memory"]["peak"]
        (folder / "work.json").write_text(json.dumps(work, indent=1))
        print(f"gpu.py: {artifact}: {artifact.stat().st_size / 1e6:.1f} MB, "
              f"plans {work['plan_bytes'] / 2**30:.1f} GiB")


# --- run ------------------------------------------------------------------


def write_npy(path, shape, code, values):
    """A .npy file of `values`, which are repeated until it is full."""
    count = 1
    for size in shape:
        count *= size
    kind = {"q": "<i8", "f": "<f4"}[code]
    header = (f"{{'descr': '{kind}', 'fortran_order': False, "
              f"'shape': {tuple(shape)}, }}")
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    block = array.array(code, values)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
                   + header.encode())
        while count > 0:
            part = block[:count]
            part.tofile(file)
            count -= len(part)


def draw_data(folder, inputs):
    rng = random.Random(0)
    for each in inputs:
        if each["high"] is None:
            values, code = [rng.gauss(0, 1) for _ in range(1 << 16)], "f"
        else:
            values = [rng.randrange(each["high"]) for _ in range(1 << 16)]
            code = "q"
        write_npy(folder / f"{each['name']}.npy", each["shape"], code, values)


def run_zc(options, folder, data, *further):
    """The output of zc-run."""
    environment = dict(os.environ)
    if options.plugins:
        environment["ZC_PLUGIN_PATH"] = str(options.plugins)
    return output(options.zc_run, "run", folder / "model.zca", "--data", data,
                  "--lr", "1e-4", "--no-shuffle", *further, env=environment)


def train_by_zc(options, folder, data, scratch):
    """Milliseconds of a step, and the last loss."""
    log = scratch / "log.jsonl"
    log.unlink(missing_ok=True)
    run_zc(options, folder, data, "--steps", WARM_UP + options.steps, "--log",
           log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line for line in lines if "step_ms" in line]
    return (statistics.median(step["step_ms"] for step in steps[WARM_UP:]),
            steps[-1]["loss"])


def train_by_torch(options, model):
    """The report of peer_gpu.py, or None where there is no PyTorch."""
    has = subprocess.run([options.torch_python, "-c", "import torch"],
                         capture_output=True)
    if has.returncode != 0:
        return None
    extra = ["--small", "--device", "cpu", "--mode", "eager"] \
        if options.dry_run else []
    return json.loads(output(options.torch_python, PEER, "--model", model,
                             "--steps", options.steps, *extra)
                      .splitlines()[-1])


def device_name(options):
    if options.dry_run:
        return "CPU, dry run"
    tool = shutil.which("nvidia-smi")
    if not tool:
        sys.exit("gpu.py: nvidia-smi is not here: this machine has no NVIDIA "
                 "driver; --dry-run runs tiny models on the CPU")
    return output(tool, "--query-gpu=name", "--format=csv,noheader"
                  ).splitlines()[0].strip()


def peak_flops(options, device):
    if options.peak_tflops:
        return options.peak_tflops * 1e12
    for part, tflops in PEAKS.items():
        if part in device:
            return tflops * 1e12
    return None


def row(model, work, times, peers, peak):
    """A row of that table."""
    time = statistics.median(times)
    rate = work["items"] / time * 1e3
    share = "" if peak is None else \
        f"{work['flops'] / time * 1e3 / peak * 100:.1f}%"
    ratio = theirs = memory = planned = ""
    if "plan_bytes" in work:
        planned = f"{work['plan_bytes'] / 2**30:.1f} GiB"
    if peers:
        each = statistics.median(peer["items_per_s"] for peer in peers)
        ratio, theirs = f"{rate / each:.2f}", f"{each:.0f}"
        memory = f"{max(peer['peak_mib'] for peer in peers) / 1024:.1f}"
    return (f"| {NAMES[model]} | {rate:.0f} | {share} "
            f"| {planned} | {theirs} | {memory} "
            f"| {ratio} |")


def measure(options, model, scratch):
    """(what a step is, zc's times, the peer's answers, where zc's time goes
    by kind of op, against the rates of products and copies)."""
    folder = options.dir / model
    work = json.loads((folder / "work.json").read_text())
    data = scratch / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    draw_data(data, work["inputs"])
    times, peers = [], []
    for _ in range(options.rounds):
        time, loss = train_by_zc(options, folder, data, scratch)
        times.append(time)
        peer = train_by_torch(options, model)
        if peer:
            peers.append(peer)
        print(f"gpu.py: {model}: zc {time:.2f} ms a step, loss {loss:.4f}"
              + (f"; PyTorch {peer['torch']} {peer['step_ms_median']:.2f} ms, "
                 f"loss {peer['loss']:.4f}" if peer else "; PyTorch is not "
                 f"here ({options.torch_python})"), file=sys.stderr)
    # Not timed: a profiled step waits after every launch.
    printed = run_zc(options, folder, data, "--steps", 3, "--profile")
    profile = "\n".join(line for line in printed.splitlines()
                        if not line.startswith("step "))
    return work, times, peers, profile


def run(options):
    device = device_name(options)
    peak = peak_flops(options, device)
    rows, versions, results, profiles = [], set(), {}, []
    with tempfile.TemporaryDirectory(prefix="zc-bench-") as scratch:
        for model in options.model:
            if not (options.dir / model / "work.json").exists():
                print(f"gpu.py: {options.dir / model} is not there",
                      file=sys.stderr)
                continue
            work, times, peers, profile = measure(options, model,
                                                  pathlib.Path(scratch))
            versions |= {peer["torch"] for peer in peers}
            rows.append(row(model, work, times, peers, peak))
            profiles.append(f"\n{NAMES[model]}\n\n{profile}")
            results[model] = {"work": work, "step_ms": times, "peer": peers,
                              "profile": profile}
    if not rows:
        sys.exit(f"gpu.py: {options.dir} holds no model; gpu.py make makes it")
    print(f"{device}; PyTorch {', '.join(sorted(versions)) or 'not here'}; "
          "FLOPs: 6 a parameter and token, 12 width x tokens a layer for "
          "attention (PaLM, appendix B); ResNet-50: 3 x 8.2 GFLOP an image")
    print("| model, bf16 | zc, tokens or images/s | share of the bf16 peak "
          "| plan | PyTorch, tokens or images/s | its peak, GiB | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows + profiles))
    if os.environ.get("OUT"):
        (pathlib.Path(os.environ["OUT"]) / "gpu-bench.json").write_text(
            json.dumps({"device": device, "results": results}, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["make", "run"])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--model", nargs="+", choices=list(NAMES),
                        default=list(NAMES))
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--zc-run", type=pathlib.Path,
                        help="by default that of --build")
    parser.add_argument("--plugins", type=pathlib.Path,
                        help="the folder of libzc_cuda.so, if not zc-run's own")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peak-tflops", type=float,
                        help="the GPU's dense bfloat16 TFLOP/s")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    options.zc_run = options.zc_run or options.build / "bin" / "zc-run"
    (make if options.action == "make" else run)(options)


if __name__ == "__main__":
    main()
