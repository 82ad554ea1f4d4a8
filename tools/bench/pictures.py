"""Figures of SVG, as gallery.py makes them."""
import dataclasses
import html

ROW, LEFT = 22, 60  # pixels of a role, of a label


@dataclasses.dataclass
class Figure:
    """A picture, what it shows, and the command that it comes from."""
    title: str
    picture: str
    caption: str
    command: str = ""

    def print(self):
        command = (f"<br><code>{html.escape(self.command)}</code>"
                   if self.command else "")
        return (f"<figure><h2>{html.escape(self.title)}</h2>{self.picture}"
                f"<figcaption>{html.escape(self.caption)}{command}"
                "</figcaption></figure>\n")


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" font-size="11" '
            f'font-family="sans-serif" width="{width:.0f}" '
            f'height="{height:.0f}">' + "".join(parts) + "</svg>")


def box(x, y, width, height, color, text=""):
    words = (f'<text x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}" '
             f'text-anchor="middle" fill="#fff">{html.escape(text)}</text>')
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" fill="{color}" stroke="#fff"/>'
            + (words if text else ""))


def label(x, y, text, anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f'{html.escape(str(text))}</text>')
