"""The tensors that a session keeps from step to step, by name."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Iterator, MutableMapping

import numpy as np

from ._errors import InvalidArgumentError, NotFoundError
from ._library import LIB, RawInfo
from ._tensors import TensorInfo, describe, numpy_type


class States(MutableMapping[str, "np.ndarray[Any, Any]"]):
    """Parameters, statistics and the optimizer's states: a mapping from ONNX
    names ("fc.weight", "state.fc.weight.exp_avg"; tied parameters by any of
    theirs) to arrays. Reading copies out, assigning copies in."""

    def __init__(self, handle: Any, check: Callable[[int], None]) -> None:
        self._handle, self._check = handle, check

    def info(self, name: str) -> TensorInfo:
        """Type, shape and kind of a state."""
        raw = RawInfo(ctypes.sizeof(RawInfo))
        self._check(LIB.zc_find_state(self._handle, name.encode(),
                                      ctypes.byref(raw)))
        return describe(raw)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        info = self.info(name)
        array = np.empty(info.shape, numpy_type(info.dtype))
        self._check(LIB.zc_get_state(self._handle, name.encode(),
                                     array.ctypes.data, array.nbytes))
        return array

    def __setitem__(self, name: str, value: Any) -> None:
        info = self.info(name)
        dtype = numpy_type(info.dtype)
        array = np.asarray(value)
        if array.shape != info.shape:
            raise InvalidArgumentError(
                f"'{name}' is {info.dtype}{list(info.shape)}; what is assigned "
                f"has the shape {list(array.shape)}", "ZC_INVALID_ARGUMENT")
        if not np.can_cast(array.dtype, dtype, "same_kind"):
            raise InvalidArgumentError(
                f"'{name}' is {info.dtype}; {array.dtype.name} cannot be "
                "assigned to it", "ZC_INVALID_ARGUMENT")
        array = np.ascontiguousarray(array, dtype)
        self._check(LIB.zc_set_state(self._handle, name.encode(),
                                     array.ctypes.data, array.nbytes))

    def __delitem__(self, name: str) -> None:
        raise TypeError("a session's states cannot be removed")

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self.info(name))
        except NotFoundError:
            return False

    def __iter__(self) -> Iterator[str]:
        for i in range(len(self)):
            raw = RawInfo(ctypes.sizeof(RawInfo))
            self._check(LIB.zc_state_info(self._handle, i, ctypes.byref(raw)))
            yield raw.name.decode()

    def __len__(self) -> int:
        return int(LIB.zc_state_count(self._handle))
