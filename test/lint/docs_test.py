#!/usr/bin/env python3
"""The generated reference (target `docs`) has every pass and every op.

usage: docs_test.py FOLDER
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASS = re.compile(r'^def\s+\w+\s*:\s*Pass<\s*"([^"]+)"', re.MULTILINE)
# def Train_AbsOp : Train_UnaryOp<"abs", ...
OP = re.compile(r'^def (\w+?)_\w+Op\s*:\s*\w+<\s*"(\w+)"', re.MULTILINE)
DOCS = None


def find(pattern, folder):
    return {match for path in (ROOT / folder).rglob("*.td")
            for match in pattern.findall(path.read_text())}


def titles(folder):
    """The headings of a folder's pages that name one thing."""
    return {title for path in (DOCS / folder).rglob("*.md")
            for title in re.findall(r"^### `-?([\w.-]+)`", path.read_text(),
                                    re.MULTILINE)}


class Docs(unittest.TestCase):

    def test_passes(self):
        passes = find(PASS, "passes")
        self.assertGreater(len(passes), 50)
        self.assertEqual(passes - titles("passes"), set())

    def test_ops(self):
        ops = {f"{dialect.lower()}.{name}"
               for dialect, name in find(OP, "dialects")}
        self.assertGreater(len(ops), 100)
        self.assertEqual(ops - titles("dialects"), set())


if __name__ == "__main__":
    DOCS = pathlib.Path(sys.argv.pop())
    unittest.main()
