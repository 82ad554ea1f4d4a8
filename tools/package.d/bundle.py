"""Gathers programs, their libraries and the libraries' libraries in one folder
that needs nothing else of a machine than glibc and GCC's run time."""
import re
import shutil

import elf
import stubs

# Libraries of every Linux with glibc 2.36, and their newest symbol versions:
# the rules of manylinux_2_36.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1",
          "libpthread.so.0", "ld-linux-x86-64.so.2", "libgcc_s.so.1",
          "libstdc++.so.6"}
NEWEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13),
          "GCC": (12, 0)}
# The machine's own, without which a plugin is not opened.
OPTIONAL = {"libmpi.so.40"}
# Libraries that come into other people's processes: under names of our own, no
# other copy is taken for them, nor they for another.
IN_PROCESS = {"libdnnl.so.2", "libgomp.so.1", "libOpenCL.so.1"}


def own_name(library):
    """libdnnl.so.2 is libdnnl-zc.so.2 here."""
    return (library.replace(".so", "-zc.so", 1) if library in IN_PROCESS
            else library)


class Bundle:
    """The folders `bin` and `lib` of a package."""

    def __init__(self, root):
        self.root = root
        self.bin, self.lib = root / "bin", root / "lib"
        self.bin.mkdir(parents=True, exist_ok=True)
        self.lib.mkdir(parents=True, exist_ok=True)
        self.origins = {}  # name in lib: the machine's file

    def files(self):
        return [path for path in sorted(self.root.rglob("*"))
                if path.is_file() and not path.is_symlink()
                and elf.is_elf(path)]

    def add(self, path, name=None):
        """Copies a program into bin or a library into lib."""
        name = name or path.name
        folder = self.lib if re.search(r"\.so\b", name) else self.bin
        shutil.copy(path.resolve(), folder / name)
        (folder / name).chmod(0o755)
        return folder / name

    def complete(self):
        """Brings what is needed until nothing lacks, and makes all find it."""
        done = set()
        while True:
            waiting = [path for path in self.files() if path not in done]
            if not waiting:
                break
            for path in waiting:
                self._bring_needed(path)
                done.add(path)
        self._make_stubs()
        self._rename()
        for path in self.files():
            self._set_rpath(path)

    def _bring_needed(self, path):
        source = self.origins.get(path.name, path)
        places = None
        for name in elf.Elf(path).needed:
            if name in SYSTEM | OPTIONAL or (self.lib / name).exists() \
                    or name in self.origins:
                continue
            places = places or elf.find_needed(source)
            if name not in places:
                raise SystemExit(f"package: error: {path.name} needs {name}, "
                                 "which this machine does not have")
            self.origins[name] = places[name]
            if name not in stubs.NEVER_CALLED:
                self.add(places[name], name)

    def _make_stubs(self):
        for name in sorted(set(self.origins) & set(stubs.NEVER_CALLED)):
            callers = [path for path in self.files()
                       if name in elf.Elf(path).needed]
            stubs.make(self.origins.pop(name), callers, self.lib / name)

    def _rename(self):
        for path in self.files():
            for name in set(elf.Elf(path).needed) & IN_PROCESS:
                elf.output("patchelf", "--replace-needed", name, own_name(name),
                           path)
        for name in IN_PROCESS:
            path = self.lib / name
            if path.exists():
                elf.output("patchelf", "--set-soname", own_name(name), path)
                path.rename(self.lib / own_name(name))

    def _set_rpath(self, path):
        # A program's counts for what its libraries need: LLVM's stay as they
        # are.
        if path.parent == self.bin:
            elf.set_rpath(path, "$ORIGIN/../lib", is_inherited=True)
        elif set(elf.Elf(path).needed) & {own_name(name) for name in IN_PROCESS}:
            elf.set_rpath(path, "$ORIGIN")

    def names_of_origins(self):
        """{file of lib: the machine's file that it is a copy of}."""
        return {own_name(name): path for name, path in self.origins.items()}


def _version_of(text):
    name, _, number = text.rpartition("_")
    return name, tuple(int(part) for part in number.split(".") if part.isdigit())


def _complaints_of(path, bundle):
    found = elf.Elf(path)
    for name in found.needed:
        if name not in SYSTEM | OPTIONAL and not (bundle.lib / name).exists():
            yield f"{path.name} needs {name}, which is not in the package"
    for library, version in found.versions:
        name, number = _version_of(version)
        if library in SYSTEM and name in NEWEST and number > NEWEST[name]:
            yield (f"{path.name} needs {version} of {library}; "
                   f"{NEWEST[name]} is the newest allowed")
    for part in filter(None, found.rpath.split(":")):
        if not part.startswith("$ORIGIN"):
            yield f"{path.name} looks for libraries in {part}"


def audit(bundle):
    """Ends with a message where the package would not work elsewhere."""
    complaints = [text for path in bundle.files()
                  for text in _complaints_of(path, bundle)]
    if complaints:
        raise SystemExit("package: error: " + "\n".join(complaints))
