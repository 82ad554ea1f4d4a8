#!/usr/bin/env python3
"""`zc compile --verify`: the program of several ranks is trained in the
interpreter on small dims, beside one rank's, before its artifact is written.

That such a comparison finds what may go wrong in a division is shown by
mutations of divided programs: each kind of mistake that the passes could make,
wherever the program has a place for it, is found by the comparison, or by the
verifier of the IR.
"""
import random
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import Fixture, ZcTest, run

LOSS = ["--loss", "softmax-cross-entropy"]
MESH = {"mlp": "dp=2,tp=2", "gpt": "dp=2,tp=2", "llama": "dp=2,sp=2"}
OF_EACH_KIND = 4


def programs(text):
    """Where @step, or @micro, @apply and @apply.compressed, are in the text."""
    for match in re.finditer(
            r"func\.func @(step|micro|apply|apply\.compressed)\(.*?\n  }", text,
            re.S):
        yield match.span()


def at_lines(text, pattern):
    """Yields each match of a line's pattern in the training programs."""
    for begin, end in programs(text):
        for match in re.compile(pattern, re.M).finditer(text, begin, end):
            yield match


def replaced(text, match, new):
    return text[:match.start()] + new + text[match.end():]


def dropped(text, kind):
    """A collective that changes no shape is left out."""
    for match in at_lines(
            text, rf"^    (%\d+) = dist\.{kind} (%\w+) .*? : \((\S+)\) -> (\S+)( loc.*)?$"):
        if match[3] == match[4]:
            begin = match.end()
            end = text.index("\n  }", begin)
            body = re.sub(rf"{match[1]}\b", match[2], text[begin:end])
            yield text[:match.start()] + body.lstrip("\n") + text[end:]


def wrong_axis(text):
    """A collective over the other axis of the same size."""
    axes = re.search(r"#dist\.mesh<([^>]*)>", text)[1]
    first, second = (axis.split("=")[0] for axis in axes.split(","))
    other = {first: second, second: first}
    for match in at_lines(text, r'(?<=\{axes = \[")(\w+)(?="\])'):
        yield replaced(text, match, other[match[1]])


def wrong_coordinate(text):
    """A rank takes the part of its number along another axis."""
    names = sorted(set(re.findall(r"train\.state = @(coordinate\.\w+)", text)))
    if len(names) == 2:
        for match in at_lines(text, r"(?<=train\.state = @)coordinate\.\w+"):
            yield replaced(text, match, names[1 - names.index(match[0])])


def swapped_offsets(text):
    """Two parts of one vector change places."""
    slices = {}
    for match in at_lines(
            text, r"train\.slice (%\w+) \{offsets = (array<i64: [\d, ]+>).*? -> (\S+)"):
        slices.setdefault((match[1], match[3]), []).append(match)
    for (_, _), (first, second, *_rest) in (
            entry for entry in slices.items() if len(entry[1]) > 1):
        if first[2] == second[2]:
            continue
        both = (text[:first.start(2)] + second[2] + text[first.end(2):])
        shift = len(second[2]) - len(first[2])
        yield (both[:second.start(2) + shift] + first[2] +
               both[second.end(2) + shift:])


def stale_state(text):
    """A step returns the weights that it was given."""
    for begin, end in programs(text):
        program = text[begin:end]
        header = program[:program.index("{\n")] if "{\n" in program else program
        given = {name: argument for argument, name in re.findall(
            r"(%arg\d+): [^(]*?train\.state = @(\"?[\w.]+\"?)", header)}
        results = header[header.index(") -> ") + 5:]
        states = re.findall(r"tensor<[^>]*>(?: \{.*?\})?(?=, tensor|\)| attributes|$)",
                            results)
        final = re.search(r"    return ((?:%\w+(?:#\d+)?(?:, )?)+) :", program)
        values = final[1].split(", ")
        for index, state in enumerate(states[:len(values)]):
            name = re.search(r"train\.state = @(\"?[\w.]+\"?)", state)
            if not name or name[1] not in given or "step" in name[1]:
                continue
            mutant = list(values)
            mutant[index] = given[name[1]]
            yield (text[:begin + final.start(1)] + ", ".join(mutant) +
                   text[begin + final.end(1):])


def wrong_scale(text):
    """A mean over too few samples."""
    for match in at_lines(
            text, r"train\.constant dense<(\d\.\d+e[-+]\d+)> : tensor<f32>"):
        if float(match[1]) not in (0.0, 1.0):
            yield replaced(text, match, match[0].replace(
                match[1], f"{2 * float(match[1]):e}"))


KINDS = {
    "a reduction is dropped": lambda text: dropped(text, "all_reduce"),
    "an exchange is dropped": lambda text: dropped(text, "all_to_all"),
    "a collective over the wrong axis": wrong_axis,
    "the coordinate of the wrong axis": wrong_coordinate,
    "parts change places": swapped_offsets,
    "old weights are returned": stale_state,
    "a constant is twice as large": wrong_scale,
}


class Mutations(ZcTest):

    def emit(self, fixture, name, *options, phase="sharded"):
        path = self.folder / f"{name}.mlir"
        dims = (["--dim", f"{fixture.reference['symbolic_batch']}=8"]
                if fixture.reference["symbolic_batch"] else [])
        self.zc("compile", fixture.model, *dims, *LOSS, *options, "--eps", "1e-3",
                "--emit", phase, "-o", path)
        return path

    def agrees(self, module, one, what=("--steps", "1")):
        """Whether the comparison says so; else it, or the IR's verifier, says
        what is wrong."""
        code, out, error = run(module, "--against", one, *what,
                               tool="zc-interpret")
        if code == 0:
            return True
        self.assertEqual(code, 1, error)
        self.assertRegex(out + error, "differs: |holds other elements|gives "
                         "another|roles hold other values|error: ")
        return False

    def find_all(self, name, *options):
        """How many mutations there were; none may agree with one rank."""
        fixture = Fixture(name)
        one = self.emit(fixture, f"{name}-one")
        divided = self.emit(fixture, f"{name}-divided", "--mesh", MESH[name],
                            *options)
        self.assertTrue(self.agrees(divided, one))
        return self.find_mutations(name, divided.read_text(), one)

    def find_mutations(self, name, text, one, *what):
        draw = random.Random(5)
        count = 0
        for kind, mutate in KINDS.items():
            mutants = [mutant for mutant in mutate(text) if mutant != text]
            for number, mutant in enumerate(
                    draw.sample(mutants, min(OF_EACH_KIND, len(mutants)))):
                count += 1
                path = self.folder / "mutant.mlir"
                path.write_text(mutant)
                with self.subTest(model=name, kind=kind, number=number):
                    self.assertFalse(self.agrees(path, one, *what))
        return count

    def test_small_mistakes(self):
        """A sum that is 5e-5 too large, beside a result that rounding the inputs
        moves by as much."""
        def emit(name, scale):
            path = self.folder / f"{name}.mlir"
            path.write_text(f"""
func.func @step(%x: tensor<4xf32> {{train.input = "x"}}) -> (tensor<4xf32> {{train.output = "y"}}, tensor<4xf32> {{train.output = "z"}}) {{
  %0 = train.constant dense<500.0> : tensor<4xf32>
  %1 = train.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = train.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = train.constant dense<{scale}> : tensor<4xf32>
  %4 = train.mul %x, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<4xf32>, tensor<4xf32>
}}""")
            return path
        one = emit("one", "1.0")
        self.assertTrue(self.agrees(emit("same", "1.0"), one))
        self.assertFalse(self.agrees(emit("other", "1.00005"), one))

    def test_mlp(self):
        self.assertGreaterEqual(self.find_all("mlp", "--zero", "1"), 12)

    def test_gpt(self):
        self.assertGreaterEqual(self.find_all("gpt", "--zero", "3"), 12)

    def test_llama(self):
        """Ulysses' exchanges between tokens and heads."""
        self.assertGreaterEqual(self.find_all("llama", "--zero", "2"), 12)

    def test_compressed_steps(self):
        """1-bit Adam behind its warm-up: signs and scales that are sent."""
        fixture = Fixture("mlp")
        options = ("--mesh", MESH["mlp"], "--optimizer", "onebit-adam")
        divided = self.emit(fixture, "compressed", *options)
        plain = self.emit(fixture, "plain", *options, phase="step")
        what = ("--program", "apply.compressed")
        self.assertTrue(self.agrees(divided, plain, what))
        # The mutations are of this program alone.
        text = re.sub(r"\n  func\.func @(micro|apply|eval)\(.*?\n  }.*?(?=\n)",
                      "", divided.read_text(), flags=re.S)
        self.assertEqual(len(list(programs(text))), 1)
        self.assertGreaterEqual(
            self.find_mutations("mlp", text, plain, what), 8)


class CommandLine(ZcTest):

    def compile(self, name, *options):
        fixture = Fixture(name)
        return self.zc("compile", fixture.model, *LOSS, *options, "-o",
                       self.folder / "out.zca")

    def test_says_what_it_has_shown(self):
        said = self.compile("gpt", "--mesh", "dp=2,tp=2", "--zero", "2")
        line = re.search(r"verified: on small dims 4 ranks train as one does, "
                         r"in all (\d+) tensors of 2 steps within (\S+)", said)
        self.assertGreater(int(line[1]), 80)
        self.assertLess(float(line[2]), 1e-9)
        kinds = re.search(r"verified: ops are divided as their formulas allow "
                          r"\((\d+) kinds\)", said)
        self.assertGreater(int(kinds[1]), 30)
        self.assertNotIn("not verified", said)

    def test_off_says_nothing(self):
        self.assertNotIn("verified", self.compile(
            "gpt", "--mesh", "dp=2", "--verify", "off"))

    def test_one_rank_has_nothing_divided(self):
        self.assertNotIn("verified", self.compile("gpt"))

    def test_deep_looks_at_fusion_and_memory(self):
        for options in ([], ["--mesh", "dp=2"], ["--recompute", "full"],
                        ["--mesh", "pp=2", "--accumulate", "2"]):
            with self.subTest(options=options):
                said = self.compile("gpt", *options, "--verify", "deep")
                self.assertIn("zc: verified: on small dims", said)

    def test_many_ranks_stand_for_more(self):
        said = self.compile("gpt", "--mesh", "dp=4,tp=2", "--zero", "1",
                            "--verify", "deep")
        self.assertIn("8 ranks train as one does", said)

    def test_compressed_steps(self):
        """1-bit Adam's, which its warm-up says nothing of."""
        for options in (["dp=2"], ["dp=2,tp=2"], ["dp=4"],
                        ["dp=2,tp=2", "--precision", "bf16"],
                        ["dp=2", "--precision", "fp16"]):
            with self.subTest(options=options):
                said = self.compile("gpt", "--optimizer", "onebit-adam",
                                    "--verify", "deep", "--mesh", *options)
                line = re.search(r"in all (\d+) tensors of \d steps? and of one "
                                 r"behind the warm-up within (\S+)", said)
                self.assertGreater(int(line[1]), 200)
                self.assertLess(float(line[2]), 1e-9)

    def test_noise_is_no_difference(self):
        """SM3 has no epsilon: a gradient that is 0 but for rounding makes a
        step as large as any other's."""
        said = self.compile("gpt", "--mesh", "tp=2", "--optimizer", "sm3")
        line = re.search(r"2 ranks train as one does, in all (\d+) tensors of "
                         r"2 steps within (\S+)", said)
        self.assertGreater(int(line[1]), 60)
        self.assertLess(float(line[2]), 1e-9)

    def test_schedules_without_flush(self):
        """One rank that reads weights as old as each stage's."""
        for options in (["--schedule", "2bw", "--accumulate", "2"],
                        ["--schedule", "stash"],
                        ["--schedule", "stash", "--vertical-sync"]):
            options += ["--optimizer", "sgd"]
            for how in ("on", "deep"):
                with self.subTest(options=options, verify=how):
                    said = self.compile("mlp", "--dim", "batch=32", "--mesh",
                                        "pp=2", *options, "--verify", how)
                    self.assertRegex(said, "zc: verified: on small dims 2 "
                                     "ranks train as one does, in all .* "
                                     "tensors of 3 steps")

    def test_says_why_not(self):
        """A window of 384 elements keeps its image large, which takes too
        long."""
        image = helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                              [8, 3, 768, 768])
        weight = numpy_helper.from_array(
            np.full((8, 3, 3, 3), 0.1, np.float32), "w")
        head = numpy_helper.from_array(
            np.full((8 * 2 * 2, 2), 0.1, np.float32), "head")
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
                 helper.make_node("Relu", ["c"], ["r"]),
                 helper.make_node("AveragePool", ["r"], ["p"],
                                  kernel_shape=[384] * 2, strides=[384] * 2),
                 helper.make_node("Flatten", ["p"], ["f"]),
                 helper.make_node("MatMul", ["f", "head"], ["logits"])]
        graph = helper.make_graph(
            nodes, "image", [image],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [8, 2])],
            [weight, head])
        path = self.folder / "image.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
            path)
        said = self.zc("compile", path, *LOSS, "--mesh", "dp=2", "-o",
                       self.folder / "image.zca")
        self.assertRegex(said, "note: not verified that 2 ranks train as one "
                         r"does: it would take \d+ million operations")
        self.assertIn("zc: wrote", said)

    def test_as_many_samples_as_rows(self):
        """The fixtures' batch is 8, and so are rows, columns and channels of
        some images. Means over 4 x 3 x 3 elements do not round."""
        for name, mesh in (("resnet", "dp=2"), ("mobilenet", "dp=2"),
                           ("mobilenet", "tp=2")):
            with self.subTest(model=name, mesh=mesh):
                said = self.compile(name, "--mesh", mesh)
                line = re.search(r"verified: on small dims 2 ranks train as "
                                 r"one does, in all (\d+) tensors of 2 steps "
                                 r"within (\S+)", said)
                self.assertTrue(line, said)
                self.assertLess(float(line[2]), 1e-12)

    def test_maps_of_classes(self):
        """Enlarged images have rules of many elements: they and a step are
        within the time that a short compilation leaves."""
        said = self.zc("compile", Fixture("unet").model, "--loss",
                       "bce-with-logits", "--mesh", "dp=2", "-o",
                       self.folder / "out.zca")
        self.assertRegex(said, "verified: on small dims 2 ranks train as one "
                         "does, in all .* tensors of (a step|2 steps) within")

    def test_rules_of_large_ops(self):
        """Anchors of several images in one tensor keep these large: a few
        elements stand for all."""
        said = self.zc("compile", Fixture("ssd").model, "--loss", "none",
                       "--mesh", "dp=2", "-o", self.folder / "out.zca")
        self.assertIn("verified: ops are divided as their formulas allow", said)
        self.assertNotIn("not verified how", said)

    def test_statistics_of_each_rank(self):
        said = self.compile("cnn", "--mesh", "dp=2", "--batchnorm-stats",
                            "local", "--verify", "deep")
        self.assertIn("verified: on small dims 2 ranks train as one", said)

    def test_numbers_of_16_bits(self):
        for options in (["--precision", "bf16"], ["--precision", "fp16"],
                        ["--precision", "bf16", "--reduce-precision", "bf16",
                         "--zero", "2"]):
            with self.subTest(options=options):
                said = self.compile("gpt", "--mesh", "dp=2", *options)
                line = re.search(r"2 ranks train as one does, in all (\d+) "
                                 r"tensors of 2 steps within (\S+)", said)
                self.assertLess(float(line[2]), 1e-9)

    def test_class_weights(self):
        """Those of the classes that small dims have."""
        weights = self.folder / "weights.npy"
        np.save(weights, np.linspace(0.5, 2, 10, dtype=np.float32))
        said = self.compile("cnn", "--mesh", "dp=2", "--class-weights", weights,
                            "--verify", "deep")
        self.assertIn("verified: on small dims 2 ranks train as one", said)

    def test_each_mesh(self):
        said = self.compile("mlp", "--mesh", "dp=4", "--mesh", "dp=2", "--dim",
                            "batch=32", "--mesh", "dp=2,tp=4")
        for ranks in (4, 2, 8):
            self.assertIn(f"verified: on small dims {ranks} ranks train as one "
                          "does", said)

    def test_plans(self):
        fixture = Fixture("gpt")
        arguments = ("plan", fixture.model, *LOSS, "--mesh", "dp=4,tp=2",
                     "--cluster", "h100-dgx")
        code, out, error = run(*arguments, "--verify", "on")
        self.assertEqual(code, 0, error)
        self.assertIn("verified: on small dims 8 ranks train as one", error)
        code, out, error = run(*arguments)
        self.assertNotIn("verified", error)


if __name__ == "__main__":
    unittest.main()
