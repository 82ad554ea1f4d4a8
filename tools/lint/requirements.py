#!/usr/bin/env python3
"""Reads test/requirements.txt and writes the page that shows it:

  tools/lint/requirements.py > tools/guide/requirements.md
"""
import collections
import pathlib

TABLE = "test/requirements.txt"
PAGE = "tools/guide/requirements.md"

# How many rows each section has; those of the sources, A to R, together 252.
SECTIONS = {
    "A": ("Kinds of parallelism", 15),
    "B": ("Data parallelism and collectives", 33),
    "C": ("ZeRO and fully sharded data parallelism", 42),
    "D": ("Pipelines", 32),
    "E": ("Tensor parallelism", 15),
    "F": ("Sequence parallelism", 5),
    "G": ("Mixture of experts", 25),
    "H": ("Saving memory", 13),
    "I": ("Mixed precision", 11),
    "J": ("Optimizers", 10),
    "K": ("Offloading", 5),
    "L": ("Models and data", 19),
    "M": ("Results", 15),
    "R": ("Libraries, machines and works", 12),
    "X": ("Beyond these sources: 8-bit floats", 6),
}
BEYOND = "X"
NOTES, WORKS = 45, 24  # of the sources
OWN = "Z"  # corrections that were found here
STATES = {"done": "done", "partly": "partly", "no": "not built",
          "gpu": "needs a GPU: not measured", "citation": "citation"}

# The topics of a course on the matter, and where the guide has them.
TOPICS = (
    ("Background: models, memory, hours", "plan.md", "AMR"),
    ("Ways to divide a training", "parallel.md", "A"),
    ("Data parallelism", "parallel.md", "B"),
    ("Communication primitives", "ranks.md", "B"),
    ("ZeRO-1, 2, 3 and FSDP", "parallel.md", "C"),
    ("Pipeline parallelism", "pipelines.md", "D"),
    ("Tensor parallelism", "parallel.md", "E"),
    ("Sequence parallelism", "sequences.md", "F"),
)

Row = collections.namedtuple("Row", "name feature state shows note")
# An own correction has tests, too, that compute it.
Note = collections.namedtuple("Note", "name rows says holds shows")
Work = collections.namedtuple("Work", "title rows")


def names():
    """Every row there must be, in order: A-01, ..., R-12."""
    return [f"{section}-{number:02}" for section, (_, count) in
            SECTIONS.items() for number in range(1, count + 1)]


def split(text, by=","):
    return [each.strip() for each in text.split(by) if each.strip()]


def read(root):
    """The table's (rows, notes, works)."""
    rows, notes, works = [], [], []
    for line in (root / TABLE).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if cells[0].startswith(("N-", f"{OWN}-")):
            cells += [""] * (5 - len(cells))
            notes.append(Note(cells[0], split(cells[1]), *cells[2:4],
                              split(cells[4], ";")))
        elif len(cells) == 2:
            works.append(Work(cells[0], split(cells[1])))
        else:
            cells += [""] * (5 - len(cells))
            rows.append(Row(*cells[:3], split(cells[3], ";"), cells[4]))
    return rows, notes, works


def page(rows, notes, works):
    """The page of the guide."""
    of_sources = [row for row in rows if row.name[0] != BEYOND]
    counts = collections.Counter(row.state for row in of_sources)
    text = INTRODUCTION + "| state | rows |\n| --- | --- |\n"
    for state, name in STATES.items():
        text += f"| {name} | {counts[state]} |\n"
    text += f"| together | {len(of_sources)} |\n"
    text += "\n## A course's topics\n\n| topic | page | rows |\n"
    text += "| --- | --- | --- |\n"
    for topic, where, sections in TOPICS:
        text += f"| {topic} | [{where}]({where}) | {', '.join(sections)} |\n"
    for section, (title, _) in SECTIONS.items():
        text += f"\n## {section}. {title}\n\n"
        text += "| row | feature | state | what shows it |\n"
        text += "| --- | --- | --- | --- |\n"
        for row in rows:
            if row.name[0] == section:
                text += table_line(row)
    text += "\n## Where a source is wrong\n\n"
    text += "| note | rows | the source | here |\n| --- | --- | --- | --- |\n"
    for note in notes:
        holds = note.holds + "".join(f", `{each}`" for each in note.shows)
        text += (f"| {note.name} | {', '.join(note.rows)} | {note.says} | "
                 f"{holds} |\n")
    text += "\n## Works\n\n| work | rows |\n| --- | --- |\n"
    for work in works:
        text += f"| {work.title} | {', '.join(work.rows)} |\n"
    return text


def table_line(row):
    shows = ", ".join(f"`{each}`" for each in row.shows)
    note = f"{'; ' if shows else ''}{row.note}" if row.note else ""
    return (f"| {row.name} | {row.feature} | {STATES.get(row.state)} | "
            f"{shows}{note} |\n")


INTRODUCTION = """\
# What the literature asks of a training compiler

Lectures, courses and papers on distributed training name systems, algorithms, formulas, figures and examples. Each is a row
here, with the tests that show that zc does it: `NAME_test` is in `test/e2e`, `unit` and `lit` in `test/unit` and `test`, `guide` a page
whose commands a test runs. This page is made by `tools/lint/requirements.py` from `test/requirements.txt`; a lint fails where a row is
missing or names a test that does not exist. A row that is not built says so. Where a source is wrong, or means something
else, a note says it: N-01 to N-45 are the sources' readers', those with Z were found here, each with a test that computes it.

"""

if __name__ == "__main__":
    print(page(*read(pathlib.Path(__file__).resolve().parents[2])), end="")
