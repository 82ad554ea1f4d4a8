#!/usr/bin/env python3
"""How long a file or a function may be, and the README.

A function that is a table or a switch over ops may say so, with its reason:
// lint: long-ok <reason>
"""
import re

import tree

FILE_LINES = {".cpp": 600, ".cu": 600, ".h": 250, ".td": 700, ".py": 400,
              ".mlir": 500}
FUNCTION_LINES = 80
README_LINES = 150  # of the first page: a new user reads it in five minutes
EXCUSE = re.compile(r"// lint: long-ok \S")


def long_functions(lines):
    """Blocks that begin at column 0 with a parameter list, as LLVM's style
    writes functions; yields (line number, length)."""
    start = None
    for number, line in enumerate(lines, 1):
        opens = line.endswith("{") and "(" in "".join(lines[max(0, number - 6):
                                                            number])
        if start is None and opens and line[0] not in " }#/" and \
                not re.match(r"(namespace|struct|class|enum|extern)\b", line):
            start = number
        elif start is None and line.endswith(") {") and line[0] == " ":
            # The last line of a signature that was broken over several; a
            # label such as `private:` is no part of one.
            before = lines[number - 2] if number > 1 else ""
            if before[:1] not in ("", " ", "}", "#") and before[-1] != ":":
                start = number - 1
        elif line.startswith("}"):
            if start and number - start > FUNCTION_LINES:
                yield start, number - start
            start = None


def check(root):
    readme = root / "README.md"
    if readme.exists() and len(readme.read_text().splitlines()) > README_LINES:
        yield (f"README.md: more than {README_LINES} lines; move what is not "
               "for new users to a page of tools/guide or of its folder")
    for path in tree.files(root, set(FILE_LINES)):
        lines = path.read_text(errors="replace").splitlines()
        name = path.relative_to(root)
        limit = FILE_LINES[path.suffix]
        if len(lines) > limit:
            yield f"{name}: {len(lines)} lines, at most {limit}; split it"
        if path.suffix not in (".cpp", ".cu", ".h"):
            continue
        for start, length in long_functions(lines):
            near = "\n".join(lines[max(0, start - 4):start + length])
            if not EXCUSE.search(near):
                yield (f"{name}:{start}: a function of {length} lines, at "
                       f"most {FUNCTION_LINES}; split it")


if __name__ == "__main__":
    tree.run("sizes", check)
