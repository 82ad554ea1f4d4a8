"""Draw a curve: in the terminal out of braille dots, and as an SVG."""

WIDTH, HEIGHT = 72, 14  # characters; each holds 2 x 4 dots
# The bit of each dot of a braille character, by row and column.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def smooth(values, window=10):
    """The mean over the last `window` values at every place."""
    return [sum(values[max(0, i + 1 - window):i + 1]) / min(i + 1, window)
            for i in range(len(values))]


def terminal(values, title):
    """The curve as lines of text, with the axis in front of them."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    cells = [[0] * WIDTH for _ in range(HEIGHT)]
    columns = 2 * WIDTH
    for column in range(columns):
        value = values[column * (len(values) - 1) // max(1, columns - 1)]
        row = round((high - value) / span * (4 * HEIGHT - 1))
        cells[row // 4][column // 2] |= DOTS[row % 4][column % 2]
    lines = [f"{'':9}{title}"]
    for i, row in enumerate(cells):
        value = high - span * i / (HEIGHT - 1)
        label = f"{value:7.3f}" if i in (0, HEIGHT // 2, HEIGHT - 1) else ""
        lines.append(f"{label:>7} │" + "".join(chr(0x2800 + c) for c in row))
    lines.append(f"{'':8}└" + "─" * WIDTH)
    lines.append(f"{'':9}1{len(values):>{WIDTH - 1}} steps")
    return "\n".join(lines)


def polyline(values, low, high, style):
    """The curve over the plot area: x from 60 to 620, y from 40 to 320."""
    last = max(1, len(values) - 1)
    points = " ".join(
        f"{60 + 560 * i / last:.1f},"
        f"{40 + 280 * (high - value) / ((high - low) or 1):.1f}"
        for i, value in enumerate(values))
    return f'<polyline fill="none" {style} points="{points}"/>'


def svg(values, title):
    """A self-contained picture: every step, and the smoothed curve over it."""
    low, high = min(values), max(values)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="640" height="360" fill="white"/>',
        f'<text x="60" y="24" font-size="15">{title}</text>']
    for i in range(5):
        y, value = 40 + 70 * i, high - (high - low) * i / 4
        parts.append(f'<line x1="60" x2="620" y1="{y}" y2="{y}" '
                     'stroke="#ddd"/>')
        parts.append(f'<text x="52" y="{y + 4}" text-anchor="end">'
                     f'{value:.2f}</text>')
    parts.append(polyline(values, low, high,
                          'stroke="#9ecae1" stroke-width="1"'))
    parts.append(polyline(smooth(values), low, high,
                          'stroke="#08519c" stroke-width="2"'))
    parts.append('<text x="60" y="342">1</text>')
    parts.append('<text x="620" y="342" text-anchor="end">'
                 f'step {len(values)}</text></svg>')
    return "\n".join(parts) + "\n"
