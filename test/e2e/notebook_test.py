#!/usr/bin/env python3
"""The notebook of the Python module, cell by cell, and zc run on the batches
that the notebook trains with."""
import contextlib
import io
import json
import os
import shutil
import types
import unittest

import numpy as np
import onnxruntime

from python_module import ROOT
from zctest import FIXTURES, ZcTest, read_log


class Notebook(ZcTest):

    def test_digits(self):
        for name, source in (("model.onnx", "model.onnx"),
                             ("train.npz", "train.npz"),
                             ("held.npz", "heldout.npz")):
            shutil.copy(FIXTURES / "digits" / source, self.folder / name)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        path = ROOT / "tools" / "python" / "examples" / "digits.ipynb"
        os.chdir(self.folder)
        names, said = {}, io.StringIO()
        for cell in json.loads(path.read_text())["cells"]:
            self.assertFalse(cell.get("outputs"), "is kept without results")
            if cell["cell_type"] == "code":
                code = compile("".join(cell["source"]), cell["id"], "exec")
                with contextlib.redirect_stdout(said):
                    exec(code, names)
        self.assertGreater(names["accuracy"], 0.95, said.getvalue())
        session = onnxruntime.InferenceSession("trained.onnx")
        logits, = session.run(["logits"], {"x": names["held"]["x"]})
        right = (logits.argmax(axis=1) == names["held"]["labels"]).mean()
        self.assertAlmostEqual(right, names["accuracy"], delta=0.01)
        self.check_losses(names)

    def check_losses(self, names):
        """Checks that losses are those of zc run on the same batches, bit for
        bit."""
        names["session"] = types.SimpleNamespace(batch=64)  # it is closed
        batches = list(names["batches"](epochs=10))
        np.savez("ordered.npz", **{
            name: np.concatenate([batch[name] for batch in batches])
            for name in batches[0]})
        self.train("step.zca", "ordered.npz", len(batches), "--no-shuffle",
                   "--log", "log.jsonl", lr=3e-3)
        # zc run writes the shortest decimal of a float32.
        self.assertEqual([np.float32(loss) for loss in names["losses"]],
                         [np.float32(line["loss"])
                          for line in read_log(self.folder / "log.jsonl")])


if __name__ == "__main__":
    unittest.main()
