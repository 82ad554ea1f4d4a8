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


class Calls(LintTest):

    ROOMS = {"kernels/Calls/Norm.cpp": "", "kernels/Calls/Pooling.cpp": ""}

    def test_lists_of_kinds_are_none(self):
        self.complains("calls",
                       {**self.ROOMS,
                        "runtime/Plan/A.cpp": "NormCall a; PoolingCall b;\n"},
                       "runtime/Plan/A.cpp", "Norm, Pooling")

    def test_devices_and_one_kind_are_silent(self):
        self.silent("calls",
                    {**self.ROOMS, "runtime/Plan/A.cpp": "NormSpec a;\n",
                     "runtime/Device/A.cpp": "NormCall a; PoolingCall b;\n"})

    def test_lists_of_names_in_reports(self):
        rooms = {**self.ROOMS,
                 "kernels/Calls/Norm.h": 'kName = "norm";\n',
                 "kernels/Calls/Pooling.h": 'kName = "pooling";\n'}
        self.complains("calls",
                       {**rooms, "tools/a.py": 'KINDS = ("norm", "pooling")\n'},
                       "tools/a.py:1")
        self.silent("calls", {**rooms, "tools/a.py": 'KIND = "norm", "other"\n'})


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

    def test_kernels_know_the_base_alone(self):
        self.complains("layers",
                       {"kernels/Cpu/A.cpp": '#include "runtime/Exec/B.h"\n'},
                       "may not include runtime/Exec")
        self.complains("layers",
                       {"kernels/Calls/A.cpp": '#include "runtime/Base/B.h"\n'},
                       "may not include runtime/Base")
        self.silent("layers",
                    {"kernels/Cpu/A.cpp": '#include "runtime/Base/B.h"\n'})

    def test_dialects_take_no_passes(self):
        self.complains("layers",
                       {"dialects/T/A.h": '#include "passes/Import/P.h"\n'},
                       "may not include passes/Import")

    def test_groups_of_passes_look_down(self):
        self.complains("layers",
                       {"passes/Analysis/A.h": '#include "passes/Memory/B.h"\n'},
                       "may not include passes/Memory")
        self.silent("layers",
                    {"passes/Memory/A.h": '#include "passes/Analysis/B.h"\n'})

    def test_every_group_of_passes_has_a_row(self):
        self.complains("layers", {"passes/New/A.h": ""}, "no row")

    def test_paths_begin_at_the_root(self):
        self.complains("layers", {"passes/Import/A.cpp": '#include "A.h"\n'},
                       "begin at the repository's root")

    def test_a_good_tree(self):
        self.silent("layers",
                    {"passes/Import/A.cpp": '#include "dialects/T/A.h"\n'
                                            '#include "mlir/IR/Types.h"\n'
                                            '#include <vector>\n'})


class Contents(LintTest):
    TREE = {
        "passes/Contents/Contents.cpp":
            "void addOne(M &manager, const P &options) {\n"
            "  manager.addPass(createAPass());\n}\n"
            "void addSched(M &manager, const P &options) {\n"
            "  addTwo(manager, options);\n}\n"
            "void addAllPhases(M &manager, const P &options) {\n"
            "  addOne(manager, options);\n  addSched(manager, options);\n}\n",
        "passes/A/Passes.td": 'def APass : Pass<"zc-a"> {}\n',
        "README.md": "│ one ▶ two │\n",
        "passes/README.md": "| `one` | x |\n| `two` | y |\n"}

    def test_a_good_tree(self):
        self.silent("contents", self.TREE)

    def test_a_pass_that_nobody_runs(self):
        self.complains("contents", dict(self.TREE, **{
            "passes/A/Passes.td": 'def BPass : Pass<"zc-b"> {}\n'}),
                       "nobody runs BPass")

    def test_a_list_of_its_own(self):
        self.complains("contents", dict(self.TREE, **{
            "passes/A/A.cpp": "  manager.addPass(createAPass());\n"}),
                       "passes/A/A.cpp:1: passes are added in")

    def test_pictures_in_another_order(self):
        self.complains("contents", dict(self.TREE, **{
            "README.md": "│ two ▶ one │\n",
            "passes/README.md": "| `two` | x |\n| `one` | y |\n"}),
                       "README.md: the picture", "passes/README.md: the first")


class Target(LintTest):

    def test_names_of_devices(self):
        named = 'if (device == "cuda")\n  return kCpuDevice != name;\n'
        self.complains("target", {"passes/Fusion/A.cpp": named},
                       "passes/Fusion/A.cpp:1", "passes/Fusion/A.cpp:2")
        self.silent("target", {"passes/Target/A.cpp": named})

    def test_the_environment(self):
        asks = 'const char *x = std::getenv("X");\n'
        self.complains("target", {"compiler/Export/A.cpp": asks},
                       "compiler/Export/A.cpp:1")
        self.silent("target", {"runtime/Base/A.cpp": asks,
                               "passes/A/B.cpp": "environment.clear();\n"})


class Marks(LintTest):
    NAMES = ('constexpr StringLiteral kAAttr = "train.a", '
             'kBAttr = "sched.b";\n')
    LISTED = '{"train.a", kUnitMark}, {"sched.b", kUnitMark}\n'
    FILES = {"dialects/A.h": NAMES, "dialects/AMarks.cpp": LISTED,
             "tools/lint/marks.txt": "sched.b\ntrain.a\n"}

    def test_new_ones_and_those_that_went(self):
        self.complains("marks", {**self.FILES,
                                 "tools/lint/marks.txt": "dist.c\nsched.b\n"},
                       "dialects/AMarks.cpp: 'train.a' is a new",
                       "'dist.c' is none")
        self.silent("marks", self.FILES)

    def test_one_that_no_dialect_lists(self):
        self.complains("marks", {**self.FILES, "dialects/AMarks.cpp":
                                 '{"sched.b", kUnitMark}\n',
                                 "tools/lint/marks.txt": "sched.b\n"},
                       "dialects/A.h: no dialect lists 'train.a'")

    def test_literals(self):
        for call in ('op->getAttrOfType<TypeAttr>("train.a");',
                     'op->hasAttr("train.a");',
                     'function.setResultAttr(\n    index, "train.a", mark);'):
            self.complains("marks", {**self.FILES, "passes/A/B.cpp": call},
                           "names 'train.a' by a literal")
        self.silent("marks", {**self.FILES, "passes/A/B.cpp":
                              'op->getName() == "train.a";'})

    def test_one_that_nothing_names(self):
        self.complains("marks", {**self.FILES, "dialects/A.h":
                                 self.NAMES.replace('kBAttr = "sched.b"', "")},
                       "dialects/AMarks.cpp: nothing names 'sched.b'")


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

    def test_a_long_first_page(self):
        self.complains("sizes", {"README.md": "a\n" * 151}, "README.md")
        self.silent("sizes", {"README.md": "a\n" * 150})

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

    def test_a_comment_without_its_noun(self):
        self.complains("text",
                       {"runtime/A.h": "int a;\n\n/// What is\n/// sent.\n",
                        "passes/A.cpp": "int a; // Of the first\n",
                        "dialects/A.td": "// A title.\n//\n// What it is.\n",
                        "tools/a.py": "a = 1\n# Of each: its size.\n"},
                       "runtime/A.h:3", "passes/A.cpp:1", "dialects/A.td:3",
                       "tools/a.py:2")
        self.silent("text",
                    {"runtime/A.h": "// What is\n// sent? All.\n",
                     "passes/A.cpp": "// The rows\n// Of a table.\n",
                     "passes/B.cpp": 'const char *a = "What is";\n',
                     "tools/a.py": 'a = """\n# What this is\n"""\n'})

    def test_a_comment_about_those_of_another(self):
        self.complains("text",
                       {"runtime/A.h": "int a;\n\n/// Those of all\n/// rows.\n",
                        "passes/A.cpp": "int a; // Which is sent.\n",
                        "passes/B.cpp": "// Whose rows count.\n",
                        "tools/a.py": '"""Who sends."""\n',
                        "tools/b.py": "# That, of this row.\n"},
                       "runtime/A.h:3", "passes/A.cpp:1", "passes/B.cpp:1",
                       "tools/a.py:1", "tools/b.py:1")
        self.silent("text",
                    {"runtime/A.h": "// Which rows are sent? All.\n",
                     "passes/A.cpp": "// Rows are sent. Those of 0 are not.\n",
                     "passes/B.cpp": "// Thatched roofs.\n"})

    def test_a_later_sentence_without_its_noun(self):
        self.complains("text",
                       {"kernels/A.h": "/// The rows. What is sent.\n",
                        "tools/a.py": '"""Sends rows.\n\nOf each, all."""\n',
                        "tools/b": "#!/bin/sh\n# What is sent.\n",
                        "test/CMakeLists.txt": "# Of each test.\n",
                        "test/README.md": "# Tests\n\nThey run. What\nis it.\n"},
                       "kernels/A.h:1", "tools/a.py:1", "tools/b:2",
                       "test/CMakeLists.txt:1", "test/README.md:3")
        self.silent("text",
                    {"test/README.md": "## What is sent\n\nWhat is? All.\n\n"
                                       "```sh\nzc # What is sent.\n```\n",
                     "test/a.json": '"What is sent."\n'})

    def test_a_description_without_its_noun(self):
        op = 'let summary = "%s";\nlet description = [{\n    %s\n}];\n'
        self.complains("text",
                       {"dialects/A.td": op % ("what is sent", "It is sent."),
                        "dialects/B.td": op % ("a send", "Of each: all.")},
                       "dialects/A.td:1", "dialects/B.td:3")
        self.silent("text", {"dialects/A.td": op % ("a send", "It is sent.")})

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
