#!/usr/bin/env python3
"""One stem per pass, spelled alike everywhere.

`def FoldThingsPass : Pass<"zc-fold-things"` of passes/Group/Passes.td is
written in passes/Group/FoldThings.cpp and tested by
test/passes/Group/fold-things.mlir (or a folder of that name); a pass that can
fail is also tested by fold-things-invalid.mlir. An ONNX operator with a
lowering, `registry.add("Relu"`, is an `onnx.node "Relu"` of test/passes/Import.
"""
import re

import tree

PASS = re.compile(r'^def\s+(\w+)\s*:\s*Pass<\s*"([^"]+)"', re.MULTILINE)
LOWERING = re.compile(r'\bregistry\.add\(\s*"(\w+)"')
NODE = re.compile(r'\bonnx\.node "(\w+)"')
FAILS = re.compile(r"\b(emitError|emitOpError|signalPassFailure)\s*\(")


def camel(flag):
    return "".join(word.capitalize() for word in flag.split("-"))


def source_of(folder, stem):
    """The pass's file, compared without case: LSTM is one word in a flag."""
    wanted = camel(stem).lower()
    for path in sorted(folder.rglob("*.cpp")):
        if path.stem.lower() == wanted:
            return path
    return None


def check_pass(root, group, definition, flag):
    where = f"{group.relative_to(root)}/Passes.td: {definition}"
    if not flag.startswith("zc-"):
        yield f'{where}: flag "{flag}" does not begin with zc-'
        return
    stem = flag[len("zc-"):]
    if definition.lower() != f"{camel(stem)}Pass".lower():
        yield f"{where}: flag --{flag} asks for the name {camel(stem)}Pass"
    source = source_of(group, stem)
    if source is None:
        yield f"{where}: no {camel(stem)}.cpp in {group.relative_to(root)}"
    tests = root / "test" / "passes" / group.name
    if not (tests / f"{stem}.mlir").exists() and not (tests / stem).is_dir():
        yield f"{where}: no test {tests.relative_to(root)}/{stem}.mlir"
    if source and FAILS.search(source.read_text()):
        if not (tests / f"{stem}-invalid.mlir").exists():
            yield (f"{where}: it can fail, but there is no "
                   f"{tests.relative_to(root)}/{stem}-invalid.mlir")


def check_lowerings(root):
    tests = (root / "test" / "passes" / "Import").rglob("*.mlir")
    tested = {op for path in tests for op in NODE.findall(path.read_text())}
    for path in sorted((root / "passes" / "Import" / "Lowering").glob("*.cpp")):
        for op in sorted(set(LOWERING.findall(path.read_text())) - tested):
            yield (f'{path.relative_to(root)}: no onnx.node "{op}" in '
                   "test/passes/Import")


def check(root):
    for table in sorted((root / "passes").glob("*/Passes.td")):
        for definition, flag in PASS.findall(table.read_text()):
            yield from check_pass(root, table.parent, definition, flag)
    yield from check_lowerings(root)


if __name__ == "__main__":
    tree.run("stems", check)
