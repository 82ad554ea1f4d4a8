#!/usr/bin/env python3
"""Tests of the lint of test/README.md."""
import unittest

from lint_test import LintTest


class Mistakes(LintTest):

    TREE = {"test/e2e/CMakeLists.txt": "add_zc_e2e_test(m mutations_test.py)\n",
            "test/e2e/mutations_test.py": "class M:\n    def test_it(self):\n"
                                          "        find('a sum is lost')\n",
            "test/e2e/seeded_mistakes.py": "KINDS = {'a sum is lost': 1}\n",
            "test/unit/AThingTest.cpp": "TEST(Thing, Holds) {}\n",
            "test/passes/a-invalid.mlir": "\n"}

    def page(self, *rows):
        return dict(self.TREE, **{"test/README.md": "".join(
            f"| {number} | {mistake} | {test} |\n"
            for number, (mistake, test) in enumerate(rows, 1))})

    def test_sound(self):
        self.silent("mistakes", self.page(
            ("a sum is lost", "`mutations_test.py`"), ("more", "the same"),
            ("a", "`mutations_test.M.test_it`"), ("b", "`AThingTest`"),
            ("c", "`Thing.Holds`"), ("d", "`a-invalid.mlir`")))

    def test_unsound(self):
        self.complains("mistakes", self.page(("other", "`AThingTest`")),
                       "has no mistake 'a sum is lost'")
        for name in ("absent_test.py", "mutations_test.M.test_other",
                     "ABsentTest", "Thing.Fails", "b-invalid.mlir",
                     "tools/absent"):
            self.complains("mistakes", self.page(("a sum is lost", f"`{name}`")),
                           name)
        self.complains("mistakes", self.page(("a sum is lost", "somebody")),
                       "no test finds it")


if __name__ == "__main__":
    unittest.main()
