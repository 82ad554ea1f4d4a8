#!/usr/bin/env python3
"""The notebook of the Python module, cell by cell."""
import contextlib
import io
import json
import os
import shutil
import unittest

import onnxruntime

from python_module import ROOT
from zctest import FIXTURES, ZcTest


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


if __name__ == "__main__":
    unittest.main()
