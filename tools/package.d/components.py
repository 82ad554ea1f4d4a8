"""What a package is made of, with licences: Debian's packages by name and
version, and what is linked in."""
import pathlib
import re

import elf

# By Debian's source package; what is missing here stops the packaging.
LICENCES = {
    "llvm-toolchain-22": "Apache-2.0 WITH LLVM-exception",
    "onednn": "Apache-2.0",
    "protobuf": "BSD-3-Clause",
    "zlib": "Zlib",
    "libsodium": "ISC",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "libffi": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "cli11": "BSD-3-Clause",
    "nlohmann-json3": "MIT",
}
# Linked into the programs, or headers alone: Debian's package, and whether the
# runtime has it too.
LINKED = (("libprotobuf-dev", True), ("zlib1g-dev", True), ("nlohmann-json3-dev", True),
          ("libstdc++-12-dev", True), ("libcli11-dev", True),
          ("libmlir-22-dev", False))
COMMON = pathlib.Path("/usr/share/common-licenses")
# File there: how a licence begins that it is the text of.
COMMON_OF = {"Apache-2.0": "Apache-2.0", "GPL-3": "GPL-3.0"}


class Component:
    """A part that others wrote."""

    def __init__(self, name, version, licence, texts, files=()):
        self.name, self.version, self.licence = name, version, licence
        self.texts = texts  # files with the licence
        self.files = sorted(files)  # of the package


def _query(package):
    name, version, source = elf.output(
        "dpkg-query", "-W",
        "-f=${binary:Package}\t${Version}\t${source:Package}\n",
        package).splitlines()[0].split("\t")
    return name.split(":")[0], version, source


def _of_debian(package, files=()):
    name, version, source = _query(package)
    licence = LICENCES.get(source)
    if licence is None:
        raise SystemExit(f"package: error: {', '.join(files) or package} is of "
                         f"Debian's source package {source}, whose licence "
                         "tools/package.d/components.py does not know")
    text = pathlib.Path("/usr/share/doc") / name / "copyright"
    return Component(name, version, licence, [text], files)


def owner(path):
    """Debian's package of a file; directories may be links."""
    for place in (path, path.resolve(), pathlib.Path("/usr") / path.relative_to("/")):
        try:
            return elf.output("dpkg-query", "-S", place).split(": ")[0]
        except SystemExit:
            continue
    raise SystemExit(f"package: error: {path} is of no package of Debian's")


def _onnx(build):
    cache = (build / "CMakeCache.txt").read_text()
    folder = pathlib.Path(re.search(r"^ONNX_DIR:PATH=(.*)$", cache,
                                    re.MULTILINE).group(1))
    version = re.search(r"onnx-([\d.]+)", str(folder)).group(1)
    return Component("onnx", version, "Apache-2.0", [COMMON / "Apache-2.0"])


def write_texts(parts, folder, is_debian=False):
    """The parts' licences as NAME.txt, and those texts in full that Debian's
    files only name, which other systems do not have. Returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for part in parts:
        made.append(folder / f"{part.name}.txt")
        made[-1].write_text("".join(each.read_text() for each in part.texts))
    for name, start in () if is_debian else COMMON_OF.items():
        if any(part.licence.startswith(start) for part in parts):
            made.append(folder / "common" / name)
            made[-1].parent.mkdir(exist_ok=True)
            made[-1].write_bytes((COMMON / name).read_bytes())
    return made


def components_of(origins, build, has_compiler):
    """origins: {file of the package: the machine's}."""
    by_package = {}
    for name, path in origins.items():
        by_package.setdefault(owner(path), []).append(name)
    found = [_of_debian(package, files)
             for package, files in sorted(by_package.items())]
    found += [_of_debian(package) for package, is_runtime in LINKED
              if is_runtime or has_compiler]
    if has_compiler:
        found.append(_onnx(build))
    return sorted(found, key=lambda each: each.name)
