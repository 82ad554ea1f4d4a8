#!/usr/bin/env python3
"""Measure what ways of compiling one model cost: products of 8-bit floats,
offloading, values kept in fewer bytes (the five networks of Gist).

  ways.py make DIR [--case fp8 offload gist] [--target cuda|cpu] [--zc ZC]
  ways.py run DIR [--case ...] [--zc-run PROGRAM] [--steps N] [--rounds N]

The first form needs zc and Python's onnx, no GPU. The second one needs neither:
the artifacts of a model run in turns, round by round, and each time stands
beside the first way's of the same round. Batches are drawn; losses say nothing.
`make --small --target cpu` is for tests.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from gpu import draw_data, output

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARM_UP = 3  # steps that no time is taken of

GPT2 = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50304,
        "batch": 16, "length": 1024, "tied": 1}
LLAMA = {"layers": 8, "width": 2048, "heads": 32, "key-heads": 8,
         "inner": 5632, "vocabulary": 32000, "batch": 4, "length": 2048}
SMALL_GPT = {"layers": 2, "width": 128, "heads": 4, "vocabulary": 256,
             "batch": 2, "length": 128, "tied": 1}
SMALL_LLAMA = {"layers": 1, "width": 128, "heads": 4, "key-heads": 2,
               "inner": 256, "vocabulary": 256, "batch": 2, "length": 128}
SIZES = {"alexnet": 224, "nin": 224, "overfeat": 231, "vgg16": 224,
         "inception": 224}


def tokens(numbers):
    shape = [numbers["batch"], numbers["length"]]
    return [{"name": name, "shape": shape, "high": numbers["vocabulary"]}
            for name in ("tokens", "labels")]


def images(numbers):
    batch, size = numbers["batch"], numbers["size"]
    return [{"name": "images", "shape": [batch, 3, size, size], "high": None},
            {"name": "labels", "shape": [batch], "high": 1000}]


FP8 = [("bf16", ["--precision", "bf16"])] + [
    (f"fp8 {way}", ["--precision", "fp8", "--fp8-scaling", way])
    for way in ("current", "delayed:16", "block")]
OFFLOAD = [("none", ["--precision", "bf16"])] + [
    (kinds, ["--precision", "bf16", "--offload", kinds])
    for kinds in ("parameters", "optimizer", "optimizer,parameters", "update",
                  "activations")]


# Without `sparse`, which is not for GPUs, and whose room drawn data may exceed.
GIST = [("none", [])] + [
    (kinds, ["--compress-activations", kinds])
    for kinds in ("bits", "bits,fp16", "bits,fp8")]


def cases(options):
    """(case, model, its program, its numbers, inputs, ways, options of zc)."""
    adamw = ["--loss", "softmax-cross-entropy", "--optimizer", "adamw"]
    gpt, llama = (SMALL_GPT, SMALL_LLAMA) if options.small else (GPT2, LLAMA)
    sm_90 = ["--target", "cuda:sm_90"] if options.target == "cuda" else []
    for model, program, numbers in (("gpt2", "large_gpt.py", gpt),
                                    ("llama", "large_llama.py", llama)):
        yield ("fp8", model, program, numbers, tokens(numbers), FP8,
               adamw + sm_90)
    ways = OFFLOAD if options.target == "cuda" else [
        way for way in OFFLOAD if way[0] != "update"]
    yield ("offload", "gpt2", "large_gpt.py", gpt, tokens(gpt), ways,
           adamw + ["--target", options.target])
    for net, size in SIZES.items():
        numbers = {"net": net, "size": size, "batch":
                   4 if options.small else options.batch}
        yield ("gist", net, "large_cnn.py", numbers, images(numbers),
               GIST,
               ["--loss", "softmax-cross-entropy", "--optimizer", "sgd",
                "--target", options.target])


# --- make -----------------------------------------------------------------


def facts_of(zc, artifact):
    """Bytes of an artifact, as zc has them: at the peak, in the second memory,
    and copied in a step."""
    memory = json.loads(output(zc, "inspect", artifact, "--memory",
                               "--json"))["memory"]
    copied = memory.get("copied", {})
    return {"peak": memory["peak"], "offloaded": memory.get("offloaded", 0),
            "copied": copied.get("away", 0) + copied.get("back", 0)}


def make_case(options, case, model, program, numbers, inputs, ways, compiling):
    folder = options.dir / f"{case}-{model}"
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "model.onnx"
        output(sys.executable, HERE / program, source,
               *(str(part) for name, value in numbers.items()
                 for part in (f"--{name}", value)))
        for number, (way, further) in enumerate(ways):
            artifact = folder / f"{number}.zca"
            output(options.zc, "compile", source, "-o", artifact, "--init",
                   "normal:0.02", *compiling, *further)
            made.append({"way": way, "file": artifact.name,
                         **facts_of(options.zc, artifact)})
            print(f"ways.py: {case} {model}, {way}: "
                  f"{artifact.stat().st_size / 1e6:.1f} MB, plans "
                  f"{made[-1]['peak'] / 2**30:.2f} GiB", flush=True)
    (folder / "ways.json").write_text(json.dumps(
        {"inputs": inputs, "ways": made}, indent=1))


def make(options):
    for case, *rest in cases(options):
        if case in options.case and (case != "gist" or rest[0] in options.net):
            make_case(options, case, *rest)


# --- run ------------------------------------------------------------------


def time_step(options, artifact, data, scratch):
    """Milliseconds of a step; a text where it does not run."""
    log = scratch / "log.jsonl"
    log.unlink(missing_ok=True)
    environment = dict(os.environ)
    if options.plugins:
        environment["ZC_PLUGIN_PATH"] = str(options.plugins)
    result = subprocess.run(
        [str(options.zc_run), "run", str(artifact), "--data", str(data),
         "--lr", "1e-5", "--no-shuffle", "--offload-dir", str(scratch),
         "--steps", str(WARM_UP + options.steps), "--log", str(log)],
        capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        return result.stderr.strip()[-600:]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line["step_ms"] for line in lines if "step_ms" in line]
    return statistics.median(steps[WARM_UP:])


def measure(options, folder, scratch):
    """Each way's times by round, or why it has none."""
    described = json.loads((folder / "ways.json").read_text())
    data = scratch / folder.name
    data.mkdir()
    draw_data(data, described["inputs"])
    ways = described["ways"]
    for way in ways:
        way["ms"], way["why"] = [], ""
    for number in range(options.rounds):
        for way in ways:
            if way["why"]:
                continue
            time = time_step(options, folder / way["file"], data, scratch)
            if isinstance(time, str):
                way["why"] = time
            else:
                way["ms"].append(time)
            print(f"ways.py: {folder.name}, round {number + 1}: {way['way']}: "
                  f"{time}", file=sys.stderr, flush=True)
    return ways


def row(name, way, first):
    peak = f"{way['peak'] / 2**30:.2f}"
    beside = f"{way['offloaded'] / 2**30:.2f}" if way["offloaded"] else ""
    copied = f"{way['copied'] / 2**30:.2f}" if way["copied"] else ""
    if not way["ms"]:
        reason = way["why"].splitlines()[-1] if way["why"] else "nothing ran"
        return f"| {name} | {way['way']} | - | - | {peak} | {beside} | {copied} | {reason} |"
    ratios = [mine / theirs for mine, theirs in zip(way["ms"], first["ms"])]
    ratio = f"{statistics.median(ratios):.3f}" if ratios else "-"
    return (f"| {name} | {way['way']} | {statistics.median(way['ms']):.2f} "
            f"| {ratio} | {peak} | {beside} | {copied} | |")


def run(options):
    folders = sorted(path.parent for path in options.dir.glob("*/ways.json")
                     if path.parent.name.split("-")[0] in options.case)
    if not folders:
        sys.exit(f"ways.py: {options.dir} holds no models; ways.py make makes "
                 "them")
    results = {}
    print("| model | way | ms a step | of the first way's | plan, GiB "
          "| second memory, GiB | copied a step, GiB | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="zc-ways-") as scratch:
        for folder in folders:
            ways = measure(options, folder, pathlib.Path(scratch))
            results[folder.name] = ways
            for way in ways:
                print(row(folder.name, way, ways[0]), flush=True)
    if os.environ.get("OUT"):
        (pathlib.Path(os.environ["OUT"]) / "gpu-ways.json").write_text(
            json.dumps(results, indent=1))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["fp8", "offload", "gist"]
    parser.add_argument("action", choices=["make", "run"])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--case", nargs="+", choices=names, default=names)
    parser.add_argument("--net", nargs="+", choices=SIZES, default=list(SIZES),
                        help="of gist")
    parser.add_argument("--batch", type=int, default=64, help="of gist")
    parser.add_argument("--target", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--zc", default=ROOT / "build" / "bin" / "zc")
    parser.add_argument("--zc-run", default=ROOT / "build" / "bin" / "zc-run")
    parser.add_argument("--plugins", type=pathlib.Path,
                        help="the folder of libzc_cuda.so, if not zc-run's own")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    (make if options.action == "make" else run)(options)


if __name__ == "__main__":
    main()
