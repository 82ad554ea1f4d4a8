#!/usr/bin/env python3
"""Kinds of library calls are known to their rooms (kernels/Calls), to devices
that implement them and to the patterns that choose them. A file elsewhere that
names several, by their types or as reports call them, is a list which every new
kind would have to enter. Operators by name, such as isa<ConvOp, MatmulOp>, are
no kinds: what passes do with ops is not this lint's business."""
import re

import tree

MAY_NAME = ("runtime/Device/", "passes/Target/", "kernels/Calls/",
            "kernels/Cpu/")
NOT_KINDS = {"Call", "Calls"}
# As a room says how reports call its kind.
REPORTED = re.compile(r'kName = "([a-z_]+)"')


def kinds(root):
    rooms = (root / "kernels/Calls").glob("*.cpp")
    return sorted({room.stem for room in rooms} - NOT_KINDS)


def reported(root):
    """The names of kinds in reports, as one pattern."""
    names = []
    for room in (root / "kernels/Calls").glob("*.h"):
        names += REPORTED.findall(room.read_text())
    return names and re.compile(rf'"(?:{"|".join(sorted(names))})"')


def lists(root):
    """Lists of kinds, as reports call them, in programs and tools."""
    name = reported(root)
    if not name:
        return
    several = re.compile(rf"{name.pattern},\s*{name.pattern}")
    for path in tree.files(root, {".h", ".cpp", ".py"},
                           ("passes", "compiler", "runtime", "tools")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if several.search(line):
                yield (f"{path.relative_to(root).as_posix()}:{number}: it lists "
                       "kinds of library calls; kernels/Calls/Calls.h has all")


def check(root):
    yield from lists(root)
    named = {kind: re.compile(rf"\b{kind}(?:Call|Spec|Launch)\b|\bk{kind}\b")
             for kind in kinds(root)}
    for path in tree.files(root, {".h", ".cpp"},
                           ("dialects", "kernels", "passes", "compiler", "runtime")):
        name = path.relative_to(root).as_posix()
        if name.startswith(MAY_NAME):
            continue
        text = path.read_text()
        found = [kind for kind, pattern in named.items()
                 if pattern.search(text)]
        if len(found) > 1:
            yield (f"{name}: it names the kinds of library calls "
                   f"{', '.join(found)}; ask their rooms "
                   "(kernels/Calls/Calls.h)")


if __name__ == "__main__":
    tree.run("calls", check)
