#!/usr/bin/env python3
"""`zc verify` over a choice of ONNX's node tests (tools/onnx-node-tests)."""
import json
import re
import shutil
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from zctest import FIXTURES, ZcTest, run

CASES = FIXTURES / "node-tests"


class Verify(ZcTest):

    def case(self, name):
        """A copy of a case that a test may spoil."""
        folder = self.folder / name
        shutil.copytree(CASES / name, folder)
        return folder

    def spoil(self, folder, change):
        path = folder / "test_data_set_0" / "output_0.pb"
        array = numpy_helper.to_array(onnx.load_tensor(path))
        path.write_bytes(
            numpy_helper.from_array(change(array.copy())).SerializeToString())

    def test_all_cases_pass(self):
        cases = sorted(CASES.iterdir())
        out = self.zc("verify", *cases)
        lines = out.splitlines()
        self.assertEqual(lines[-1], f"{len(cases)} of {len(cases)} test sets "
                                    "passed")
        for case, line in zip(cases, lines):
            self.assertRegex(line, f"^pass {re.escape(str(case))}/"
                                   r"test_data_set_0: largest error \S+ "
                                   r"absolute, \S+ relative$")

    def test_a_wrong_value_fails(self):
        good, bad = self.case("test_relu"), self.case("test_add")

        def change(array):
            array.flat[7] += 1
            return array

        self.spoil(bad, change)
        code, out, _ = run("verify", good, bad)
        self.assertEqual(code, 1)
        self.assertRegex(out, "(?m)^pass .*test_relu")
        self.assertRegex(out, "(?m)^fail .*test_add.*: output 'sum' element 7 "
                              "is .*, expected ")
        self.assertIn("1 of 2 test sets passed", out)
        self.zc("verify", bad, "--atol", "1.5")

    def test_json_says_the_same(self):
        bad = self.case("test_add")
        self.spoil(bad, lambda array: array[:1])
        code, out, _ = run("verify", bad, "--json")
        self.assertEqual(code, 1)
        result = json.loads(out)
        self.assertEqual((result["passed"], result["total"]), (0, 1))
        self.assertFalse(result["sets"][0]["passed"])
        self.assertRegex(result["sets"][0]["reason"], "has the shape .*, "
                                                      "expected ")

    def test_outputs_are_kept(self):
        kept = self.folder / "kept"
        self.zc("verify", CASES / "test_relu", "--output-dir", kept)
        array = np.load(kept / "test_relu" / "test_data_set_0" / "y.npy")
        self.assertGreaterEqual(array.min(), 0)

    def test_what_cannot_be_read_fails(self):
        empty = self.folder / "empty"
        empty.mkdir()
        code, out, _ = run("verify", empty, self.folder / "absent")
        self.assertEqual(code, 1)
        self.assertRegex(out, "fail .*empty: .*has no test_data_set_")
        self.assertRegex(out, "(?i)fail .*absent: .*no such file")
        self.assertIn("0 of 2", out)


if __name__ == "__main__":
    unittest.main()
