#!/usr/bin/env python3
"""Tests of the lint of test/requirements.txt."""
import pathlib
import sys
import tempfile
import unittest

from lint_test import LINTS, LintTest, lint

sys.path.insert(0, str(LINTS))
import requirements  # noqa: E402


class Requirements(LintTest):
    END_TO_END = {"test/e2e/CMakeLists.txt": "add_zc_e2e_test(a a_test.py)\n"
                                             "add_zc_e2e_test(g guide_test.py)\n",
                  "test/e2e/a_test.py": "class A:\n    def test_it(self):\n"
                                        "        pass\n"
                                        "class Base:\n    def setUp(self):\n"
                                        "        pass\n",
                  "test/lint/CMakeLists.txt": "foreach(check a c)\n",
                  "tools/lint/check_a.py": "\n",
                  "tools/lint/check_b.py": "\n",
                  "tools/lint/tree.py": "\n",
                  "tools/guide/words.md": "Words.\n",
                  "tools/guide/script.sh": "\n",
                  "tools/guide/page.md": "Run it:\n```sh\nls\n```\n",
                  "test/passes/none.mlir": "\n"}

    def table(self, first, notes=45, works=24, own=""):
        """A whole table, whose first row is given, and its page."""
        text = "".join(f"{name} | feature | citation |\n"
                       for name in requirements.names()[1:])
        text += "".join(f"N-{i:02} | A-01 | wrong | right\n"
                        for i in range(1, notes + 1)) + own
        text += "".join(f"Work {i} | A-01\n" for i in range(works))
        files = dict(self.END_TO_END, **{requirements.TABLE: first + text})
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "test").mkdir()
            (root / requirements.TABLE).write_text(first + text)
            files[requirements.PAGE] = requirements.page(
                *requirements.read(root))
        return files

    def test_a_whole_table(self):
        self.silent("requirements",
                    self.table("A-01 | f | done | a_test.A.test_it\n"))

    def test_lints_and_pages(self):
        self.silent("requirements", self.table(
            "A-01 | f | done | lint:check_a.py; guide:page.md\n"))
        files = self.table("A-01 | f | done | guide:page.md\n")
        files["test/e2e/CMakeLists.txt"] = "add_zc_e2e_test(a a_test.py)\n"
        self.complains("requirements", files, "guide_test.py is not in")

    def test_rows_that_are_missing(self):
        self.complains("requirements", self.table(""), "A-01 is there 0 times")
        self.complains("requirements", self.table("Y-01 | f | citation |\n"),
                       "there is no row Y-01")

    def test_notes_and_works_that_are_missing(self):
        row = "A-01 | f | done | a_test.A.test_it\n"
        self.complains("requirements", self.table(row, notes=44),
                       "notes are not N-01 to N-45")
        self.complains("requirements", self.table(row, works=23),
                       "23 works of the sources")

    def test_own_corrections(self):
        """They are in order, and each has a test that computes it."""
        row = "A-01 | f | done | a_test.A.test_it\n"
        own = "Z-{} | {} | wrong | right | {}\n"
        self.silent("requirements", self.table(
            row, own=own.format("01", "A-01", "a_test.A.test_it; a_test.A")))
        for note, message in (
                (("02", "A-01", "a_test.A"), "and then Z-01 and so on"),
                (("01", "A-01", "a_test.B"), "Z-01: a_test.B: a_test.py has no"),
                (("01", "A-01", ""), "Z-01: no test computes it"),
                (("01", "A-01", "file:test/e2e/a_test.py"),
                 "Z-01: no test computes it"),
                (("01", "", "a_test.A"), "Z-01: of no row"),
                (("01", "Y-01", "a_test.A"), "Z-01: no row Y-01")):
            self.complains("requirements",
                           self.table(row, own=own.format(*note)), message)

    def test_tests_that_do_not_exist(self):
        for name, message in (
                ("a_test.A.test_other", "a_test.A has no such test"),
                ("a_test.B.test_it", "has no such class"),
                ("b_test.A", "b_test.py is not in test/e2e/CMakeLists.txt"),
                ("a_test.A.setUp", "a_test.A has no such test"),
                ("a_test.Base", "a_test.Base has no test"),
                ("lit:passes/none.mlir", "runs nothing"),
                ("unit:Suite.Name", "no such TEST"),
                ("lit:passes/a.mlir", "no file test/passes/a.mlir"),
                ("lint:check_b.py", "runs no such check"),
                ("lint:check_c.py", "no file tools/lint/check_c.py"),
                ("lint:tree.py", "runs no such check"),
                ("guide:none.md", "no file tools/guide/none.md"),
                ("guide:words.md", "runs nothing (```sh)"),
                ("guide:script.sh", "is no page")):
            self.complains("requirements",
                           self.table(f"A-01 | f | done | {name}\n"), message)

    def test_what_says_nothing(self):
        code, output = lint("requirements", self.table("A-01 | f | done |\n"))
        self.assertEqual((code, output.count("A-01")), (1, 1), output)
        self.assertIn("nothing shows it", output)
        self.complains(
            "requirements",
            self.table("A-01 | f | done | file:test/e2e/a_test.py\n"),
            "no test shows it")
        self.complains("requirements",
                       self.table("A-01 | f | partly | a_test.A\n"),
                       "does not say what is missing")

    def test_an_old_page(self):
        files = self.table("A-01 | f | citation |\n")
        files["tools/guide/requirements.md"] += "more\n"
        self.complains("requirements", files, "not what tools/lint")


if __name__ == "__main__":
    unittest.main()
