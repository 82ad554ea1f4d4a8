"""libzc.so and its functions, as zc.h declares them."""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int,
                    c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p)

from . import _home

API_MAJOR = 1  # of the zc.h that this module was written for


class OpenOptions(Structure):
    """zc_open_options."""
    _fields_ = [("size", c_size_t), ("seed", c_uint64), ("threads", c_int32),
                ("offload_dir", c_char_p), ("log", c_void_p),
                ("log_context", c_void_p), ("launcher", c_int32),
                ("timeout", c_double), ("transport", c_void_p),
                ("later", c_int32), ("progress", c_void_p),
                ("progress_context", c_void_p), ("tune", c_char_p)]


class RawInfo(Structure):
    """zc_tensor_info."""
    _fields_ = [("size", c_size_t), ("name", c_char_p),
                ("dims", POINTER(c_int64)), ("rank", c_int32), ("type", c_int),
                ("kind", c_int), ("batch_dim", c_int32)]


LogCallback = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ProgressCallback = CFUNCTYPE(c_int32, c_void_p, c_int, c_int64, c_int64)
MessageCallback = CFUNCTYPE(c_int, c_void_p, c_int32, c_uint32, c_void_p,
                            c_size_t, POINTER(c_uint64))
TestCallback = CFUNCTYPE(c_int, c_void_p, c_uint64, POINTER(c_int32))
CancelCallback = CFUNCTYPE(None, c_void_p, c_uint64)


class RawTransport(Structure):
    """zc_transport."""
    _fields_ = [("size", c_size_t), ("rank", c_int32), ("ranks", c_int32),
                ("context", c_void_p), ("send", MessageCallback),
                ("receive", MessageCallback), ("test", TestCallback),
                ("cancel", CancelCallback)]


_SESSION = c_void_p
_INFO = POINTER(RawInfo)
_DIMS = POINTER(c_int64)

# name: (result, arguments)
_FUNCTIONS = {
    "zc_status_name": (c_char_p, [c_int]),
    "zc_api_version": (c_uint32, []),
    "zc_version": (c_char_p, []),
    "zc_open": (c_int, [c_char_p, POINTER(OpenOptions), POINTER(_SESSION)]),
    "zc_close": (c_int, [POINTER(_SESSION)]),
    "zc_last_error": (c_char_p, [_SESSION]),
    "zc_memory_bytes": (c_uint64, [_SESSION]),
    "zc_sent_bytes": (c_uint64, [_SESSION]),
    "zc_input_count": (c_size_t, [_SESSION]),
    "zc_input_info": (c_int, [_SESSION, c_size_t, _INFO]),
    "zc_rank": (c_int32, [_SESSION]),
    "zc_ranks": (c_int32, [_SESSION]),
    "zc_batch": (c_int64, [_SESSION]),
    "zc_rank_batch": (c_int64, [_SESSION]),
    "zc_set_input": (c_int, [_SESSION, c_char_p, c_int, c_int32, _DIMS,
                             c_void_p]),
    "zc_set_input_dlpack": (c_int, [_SESSION, c_char_p, c_void_p]),
    "zc_set_input_dlpack_versioned": (c_int, [_SESSION, c_char_p, c_void_p]),
    "zc_clear_input": (c_int, [_SESSION, c_char_p]),
    "zc_set_data": (c_int, [_SESSION, c_char_p, c_int32]),
    "zc_sample_count": (c_int64, [_SESSION]),
    "zc_select": (c_int, [_SESSION, _DIMS, c_size_t]),
    "zc_set_eval_data": (c_int, [_SESSION, c_char_p, c_int32, c_char_p]),
    "zc_eval_data": (c_int, [_SESSION]),
    "zc_step": (c_int, [_SESSION]),
    "zc_steps_done": (c_int64, [_SESSION]),
    "zc_set_learning_rate": (c_int, [_SESSION, c_double]),
    "zc_learning_rate": (c_double, [_SESSION]),
    "zc_set_setting": (c_int, [_SESSION, c_char_p, c_double]),
    "zc_set_seed": (c_int, [_SESSION, c_uint64]),
    "zc_eval": (c_int, [_SESSION]),
    "zc_output_count": (c_size_t, [_SESSION]),
    "zc_output_info": (c_int, [_SESSION, c_size_t, _INFO]),
    "zc_output_data": (c_void_p, [_SESSION, c_char_p]),
    "zc_metric": (c_int, [_SESSION, c_char_p, POINTER(c_double)]),
    "zc_metric_count": (c_size_t, [_SESSION]),
    "zc_metric_name": (c_char_p, [_SESSION, c_size_t]),
    "zc_state_count": (c_size_t, [_SESSION]),
    "zc_state_info": (c_int, [_SESSION, c_size_t, _INFO]),
    "zc_find_state": (c_int, [_SESSION, c_char_p, _INFO]),
    "zc_get_state": (c_int, [_SESSION, c_char_p, c_void_p, c_size_t]),
    "zc_set_state": (c_int, [_SESSION, c_char_p, c_void_p, c_size_t]),
    "zc_save": (c_int, [_SESSION, c_char_p, c_int64]),
    "zc_resume": (c_int, [_SESSION, c_char_p]),
    "zc_load_weights": (c_int, [_SESSION, c_char_p]),
    "zc_export_weights": (c_int, [_SESSION, c_char_p]),
}


def _path() -> str:
    """The library's: ZC_LIBRARY, else the package's own, else the system's."""
    given = os.environ.get("ZC_LIBRARY")
    if given:
        return given
    home = _home.home()
    return str(home / "lib" / "libzc.so.1") if home else "libzc.so.1"


def _open() -> ctypes.CDLL:
    path = _path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"cannot open libzc ({error}); install zc's runtime, or set "
            "ZC_LIBRARY to the path of libzc.so.1") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"{path} has no {name}(): it is too old")
        function.restype, function.argtypes = result, arguments
    major = library.zc_api_version() >> 16
    if major != API_MAJOR:
        raise ImportError(f"{path} speaks version {major} of zc.h; this "
                          f"module speaks version {API_MAJOR}")
    return library


LIB = _open()


def version() -> str:
    """The version of libzc."""
    text: bytes = LIB.zc_version()
    return text.decode()


def status_name(status: int) -> str:
    """ "ZC_OK" and so on."""
    text: bytes = LIB.zc_status_name(status)
    return text.decode()
