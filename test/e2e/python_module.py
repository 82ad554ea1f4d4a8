"""Helpers that the tests of the Python module share: the module, of this build,
and sessions of fixtures."""
import os
import sys

import numpy as np

from zctest import BIN, FIXTURES, Fixture, ZcTest

ROOT = FIXTURES.parents[1]
os.environ["ZC_LIBRARY"] = str(BIN.parent / "lib" / "libzc.so.1")
os.environ["ZC_PROGRAM"] = str(BIN / "zc")
sys.path.insert(0, str(ROOT / "tools" / "python"))

import zc  # noqa: E402


class Foreign:
    """A tensor of another library, which speaks DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OldForeign(Foreign):
    """An array that speaks DLPack as it was before version 1."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def repeat(fixture, steps):
    """So many whole batches of a fixture's data."""
    batch = fixture.reference["batch"]
    return {name: np.resize(array, (batch * steps, *array.shape[1:]))
            for name, array in np.load(fixture.data).items()}


def batches_of(arrays, size):
    count = len(next(iter(arrays.values())))
    for at in range(0, count, size):
        yield {name: array[at:at + size] for name, array in arrays.items()}


class PythonTest(ZcTest):

    def compiled(self, name="mlp", **options):
        fixture = Fixture(name)
        options.setdefault("loss", fixture.reference["loss"])
        if fixture.reference["symbolic_batch"]:
            options["dim"] = {fixture.reference["symbolic_batch"]:
                              fixture.reference["batch"]}
        return zc.compile(fixture.model, self.folder / "step.zca", **options)

    def opened(self, *args, name="mlp", **options):
        session = zc.Session(self.compiled(name, **options))
        self.addCleanup(session.close)
        return session
