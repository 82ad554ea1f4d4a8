"""Several ranks that train together, by an application's own messages."""
from __future__ import annotations

import ctypes
import logging
from typing import Any, Protocol

from ._library import (CancelCallback, MessageCallback, RawTransport,
                       TestCallback)

_LOG = logging.getLogger("zc")
_OK, _IO_ERROR = 0, 6


class Transport(Protocol):
    """How ranks reach each other: an object of yours, as zc_transport of zc.h.

    Its methods are called one at a time, from the thread that calls the session
    and from one of libzc's own. None may wait; one that raises ends the session
    on all ranks.

    rank: this one's number, from 0.
    ranks: how many there are.
    """
    rank: int
    ranks: int

    def send(self, peer: int, channel: int, data: memoryview) -> int:
        """Begins a message to `peer` and returns a number of it. Until it has
        finished the bytes stay as they are. Those of one channel from one rank
        to another arrive in order, and do not wait for other channels'."""

    def receive(self, peer: int, channel: int, into: memoryview) -> int:
        """Begins to receive such a message, of just so many bytes."""

    def test(self, message: int) -> bool:
        """Whether a message has finished; its number is free then."""

    def cancel(self, message: int) -> None:
        """Lets go of a message: nobody touches its bytes any more."""


def _memory(place: int, size: int) -> memoryview:
    block = (ctypes.c_char * size).from_address(place) if size else b""
    return memoryview(block).cast("B")


class Bridge:
    """The functions that libzc calls; they live as long as this."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.raw = RawTransport(
            ctypes.sizeof(RawTransport), transport.rank, transport.ranks, None,
            MessageCallback(self._send), MessageCallback(self._receive),
            TestCallback(self._test), CancelCallback(self._cancel))

    def _send(self, context: Any, peer: int, channel: int, data: int, size: int,
              message: Any) -> int:
        return self._begin(self._transport.send, peer, channel,
                           _memory(data, size).toreadonly(), message)

    def _receive(self, context: Any, peer: int, channel: int, data: int,
                 size: int, message: Any) -> int:
        return self._begin(self._transport.receive, peer, channel,
                           _memory(data, size), message)

    @staticmethod
    def _begin(method: Any, peer: int, channel: int, memory: memoryview,
               message: Any) -> int:
        try:
            message[0] = method(peer, channel, memory)
            return _OK
        except Exception:  # pylint: disable=broad-except
            _LOG.exception("a message to or from rank %d", peer)
            return _IO_ERROR

    def _test(self, context: Any, message: int, finished: Any) -> int:
        try:
            finished[0] = bool(self._transport.test(message))
            return _OK
        except Exception:  # pylint: disable=broad-except
            _LOG.exception("a message")
            return _IO_ERROR

    def _cancel(self, context: Any, message: int) -> None:
        try:
            self._transport.cancel(message)
        except Exception:  # pylint: disable=broad-except
            _LOG.exception("a message")
