#!/usr/bin/env python3
"""Whether the tests that test/README.md names exist and are run, and its table
of seeded mistakes is whole: numbered in order, each row names what finds it, and
every kind of test/e2e/seeded_mistakes.py is one of its mistakes by name and is
asked for in mutations_test.py.
"""
import ast
import re

import check_requirements
import tree

PAGE = "test/README.md"
SEEDED, MUTATIONS = "test/e2e/seeded_mistakes.py", "test/e2e/mutations_test.py"
NAME = re.compile(r"`([^`\s]+)`")
ROW = re.compile(r"^\| (\d+) \| (.*?) \| (.*?) \|$", re.MULTILINE)


def missing(root, tests, name):
    """Why what a page has in `code` is no test; nothing where it is one, or has
    not the form of a test's name."""
    if name.startswith("tools/"):
        return None if (root / name).exists() else "there is no such program"
    if name.endswith(".mlir"):
        return (None if any((root / "test").rglob(name))
                else "there is no such file")
    module, *test = name.removesuffix(".py").split(".")
    if name.endswith("_test.py") or module.endswith("_test"):
        if not (root / "test/e2e" / f"{module}.py").exists():
            return "there is no such test"
        if test:
            return tests.missing_end_to_end(name)
        return (None if f" {module}.py" in tests.registered else
                f"{module}.py is not in test/e2e/CMakeLists.txt")
    if re.fullmatch(r"[A-Z]\w+\.[A-Z]\w+", name):
        suite, case = name.split(".")
        return None if (suite, case) in tests.units else "no such TEST"
    if re.fullmatch(r"[A-Z]\w+Test", name):
        return (None if any((root / "test/unit").rglob(f"{name}.cpp"))
                else "there is no such unit test")
    return None


def kinds_of(root):
    """The keys of seeded_mistakes.KINDS."""
    parsed = ast.parse((root / SEEDED).read_text())
    for node in parsed.body:
        if (isinstance(node, ast.Assign) and
                getattr(node.targets[0], "id", "") == "KINDS"):
            return [ast.literal_eval(key) for key in node.value.keys]
    return []


def check_table(root, text):
    rows = ROW.findall(text)
    numbers = [int(number) for number, _, _ in rows]
    if numbers != list(range(1, len(rows) + 1)):
        yield f"{PAGE}: mistakes are not numbered from 1"
    for number, mistake, found_by in rows:
        if not found_by.startswith("the same") and not NAME.search(found_by):
            yield f"{PAGE}: mistake {number}: no test finds it"
    known = {mistake for _, mistake, _ in rows}
    asked = {node.value for node in ast.walk(
        ast.parse((root / MUTATIONS).read_text()))
        if isinstance(node, ast.Constant)}
    for kind in kinds_of(root):
        if kind not in known:
            yield f"{PAGE}: has no mistake '{kind}'"
        if kind not in asked:
            yield f"{MUTATIONS}: asks no model for '{kind}'"


def check(root):
    if not (root / PAGE).exists():
        return
    text, tests = (root / PAGE).read_text(), check_requirements.Tests(root)
    for name in sorted(set(NAME.findall(text))):
        why = missing(root, tests, name)
        if why:
            yield f"{PAGE}: {name}: {why}"
    yield from check_table(root, text)


if __name__ == "__main__":
    tree.run("mistakes", check)
