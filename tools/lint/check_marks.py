#!/usr/bin/env python3
"""Discardable attributes are for what no property can hold (dialects/README.md):
a pass that rewrites an op loses them unless it carries them along by hand. A
fact that one pass leaves for another on an op of ours is a property of it, with
a type and a verifier. Each dialect lists the marks that are left with their
types and carriers; marks.txt lists them for this check, which fails for a new
one, for one that no dialect lists, for names outside of our dialects, and where
code asks for a mark by a literal and not by its constant."""
import re

import tree

LIST = "tools/lint/marks.txt"
MOST = 78  # of the list; lower it when the list gets shorter
# constexpr llvm::StringLiteral kStageAttr = "train.stage", also several at once.
DEFINITION = re.compile(r"constexpr\s+(?:\w+::)*StringLiteral\b([^;]*);")
NAME = re.compile(r'\bk\w+Attr\s*=\s*"([a-z]+\.[a-z_0-9]+)"')
# op->getAttrOfType<TypeAttr>("dist.whole")
LITERAL = re.compile(r'\b(?:get|set|has|remove)\w*Attr\w*(?:<[^()]*>)?\('
                     r'[^()"]*"((?:train|dist|sched)\.[a-z_0-9.]+)"')
ENTRY = re.compile(r'\{"([a-z]+\.[a-z_0-9]+)",')


def names(root):
    """Each name with the file that defines it."""
    found = {}
    for path in tree.files(root, {".h", ".cpp"},
                           ("dialects", "passes", "compiler")):
        for definition in DEFINITION.findall(path.read_text()):
            for name in NAME.findall(definition):
                found.setdefault(name, path.relative_to(root).as_posix())
    return found


def listed(root):
    """Each name that a dialect verifies, with the file that lists it."""
    return {name: path.relative_to(root).as_posix()
            for path in tree.files(root, {".cpp"}, ("dialects",))
            if path.name.endswith("Marks.cpp")
            for name in ENTRY.findall(path.read_text())}


def literals(root):
    """Each file and line with a mark's name in a call, with that name."""
    for path in tree.files(root, {".h", ".cpp"},
                           ("dialects", "passes", "compiler")):
        text = path.read_text()
        for call in LITERAL.finditer(text):
            line = text.count("\n", 0, call.end()) + 1
            yield f"{path.relative_to(root).as_posix()}:{line}", call.group(1)


def check(root):
    for place, name in literals(root):
        yield f"{place}: names '{name}' by a literal; take its constant"
    found, verified = names(root), listed(root)
    known = (root / LIST).read_text().split()
    if known != sorted(set(known)):
        yield f"{LIST}: expected each name once, in alphabetical order"
    if len(known) > MOST:
        yield f"{LIST}: it has {len(known)} names; expected at most {MOST}"
    for name in sorted(found.keys() - verified.keys()):
        yield (f"{found[name]}: no dialect lists '{name}', so that none "
               "verifies it")
    for name in sorted(verified.keys() - set(known)):
        yield (f"{verified[name]}: '{name}' is a new discardable attribute; "
               "make it a property of the op")
    for name in sorted(set(known) - verified.keys()):
        yield f"{LIST}: '{name}' is none any more; take it out"
    for name in sorted(verified.keys() - found.keys()):
        yield f"{verified[name]}: nothing names '{name}'; take it out"


if __name__ == "__main__":
    tree.run("marks", check)
