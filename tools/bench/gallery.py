#!/usr/bin/env python3
"""The pictures that lectures on distributed training show, made by zc of small
models: one page without other files.

  gallery.py FILE.html [--zc BUILD/bin/zc] [--only schedules ...]
  gallery.py FILE.svg --only plan

Nothing is drawn by hand: schedules, shares of tensors, memory and gradients are
read from artifacts (zc inspect --json), from plans and from short runs. An SVG
file has the pictures below one another, as tools/guide/plan.svg has.
"""
import argparse
import html
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

from pictures import LEFT, ROW, Figure, box, label, svg
from plan_pictures import plan, stack
from plot import plot

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "test" / "fixtures"
LOSS = ("--loss", "softmax-cross-entropy")
SIZES = dict(width=32, heads=2, length=16, batch=16, vocabulary=64)
COLORS = {"F": "#4c72b0", "B": "#55a868", "W": "#c9a227"}
SECOND = {"F": "#a8bcdb", "B": "#a9d3b3", "W": "#e5d294"}  # of a second stage
CUTS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52")
UNIT = 13  # pixels of a column

STYLE = """
body { font-family: sans-serif; max-width: 60em; margin: 2em auto; color: #222 }
figure { margin: 2em 0 } figcaption { font-size: 90%; color: #555 }
code { background: #f3f3f3 } svg { max-width: 100%; height: auto }
"""


class Zc:
    """The program, and a folder for what it writes."""

    def __init__(self, program, folder):
        self.program, self.folder, self.number = program, folder, 0

    def run(self, *args):
        command = [str(each) for each in args]
        done = subprocess.run([self.program, *command], capture_output=True,
                              text=True)
        if done.returncode != 0:
            sys.exit(f"zc {' '.join(command)}\n{done.stderr}")
        return done.stdout

    def gpt(self, layers, sizes=None):
        sizes = sizes or SIZES
        model = self.folder / f"gpt-{layers}-{sizes['width']}.onnx"
        if not model.exists():
            flags = [str(each) for name, value in sizes.items()
                     for each in ("--" + name, value)]
            subprocess.run([sys.executable, HERE / "large_gpt.py", model,
                            "--layers", str(layers), *flags], check=True,
                           stdout=subprocess.DEVNULL)
        return model

    def experts(self):
        """A layer of four experts."""
        model = self.folder / "experts.onnx"
        if not model.exists():
            flags = [str(each) for name, value in dict(
                SIZES, layers=1, experts=4, inner=64, **{"key-heads": 2}
            ).items() for each in ("--" + name, value)]
            subprocess.run([sys.executable, HERE / "large_mixtral.py", model,
                            *flags], check=True, stdout=subprocess.DEVNULL)
        return model

    def compile(self, model, *options):
        """The artifact, and the command without what is the same for all."""
        self.number += 1
        artifact = self.folder / f"{self.number}.zca"
        drawn = () if model.parent.parent == FIXTURES else ("--init",
                                                            "normal:0.02")
        self.run("compile", model, "-o", artifact, *LOSS, *drawn,
                 "--cpu-threads", 1, "--verify", "off", *options)
        return artifact, "zc compile " + " ".join(
            map(str, (model.name, *LOSS, *options)))

    def plan(self, model, *options):
        """The plan's figures, and the command."""
        command = ("plan", model, *LOSS, *options)
        return (json.loads(self.run(*command, "--json")),
                "zc plan " + " ".join(map(str, (model.name, *command[2:]))))

    def inspect(self, artifact, *sections):
        return json.loads(self.run("inspect", artifact, "--json", *sections))


def works_of(line):
    """("F0b", first column, columns) of each work in a line of a timeline."""
    return [(found.group(1), found.start(), found.end() - found.start())
            for found in re.finditer(r"([FBW]\d+[a-z]?)\.*", line)]


def draw_schedule(text):
    """The timeline that `zc inspect --schedule` prints, a row a role."""
    lines = re.findall(r"^ *role (\d+) +\|(.*)\|$", text, re.MULTILINE)
    parts = []
    for row, (role, line) in enumerate(lines):
        y = row * ROW
        parts.append(label(0, y + 15, f"rank {role}"))
        for name, at, columns in works_of(line):
            colors = SECOND if name[-1].isalpha() and name[-1] != "a" else COLORS
            parts.append(box(LEFT + at * UNIT / 3, y, columns * UNIT / 3, ROW - 2,
                             colors[name[0]], re.sub(r"\D", "", name)))
    width = max(len(line) for _, line in lines) * UNIT / 3
    return svg(LEFT + width, len(lines) * ROW, parts)


SCHEDULES = (
    ("naive", "Naive model parallelism", 1, (), "one rank works at a time"),
    ("gpipe", "GPipe", 4, (), "all forwards, then all backwards"),
    ("1f1b", "PipeDream-flush, 1F1B", 4, (),
     "each backward as soon as it can be: fewer micro-batches in flight"),
    ("stash", "PipeDream, 1F1B without a flush", 4, (),
     "nobody waits for a step's end: each backward has the weights of its own "
     "forward, which are kept as long"),
    ("2bw", "PipeDream-2BW", 4, (),
     "two versions of the weights, no flush between steps"),
    ("interleaved", "Interleaved 1F1B", 4, ("--chunks", 2),
     "two stages a rank, the second in lighter colours: a shorter bubble than "
     "1F1B's of the same model, ranks and micro-batches"),
    ("zero-bubble=h1", "Zero bubble", 4, (),
     "gradients of weights (W) fill the gaps"),
)


def schedules(zc):
    for order, title, micro, more, words in SCHEDULES:
        artifact, command = zc.compile(
            zc.gpt(8), "--mesh", "pp=4", "--accumulate", micro, "--schedule",
            order, "--optimizer", "sgd", *more)
        figures = zc.inspect(artifact, "--schedule")["schedule"]
        yield Figure(
            title, draw_schedule(zc.run("inspect", artifact, "--schedule")),
            f"{words[0].upper()}{words[1:]}. Bubble: "
            f"{100 * figures['bubble_of_total']:.0f}% of the time; in flight: "
            f"{figures['in_flight']} micro-batches. Forwards are blue, "
            "backwards green.", command)


def draw_tensor(x, y, entry, sizes):
    """A tensor as a rectangle, cut as the mesh cuts it; each part has the colour
    of its rank along the axis."""
    first, *others = (entry["sharding"] if len(entry["sharding"]) > 1 else
                      [[], *entry["sharding"]])
    rows, columns = (math.prod(sizes[axis] for axis in axes)
                     for axes in (first, sum(others, [])))
    parts, width, height = [], 84, 48
    for row in range(rows):
        for column in range(columns):
            parts.append(box(x + column * width / columns,
                             y + row * height / rows, width / columns,
                             height / rows,
                             CUTS[(row * columns + column) % len(CUTS)]))
    parts.append(label(x, y + height + 13, entry["name"][-22:]))
    return parts


STRATEGIES = (
    ("Data parallelism", "dp=4", (), "samples are divided, weights are whole"),
    ("ZeRO-3", "dp=4", ("--zero", 3, "--unit", "layer"),
     "units of weights are divided too, and gathered where they are read"),
    ("Tensor parallelism (Megatron)", "tp=2", (),
     "columns of the first product, rows of the second"),
    ("Data and tensor parallelism", "dp=2,tp=2", (), "both"),
    ("Sequence parallelism", "sp=2", (),
     "tokens of each sample are divided, weights are whole"),
    ("Expert and data parallelism", "ep=4", (),
     "samples are divided, and each rank has an expert of four; the rest is "
     "whole"),
    ("Expert, tensor and data parallelism", "ep=2,tp=2", (),
     "samples and experts along one axis, each expert's products along the "
     "other"),
)


def strategies(zc):
    for title, mesh, more, words in STRATEGIES:
        model = zc.experts() if "ep=" in mesh else zc.gpt(2)
        artifact, command = zc.compile(model, "--mesh", mesh, "--optimizer",
                                       "sgd", *more)
        sizes = {name: int(size) for name, size in (
            axis.split("=") for axis in mesh.split(","))}
        entries = zc.inspect(artifact, "--sharding")["sharding"]
        inputs = [each for each in entries if each["kind"] == "input"
                  and each["shape"]][:1]
        weights = [each for each in entries if each["kind"] == "parameter"
                   and (len(each["shape"]) > 1 or "unit" in each["name"])]
        # Experts' weights, and some of the others.
        shown = ([each for each in weights if ".moe." in each["name"]]
                 + [each for each in weights if ".moe." not in each["name"]])[:5]
        parts = []
        for index, entry in enumerate(inputs + shown):
            parts += draw_tensor(4 + 150 * (index % 4), 6 + 74 * (index // 4),
                                 entry, sizes)
        rows = (len(inputs + shown) + 3) // 4
        yield Figure(title, svg(600, 80 * rows, parts),
                     f"{words[0].upper()}{words[1:]}: a colour for each rank "
                     f"along an axis; the first rectangle is the batch.",
                     command)


def memory(zc):
    layers, found = [4, 9], {"apart": [], "in_place": [], "none": [],
                             "sqrt": []}
    for count in layers:
        for policy in ("none", "sqrt"):
            artifact, command = zc.compile(zc.gpt(count), "--optimizer", "sgd",
                                           "--recompute", policy)
            program = zc.inspect(artifact, "--memory")["memory"]["programs"][
                "step"]
            found[policy].append(program["transient"] / 1e3)
            if policy == "none":
                for kind in ("apart", "in_place"):
                    found[kind].append(program["unshared"][kind] / 1e3)
    picture = plot([("layers", f"{name}, kB", layers, found[kind])
                    for name, kind in (("each result its own", "apart"),
                                       ("work in place", "in_place"),
                                       ("bytes shared", "none"),
                                       ("and sqrt(layers) kept", "sqrt"))])
    yield Figure("Memory by depth (Chen et al. 2016)", picture,
                 "What a step needs beside the weights.", command)


def precision(zc):
    parts, commands = [], []
    colors = dict(zip(("parameters", "gradients", "optimizer"), CUTS))
    for row, options in enumerate((
            (), ("--precision", "bf16"),
            ("--precision", "bf16", "--weight-copies", "off",
             "--moment-precision", "bf16"))):
        artifact, command = zc.compile(zc.gpt(2), "--optimizer", "adamw",
                                       "--clip-norm", 1, *options)
        each = zc.inspect(artifact, "--memory")["memory"]["bytes_per_parameter"]
        parts.append(label(0, 15 + 26 * row, " ".join(options) or "fp32"))
        x = 330
        for name, color in colors.items():
            parts.append(box(x, 26 * row, 16 * each[name], 22, color,
                             f"{each[name]:.3g}"))
            x += 16 * each[name]
        commands.append(command)
    yield Figure("Bytes a parameter", svg(620, 80, parts),
                 "Parameters (blue), gradients (orange), the optimizer's states "
                 "with float32 masters (green), under Adam.", commands[-1])


def histogram(zc):
    folder = FIXTURES / "gpt"
    artifact, command = zc.compile(folder / "model.onnx", "--optimizer",
                                   "adamw", "--gradient-histogram")
    log = zc.folder / "histogram.jsonl"
    zc.run("run", artifact, "--data", folder / "data.npz", "--steps", 1, "--log",
           log)
    line = json.loads(log.read_text().splitlines()[-1])
    counts = line["gradient_counts"][1:]
    edges = [-40, -36, -32, -28, -24, -20, -16, -12, -8, -4, 0, 4, 8]
    most, parts = max(counts) or 1, []
    for index, (edge, count) in enumerate(zip(edges, counts)):
        color = "#c44e52" if edge <= -24 else "#4c72b0"
        height = 120 * count / most
        parts += [box(10 + 44 * index, 130 - height, 40, height, color),
                  label(30 + 44 * index, 146, f"2^{edge}", "middle")]
    yield Figure("Gradients by magnitude (Micikevicius et al. 2018)",
                 svg(600, 150, parts),
                 "A bar is of those below its number, and not below the last "
                 "one's. Red ones are below 2^-24, float16's smallest number: "
                 "without a scale those up to 2^-25 become 0, the others 2^-24. "
                 f"They are {100 * line['gradient_below_fp16']:.2g}% of all.",
                 command)


SECTIONS = {"schedules": schedules, "strategies": strategies, "memory": memory,
            "precision": precision, "histogram": histogram, "plan": plan}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--zc", default=HERE.parents[1] / "build/bin/zc")
    parser.add_argument("--only", nargs="+", choices=SECTIONS,
                        default=list(SECTIONS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        zc = Zc(options.zc, pathlib.Path(folder))
        figures = [figure for name in options.only
                   for figure in SECTIONS[name](zc)]
    if options.output.suffix == ".svg":
        options.output.write_text(stack(figures), encoding="utf-8")
        return
    options.output.write_text(
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        f"<title>zc: a gallery</title><style>{STYLE}</style>"
        "<h1>How a training step is divided</h1>\n"
        + "".join(figure.print() for figure in figures) + "</html>\n",
        encoding="utf-8")


if __name__ == "__main__":
    main()
