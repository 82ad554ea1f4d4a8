"""Wheels: the Python package with the runtime, and with or without the
compiler."""
import base64
import hashlib
import io
import lzma
import pathlib
import shutil
import tarfile
import zipfile

import bundle
import components
import elf
import sbom

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAG = "py3-none-manylinux_2_36_x86_64"
LICENCE = "Apache-2.0"
LIMITS = {"zc": 120_000_000, "zc-runtime": 8_000_000}
SUMMARIES = {
    "zc": "An ahead-of-time compiler for training ONNX models, with its runtime",
    "zc-runtime": "Trains what zc has compiled: the runtime alone",
}


def stage(build, place, has_compiler):
    """The folder `zc` of a wheel, and where its libraries came from."""
    install = place / "install"
    # The latter has smaller files of the same names as the runtime.
    parts = ["runtime", *(["compiler"] if has_compiler else []), "wheel"]
    for part in parts:
        # CMake takes files of one second for the same.
        elf.output("env", "CMAKE_INSTALL_ALWAYS=1", "cmake", "--install", build,
                   "--strip", "--prefix", install, "--component", part)
    package = place / "wheel" / "zc"
    shutil.copytree(ROOT / "tools" / "python" / "zc", package,
                    ignore=shutil.ignore_patterns("__pycache__"))
    made = bundle.Bundle(package)
    made.add(install / "bin" / "zc-run")
    made.add(install / "lib" / "libzc.so.1")
    for plugin in sorted((install / "lib" / "zc").glob("*.so")):
        made.add(plugin)
    if has_compiler:
        made.add(install / "bin" / "zc")
        linker = pathlib.Path(shutil.which("ld.lld-22"))
        made.add(linker, "ld.lld")
        made.origins["ld.lld"] = linker.resolve()
    made.complete()
    bundle.audit(made)
    return made


def _metadata(name, version, licence_files):
    fields = [("Metadata-Version", "2.4"), ("Name", name), ("Version", version),
              ("Summary", SUMMARIES[name]), ("License-Expression", LICENCE),
              *(("License-File", file) for file in licence_files),
              ("Requires-Python", ">=3.9"), ("Requires-Dist", "numpy>=1.22"),
              ("Description-Content-Type", "text/markdown")]
    text = "".join(f"{key}: {value}\n" for key, value in fields)
    return text + "\n" + (ROOT / "tools" / "guide" / "python.md").read_text()


def _licences(info, parts):
    folder = info / "licenses"
    made = components.write_texts(parts, folder)
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    return sorted(path.relative_to(folder).as_posix()
                  for path in [*made, folder / "LICENSE"])


def _describe(wheel, name, version, parts):
    info = wheel / f"{name.replace('-', '_')}-{version}.dist-info"
    listed = _licences(info, parts)
    (info / "METADATA").write_text(_metadata(name, version, listed))
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: tools/package\n"
                                f"Root-Is-Purelib: false\nTag: {TAG}\n")
    scripts = "zc-run = zc._programs:zc_run\n"
    if name == "zc":
        scripts += "zc = zc._programs:zc\n"
    (info / "entry_points.txt").write_text("[console_scripts]\n" + scripts)
    (info / "sboms").mkdir()
    (info / "sboms" / "zc.spdx.json").write_text(
        sbom.write(name, version, LICENCE, parts))
    return info


def _tar(made):
    """The folders bin and lib in one file, the same for the same files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in made.files():
            entry = tarfile.TarInfo(path.relative_to(made.root).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o755
            tar.addfile(entry, io.BytesIO(path.read_bytes()))
    return stream.getvalue()


def _compress(made, preset):
    """Packs the files that are unpacked at the first use. Returns their names,
    for uninstalling."""
    data = _tar(made)
    names = [path.relative_to(made.root) for path in made.files()]
    # x86-64's instructions lie at no multiples: 0.6% less than by the defaults.
    filters = [{"id": lzma.FILTER_X86},
               {"id": lzma.FILTER_LZMA2, "preset": preset,
                "lc": 4, "lp": 0, "pb": 0}]
    stem = f"runtime-{hashlib.sha256(data).hexdigest()[:16]}"
    (made.root / f"{stem}.tar.xz").write_bytes(
        lzma.compress(data, lzma.FORMAT_XZ, filters=filters))
    shutil.rmtree(made.bin)
    shutil.rmtree(made.lib)
    return [f"zc/{stem}/{name}" for name in names]


def _record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"{name},sha256={digest.decode().rstrip('=')},{len(data)}\n"


def _pack(wheel, info, later, target, level):
    """The same bytes for the same files: times and order are fixed."""
    record = ""
    files = [path for path in sorted(wheel.rglob("*")) if path.is_file()]
    files.sort(key=lambda path: info in path.parents)  # those come last
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED,
                         compresslevel=level) as archive:
        def write(name, data, mode):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data, compresslevel=level)
        for path in files:
            name, data = path.relative_to(wheel).as_posix(), path.read_bytes()
            record += _record(name, data)
            write(name, data, 0o755 if elf.is_elf(path) else 0o644)
        record += "".join(f"{name},,\n" for name in later)
        name = f"{info.name}/RECORD"
        write(name, (record + f"{name},,\n").encode(), 0o644)


def build_wheel(build, output, place, version, has_compiler, is_quick):
    """Writes the wheel; its path. is_quick: compresses little, for tests."""
    name = "zc" if has_compiler else "zc-runtime"
    made = stage(build, place, has_compiler)
    origins = made.names_of_origins()
    parts = components.components_of(origins, build, has_compiler)
    later = [] if has_compiler else _compress(
        made, 0 if is_quick else 9 | lzma.PRESET_EXTREME)
    info = _describe(place / "wheel", name, version, parts)
    target = output / f"{name.replace('-', '_')}-{version}-{TAG}.whl"
    _pack(place / "wheel", info, later, target, 1 if is_quick else 9)
    size = target.stat().st_size
    if size > LIMITS[name] and not is_quick:
        raise SystemExit(f"package: error: {target} has {size} bytes; at most "
                         f"{LIMITS[name]} are allowed")
    return target
