"""The wheel without the compiler carries its largest library compressed, as
lib/NAME.xz. The first use unpacks it: beside itself, or into the user's cache
where the package may not be written."""
from __future__ import annotations

import hashlib
import lzma
import os
import pathlib
import tempfile

_LIB = pathlib.Path(__file__).parent / "lib"


def _cache() -> pathlib.Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return pathlib.Path(given) if given else pathlib.Path.home() / ".cache"


def _unpack(packed: pathlib.Path, target: pathlib.Path) -> None:
    """All of it or nothing, whoever else does the same."""
    number, name = tempfile.mkstemp(dir=target.parent, prefix=".zc-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(lzma.decompress(packed.read_bytes()))
        os.chmod(name, 0o755)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _link_others(folder: pathlib.Path) -> None:
    """Plugins find their libraries beside themselves."""
    for path in _LIB.iterdir():
        try:
            if path.suffix != ".xz":
                (folder / path.name).symlink_to(path)
        except FileExistsError:
            pass


def _unpack_into_cache(packed: pathlib.Path) -> None:
    version = hashlib.sha256(packed.read_bytes() + bytes(_LIB)).hexdigest()[:16]
    folder = _cache() / "zc" / f"lib-{version}"
    target = folder / packed.stem
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _unpack(packed, target)
    _link_others(folder)
    # For libzc in this process, and zc-run in others.
    os.environ.setdefault("ZC_PLUGIN_PATH", str(folder))


def prepare() -> None:
    """Must have been called before libzc or zc-run opens its plugins."""
    for packed in _LIB.glob("*.xz"):
        target = packed.with_suffix("")
        if target.exists() and \
                target.stat().st_mtime >= packed.stat().st_mtime:
            continue
        try:
            _unpack(packed, target)
        except OSError:
            _unpack_into_cache(packed)
