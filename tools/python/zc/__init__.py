"""Ahead-of-time compiled training.

    import zc

    zc.compile("model.onnx", "step.zca", loss="softmax-cross-entropy",
               dim={"batch": 64})
    with zc.Session("step.zca") as session:
        session.learning_rate = 1e-3
        for batch in batches:              # {"x": array, "labels": array}
            loss = session.step(batch)
        session.save("checkpoint")

`compile` runs the program `zc`; a `Session` trains what it made inside this
process, by libzc. Arrays are NumPy's or any that speak DLPack (PyTorch, JAX),
and are read where they are. `compile_torch` begins with a PyTorch module.
"""
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._compiler import CompileError, compile, export
    from ._errors import (Error, InvalidArgumentError, NotFiniteError,
                          NotFoundError, StoppedError)
    from ._library import version
    from ._ranks import Transport
    from ._session import Session
    from ._tensors import TensorInfo
    from ._torch import compile_torch, copy_to_torch, export_torch

__all__ = [
    "CompileError", "Error", "InvalidArgumentError", "NotFiniteError",
    "NotFoundError", "Session", "StoppedError", "TensorInfo", "Transport",
    "compile", "compile_torch", "copy_to_torch", "export", "export_torch",
    "version",
]
__version__ = "0.1.0"

# Imported when first asked for: the commands need neither NumPy nor libzc.
_HOMES = {
    "_compiler": ["CompileError", "compile", "export"],
    "_errors": ["Error", "InvalidArgumentError", "NotFiniteError",
                "NotFoundError", "StoppedError"],
    "_library": ["version"], "_ranks": ["Transport"],
    "_session": ["Session"],
    "_tensors": ["TensorInfo"],
    "_torch": ["compile_torch", "copy_to_torch", "export_torch"],
}
_MODULE_OF = {name: module for module, names in _HOMES.items()
              for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'zc' has no attribute {name!r}")
    found = getattr(importlib.import_module("." + _MODULE_OF[name], "zc"), name)
    globals()[name] = found
    return found
