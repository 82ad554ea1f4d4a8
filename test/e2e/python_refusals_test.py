#!/usr/bin/env python3
"""What the Python module zc refuses, and how it says so."""
import re
import unittest

import numpy as np
from safetensors.numpy import save_file

from python_module import Foreign, PythonTest, repeat, zc
from zctest import Fixture
from zc._compiler import SWITCHES


class Refusals(PythonTest):

    def refused(self, kind, pattern, function, *args, **options):
        with self.assertRaisesRegex(kind, pattern) as caught:
            function(*args, **options)
        return caught.exception

    def test_wrong_batches(self):
        session, arrays = self.opened(), repeat(Fixture("mlp"), 1)
        x, labels = arrays["x"], arrays["labels"]
        step, wrong = session.step, zc.InvalidArgumentError
        self.refused(wrong, "'x' was not set", step)
        self.refused(zc.NotFoundError, "no input 'y'.*'x', 'labels'", step, y=x)
        self.refused(wrong, "x.*float32", step, x=x[:, :3], labels=labels)
        self.refused(wrong, "labels", step, x=x, labels=labels.astype(float))
        self.refused(wrong, "complex", step, x=x.astype(complex), labels=labels)
        self.refused(wrong, "'x'.*>f4", step, x=x.astype(">f4"), labels=labels)
        self.refused(wrong, "str", step, x=["a"], labels=labels)
        self.refused(wrong, "1 arrays.*wants 2: x, labels", step, [x])
        self.refused(TypeError, "mapping.*ndarray", step, x)
        self.refused(wrong, "samples", step, x=x[:-1], labels=labels[:-1])
        self.refused(wrong, "label", step, x=x, labels=labels + 1000)
        self.refused(wrong, "row-major", step, x=Foreign(x.T.copy().T),
                     labels=labels)
        self.assertEqual(session.steps_done, 0)
        step(arrays)

    def test_wrong_numbers(self):
        session, arrays = self.opened(), repeat(Fixture("mlp"), 1)
        with self.assertRaises(ValueError):
            session.learning_rate = float("nan")
        self.refused(zc.Error, "none", session.set_setting, "none", 1)
        self.refused(zc.Error, "at least 0", session.set_setting,
                     "weight_decay", -1)
        session.learning_rate = 1e30
        session.step(arrays)
        failure = self.refused(zc.NotFiniteError, "", session.step)
        self.assertEqual(failure.status, "ZC_NOT_FINITE")

    def test_wrong_files(self):
        self.refused(zc.NotFoundError, "none.zca", zc.Session,
                     self.folder / "none.zca")
        (self.folder / "text.zca").write_text("text")
        failure = self.refused(zc.Error, "text.zca", zc.Session,
                               self.folder / "text.zca")
        self.assertEqual(failure.status, "ZC_CORRUPT")
        session = self.opened()
        self.refused(zc.NotFoundError, "none", session.resume,
                     self.folder / "none")
        self.refused(zc.Error, "text.zca", session.load_weights,
                     self.folder / "text.zca")
        self.refused(zc.Error, "text.zca", session.set_data,
                     self.folder / "text.zca")
        self.refused(zc.Error, "mlp", session.save, Fixture("mlp").data)
        self.refused(zc.InvalidArgumentError, "text",
                     session.set_eval_data, Fixture("mlp").data,
                     metrics=["text"])

    def test_wrong_selections(self):
        session = self.opened()
        session.set_data(Fixture("mlp").data)
        batch, wrong = session.batch, zc.InvalidArgumentError
        mask = np.ones(batch, bool)
        self.refused(wrong, "not bool.*flatnonzero", session.select, mask)
        self.refused(wrong, "not float64", session.select, [0.5] * batch)
        self.refused(wrong, "no sample -1", session.select, [-1] * batch)
        self.refused(wrong, f"takes {batch}", session.select, [0])
        session.select(np.flatnonzero(mask).astype(np.uint16))
        session.step()
        self.refused(ValueError, "set_data", session.step,
                     repeat(Fixture("mlp"), 1))

    def test_a_closed_session(self):
        session = self.opened()
        states = session.states
        session.close()
        session.close()
        self.refused(zc.Error, "no session", session.step)
        self.refused(zc.Error, "no session", states.info, "0.weight")
        self.assertEqual((session.inputs, session.batch), ([], 0))

    def test_compiling(self):
        fixture = Fixture("mlp")
        failure = self.refused(zc.CompileError, "--lossy", zc.compile,
                               fixture.model, self.folder / "a.zca", lossy=1)
        self.assertEqual(failure.code, 2)
        failure = self.refused(zc.CompileError, "dim named 'none'", zc.compile,
                               fixture.model, self.folder / "a.zca",
                               loss="softmax-cross-entropy", dim={"none": 3})
        self.assertEqual(failure.code, 1)
        self.assertFalse((self.folder / "a.zca").exists())

    def test_no_other_names(self):
        self.assertEqual(sorted(zc.__all__), sorted(
            name for name in zc._MODULE_OF if hasattr(zc, name)))
        self.refused(AttributeError, "'zc' has no attribute 'none'", getattr, zc,
                     "none")

    def test_switches_are_those_of_the_command(self):
        text = self.zc("help", "compile")
        listed = set(re.findall(r"^ *--([a-z-]+) \S*[,|]off[}|,]", text,
                                re.MULTILINE))
        self.assertEqual(listed, SWITCHES.keys())

    def test_notes_go_to_the_logger(self):
        with self.assertLogs("zc", "INFO") as logs:
            session = self.opened(name="mlp", dropout=False)
        self.assertIn("parameters", "\n".join(logs.output))
        weights = self.folder / "w.safetensors"
        save_file({"0.bias": session.states["0.bias"]}, weights)
        with self.assertLogs("zc", "WARNING") as logs:
            session.load_weights(weights)
        self.assertIn("0.weight", "\n".join(logs.output))


if __name__ == "__main__":
    unittest.main()
