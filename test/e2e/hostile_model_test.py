#!/usr/bin/env python3
"""Models that are small and ask for much: deep nesting, functions that double
at every call, constants without end; and numbers, folders and limits that a
command line may meet."""
import os
import resource
import stat
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser, save

from zctest import BIN, TIMEOUT, Fixture, ZcTest, needs_few_addresses, start


class Hostile(ZcTest):

    def model(self, text, name="m.onnxtext"):
        path = self.folder / name
        path.write_text('<ir_version: 8, opset_import: ["" : 18, "f" : 1]>\n' +
                        text)
        return path

    def refuse(self, patterns, model, *options, most=1 << 30,
               said=4000, busy=TIMEOUT):
        """In little time and memory, and with a message; `busy`: seconds of
        processors."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        command = [BIN / "zc", "compile", model, "-o", self.folder / "a.zca",
                   "--loss", "mse", *options]
        began = time.monotonic()
        process = subprocess.Popen([str(each) for each in command], text=True,
                                   stderr=subprocess.PIPE, preexec_fn=limit)
        err = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        self.assertEqual(process.returncode, 1, err[:2000])
        for pattern in patterns:
            self.assertRegex(err, pattern)
        self.assertLess(len(err), said, "a message is for people")
        self.check_memory(usage.ru_maxrss * 1024, most)
        self.assertLess(usage.ru_utime + usage.ru_stime, busy)
        self.assertLess(time.monotonic() - began, TIMEOUT)


class Nesting(Hostile):

    def test_types(self):
        deep = 30_000
        self.refuse(["m.onnxtext", "brackets nested 30001 deep"], self.model(
            "m (" + "seq(" * deep + "float" + ")" * deep +
            " x) => (float y) {}"))

    def test_graphs(self):
        """Each `=>` of a graph in a graph closes nothing."""
        deep = 5_000
        self.refuse(["brackets nested"], self.model(
            "m (float x) => (float y) { y = If (x) <then_branch = "
            "g () => (float a) { a = If (x) <then_branch = " * deep))

    def test_brackets_in_strings_and_comments_do_not_count(self):
        path = self.model("# " + "(" * 300 + '\nm (float[2, 2] x) => '
                          '(float[2, 2] y)\n<float[2, 2] w = {1, 2, 3, 4}>\n'
                          '{ h = MatMul (x, w)\n y = Relu (h) }')
        path.write_text(path.read_text().replace(
            '"f" : 1]', '"f" : 1], doc_string: "' + "((" * 200 + '"'))
        self.zc("compile", path, "-o", self.folder / "a.zca", "--loss", "mse")

    def test_protobuf_text(self):
        deep = 30_000
        path = self.folder / "m.textproto"
        path.write_text("ir_version: 8 graph { " +
                        "node { attribute { g { " * deep)
        self.refuse(["m.textproto", "text format"], path)


class Expressions(ZcTest):
    """Regular expressions of 30,000 brackets, which libstdc++ reads by calling
    itself; and names of 200,000 characters, in which it searches so."""

    DEEP = "(" * 30_000 + "fc" + ")" * 30_000
    SAID = [r"'\(+\.\.\.' is not a regular expression: it has "
            "60,?002 characters"]

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")

    def compiling(self, *options, model=None, dim=True):
        return ("compile", model or self.fixture.model, "-o",
                self.folder / "a.zca", "--loss", "softmax-cross-entropy",
                *(["--dim", "batch=8"] if dim else []), *options)

    def test_options(self):
        for option in ("--freeze", "--train", "--no-weight-decay",
                       "--stop-gradient"):
            with self.subTest(option=option):
                self.fails(2, [option, *self.SAID],
                           *self.compiling(option, self.DEEP))
        self.fails(2, self.SAID, *self.compiling(
            "--group", self.DEEP + ":lr=2x"))

    def test_files(self):
        for option, line, mesh in (("--tp-rules", " tp,-", "tp=2"),
                                   ("--stages", ": 0", "pp=2")):
            path = self.folder / "rules"
            path.write_text(self.DEEP + line + "\n")
            with self.subTest(option=option):
                self.fails(1, self.SAID, *self.compiling(
                    "--mesh", mesh, option, path))

    def test_a_long_action(self):
        path = self.folder / "order.csv"
        path.write_text("0F0,0" + "A" * 200_000 + "\n1F0\n")
        self.fails(2, [r"order\.csv.* '0A+\.\.\.' is no action"],
                   *self.compiling("--mesh", "pp=2", "--schedule", path))

    def test_long_names(self):
        name = "w" * 200_000
        weight = numpy_helper.from_array(np.ones((4, 3), np.float32), name)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", name], ["y"])], "long",
            [value("x", TensorProto.FLOAT, [4, 4])],
            [value("y", TensorProto.FLOAT, [4, 3])], [weight])
        model = self.folder / "long.onnx"
        save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
            model)
        self.zc(*self.compiling("--train", ".*w$", model=model, dim=False))


class Growth(Hostile):

    def check_functions(self, body, last="b = Relu (a)", count=30,
                        main="y = f.g0 (x)"):
        """Functions whose `body` calls the next one, NEXT; they are counted,
        and none is opened."""
        head = '<domain: "f", opset_import: ["" : 18, "f" : 1]>\n'
        bodies = [body.replace("NEXT", f"f.g{i + 1}") for i in range(count - 1)]
        functions = "".join(f"{head}g{i} (a) => (b) {{ {each} }}\n"
                            for i, each in enumerate([*bodies, last]))
        self.refuse(["'y' .*more than 1048576 nodes"], self.model(
            "m (float[2, 2] x, bool flag) => (float[2, 2] y) { " + main +
            " }\n" + functions), most=400 << 20, busy=5)

    TWICE = "c = NEXT (a)\n b = NEXT (c)"

    def test_functions_that_double(self):
        """2^29 nodes by 30 functions."""
        self.check_functions(self.TWICE)

    def test_functions_that_double_beyond_any_number(self):
        self.check_functions(self.TWICE, count=90)

    def test_functions_that_double_in_branches(self):
        twice = "c{0} = NEXT (a)\n d{0} = NEXT (c{0})"
        self.check_functions(
            "yes = Constant <value = bool {1}> ()\n b = If (yes) <"
            "then_branch = p () => (float[2, 2] d1) { " + twice.format(1) +
            " }, else_branch = q () => (float[2, 2] d2) { " + twice.format(2) +
            " }>")

    def test_functions_that_call_one_another(self):
        """Where an operator that ONNX does not have keeps its checker away."""
        self.check_functions(self.TWICE, last="b = f.g0 (a)", count=4,
                             main="s = NoSuchOperator (x)\n y = f.g0 (x)")

    def test_a_branch_that_is_not_taken_counts_for_nothing(self):
        calls = self.TWICE.replace("NEXT", "f.g0")
        functions = "".join(
            f'<domain: "f", opset_import: ["" : 18, "f" : 1]>\n'
            f"g{i} (a) => (b) {{ {self.TWICE.replace('NEXT', f'f.g{i + 1}')} "
            "}\n" for i in range(30))
        model = self.model(
            "m (float[4, 2] x) => (float[4, 3] y)\n"
            "<float[2, 3] w = {1, 2, 3, 4, 5, 6}> {\n"
            " no = Constant <value = bool {0}> ()\n a = Relu (x)\n"
            " h = If (no) <then_branch = p () => (float[4, 2] b) { " + calls +
            " }, else_branch = q () => (float[4, 2] e) { e = Relu (a) }>\n"
            " y = MatMul (h, w) }\n" + functions +
            '<domain: "f", opset_import: ["" : 18]>\n'
            "g30 (a) => (b) { b = Relu (a) }\n")
        self.zc("compile", model, "-o", self.folder / "a.zca", "--loss", "mse")

    def test_repetitions_of_repetitions(self):
        """40 characters that would be 4 billion states."""
        path = self.folder / "rules"
        path.write_text("(((a{255}){255}){255}){255} tp,-\n")
        self.refuse([r"'\(\(\(a\{255\}\){255\}\)\{255\}\)\{255\}' is not a "
                     "regular expression: "], Fixture("mlp").model,
                    "--dim", "batch=8", "--mesh", "tp=2", "--tp-rules", path)

    def test_dims_without_data(self):
        """An operator that ONNX does not have keeps its checker away."""
        self.refuse(["has 12 bytes of data, but its type and dims say "
                     "8589934592"], self.model(
            "m (float[3] x) => (float[3] y)\n"
            "<float[2147483648] b = {0.5, -1, 2}>\n"
            "{ s = NoSuchOperator (x, b)\n y = Relu (s) }"))

    def test_a_version_that_onnx_does_not_have(self):
        """Nobody has looked at how many inputs its operators have."""
        path = self.folder / "m.onnxtext"
        path.write_text('<ir_version: 8, opset_import: ["" : 0]>\n'
                        "m (float[3] x) => (float[3] y)\n"
                        "{ s = NoSuchOperator (x)\n i = Identity ()\n"
                        " y = Relu (x) }")
        self.refuse(["Relu", "version 0"], path)

    def many_constants(self):
        """24 tables of 16 million numbers and their squares, 6 GiB."""
        count, size = 24, 1 << 24
        lines = "".join(f" r{i} = Range (z, n, one)\n s{i} = Mul (r{i}, r{i})\n"
                        f" t{i} = ReduceMax <keepdims = 0> (s{i})\n"
                        for i in range(count))
        tail = "".join(f" u{i + 1} = Add (u{i}, t{i})\n" for i in range(count))
        return self.model(
            "m (float[2] x) => (float[2] y) {\n"
            " z = Constant <value = float {0}> ()\n"
            f" n = Constant <value = float {{{size}}}> ()\n"
            " one = Constant <value = float {1}> ()\n u0 = Identity (z)\n" +
            lines + tail + f" y = f.NoSuchOperator (u{count})\n}}")

    def test_constants_without_end(self):
        """Constants that have no room are left to run time, where Range is a
        loop of too many rounds."""
        self.refuse(["goes on for more than 16,384 rounds"],
                    self.many_constants(), said=1 << 20)

    def test_constants_beside_a_file_that_is_not_there(self):
        """A few bytes say that a weight is large: it makes no room."""
        model = parser.parse_model(self.many_constants().read_text())
        weight = model.graph.initializer.add(
            name="w", data_type=TensorProto.FLOAT, dims=[1 << 15, 1 << 15],
            data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value="not-there.bin")
        path = self.folder / "m.onnx"
        path.write_bytes(model.SerializeToString())
        self.refuse(["goes on for more than 16,384 rounds"], path, "--init",
                    "normal:0.02", said=1 << 20)


class Shapes(Hostile):

    def test_a_batch_that_constants_do_not_have(self):
        """A Concat of constants whose other dims differ was folded beyond its
        end: what is made for the batch, and a constant of four rows."""
        model = self.folder / "rows.onnx"
        rows = numpy_helper.from_array(np.ones((4, 2), np.float32), "rows")
        two = numpy_helper.from_array(np.array([2]), "two")
        weight = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
        nodes = [helper.make_node("Shape", ["x"], ["n"], end=1),
                 helper.make_node("Concat", ["n", "two"], ["dims"], axis=0),
                 helper.make_node("ConstantOfShape", ["dims"], ["made"]),
                 helper.make_node("Concat", ["made", "rows"], ["both"],
                                  axis=1),
                 helper.make_node("Add", ["x", "both"], ["sum"]),
                 helper.make_node("MatMul", ["sum", "w"], ["y"])]
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "rows", [value("x", TensorProto.FLOAT, [4, 4])],
            [value("y", TensorProto.FLOAT, [4, 3])], [rows, two, weight])
        save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)],
            ir_version=9), model)
        arguments = ["compile", model, "--loss", "softmax-cross-entropy", "-o",
                     self.folder / "x.zca"]
        self.zc(*arguments)
        for batch in (8, 12):
            self.fails(1, ["Concat"], *arguments, "--batch", batch)


class Temporary(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.samples = self.folder / "x.npy"
        np.save(self.samples, np.zeros((4, 64), np.float32))
        self.eval = ("eval", self.fixture.model, "--input",
                     f"x={self.samples}", "--output-dir", self.folder / "out")

    def test_a_folder_that_does_not_exist(self):
        absent = {**os.environ, "TMPDIR": str(self.folder / "absent")}
        expected = ["absent", "TMPDIR", "no such file"]
        self.fails(1, expected, *self.eval, env=absent)
        self.fails(1, expected, "compile", self.fixture.model, "-o",
                   self.folder / "a.zca", *self.fixture.compile_options("sgd"),
                   env=absent)

    def case(self, nodes):
        """A folder as zc verify takes it."""
        folder = self.folder / "case" / "test_data_set_0"
        folder.mkdir(parents=True)
        model = parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 18]>\n'
            "m (float[2] x) => (float[2] y) {" + nodes + "}")
        onnx.save(model, folder.parent / "model.onnx")
        for name, value in (("input_0", [1, -1]), ("output_0", [1, 0])):
            tensor = helper.make_tensor("x" if name == "input_0" else "y",
                                        TensorProto.FLOAT, [2], value)
            (folder / f"{name}.pb").write_bytes(tensor.SerializeToString())
        return folder.parent

    @needs_few_addresses
    def test_verify_without_memory(self):
        """Eight constants of 128 MiB each, in 800 MiB."""
        size = 1 << 24
        nodes = ("z = Constant <value = float {0}> ()\n"
                 f"n = Constant <value = float {{{size}}}> ()\n"
                 "one = Constant <value = float {1}> ()\n"
                 "r0 = Range (z, n, one)\n" +
                 "".join(f"r{i} = Mul (r{i - 1}, one)\n"
                         for i in range(1, 8)) +
                 "t = ReduceMax <keepdims = 0> (r7)\n y = Add (x, t)")
        limit = 800 << 20
        code, out, err = self.run_zc(
            "verify", self.case(nodes), preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(code, 1, err)
        self.assertRegex(out, "fail .*out of memory")

    @needs_few_addresses
    def test_a_large_diagonal(self):
        """40,000,000,000 elements are not made, only to find that they are too
        many."""
        nodes = ("zero = Constant <value = int64[1] {0}> ()\n"
                 "one = Constant <value = int64[1] {1}> ()\n"
                 "first = Slice (x, zero, one)\n"
                 "shape = Constant <value = int64[2] {200000, 200000}> ()\n"
                 "wide = Expand (first, shape)\n e = EyeLike (wide)\n"
                 "t = ReduceSum <keepdims = 0> (e)\n y = Add (x, t)")
        limit = 6 << 30  # little of which is ever used
        code, _, err = self.run_zc(
            "compile", self.case(nodes) / "model.onnx", "--mode", "infer", "-o",
            self.folder / "m.zca", preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(code, 1, err)
        self.assertRegex(err, r"not supported:\s+EyeLike")

    def test_verify(self):
        folder = self.case("y = Relu (x)")
        self.zc("verify", folder)
        code, out, _ = self.run_zc("verify", folder, env={
            **os.environ, "TMPDIR": str(self.folder / "absent")})
        self.assertEqual(code, 1)
        self.assertRegex(out, "fail .*absent.*TMPDIR.*No such file")

    @staticmethod
    def run_zc(*args, **options):
        process = start(*args, **options)
        out, err = process.communicate(timeout=TIMEOUT)
        return process.returncode, out, err

    def test_weights_are_nobody_elses(self):
        """While the model is compiled, its weights lie in a folder of all."""
        shared = self.folder / "tmp"
        shared.mkdir()
        previous = os.umask(0o022)
        self.addCleanup(os.umask, previous)
        process = start(*self.eval, env={**os.environ, "TMPDIR": str(shared)})
        modes = {}
        while process.poll() is None:
            for path in shared.iterdir():
                try:
                    modes[path.name] = stat.S_IMODE(path.stat().st_mode)
                except FileNotFoundError:
                    pass
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        weights = {name: mode for name, mode in modes.items()
                   if name.startswith("zc-eval")}
        self.assertTrue(weights, modes)
        for name, mode in weights.items():
            self.assertEqual(mode & 0o077, 0, name)
        output = self.folder / "out" / "logits.npy"
        self.assertEqual(stat.S_IMODE(output.stat().st_mode), 0o644)


if __name__ == "__main__":
    unittest.main()
