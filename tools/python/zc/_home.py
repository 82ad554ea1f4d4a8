"""Where libzc and the programs of the package are.

The wheel without the compiler carries them in one archive, compressed better
than a wheel may be. Its first use unpacks them: beside itself, or into the
user's cache where the package may not be written.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import tarfile
import tempfile
from typing import Optional

_PACKAGE = pathlib.Path(__file__).parent


def _cache() -> pathlib.Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(given) if given else
            pathlib.Path.home() / ".cache") / "zc"


def _unpack(archive: pathlib.Path, target: pathlib.Path) -> None:
    """All of it or nothing, whoever else does the same."""
    target.parent.mkdir(parents=True, exist_ok=True)
    place = tempfile.mkdtemp(dir=target.parent, prefix=".zc-")
    try:
        with tarfile.open(archive) as file:
            if hasattr(tarfile, "data_filter"):
                file.extractall(place, filter="data")
            else:  # before Python 3.12, and its last corrections
                file.extractall(place)
        os.chmod(place, 0o755)
        os.rename(place, target)
    except OSError:
        if not target.exists():  # another process was quicker
            raise
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _unpacked(archive: pathlib.Path) -> pathlib.Path:
    name = archive.name[:-len(".tar.xz")]  # has a sum of what is inside
    own, cached = _PACKAGE / name, _cache() / name
    for target in (own, cached):
        if target.exists():
            return target
    try:
        _unpack(archive, own)
        return own
    except OSError:
        _unpack(archive, cached)
        return cached


def home() -> Optional[pathlib.Path]:
    """The folder with `bin` and `lib`; None: they are the system's."""
    if (_PACKAGE / "lib").is_dir():
        return _PACKAGE
    archive = next(_PACKAGE.glob("runtime-*.tar.xz"), None)
    return _unpacked(archive) if archive else None
