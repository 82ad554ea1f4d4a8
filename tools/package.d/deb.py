"""Debian's packages: runtime, compiler, development and the Python module."""
import pathlib
import shutil

import components
import elf
import sbom

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAINTAINER = "The zc project <zc@localhost>"
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: zc

Files: *
Copyright: the zc project
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
"""
# Packages whose programs contain what others wrote say so.
LINKED = """Comment:
 The programs are linked with parts of these, whose licences are in the folder
 licenses beside this file; zc.spdx.json is the list in SPDX:
"""

# name: (architecture, further Depends, first line, the others)
PACKAGES = {
    "zc-runtime": ("amd64", "", "trains what zc has compiled",
                   "The program zc-run, the library libzc and their plugins. They need no\n"
                   " compiler, no Python and no LLVM."),
    "zc": ("amd64", "zc-runtime (= {version}), lld-22",
           "ahead-of-time compiler for training ONNX models",
           "Adds loss, gradient and optimizer to an ONNX model and plans every kernel\n"
           " and every byte of memory of its training."),
    "zc-dev": ("amd64", "zc-runtime (= {version})",
               "training inside C and C++ programs",
               "Headers of libzc, and what CMake and pkg-config find it by."),
    "python3-zc": ("all", "zc-runtime (>= {version}), python3:any, python3-numpy",
                   "training inside Python programs",
                   "The module zc over libzc. zc.compile() needs the package zc."),
}

# These packages have programs; the others are headers and Python.
CONTAINING = ("zc-runtime", "zc")


def _install(build, place, component):
    elf.output("cmake", "--install", build, "--strip", "--prefix", place / "usr",
               "--component", component)


def _move(source, target, paths):
    for path in paths:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)


def _trees(build, place):
    """One folder a package, as it is installed."""
    trees = {name: place / name for name in PACKAGES}
    runtime, development = trees["zc-runtime"], trees["zc-dev"]
    _install(build, runtime, "runtime")
    shutil.rmtree(runtime / "usr" / "share")
    lib = runtime / "usr" / "lib"
    _move(runtime, development, [runtime / "usr" / "include", lib / "cmake",
                                 lib / "pkgconfig", lib / "libzc.so"])
    _install(build, trees["zc"], "compiler")
    shutil.copytree(ROOT / "tools" / "python" / "zc", trees["python3-zc"] /
                    "usr" / "lib" / "python3" / "dist-packages" / "zc",
                    ignore=shutil.ignore_patterns("__pycache__"))
    return trees


def _libraries(tree, place, own):
    """The Depends that the programs' libraries mean. A plugin that opens only
    where its libraries are is a Suggests."""
    files = [path for path in sorted(tree.rglob("*"))
             if path.is_file() and not path.is_symlink() and elf.is_elf(path)]
    if not files:
        return "", ""
    (place / "debian").mkdir(exist_ok=True)
    (place / "debian" / "control").write_text("Source: zc\n\nPackage: zc\n"
                                              "Architecture: any\n")
    options = []
    for path in files:
        kind = "Suggests" if path.name == "libzc_mpi.so" else "Depends"
        options += [f"-d{kind}", f"-e{path}"]
    text = elf.output("env", f"--chdir={place}", "dpkg-shlibdeps", "-O",
                      "--ignore-missing-info", f"-l{own}",
                      "-l/usr/lib/llvm-22/lib", *options)
    found = dict(line.split("=", 1) for line in text.splitlines())
    return found.get("shlibs:Depends", ""), found.get("shlibs:Suggests", "")


def _control(name, version, depends, suggests, size):
    architecture, further, short, long = PACKAGES[name]
    wanted = ", ".join(filter(None, [further.format(version=version), depends]))
    lines = [f"Package: {name}", f"Version: {version}", "Section: science",
             "Priority: optional", f"Architecture: {architecture}",
             f"Maintainer: {MAINTAINER}", f"Installed-Size: {size}"]
    lines += [f"Depends: {wanted}"] if wanted else []
    lines += [f"Suggests: {suggests}"] if suggests else []
    return "\n".join(lines) + f"\nDescription: {short}\n {long}\n"


def _document(name, tree, version, build):
    """Licences, and the list of what is linked in."""
    documents = tree / "usr" / "share" / "doc" / name
    documents.mkdir(parents=True)
    text = COPYRIGHT
    if name in CONTAINING:
        parts = components.components_of({}, build, name == "zc")
        components.write_texts(parts, documents / "licenses", is_debian=True)
        (documents / "zc.spdx.json").write_text(
            sbom.write(name, version, "Apache-2.0", parts))
        text += LINKED + "".join(f" {each.name} {each.version}: {each.licence}\n"
                                 for each in parts)
    (documents / "copyright").write_text(text)


def _remove_compiled(tree, control):
    """Lets the package's removal take along what Python compiles there."""
    folders = sorted({f"/{path.parent.relative_to(tree)}/__pycache__"
                      for path in tree.rglob("*.py")})
    if folders:
        script = control / "prerm"
        script.write_text("#!/bin/sh\nset -e\nrm -rf " + " ".join(folders) + "\n")
        script.chmod(0o755)


def _finish(name, tree, version, place, own, build):
    _document(name, tree, version, build)
    depends, suggests = _libraries(tree, place, own)
    size = sum(path.lstat().st_size for path in tree.rglob("*")) // 1024
    control = tree / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        _control(name, version, depends, suggests, size))
    if list(tree.glob("usr/lib/*.so.*")):
        (control / "triggers").write_text("activate-noawait ldconfig\n")
    _remove_compiled(tree, control)
    for path in [tree, *tree.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)


def build_debs(build, output, place, version, is_quick):
    """Writes the packages; their paths. is_quick: compresses nothing."""
    trees = _trees(build, place)
    own = trees["zc-runtime"] / "usr" / "lib"
    targets = []
    for name, tree in trees.items():
        _finish(name, tree, version, place, own, build)
        target = output / f"{name}_{version}_{PACKAGES[name][0]}.deb"
        elf.output("dpkg-deb", "--root-owner-group",
                   *(["-Znone"] if is_quick else []), "--build", tree, target)
        targets.append(target)
    return targets
