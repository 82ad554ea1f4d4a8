"""Libraries that are needed by name and never called.

Debian's libLLVM is linked with an SMT solver, a line editor and an XML parser,
its oneDNN with an OpenCL loader and GCC's OpenMP, whose functions zc has itself.
zc calls none of their functions, and they are 20 MB. A package has a library of the same name and versions instead, whose
functions say so and end the program.
"""
import pathlib
import tempfile

import elf

NEVER_CALLED = {
    "libz3.so.4": "solves constraints in Clang's analyser",
    "libxml2.so.2": "merges manifests of Windows programs",
    "libedit.so.2": "edits lines in LLVM's debuggers",
    "libgomp.so.1": "starts threads: kernels/Cpu/OpenMp.cpp does",
    "libOpenCL.so.1": "runs oneDNN on other devices than CPUs",
}

_SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
static void refuse(const char *name) {
  fprintf(stderr, "zc: this package has no %s (of %s)\\n", name, "LIBRARY");
  abort();
}
"""


def _version_script(symbols):
    by_version = {}
    for name, version in sorted(symbols.items()):
        by_version.setdefault(version, []).append(name)
    parts = []
    for version, names in by_version.items():
        listed = "".join(f" {name};" for name in names)
        parts.append(f"{version} {{ global:{listed} }};\n")
    return "".join(parts)


def make(original, callers, target):
    """Writes `target`, which exports what `callers` take of `original`."""
    exported = elf.defined(original)
    wanted = set().union(*map(elf.undefined, callers))
    symbols = {name: exported[name] for name in sorted(wanted & set(exported))}
    source = _SOURCE.replace("LIBRARY", original.name)
    source += "".join(f'void {name}(void) {{ refuse("{name}"); }}\n'
                      for name in symbols)
    with tempfile.TemporaryDirectory(prefix="zc-package-") as folder:
        place = pathlib.Path(folder)
        (place / "stub.c").write_text(source)
        command = ["cc", "-shared", "-fPIC", "-O1", "-s", "-fno-builtin",
                   f"-Wl,-soname,{target.name}", "-o", target, place / "stub.c"]
        if any(symbols.values()):
            (place / "versions").write_text(_version_script(symbols))
            command.append(f"-Wl,--version-script={place / 'versions'}")
        elf.output(*command)
