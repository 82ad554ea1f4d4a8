#!/usr/bin/env python3
"""Kinds of library calls are known to their rooms (kernels/Calls), to devices
that implement them and to the patterns that choose them. A file elsewhere that
names several is a list which every new kind would have to enter."""
import re

import tree

MAY_NAME = ("runtime/Device/", "passes/Target/")
NOT_KINDS = {"Call", "Calls"}


def kinds(root):
    rooms = (root / "kernels/Calls").glob("*.cpp")
    return sorted({room.stem for room in rooms} - NOT_KINDS)


def check(root):
    named = {kind: re.compile(rf"\b{kind}(?:Call|Spec|Launch)\b|\bk{kind}\b")
             for kind in kinds(root)}
    for path in tree.files(root, {".h", ".cpp"},
                           ("dialects", "passes", "compiler", "runtime")):
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
