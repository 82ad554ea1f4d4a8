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
        self.lints = registered_lints(root / "test/lint/CMakeLists.txt")
        self.classes = {}

    def missing(self, name):
        """Why there is no such test; nothing where there is one."""
        kind, _, rest = name.rpartition(":")
        if kind == "unit":
            suite, _, test = rest.partition(".")
            return None if (suite, test) in self.units else "no such TEST"
        if kind == "lint" and rest not in self.lints:
            return "test/lint/CMakeLists.txt runs no such check"
        if kind == "guide" and " guide_test.py" not in self.registered:
            return "guide_test.py is not in test/e2e/CMakeLists.txt"
        if kind == "guide" and ("/" in rest or not rest.endswith(".md")):
            return "is no page that guide_test.py reads"
        folder = {"lit": "test", "guide": "tools/guide", "lint": "tools/lint",
                  "file": "."}.get(kind)
        if folder:
            path = self.root / folder / rest
            if not path.is_file():
                return f"no file {folder}/{rest}"
            needed = {"lit": "RUN:", "guide": "\n```sh\n"}.get(kind, "")
            runs = needed in path.read_text()
            return None if runs else f"runs nothing ({needed.strip()})"
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
        tests = {each for each in self.classes[module][path[0]]
                 if each.startswith("test")}
        if len(path) > 1 and path[1] not in tests:
            return f"{module}.{path[0]} has no such test"
        return None if tests else f"{module}.{path[0]} has no test"

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
                methods |= {f"test_{each}" for each in
                            added_to(parsed, node.name)}
                for base in node.bases:
                    methods |= classes.get(getattr(base, "id", ""), set())
                classes[node.name] = methods
        return classes


def registered_lints(cmake):
    """The files check_NAME.py of the names that ctest has a test for."""
    found = re.search(r"foreach\(check ([^)]*)\)",
                      cmake.read_text() if cmake.exists() else "")
    return {f"check_{name}.py" for name in found[1].split()} if found else set()


def added_to(parsed, name):
    """Tests that a file adds to a class in a loop: setattr(NAME, "test_...")."""
    for node in ast.walk(parsed):
        if (isinstance(node, ast.Call) and len(node.args) > 1
                and getattr(node.func, "id", "") == "setattr"
                and getattr(node.args[0], "id", "") == name):
            yield ast.unparse(node.args[1])


def check_row(row, tests):
    if row.state not in requirements.STATES:
        yield f"{row.name}: '{row.state}' is no state"
    if row.state in ("done", "partly", "gpu") and not row.shows:
        yield f"{row.name}: {row.state}, but nothing shows it"
    if row.state == "done" and row.shows and all(name.startswith("file:")
                                   for name in row.shows):
        yield f"{row.name}: done, but no test shows it"
    if row.state in ("partly", "gpu") and not row.note:
        yield f"{row.name}: {row.state}, but it does not say what is missing"
    for name in row.shows:
        why = tests.missing(name)
        if why:
            yield f"{row.name}: {name}: {why}"


def check_notes(notes, tests):
    """Notes of the sources are all there; own ones are in order, and computed."""
    own = [note for note in notes if note.name[0] == requirements.OWN]
    expected = [f"N-{i:02}" for i in range(1, requirements.NOTES + 1)]
    expected += [f"{requirements.OWN}-{i:02}" for i in range(1, len(own) + 1)]
    if [note.name for note in notes] != expected:
        yield (f"notes are not N-01 to N-{requirements.NOTES} and then "
               f"{requirements.OWN}-01 and so on")
    for note in notes:
        for name in note.shows:
            why = tests.missing(name)
            if why:
                yield f"{note.name}: {name}: {why}"
    for note in own:
        if all(name.startswith("file:") for name in note.shows):
            yield f"{note.name}: no test computes it"


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
    for complaint in check_notes(notes, tests):
        yield f"{requirements.TABLE}: {complaint}"
    of_sources = [work for work in works if any(
        name[0] != requirements.BEYOND for name in work.rows)]
    if len(of_sources) != requirements.WORKS:
        yield (f"{requirements.TABLE}: {len(of_sources)} works of the sources, "
               f"expected {requirements.WORKS}")
    for entry in [*notes, *works]:
        if not entry.rows:
            yield f"{requirements.TABLE}: {entry[0]}: of no row"
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
