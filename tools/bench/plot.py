"""Curves as SVG, without further libraries."""
import math

PANEL, HEIGHT, MARGIN = 220, 180, 46
LABEL = 30  # what a number's text is wide


def text(x, y, words, anchor="middle"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def panel(left, breadth, what, unit, points, values):
    """One curve: points on a logarithmic axis, values from zero. Points too
    close to one another have no text."""
    width, height = breadth - MARGIN - 14, HEIGHT - 2 * MARGIN
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
    free = 0
    for (x, y), point, value in zip(places, points, values):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
        if x >= free:
            parts += [text(x, y - 7, number(value)), text(x, base + 15, point)]
            free = x + LABEL
    return parts


def plot(series, breadth=PANEL):
    """One panel per (what is varied, unit, points, values)."""
    parts = []
    for index, curve in enumerate(series):
        parts += panel(index * breadth, breadth, *curve)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" font-size="11" '
            f'font-family="sans-serif" width="{breadth * len(series)}" '
            f'height="{HEIGHT}"><style>.axis{{stroke:#888;fill:none}}'
            'polyline{stroke:#06c;fill:none}circle{fill:#06c}</style>'
            '<rect width="100%" height="100%" fill="#fff"/>'
            + "".join(parts) + "</svg>\n")
