"""What fails, as exceptions."""
from __future__ import annotations

from typing import Dict, Type


class Error(RuntimeError):
    """What libzc reported; `status` is the name of its zc_status."""

    def __init__(self, text: str, status: str = "ZC_INTERNAL") -> None:
        super().__init__(text)
        self.status = status


class InvalidArgumentError(Error, ValueError):
    """What was asked does not fit the artifact."""


class NotFoundError(Error, LookupError):
    """There is no such file, input, state or metric."""


class NotFiniteError(Error, ArithmeticError):
    """The step was done, and its loss or gradients are no numbers."""


class StoppedError(Error):
    """The progress callback has wished to stop; nothing is wrong."""


_CLASSES: Dict[str, Type[Error]] = {
    "ZC_INVALID_ARGUMENT": InvalidArgumentError,
    "ZC_NOT_FOUND": NotFoundError,
    "ZC_NOT_FINITE": NotFiniteError,
    "ZC_STOPPED": StoppedError,
}


def error_of(status: str, text: str) -> Error:
    """The exception for a status of zc.h."""
    if status == "ZC_BUSY":
        text = "another thread is using the session"
    return _CLASSES.get(status, Error)(text, status)
