#!/usr/bin/env python3
"""Only passes/Target knows devices by name (the compiler asks for a kind of
device, passes ask the target), and nothing that a compilation does depends on
the environment: both would change artifacts unseen."""
import re

import tree

NAMED = re.compile(r'[=!]= *"(?:cpu|cuda)"|"(?:cpu|cuda)" *[=!]=|'
                   r"[=!]= *(?:sched::)?k(?:Cpu|Cuda)Device|"
                   r"k(?:Cpu|Cuda)Device *[=!]=")
ENVIRONMENT = re.compile(r"\b(?:secure_)?getenv\(|\benviron\b(?!ment)\s*[;,)\[]")
# Where devices are, and where `--target` and `#sched.target` are checked.
MAY_NAME = ("passes/Target/", "dialects/Sched/TargetAttr")
# Where measured rates of this machine are kept, for `zc plan` alone.
MAY_ASK = {"compiler/Driver/ClusterNames.cpp"}


def check(root):
    for path in tree.files(root, {".h", ".cpp"},
                           ("dialects", "passes", "compiler")):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if NAMED.search(line) and not name.startswith(MAY_NAME):
                yield (f"{name}:{number}: ask the target (passes/Target/"
                       "Target.h) or the kind of device (Devices.h), not for "
                       "a device's name")
            if ENVIRONMENT.search(line) and name not in MAY_ASK:
                yield (f"{name}:{number}: an option says what a compilation "
                       "does, and is recorded; not the environment")


if __name__ == "__main__":
    tree.run("target", check)
