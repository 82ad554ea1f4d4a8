#!/usr/bin/env python3
"""passes/Contents lists every pass, nobody else does, and the READMEs show the
phases in its order."""
import re

import tree

CONTENTS = "passes/Contents/Contents.cpp"
# Passes that no compilation runs: --verify makes programs small by them.
APART = {"DropEqualBlocksPass", "ShrinkDimsPass"}
# Files that run a pass to ask what would come of it, or on another program.
ASKERS = {"passes/Pipeline/Stash.cpp", "compiler/Driver/DivisionProof.cpp",
          "passes/Contents/RegisterPasses.cpp"}
PASS = re.compile(r"^def (\w+) *: *Pass<", re.M)
ADDS = re.compile(r"\baddPass\(|\baddNestedPass<")
PHASE = re.compile(r"^  add(\w+)\(manager, options\);", re.M)
PICTURED = re.compile(r"\w+(?: ▶ \w+)+")


def phases(text):
    """The names of the phases that addAllPhases runs, those of addSched apart."""
    def called(function):
        body = re.search(rf"^void {function}\(.*?^}}", text, re.M | re.S)
        return re.findall(r"^ +add(\w+)\(manager, options\);", body.group(),
                          re.M) if body else []
    names = []
    for name in called("addAllPhases"):
        names += called("addSched") if name == "Sched" else [name]
    return [name.lower() for name in names]


def check(root):
    contents = root / CONTENTS
    if not contents.exists():
        return
    text = contents.read_text()
    for path in tree.files(root, {".td"}, ("passes",)):
        for name in PASS.findall(path.read_text()):
            if name not in APART and f"create{name}(" not in text:
                yield f"{path.relative_to(root)}: nobody runs {name}"
    for path in tree.files(root, {".h", ".cpp"}, ("passes", "compiler")):
        name = path.relative_to(root).as_posix()
        if name == CONTENTS or name in ASKERS:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if ADDS.search(line):
                yield f"{name}:{number}: passes are added in {CONTENTS}"
    order = phases(text)
    picture = (root / "README.md").read_text()
    shown = " ".join(re.findall(r"│ *((?:▶ )?\w+(?: ▶ \w+)*)", picture))
    if " ▶ ".join(order) not in shown:
        yield f"README.md: the picture does not show {' ▶ '.join(order)}"
    table = re.findall(r"^\| `(\w+)` \|", (root / "passes/README.md").read_text(),
                       re.M)
    if table[:len(order)] != order:
        yield f"passes/README.md: the first table has not {', '.join(order)}"


if __name__ == "__main__":
    tree.run("contents", check)
