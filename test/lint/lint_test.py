#!/usr/bin/env python3
"""Tests that every lint complains about a tree that deserves it, and is
silent about one that does not."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

LINTS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint"


def lint(check, files):
    """Run one lint over a tree of {path: text}; (exit code, its output)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run(
            [sys.executable, str(LINTS / f"check_{check}.py"), "--root",
             folder], text=True, capture_output=True)
        return result.returncode, result.stdout + result.stderr


class LintTest(unittest.TestCase):

    def complains(self, check, files, *messages):
        code, output = lint(check, files)
        self.assertEqual(code, 1, output)
        for message in messages:
            self.assertIn(message, output)

    def silent(self, check, files):
        code, output = lint(check, files)
        self.assertEqual(code, 0, output)


class Layers(LintTest):

    def test_runtime_takes_no_compiler(self):
        self.complains("layers",
                       {"runtime/Exec/A.cpp": '#include "mlir/IR/Types.h"\n'
                                              '#include "passes/B.h"\n'},
                       "runtime/Exec/A.cpp:1", "runtime/Exec/A.cpp:2")

    def test_mpi_only_in_its_room(self):
        self.complains("layers", {"runtime/Comm/A.cpp": "#include <mpi.h>\n"},
                       "may not include mpi")
        self.silent("layers", {"runtime/Comm/Mpi/A.cpp": "#include <mpi.h>\n"})

    def test_kernels_know_nobody(self):
        self.complains("layers",
                       {"kernels/Cpu/A.cpp": '#include "runtime/Base/B.h"\n'},
                       "may not include runtime/Base")

    def test_dialects_take_no_passes(self):
        self.complains("layers",
                       {"dialects/T/A.h": '#include "passes/Import/P.h"\n'},
                       "may not include passes/Import")

    def test_paths_begin_at_the_root(self):
        self.complains("layers", {"passes/Import/A.cpp": '#include "A.h"\n'},
                       "begin at the repository's root")

    def test_a_good_tree(self):
        self.silent("layers",
                    {"passes/Import/A.cpp": '#include "dialects/T/A.h"\n'
                                            '#include "mlir/IR/Types.h"\n'
                                            '#include <vector>\n'})


class Stems(LintTest):
    TABLE = 'def FoldThingsPass : Pass<"zc-fold-things"> {}\n'

    def test_no_source_and_no_test(self):
        self.complains("stems", {"passes/G/Passes.td": self.TABLE},
                       "no FoldThings.cpp", "no test")

    def test_wrong_name(self):
        self.complains(
            "stems",
            {"passes/G/Passes.td": 'def Foo : Pass<"zc-fold-things"> {}\n'},
            "asks for the name FoldThingsPass")

    def test_no_invalid_twin(self):
        self.complains("stems",
                       {"passes/G/Passes.td": self.TABLE,
                        "passes/G/FoldThings.cpp": "signalPassFailure();\n",
                        "test/passes/G/fold-things.mlir": "\n"},
                       "fold-things-invalid.mlir")

    def test_a_good_tree(self):
        self.silent("stems",
                    {"passes/G/Passes.td": self.TABLE,
                     "passes/G/FoldThings.cpp": "\n",
                     "test/passes/G/fold-things.mlir": "\n"})

    def test_an_operator_without_a_test(self):
        lowering = {"passes/Import/Lowering/A.cpp":
                    '  registry.add("Relu", 6, 14, lowerRelu);\n'
                    '  registry.add(\n      "Elu", 6, 22, lowerElu);\n'}
        relu = {"test/passes/Import/a.mlir": '%0 = onnx.node "Relu"(%x)\n'}
        elu = {"test/passes/Import/a/b.mlir": '%0 = onnx.node "Elu"(%x)\n'}
        self.complains("stems", {**lowering, **relu}, 'no onnx.node "Elu"')
        self.silent("stems", {**lowering, **relu, **elu})


class Sizes(LintTest):

    def test_a_long_file(self):
        self.complains("sizes", {"kernels/A.cpp": "int a;\n" * 601},
                       "601 lines")

    def test_a_long_function(self):
        body = "int f(int a) {\n" + "  a++;\n" * 90 + "}\n"
        self.complains("sizes", {"kernels/A.cpp": body}, "kernels/A.cpp:1")
        excuse = "// lint: long-ok one row per operator\n"
        self.silent("sizes", {"kernels/A.cpp": excuse + body})

    def test_a_long_signature(self):
        body = ("static int f(int a,\n             int b) {\n" +
                "  a++;\n" * 90 + "}\n")
        self.complains("sizes", {"kernels/A.cpp": body}, "kernels/A.cpp:1")

    def test_short_functions(self):
        one = "int f(int a) {\n" + "  a++;\n" * 50 + "}\n\n"
        self.silent("sizes", {"kernels/A.cpp": one * 3})


class Text(LintTest):

    def test_a_path_of_one_machine(self):
        path = "/ho" "me/someone/zc"
        self.complains("text", {"tools/a.py": f'"{path}"\n'}, "one machine")

    def test_unfinished_work(self):
        self.complains("text", {"kernels/A.h": "// TO" "DO: more\n"},
                       "unfinished")

    def test_spaces(self):
        self.complains("text", {"kernels/A.h": "int a; \n\tint b;"},
                       "a space", "a tab", "no newline")

    def test_a_good_file(self):
        self.silent("text", {"kernels/A.h": "// reads ../shared/x and a/b\n"})


class Format(LintTest):

    def test_an_untidy_file(self):
        files = {"kernels/A.cpp": "int   f( ){return 1 ;}\n",
                 ".clang-format": "BasedOnStyle: LLVM\n"}
        code, output = lint("format", files)
        if code == 77:
            self.skipTest(output)
        self.assertEqual(code, 1, output)
        self.assertIn("kernels/A.cpp:1", output)


if __name__ == "__main__":
    unittest.main()
