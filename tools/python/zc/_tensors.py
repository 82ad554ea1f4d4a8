"""Arrays of Python as libzc takes them, and the other way."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Optional, Tuple

import numpy as np

from ._errors import InvalidArgumentError
from ._library import LIB, RawInfo

# By the numbers of zc_type and zc_tensor_kind.
TYPES = {1: "float32", 2: "float64", 3: "float16", 4: "bfloat16", 5: "bool",
         6: "int8", 7: "uint8", 8: "int16", 9: "uint16", 10: "int32",
         11: "uint32", 12: "int64", 13: "uint64"}
_NUMBERS = {name: number for number, name in TYPES.items()}
# The types that NumPy has itself, which steps need not ask for their names.
_NATIVE = {np.dtype(name): number for name, number in _NUMBERS.items()
           if name != "bfloat16"}
KINDS = {1: "input", 2: "label", 3: "output", 4: "parameter", 5: "statistic",
         6: "optimizer state", 7: "other state"}


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a session."""
    name: str
    dtype: str  # "float32", "int64", "bfloat16"
    shape: Tuple[int, ...]  # of inputs: those of one step
    kind: str  # "input", "label", "output", "parameter", "statistic", ...
    batch_dim: Optional[int]  # which dim counts samples


def describe(info: RawInfo) -> TensorInfo:
    """The description of a tensor that libzc filled in."""
    return TensorInfo(info.name.decode(), TYPES[info.type],
                      tuple(info.dims[i] for i in range(info.rank)),
                      KINDS[info.kind],
                      info.batch_dim if info.batch_dim >= 0 else None)


def numpy_type(dtype: str) -> np.dtype[Any]:
    """bfloat16 is ml_dtypes' where that is installed, else its bits."""
    if dtype != "bfloat16":
        return np.dtype(dtype)
    try:
        import ml_dtypes  # type: ignore
        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    except ImportError:
        return np.dtype(np.uint16)


def dims_of(shape: Tuple[int, ...]) -> Any:
    """A C array of int64."""
    return (ctypes.c_int64 * len(shape))(*shape)


def _set_array(handle: Any, name: bytes, array: np.ndarray[Any, Any]) -> int:
    number = _NATIVE.get(array.dtype)
    if number is None and array.dtype.isnative:
        number = _NUMBERS.get(array.dtype.name)
    if number is None:
        raise InvalidArgumentError(
            f"'{name.decode()}' is of type {array.dtype.str} "
            f"({array.dtype.name}); libzc takes {', '.join(_NUMBERS)}",
            "ZC_INVALID_ARGUMENT")
    status: int = LIB.zc_set_input(handle, name, number, array.ndim,
                                   dims_of(array.shape), array.ctypes.data)
    return status


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype = ctypes.c_char_p
_get_name.argtypes = [ctypes.py_object]
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.restype = ctypes.c_int
_set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]

# How a capsule is called before and after its tensor was taken. Python keeps
# the pointers alone: these bytes live as long as the module.
_TAKERS: "dict[bytes, Tuple[bytes, Callable[..., int]]]" = {
    b"dltensor": (b"used_dltensor", LIB.zc_set_input_dlpack),
    b"dltensor_versioned": (b"used_dltensor_versioned",
                            LIB.zc_set_input_dlpack_versioned),
}


def _capsule_of(tensor: Any) -> Any:
    """By the newest protocol that the tensor's library speaks."""
    try:
        return tensor.__dlpack__(max_version=(1, 0))
    except TypeError:  # before DLPack 1
        return tensor.__dlpack__()


def _set_dlpack(handle: Any, name: bytes, tensor: Any) -> int:
    capsule = _capsule_of(tensor)
    called = _get_name(capsule)
    used, take = _TAKERS[called]
    status = take(handle, name, _get_pointer(capsule, called))
    if status == 0:  # the session calls the deleter
        _set_name(capsule, used)
    return status


def set_input(handle: Any, name: str, tensor: Any) -> Tuple[int, Any]:
    """Lends a tensor to the session: its status, and what must live meanwhile.
    Elements are read where they are if they are in row-major order."""
    if not isinstance(tensor, np.ndarray) and hasattr(tensor, "__dlpack__"):
        return _set_dlpack(handle, name.encode(), tensor), tensor
    array = tensor
    if not isinstance(tensor, np.ndarray) or not tensor.flags.c_contiguous:
        array = np.ascontiguousarray(tensor).reshape(np.shape(tensor))
    return _set_array(handle, name.encode(), array), array
