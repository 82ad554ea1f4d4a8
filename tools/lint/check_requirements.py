#!/usr/bin/env python3
"""Whether test/requirements.txt has every row, each names tests that exist and
that ctest or lit run, and its page is up to date."""
import ast
import re

import requirements
import tree

TEST = re.compile(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)


class Tests:
    """The tests of a tree, by the names that the table has for them."""

    def __init__(self, root):
        self.root = root
        self.units = {
            (suite, name) for path in (root / "test/unit").rglob("*.cpp")
            for suite, name in TEST.findall(path.read_text())}
        cmake = root / "test/e2e/CMakeLists.txt"
        self.registered = cmake.read_text() if cmake.exists() else ""
        self.classes = {}

    def missing(self, name):
        """Why there is no such test; nothing where there is one."""
        kind, _, rest = name.rpartition(":")
        if kind == "unit":
            suite, _, test = rest.partition(".")
            return None if (suite, test) in self.units else "no such TEST"
        folder = {"lit": "test", "guide": "tools/guide", "file": "."}.get(kind)
        if folder:
            path = self.root / folder / rest
            return None if path.is_file() else f"no file {folder}/{rest}"
        if kind:
            return f"'{kind}' is no kind of test"
        return self.missing_end_to_end(rest)

    def missing_end_to_end(self, name):
        module, *path = name.split(".")
        if f" {module}.py" not in self.registered:
            return f"{module}.py is not in test/e2e/CMakeLists.txt"
        if module not in self.classes:
            self.classes[module] = self.read_classes(module)
        if not path or path[0] not in self.classes[module]:
            return f"{module}.py has no such class"
        if len(path) > 1 and path[1] not in self.classes[module][path[0]]:
            return f"{module}.{path[0]} has no such test"
        return None

    def read_classes(self, module):
        """Test methods by class, those of classes of this file that they are
        derived from included."""
        parsed = ast.parse((self.root / "test/e2e" /
                            f"{module}.py").read_text())
        classes = {}
        for node in parsed.body:
            if isinstance(node, ast.ClassDef):
                methods = {each.name for each in node.body
                           if isinstance(each, ast.FunctionDef)}
                for base in node.bases:
                    methods |= classes.get(getattr(base, "id", ""), set())
                classes[node.name] = methods
        return classes


def check_row(row, tests):
    if row.state not in requirements.STATES:
        yield f"{row.name}: '{row.state}' is no state"
    if row.state in ("done", "partly", "gpu") and not row.shows:
        yield f"{row.name}: {row.state}, but nothing shows it"
    if row.state in ("partly", "gpu") and not row.note:
        yield f"{row.name}: {row.state}, but it does not say what is missing"
    for name in row.shows:
        why = tests.missing(name)
        if why:
            yield f"{row.name}: {name}: {why}"


def check(root):
    if not (root / requirements.TABLE).exists():
        return
    rows, notes, works = requirements.read(root)
    found, tests = [row.name for row in rows], Tests(root)
    for name in requirements.names():
        if found.count(name) != 1:
            yield f"{requirements.TABLE}: {name} is there {found.count(name)} times"
    for name in set(found) - set(requirements.names()):
        yield f"{requirements.TABLE}: there is no row {name}"
    for row in rows:
        for complaint in check_row(row, tests):
            yield f"{requirements.TABLE}: {complaint}"
    for entry in [*notes, *works]:
        for name in entry.rows:
            if name not in found:
                yield f"{requirements.TABLE}: {entry[0]}: no row {name}"
    page = root / requirements.PAGE
    if not page.exists() or page.read_text() != requirements.page(
            rows, notes, works):
        yield (f"{requirements.PAGE}: not what tools/lint/requirements.py "
               "makes")


if __name__ == "__main__":
    tree.run("requirements", check)
