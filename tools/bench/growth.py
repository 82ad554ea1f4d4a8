"""How a training step's cost grows with a GPT's numbers: a table, and a plot as
SVG without further libraries."""
import math
import time

# vocabulary, layers, heads, width, tokens, batch
BASE = (256, 4, 4, 256, 128, 16)
PLACES = {"layers": 1, "width": 3, "tokens": 4, "batch": 5}
POINTS = {"batch": (4, 8, 16, 32), "tokens": (64, 128, 256, 512),
          "layers": (2, 4, 8, 16), "width": (128, 256, 512, 1024)}
PANEL, HEIGHT, MARGIN = 220, 180, 46


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


def text(x, y, words, anchor="middle"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'


def panel(left, what, unit, points, values):
    """One curve: points on a logarithmic axis, values from zero."""
    width, height = PANEL - MARGIN - 14, HEIGHT - 2 * MARGIN
    low, high = math.log(points[0]), math.log(points[-1])
    top = 1.15 * max(values)

    def place(point, value):
        return (left + MARGIN + width * (math.log(point) - low) / (high - low),
                MARGIN + height * (1 - value / top))

    places = [place(*pair) for pair in zip(points, values)]
    base = MARGIN + height
    parts = [text(left + MARGIN + width / 2, 20, f"{unit} by {what}"),
             f'<path class="axis" d="M{left + MARGIN} {MARGIN}V{base}h{width}"/>',
             '<polyline points="'
             + " ".join(f"{x:.1f},{y:.1f}" for x, y in places) + '"/>']
    for (x, y), point, value in zip(places, points, values):
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>',
                  text(x, y - 7, f"{value:.3g}"), text(x, base + 15, point)]
    return parts


def plot(series):
    parts = []
    for index, curve in enumerate(series):
        parts += panel(index * PANEL, *curve)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" font-size="11" '
            f'font-family="sans-serif" width="{PANEL * len(series)}" '
            f'height="{HEIGHT}"><style>.axis{{stroke:#888;fill:none}}'
            'polyline{stroke:#06c;fill:none}circle{fill:#06c}</style>'
            '<rect width="100%" height="100%" fill="#fff"/>'
            + "".join(parts) + "</svg>\n")
