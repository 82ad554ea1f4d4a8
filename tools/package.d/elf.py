"""The libraries that programs and libraries need, as binutils and patchelf tell
and set it."""
import pathlib
import re
import subprocess


def output(*command):
    """The stdout of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"package: error: {' '.join(map(str, command))}\n"
                         f"{done.stdout}{done.stderr}")
    return done.stdout


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


class Elf:
    """The dynamic section of a file."""

    def __init__(self, path):
        self.path = path
        text = output("objdump", "-p", path)
        self.needed = re.findall(r"^  NEEDED +(\S+)$", text, re.MULTILINE)
        self.soname = next(iter(re.findall(r"^  SONAME +(\S+)$", text,
                                           re.MULTILINE)), None)
        self.rpath = next(iter(re.findall(r"^  R(?:UN)?PATH +(\S+)$", text,
                                          re.MULTILINE)), "")
        # (library, version), as ("libc.so.6", "GLIBC_2.34")
        self.versions = []
        for library, listed in re.findall(
                r"^  required from (\S+):\n((?:    0x.*\n)*)", text,
                re.MULTILINE):
            self.versions += [(library, line.split()[-1])
                              for line in listed.splitlines()]


def find_needed(path):
    """Where this machine has the libraries that a file needs, of all depths."""
    found = {}
    for line in output("ldd", path).splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if arrow and place.startswith("/"):
            found[name] = pathlib.Path(place.split(" (")[0])
    return found


def undefined(path):
    """Names that others define, without versions."""
    return {line.split()[-1].split("@")[0] for line in
            output("nm", "-D", "--undefined-only", path).splitlines()}


def defined(path):
    """{name: version} of what a library exports; "": it has no version."""
    found = {}
    for line in output("nm", "-D", "--defined-only", path).splitlines():
        name, _, version = line.split()[-1].partition("@")
        if not version or version.startswith("@") or name not in found:
            found[name] = version.lstrip("@")
    return found


def set_rpath(path, rpath, is_inherited=False):
    """is_inherited: it counts for the libraries' own libraries, too."""
    output("patchelf", *(["--force-rpath"] if is_inherited else []),
           "--set-rpath", rpath, path)
