"""A plan in pictures: a pipeline's step over time, and the layouts of a search by
time and memory. gallery.py draws them."""
import html
import json
import pathlib
import re

from pictures import LEFT, ROW, Figure, box, label, svg

CLUSTERS = pathlib.Path(__file__).resolve().parents[1] / "clusters"
# A GPT of half a billion parameters.
PLANNED = dict(width=2048, heads=16, length=1024, batch=64, vocabulary=32000)
LAYERS = 8
ORDER, SENDS, STREAM = 16, 17, 1  # tracks of a timeline
CALLS = {"forward": "#4c72b0", "backward": "#55a868", "apply": "#937860"}
BOTH = "#8c8c8c"  # a forward and its backward in one program
WIDTH = 760  # of a drawing of a plan


def spans_of(events, role, track):
    """[(name, begin, end)] of a track, without those that take no time."""
    return [(each["name"], each["ts"], each["ts"] + each["dur"])
            for each in events if each["ph"] == "X" and each["pid"] == role
            and each["tid"] == track and each["dur"] > 0]


def draw_timeline(events):
    """Each role's programs, and below them its collectives (orange) and the
    messages that it sends (red). White is the bubble."""
    roles = sorted({each["pid"] for each in events})
    end = max(each["ts"] + each["dur"] for each in events if each["ph"] == "X")
    scale, parts = (WIDTH - LEFT) / end, []
    for row, role in enumerate(roles):
        y = row * (ROW + 22)
        parts.append(label(0, y + 15, f"role {role}"))
        for name, begin, until in spans_of(events, role, ORDER):
            program, number = name.split()
            words = number if (until - begin) * scale > 14 else ""
            parts.append(box(LEFT + begin * scale, y, (until - begin) * scale,
                             ROW, CALLS.get(program.split(".")[0], BOTH),
                             words))
        for track, color, down in ((STREAM, "#dd8452", ROW + 1),
                                   (SENDS, "#c44e52", ROW + 8)):
            parts += [f'<rect x="{LEFT + begin * scale:.1f}" y="{y + down}" '
                      f'width="{max(.4, (until - begin) * scale):.1f}" '
                      f'height="6" fill="{color}"/>'
                      for _, begin, until in spans_of(events, role, track)]
    bottom = len(roles) * (ROW + 22) + 14
    parts += [label(LEFT, bottom, "0"),
              label(WIDTH, bottom, f"{end / 1e3:.0f} ms", "end")]
    return svg(WIDTH, bottom + 6, parts)


def draw_front(search, room):
    """Each layout that was tried as a point: memory of a rank by a step's
    seconds. Those that no other beats in both are joined."""
    tried = [each for each in search["layouts"] if "step_s" in each]
    front = search["pareto"]
    slowest = 3 * front[0]["step_s"]
    largest = 1.2 * max(room, max(each["memory"] for each in front))
    height, bottom, left = 300, 270, 46

    def place(each):
        return (left + (WIDTH - left - 10) * min(each["step_s"], slowest) /
                slowest, bottom - (bottom - 10) *
                min(each["memory"], largest) / largest)

    parts = [f'<path d="M{left} 10V{bottom}H{WIDTH - 10}" stroke="#555" '
             'fill="none"/>',
             label(WIDTH - 10, bottom + 15,
                   f"seconds of a step, up to {slowest:.3g}", "end"),
             label(left + 4, 12, "memory of a rank, GB, up to "
                   f"{largest / 1e9:.0f}")]
    line = bottom - (bottom - 10) * room / largest
    parts += [f'<path d="M{left} {line:.1f}H{WIDTH - 10}" stroke="#c44e52" '
              'stroke-dasharray="4"/>',
              label(WIDTH - 10, line - 4, f"the device has {room / 1e9:.0f} GB",
                    "end")]
    for each in tried:
        x, y = place(each)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" '
                     f'fill="{"#a8bcdb" if each["fits"] else "#dddddd"}"/>')
    joined = [place(each) for each in front]
    parts.append('<polyline fill="none" stroke="#4c72b0" points="' + " ".join(
        f"{x:.1f},{y:.1f}" for x, y in joined) + '"/>')
    for (x, y), each in zip(joined, front):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" '
                     'fill="#4c72b0"/>')
        parts.append(label(x + 7, y - 5, each["options"].replace("--", "")))
    return svg(WIDTH, height, parts)


def plan(zc, layers=LAYERS, sizes=None):
    model = zc.gpt(layers, sizes or PLANNED)
    common = ("--precision", "bf16", "--optimizer", "adamw", "--cluster")
    timeline = zc.folder / "timeline.json"
    options = (*common, "a100-dgx", "--mesh", "pp=4,tp=2", "--accumulate", 8)
    found, command = zc.plan(model, *options)
    zc.plan(model, *options, "--timeline", timeline)
    exposed = ", ".join(f"{axes} {100 * seconds / found['plan']['step_s']:.0f}%"
                        for axes, seconds in
                        found["plan"]["exposed_s"].items())
    yield Figure(
        "A step of a pipeline", draw_timeline(json.loads(timeline.read_text())),
        "Forwards are blue, backwards green, both in one grey, updates brown, "
        "numbers are "
        "micro-batches; below them collectives (orange) and sends (red). White "
        f"is the bubble, {100 * found['plan']['bubble_of_total']:.0f}% of the "
        f"time; of the step the slowest role waits: {exposed}.", command)
    cluster = json.loads((CLUSTERS / "v100-dgx2.json").read_text())
    found, command = zc.plan(
        model, "--precision", "fp16", "--optimizer", "adamw", "--cluster",
        "v100-dgx2", "--search", "--ranks", 8, "--accumulate", 8, "--schedule",
        "1f1b", "--offload", "none", "--time-limit", 40)
    yield Figure(
        "A search", draw_front(found["search"],
                               cluster["device"]["memory_bytes"]),
        f"{found['search']['exact']} layouts of 8 ranks, compiled and simulated "
        "exactly. Blue: those that no other beats in time and memory at once; "
        "their options stand beside them.", command)


def stack(figures):
    """Pictures of equal width below one another, each with its title."""
    parts, y = [], 0
    for figure in figures:
        parts.append(f'<text x="0" y="{y + 16}" font-size="14">'
                     f'{html.escape(figure.title)}</text>')
        parts.append(figure.picture.replace("<svg ", f'<svg y="{y + 26}" ', 1))
        y += 40 + int(re.search(r'height="(\d+)"', figure.picture)[1])
    return svg(WIDTH, y, ['<rect width="100%" height="100%" fill="#fff"/>',
                          *parts]) + "\n"
