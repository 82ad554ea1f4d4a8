"""Calls of the program `zc`: compile and export."""
from __future__ import annotations

import logging
import os
import pathlib
from typing import Any, List, Mapping, Union

from . import _programs

PathLike = Union[str, "os.PathLike[str]"]

# Options that may be "off": False stands for that, and True for this. With all
# others True gives the option alone, and False leaves it out.
SWITCHES = {"dropout": "on", "sequence-parallel": "on", "stage-replicas": "auto",
            "verify": "on", "weight-copies": "on"}
# Options of one value that is a list of NAME=VALUE.
JOINED = {"mesh"}

_LOG = logging.getLogger("zc")


class CompileError(RuntimeError):
    """The text with which `zc` refused; `code` is how it ended: 1 where the
    model cannot be compiled so, 2 where an option is wrong."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def _option(name: str, value: Any) -> List[str]:
    if value is None:
        return []
    if isinstance(value, bool):
        if name in SWITCHES:
            return [f"--{name}={SWITCHES[name] if value else 'off'}"]
        return [f"--{name}"] if value else []
    if isinstance(value, Mapping):
        pairs = [f"{key}={each}" for key, each in value.items()]
        return _option(name, ",".join(pairs) if name in JOINED else pairs)
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _option(name, each)]
    return [f"--{name}={value}"]


def arguments_of(options: Mapping[str, Any]) -> List[str]:
    """Keyword options as `zc` takes them."""
    return [text for key, value in options.items()
            for text in _option(key.replace("_", "-"), value)]


def _zc(arguments: List[str]) -> None:
    done = _programs.run(arguments)
    if done.returncode != 0:
        raise CompileError(done.stderr.strip() or
                           f"zc ended with {done.returncode}", done.returncode)
    for level, text in ((logging.INFO, done.stdout),
                        (logging.WARNING, done.stderr)):
        if text.strip():
            _LOG.log(level, text.strip())


def compile(model: PathLike, artifact: PathLike, **options: Any) -> pathlib.Path:
    """Compiles an ONNX file into an artifact, as `zc compile` does, and returns
    the artifact's path.

    Options have the names of the command's, `zc help compile` lists them, with
    underscores: `no_weight_decay="bias"`, `cpu_threads=2`. A list repeats its
    option; a mapping gives pairs: `dim={"batch": 64}`, `mesh={"dp": 4}`. True
    and False set those that are on or off.

    Raises CompileError with the compiler's text. Its notes and warnings go to
    the logger "zc".
    """
    _zc(["compile", os.fspath(model), "-o", os.fspath(artifact),
         *arguments_of(options)])
    return pathlib.Path(artifact)


def export(artifact: PathLike, checkpoint: PathLike, model: PathLike) -> None:
    """Writes the ONNX model of an artifact with the weights of a checkpoint, as
    `zc export` does."""
    _zc(["export", os.fspath(artifact), "--checkpoint", os.fspath(checkpoint),
         "-o", os.fspath(model)])
