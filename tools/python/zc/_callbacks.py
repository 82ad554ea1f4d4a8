"""What libzc calls while it works."""
from __future__ import annotations

import logging
from typing import Any, Callable, Optional

from ._library import LogCallback, ProgressCallback

# Gets "step" and how many are done in all (of 0), or "evaluation" and how many
# of how many samples are evaluated; False is a wish to stop.
Progress = Callable[[str, int, int], Optional[bool]]

_LOG = logging.getLogger("zc")
_LEVELS = (logging.INFO, logging.WARNING)
_PHASES = {1: "step", 2: "evaluation"}


def _log(context: Any, level: int, message: bytes) -> None:
    _LOG.log(_LEVELS[min(level, 1)], message.decode(errors="replace"))


TELL = LogCallback(_log)  # lives as long as libzc may call it


def progress_of(told: Progress) -> Any:
    """The function for libzc. What `told` raises is logged, for it cannot pass
    through C, and is a wish to stop."""
    def hear(context: Any, phase: int, done: int, total: int) -> int:
        try:
            return int(told(_PHASES.get(phase, "other"), done, total) is False)
        except Exception:  # pylint: disable=broad-except
            _LOG.exception("the progress callback")
            return 1
    return ProgressCallback(hear)
