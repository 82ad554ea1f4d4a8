#!/usr/bin/env python3
"""Whether clang-format would leave every C++ file as it is.

Debian 12's clang-format 14 decides; without it this check says so and passes.
"""
import shutil
import subprocess
import sys

import tree


def check(root):
    tool = shutil.which("clang-format-14")
    paths = [str(p) for p in tree.files(root, {".h", ".cpp"})]
    if not paths:
        return
    result = subprocess.run([tool, "--dry-run", *paths], text=True,
                            capture_output=True, cwd=root)
    seen = {}
    for line in result.stderr.splitlines():
        if "[-Wclang-format-violations]" in line:
            name, number = line.split(":")[:2]
            seen.setdefault(name, number)
    for name, number in seen.items():
        yield f"{name}:{number}: clang-format-14 would change it"


if __name__ == "__main__":
    if not shutil.which("clang-format-14"):
        print("format: clang-format-14 is missing, nothing was checked")
        sys.exit(77)
    tree.run("format", check)
