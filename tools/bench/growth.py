"""How a training step's cost grows with a GPT's numbers: a table and a plot."""
import time

from plot import plot

# vocabulary, layers, heads, width, tokens, batch
BASE = (256, 4, 4, 256, 128, 16)
PLACES = {"layers": 1, "width": 3, "tokens": 4, "batch": 5}
POINTS = {"batch": (4, 8, 16, 32), "tokens": (64, 128, 256, 512),
          "layers": (2, 4, 8, 16), "width": (128, 256, 512, 1024)}


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def run(measure, path):
    """Print a table and write the plot. `measure(name, numbers)` gives the
    milliseconds of a step and the seconds of compiling."""
    known, series = {}, []
    for what, points in POINTS.items():
        step, compiling = [], []
        for point in points:
            numbers = list(BASE)
            numbers[PLACES[what]] = point
            key = "-".join(map(str, numbers))
            if key not in known:
                known[key] = measure(key, numbers)
            tokens = numbers[PLACES["tokens"]] * numbers[PLACES["batch"]]
            step.append(known[key][0] * 1e3 / tokens)
            compiling.append(known[key][1])
        series.append((what, "step, \u00b5s per token", points, step))
        if what == "layers":
            series.append((what, "compiling, s", points, compiling))
    print("| varied | " + " | ".join(["1st", "2nd", "3rd", "4th"]) + " |")
    print("| --- " * 5 + "|")
    for what, unit, points, values in series:
        cells = (f"{point}: {value:.3g}"
                 for point, value in zip(points, values))
        print(f"| {what} ({unit}) | " + " | ".join(cells) + " |")
    path.write_text(plot(series), encoding="utf-8")
