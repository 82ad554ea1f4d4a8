"""Helpers that the lints share: the tree to read, and how they speak."""
import argparse
import pathlib
import sys

ROOMS = ("kernels", "runtime", "dialects", "passes", "compiler", "tools",
         "test")


def files(root, suffixes, rooms=ROOMS):
    """The files of the rooms that end in one of `suffixes`, in order."""
    for room in rooms:
        for path in sorted((root / room).rglob("*")):
            if "__pycache__" in path.parts or not path.is_file():
                continue
            if not suffixes or path.suffix in suffixes:
                yield path


def main(description, check):
    """Run `check(root)`, print each complaint, return 1 when there is one."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    root = parser.parse_args().root
    complaints = list(check(root))
    for complaint in complaints:
        print(complaint)
    count = len(complaints)
    print(f"{description}: {count or 'no'} complaint{'s' * (count != 1)}")
    return min(count, 1)


def run(description, check):
    sys.exit(main(description, check))
