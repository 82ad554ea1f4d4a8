"""From a PyTorch module to an artifact, and back. PyTorch is imported when
these functions are called, and not before."""
from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

from ._compiler import compile
from ._errors import NotFoundError

if TYPE_CHECKING:
    import torch

    from ._session import Session

PathLike = Union[str, "os.PathLike[str]"]


def export_torch(module: "torch.nn.Module", args: Sequence[Any],
                 path: PathLike, *,
                 kwargs: Optional[Mapping[str, Any]] = None,
                 input_names: Optional[Sequence[str]] = None,
                 output_names: Optional[Sequence[str]] = None,
                 **options: Any) -> pathlib.Path:
    """Writes a module as an ONNX file that can be trained: in training mode,
    and without the exporter's optimizer, which would merge and fold weights.
    The module's mode is as it was afterwards.

    args, kwargs: example inputs, whose shapes are the file's.
    options: of torch.onnx.export, as dynamic_shapes.
    """
    import torch

    was_training = module.training
    module.train()
    try:
        torch.onnx.export(
            module, tuple(args), os.fspath(path), kwargs=dict(kwargs or {}),
            input_names=input_names, output_names=output_names,
            **{"dynamo": True, "optimize": False, "verbose": False, **options})
    finally:
        module.train(was_training)
    return pathlib.Path(path)


def compile_torch(module: "torch.nn.Module", args: Sequence[Any],
                  artifact: PathLike, *,
                  kwargs: Optional[Mapping[str, Any]] = None,
                  input_names: Optional[Sequence[str]] = None,
                  output_names: Optional[Sequence[str]] = None,
                  model: Optional[PathLike] = None,
                  export_options: Optional[Mapping[str, Any]] = None,
                  **options: Any) -> pathlib.Path:
    """Exports a module (see export_torch) and compiles it with the options of
    compile(). The step's batch is that of `args`, unless `batch` says another.

    model: where the ONNX file is to stay; otherwise it is removed.
    """
    with tempfile.TemporaryDirectory(prefix="zc-") as folder:
        file = export_torch(module, args,
                            model or os.path.join(folder, "model.onnx"),
                            kwargs=kwargs, input_names=input_names,
                            output_names=output_names,
                            **(export_options or {}))
        return compile(file, artifact, **options)


def copy_to_torch(session: "Session", module: "torch.nn.Module") -> List[str]:
    """Copies parameters and statistics into the module that was exported; the
    names of those that the session does not have, as constants and what was
    frozen in the graph."""
    import torch

    missing, copied = {}, set()
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            try:
                found = session.states[name]
            except NotFoundError:
                missing[name] = tensor.data_ptr()
                continue
            tensor.copy_(torch.from_numpy(found))
            copied.add(tensor.data_ptr())
    # Tied parameters are one, whatever the file calls it.
    return [name for name, place in missing.items() if place not in copied]
