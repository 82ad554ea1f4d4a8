#!/usr/bin/env python3
"""Measure a build of everything from scratch.

  build.py [REVISION ...] [--define NAME=VALUE ...]

Clones each revision (default: HEAD) to a temporary folder and builds it by the
preset `release`, without ccache. A row has the processors' time, which counts
for a machine with any number of them, and the time by the clock. Measure the
revisions that you compare in one run, on a machine that does nothing else.
"""
import argparse
import os
import resource
import subprocess
import tempfile
import time

from measure import ROOT


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*command, folder):
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    subprocess.run(command, cwd=folder, env=environment, check=True,
                   stdout=subprocess.DEVNULL)


def measure(revision, defines):
    """Seconds of processors and of the clock."""
    with tempfile.TemporaryDirectory(prefix="zc-build-") as folder:
        run("git", "clone", "-q", str(ROOT), folder, folder="/")
        run("git", "checkout", "-q", revision, folder=folder)
        run("cmake", "--preset", "release", *defines, folder=folder)
        begin, used = time.monotonic(), processor_seconds()
        run("ninja", "-C", "build", folder=folder)
        return processor_seconds() - used, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("revisions", nargs="*", default=["HEAD"],
                        metavar="REVISION")
    parser.add_argument("--define", action="append", default=[],
                        metavar="NAME=VALUE", help="for cmake: ZC_UNITY=OFF")
    arguments = parser.parse_args()
    defines = [f"-D{each}" for each in arguments.define]
    print("| revision | processors, s | clock, s |\n| --- | --- | --- |")
    for revision in arguments.revisions:
        name = subprocess.check_output(
            ["git", "rev-parse", "--short", revision], cwd=ROOT, text=True)
        used, passed = measure(name.strip(), defines)
        print(f"| {name.strip()} | {used:.0f} | {passed:.0f} |", flush=True)


if __name__ == "__main__":
    main()
