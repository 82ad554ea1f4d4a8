"""Training and evaluating an artifact in this process."""
from __future__ import annotations

import ctypes
import os
import tempfile
import weakref
from typing import (Any, Callable, Dict, Iterable, List, Mapping, Optional,
                    Sequence, Union)

import numpy as np

from ._callbacks import TELL, Progress, progress_of
from ._compiler import export
from ._errors import InvalidArgumentError, error_of
from ._library import LIB, OpenOptions, RawInfo, status_name
from ._ranks import Bridge, Transport
from ._states import States
from ._tensors import TensorInfo, describe, numpy_type, set_input

Array = Any  # NumPy's, what np.asarray takes, or what has __dlpack__
Batch = Union[Mapping[str, Array], Sequence[Array]]
PathLike = Union[str, "os.PathLike[str]"]
# Gets the session and the step's loss; training ends where it returns False.
Callback = Callable[["Session", float], Optional[bool]]


def _close(handle: ctypes.c_void_p, *kept: Any) -> None:
    """Closes the handle. `kept` are callbacks, which live until then."""
    LIB.zc_close(ctypes.byref(handle))


class Session:
    """An artifact with its parameters and all memory that a rank needs.

    One thread at a time uses a session; several sessions may train at once in
    different threads, for libzc lets go of Python's lock. Messages for people
    go to the logger "zc".

    artifact: what `zc.compile` made.
    seed: of drawn weights and dropout.
    threads: at most those that were planned; 0: as many as there are.
    offload_dir: where offloaded tensors lie, as `zc run --offload-dir`.
    tune: the tuning file, as `zc run --tune FILE`; "": the usual one.
    ranks: of an artifact for several ranks, who this one is: "launcher", where
        mpirun, srun or torchrun has started this process, or a `Transport` of
        yours. All ranks call step(), eval(), states and files alike; where one
        of these fails, all fail, and the sessions can only be closed.
    timeout: seconds that a rank waits for another.
    progress: gets ("step", steps done, 0) behind each step, and ("evaluation",
        samples done, of so many) before each batch of an evaluation. Where it
        returns False, the evaluation, or the next step, does no more on all
        ranks and raises StoppedError. It must not use the session.
    """

    def __init__(self, artifact: PathLike, *, seed: int = 0, threads: int = 0,
                 offload_dir: Optional[PathLike] = None,
                 tune: Optional[PathLike] = None,
                 ranks: Union[None, str, Transport] = None,
                 timeout: float = 600,
                 progress: Optional[Progress] = None) -> None:
        if isinstance(ranks, str) and ranks != "launcher":
            raise InvalidArgumentError(
                f"ranks={ranks!r}: expected \"launcher\" or a Transport",
                "ZC_INVALID_ARGUMENT")
        self._bridge = (Bridge(ranks) if ranks is not None
                        and not isinstance(ranks, str) else None)
        hear = progress_of(progress) if progress is not None else None
        options = OpenOptions(
            ctypes.sizeof(OpenOptions), seed, threads,
            os.fsencode(offload_dir) if offload_dir else None,
            ctypes.cast(TELL, ctypes.c_void_p), None,
            int(ranks == "launcher" and self._bridge is None), timeout,
            ctypes.cast(ctypes.byref(self._bridge.raw), ctypes.c_void_p)
            if self._bridge else None,
            0, ctypes.cast(hear, ctypes.c_void_p) if hear else None, None,
            os.fsencode(tune) if tune is not None else None)
        self.artifact = os.fspath(artifact)
        self._handle = ctypes.c_void_p()
        self._held: Dict[str, Any] = {}  # what libzc reads from
        self._views: List["weakref.ref[Any]"] = []  # of its outputs
        self._seed = seed
        self._has_data = False
        # Callbacks of libzc live until it has closed.
        self._finish = weakref.finalize(self, _close, self._handle, self._bridge,
                                        hear)
        status = LIB.zc_open(os.fsencode(artifact), ctypes.byref(options),
                             ctypes.byref(self._handle))
        self._check(status)

    def close(self) -> None:
        """Frees everything. Twice is harmless."""
        self._refuse_views("close the session")
        self._finish()
        self._held.clear()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{each.name}: {each.dtype}{list(each.shape)}"
                           for each in self.inputs)
        return f"<zc.Session {self.artifact!r}, {inputs}>"

    # Properties -------------------------------------------------------------

    @property
    def inputs(self) -> List[TensorInfo]:
        """The tensors that a step reads, labels included."""
        return self._list(LIB.zc_input_count, LIB.zc_input_info)

    @property
    def outputs(self) -> List[TensorInfo]:
        """The tensors that eval() returns."""
        return self._list(LIB.zc_output_count, LIB.zc_output_info)

    @property
    def batch(self) -> int:
        """How many samples a step takes; 0: no input counts samples."""
        return int(LIB.zc_batch(self._handle))

    @property
    def rank(self) -> int:
        """The number of the session's rank, from 0."""
        return int(LIB.zc_rank(self._handle))

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return int(LIB.zc_ranks(self._handle))

    @property
    def rank_batch(self) -> int:
        """How many samples of a step this rank computes: step() takes all of
        them on every rank, or on each its own alone."""
        return int(LIB.zc_rank_batch(self._handle))

    @property
    def memory_bytes(self) -> int:
        """The bytes of memory that were planned for this rank, all of which it
        has."""
        return int(LIB.zc_memory_bytes(self._handle))

    @property
    def sent_bytes(self) -> int:
        """How many this rank has sent to others so far."""
        return int(LIB.zc_sent_bytes(self._handle))

    @property
    def steps_done(self) -> int:
        """The steps so far, with those before a checkpoint that was resumed."""
        return int(LIB.zc_steps_done(self._handle))

    @property
    def metrics(self) -> Dict[str, float]:
        """The numbers of the last step ("loss", of all its samples and before
        its update; "grad_norm", before clipping; "loss_scale", "skipped") and
        of the last eval() ("eval_loss", "eval_accuracy")."""
        found: Dict[str, float] = {}
        for i in range(LIB.zc_metric_count(self._handle)):
            name = LIB.zc_metric_name(self._handle, i)
            value = ctypes.c_double()
            self._check(LIB.zc_metric(self._handle, name, ctypes.byref(value)))
            found[name.decode()] = value.value
        return found

    @property
    def states(self) -> States:
        """Parameters, statistics and the optimizer's states by ONNX name:
        `session.states["fc.weight"]` is a copy, assigning sets it."""
        return States(self._handle, self._check)

    # Training ---------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """From the next step on; 1e-3 to begin with."""
        return float(LIB.zc_learning_rate(self._handle))

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._check(LIB.zc_set_learning_rate(self._handle, rate))

    @property
    def seed(self) -> int:
        """The seed of dropout, from the next step on."""
        return self._seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._check(LIB.zc_set_seed(self._handle, seed))
        self._seed = seed

    def set_setting(self, name: str, value: float) -> None:
        """Another number of the update, by its option of `zc run`:
        `set_setting("weight-decay", 0.1)`. Fails where the artifact's code does
        not read it."""
        name = name.replace("_", "-")
        self._check(LIB.zc_set_setting(self._handle, name.encode(), value))

    def step(self, batch: Optional[Batch] = None, **inputs: Array) -> float:
        """Does one optimizer step and returns its loss.

        The samples come as a mapping from input names, as a sequence in the
        order of `inputs`, or by name: `step(x=images, labels=classes)`. An
        input that is left out keeps what it was given last. Arrays are read
        where they are (copied only where they are not in row-major order); any
        integers are taken for integers, any floats for floats. After
        set_data() samples are those of files, and none are given here.
        """
        if self._has_data and (batch is not None or inputs):
            raise ValueError("the samples of steps are those of set_data(); "
                             "set_data(None) ends that")
        self._give(batch, inputs)
        self._check(LIB.zc_step(self._handle))
        return self._metric(b"loss")

    def train(self, batches: Iterable[Batch], *, steps: Optional[int] = None,
              callbacks: Sequence[Callback] = ()) -> List[float]:
        """step() for each batch, at most `steps` times; the losses. After each
        step the callbacks get the session and the loss; the first that returns
        False ends the training."""
        losses: List[float] = []
        iterator = iter(batches)
        while steps is None or len(losses) < steps:
            batch = next(iterator, None)
            if batch is None:
                break
            losses.append(self.step(batch))
            if not all([each(self, losses[-1]) is not False
                        for each in callbacks]):
                break
        return losses

    # Samples of files -------------------------------------------------------

    def set_data(self, path: Optional[PathLike], *, token_bits: int = 0) -> int:
        """Steps take their samples from files, which are what `zc run --data`
        takes: `session.step()` without a batch. Returns how many there are.
        token_bits: 16 or 32, where .bin files of tokens don't say so. None: they
        are given to step() again."""
        self._check(LIB.zc_set_data(
            self._handle, None if path is None else os.fsencode(path),
            token_bits))
        self._has_data = path is not None
        return int(LIB.zc_sample_count(self._handle))

    def select(self, samples: Sequence[int]) -> None:
        """Selects the samples that the next steps take, counted from 0, `batch`
        for each: of files, or of inputs that hold more. Without, they follow in
        order."""
        chosen = np.asarray(samples)
        if chosen.size and chosen.dtype.kind not in "iu":
            raise InvalidArgumentError(
                f"samples are numbers of samples, not {chosen.dtype.name}; of "
                "a mask, np.flatnonzero() gives them", "ZC_INVALID_ARGUMENT")
        chosen = np.ascontiguousarray(chosen, dtype=np.int64)
        self._check(LIB.zc_select(
            self._handle, chosen.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)),
            chosen.size))

    def set_eval_data(self, path: PathLike, *, metrics: Sequence[str] = (),
                      token_bits: int = 0) -> None:
        """Held-out samples for eval_data(), of files as for set_data().
        metrics: as `zc run --metrics`, besides loss and accuracy."""
        self._check(LIB.zc_set_eval_data(
            self._handle, os.fsencode(path), token_bits,
            ",".join(metrics).encode()))

    def eval_data(self) -> Dict[str, float]:
        """Loss and metrics over the held-out samples, exact over all of them:
        "eval_loss", "eval_accuracy" and so on."""
        self._check(LIB.zc_eval_data(self._handle))
        return {name: value for name, value in self.metrics.items()
                if name.startswith("eval_")}

    # Evaluation -------------------------------------------------------------

    def eval(self, batch: Optional[Batch] = None, *, copy: bool = True,
             **inputs: Array) -> Dict[str, np.ndarray[Any, Any]]:
        """The outputs over all samples, however many, without dropout and with
        running statistics. The samples come as step() takes them; labels may be
        left out, with them `metrics` then has "eval_loss".

        copy=False: the arrays are libzc's own memory. While one of them is
        alive, eval() and close() raise BufferError.
        """
        self._refuse_views("evaluate again")
        if batch is not None or inputs:
            self._forget_labels()
            self._give(batch, inputs)
        self._check(LIB.zc_eval(self._handle))
        found = {each.name: self._output(each) for each in self.outputs}
        if not copy:
            return found
        return {name: view.copy() for name, view in found.items()}

    def _output(self, info: TensorInfo) -> np.ndarray[Any, Any]:
        dtype = numpy_type(info.dtype)
        size = dtype.itemsize * int(np.prod(info.shape, dtype=np.int64))
        if size == 0:
            return np.empty(info.shape, dtype)
        place = LIB.zc_output_data(self._handle, info.name.encode())
        memory = (ctypes.c_char * size).from_address(place)
        self._views.append(weakref.ref(memory))
        array: np.ndarray[Any, Any] = np.frombuffer(memoryview(memory), dtype)
        return array.reshape(info.shape)

    # Files ------------------------------------------------------------------

    def save(self, folder: PathLike, *, keep: int = 0) -> None:
        """Writes the checkpoint folder/step-N, as `zc run --checkpoint` does.
        keep: only the newest so many stay; 0: all."""
        self._check(LIB.zc_save(self._handle, os.fsencode(folder), keep))

    def resume(self, path: PathLike) -> None:
        """Goes on from a checkpoint: a folder (its latest) or its step-N."""
        self._check(LIB.zc_resume(self._handle, os.fsencode(path)))

    def load_weights(self, path: PathLike) -> None:
        """Takes weights by their names, of a checkpoint or a .safetensors
        file; the log says which stayed as they are."""
        self._check(LIB.zc_load_weights(self._handle, os.fsencode(path)))

    def export_weights(self, path: PathLike) -> None:
        """Writes parameters and statistics to a .safetensors file."""
        self._check(LIB.zc_export_weights(self._handle, os.fsencode(path)))

    def export(self, path: PathLike) -> None:
        """Writes the ONNX model with the weights as they are now. Needs the
        compiler, as zc.export() does."""
        with tempfile.TemporaryDirectory(prefix="zc-") as folder:
            self.save(os.path.join(folder, "checkpoint"))
            export(self.artifact, os.path.join(folder, "checkpoint"), path)

    # Parts ------------------------------------------------------------------

    def _check(self, status: int) -> None:
        if status != 0:
            text = LIB.zc_last_error(self._handle).decode(errors="replace")
            raise error_of(status_name(status), text)

    def _refuse_views(self, deed: str) -> None:
        if any(view() is not None for view in self._views):
            raise BufferError(f"cannot {deed}: arrays of eval(copy=False) are "
                              "still in use")
        self._views = []

    def _list(self, count: Any, info: Any) -> List[TensorInfo]:
        found = []
        for i in range(count(self._handle)):
            raw = RawInfo(ctypes.sizeof(RawInfo))
            self._check(info(self._handle, i, ctypes.byref(raw)))
            found.append(describe(raw))
        return found

    def _metric(self, name: bytes) -> float:
        value = ctypes.c_double()
        self._check(LIB.zc_metric(self._handle, name, ctypes.byref(value)))
        return value.value

    def _give(self, batch: Optional[Batch], inputs: Dict[str, Array]) -> None:
        for name, tensor in {**self._by_name(batch), **inputs}.items():
            status, held = set_input(self._handle, name, tensor)
            self._check(status)
            self._held[name] = held

    def _forget_labels(self) -> None:
        """Clears the labels of other samples."""
        for each in self.inputs:
            if each.kind == "label":
                self._check(LIB.zc_clear_input(self._handle, each.name.encode()))
                self._held.pop(each.name, None)

    def _by_name(self, batch: Optional[Batch]) -> Mapping[str, Array]:
        if batch is None:
            return {}
        if isinstance(batch, Mapping):
            return batch
        if not isinstance(batch, (list, tuple)):
            raise TypeError("a batch is a mapping from input names or a list in "
                            f"the order of inputs, not {type(batch).__name__}")
        names = [each.name for each in self.inputs]
        if len(batch) != len(names):
            raise InvalidArgumentError(
                f"the batch has {len(batch)} arrays; the artifact wants "
                f"{len(names)}: {', '.join(names)}", "ZC_INVALID_ARGUMENT")
        return dict(zip(names, batch))
