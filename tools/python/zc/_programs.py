"""The programs zc and zc-run: those that the package carries, or others."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from typing import List, NoReturn, Optional

from . import _home

_MISSING = ("there is no program '{0}': the wheel zc-runtime does not carry the "
            "compiler; install the wheel zc, or set ZC_PROGRAM to its path")


def find(name: str) -> Optional[str]:
    """The package's own, else one of PATH. ZC_PROGRAM is a zc to take instead,
    and others are beside it."""
    given = os.environ.get("ZC_PROGRAM")
    if given:
        return str(pathlib.Path(given).with_name(name))
    home = _home.home()
    if home and (home / "bin" / name).exists():
        return str(home / "bin" / name)
    found = shutil.which(name)
    # A script is this module's own, which asks here.
    return None if found and _is_script(found) else found


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def run(arguments: List[str]) -> "subprocess.CompletedProcess[str]":
    """`zc ARGUMENTS` to its end."""
    program = find("zc")
    if program is None:
        raise FileNotFoundError(_MISSING.format("zc"))
    return subprocess.run([program, *arguments], text=True, errors="replace",
                          stdin=subprocess.DEVNULL, capture_output=True)


def _become(name: str) -> NoReturn:
    program = find(name)
    if program is None:
        sys.exit(f"{name}: " + _MISSING.format(name))
    os.execv(program, [name, *sys.argv[1:]])


def zc() -> NoReturn:
    """The command `zc` of the wheel."""
    _become("zc")


def zc_run() -> NoReturn:
    """The command `zc-run` of the wheel."""
    _become("zc-run")
