#!/usr/bin/env python3
"""What must not be in any file: paths of one machine, marks of unfinished
work, tabs and trailing spaces in sources."""
import re

import tree

PATHS = re.compile(rb"(?<![A-Za-z0-9_.])/(?:work|farm|root|home|opt/zc\w*)/")
# Spelled in pieces, so that this file does not complain about itself.
UNFINISHED = re.compile("|".join((
    r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bX" r"XX\b", r"\bplace" r"holder\b",
    r"\bfor n" r"ow\b", r"\bnot imple" r"mented\b", r"\bunimple" r"mented\b",
)), re.IGNORECASE)
SOURCES = {".h", ".cpp", ".cu", ".td", ".py", ".sh", ".cmake", ".mlir",
           ".proto", ".test", ".onnxtext"}


def check_source(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        mark = UNFINISHED.search(line)
        if mark:
            yield f'{name}:{number}: "{mark.group()}" marks unfinished work'
        if "\t" in line:
            yield f"{name}:{number}: a tab"
        if line != line.rstrip():
            yield f"{name}:{number}: a space at the end of the line"
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at the end"


def check(root):
    for path in tree.files(root, None):
        name, data = path.relative_to(root), path.read_bytes()
        found = PATHS.search(data)
        if found:
            yield f'{name}: "{found.group().decode()}" is one machine\'s path'
        if path.suffix in SOURCES:
            yield from check_source(name, data.decode(errors="replace"))


if __name__ == "__main__":
    tree.run("text", check)
