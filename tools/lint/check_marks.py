#!/usr/bin/env python3
"""Discardable attributes are for names and locations: a pass that rewrites an
op loses them unless it carries them along by hand. A fact that one pass leaves
for another is a property of the op, with a type and a verifier. marks.txt lists
the attributes that are still discardable; a new one needs a reason, and MOST."""
import re

import tree

LIST = "tools/lint/marks.txt"
MOST = 78  # of the list; lower it when the list gets shorter
# constexpr llvm::StringLiteral kStageAttr = "train.stage", also several at once.
DEFINITION = re.compile(r"constexpr\s+(?:\w+::)*StringLiteral\b([^;]*);")
NAME = re.compile(r'"((?:dist|sched|train)\.[a-z_0-9]+)"')


def names(root):
    """Each name with the file that defines it."""
    found = {}
    for path in tree.files(root, {".h", ".cpp"},
                           ("dialects", "passes", "compiler")):
        for definition in DEFINITION.findall(path.read_text()):
            for name in NAME.findall(definition):
                found.setdefault(name, path.relative_to(root).as_posix())
    return found


def check(root):
    found = names(root)
    known = (root / LIST).read_text().split()
    if known != sorted(set(known)):
        yield f"{LIST}: expected each name once, in alphabetical order"
    if len(known) > MOST:
        yield f"{LIST}: it has {len(known)} names; expected at most {MOST}"
    for name in sorted(found.keys() - set(known)):
        yield (f"{found[name]}: '{name}' is a new discardable attribute; make "
               "it a property of the op")
    for name in sorted(set(known) - found.keys()):
        yield f"{LIST}: '{name}' is none any more; take it out"


if __name__ == "__main__":
    tree.run("marks", check)
