#!/usr/bin/env python3
"""The guide's list of refused operators and attributes says what zc says."""
import pathlib
import sys
import unittest

from zctest import BIN

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import refused_operators


class OperatorPage(unittest.TestCase):

    def test_refusals(self):
        text = (ROOT / "tools" / "guide" / "operators.md").read_text()
        listed = text.split(refused_operators.BEGIN)[1].split(
            refused_operators.END)[0].strip("\n").split("\n")
        self.assertEqual(listed, refused_operators.make_table(BIN / "zc"),
                         "renew it: tools/operator-table --refused")


if __name__ == "__main__":
    unittest.main()
