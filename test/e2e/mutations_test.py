#!/usr/bin/env python3
"""Mistakes that are seeded into divided programs: each kind that the passes
could make, wherever a program has a place for it, is found by the comparison of
`zc compile --verify` (proof_test.py). Some are refused by the verifier of the IR
already; these do not count.
"""
import collections
import os
import random
import re
import unittest

from seeded_mistakes import (KINDS, lost_copies, programs, stale_copies,
                             stale_states)
from zctest import Fixture, ZcTest, run

LOSS = ["--loss", "softmax-cross-entropy"]
MESH = {"mlp": "dp=2,tp=2", "gpt": "dp=2,tp=2", "llama": "dp=2,sp=2"}
OF_EACH_KIND = 4
DIFFERS = "differs: | are noise, too many"
DISAGREE = ("holds other elements|gives another|roles hold other values|"
            "is no copy of the weights")


class Mutations(ZcTest):

    def emit(self, fixture, name, *options, phase="sharded"):
        path = self.folder / f"{name}.mlir"
        dims = (["--dim", f"{fixture.reference['symbolic_batch']}=8"]
                if fixture.reference["symbolic_batch"] and
                "--dim" not in options else [])
        eps = ([] if {"adafactor", "sgd", "--eps"} & {*options}
               else ["--eps", "1e-3"])
        self.zc("compile", fixture.model, *dims, *LOSS, *options, *eps,
                "--emit", phase, "-o", path)
        return path

    def compare(self, module, one, what=("--steps", "1")):
        """Returns what the comparison says: "equal", "differs", or "disagree" of ranks
        and of copies; "refused" by the verifier of the IR, before it."""
        code, out, error = run(module, "--against", one, *what,
                               tool="zc-interpret")
        if code == 0:
            return "equal"
        self.assertEqual(code, 1, error)
        if re.search(DIFFERS, out):
            return "differs"
        if re.search(DISAGREE, error):
            return "disagree"
        code, _, why = run(module, "-o", os.devnull, tool="zc-opt")
        self.assertNotEqual(code, 0, "it cannot be run, so that nobody would "
                            "learn what is wrong: " + error)
        self.assertRegex(why, r"error: '[\w.]+' op ", "the test's own mistake")
        return "refused"

    def agrees(self, *arguments):
        return self.compare(*arguments) == "equal"

    def find_all(self, name, *options):
        """Each kind that was found, and how often; no mutant may agree with one
        rank."""
        fixture = Fixture(name)
        one = self.emit(fixture, f"{name}-one")
        divided = self.emit(fixture, f"{name}-divided", "--mesh", MESH[name],
                            *options)
        self.assertTrue(self.agrees(divided, one))
        return self.find_mutations(name, divided.read_text(), one)

    def find_mutations(self, name, text, one, what=("--steps", "1"),
                       kinds=tuple(KINDS)):
        """How many of each kind the comparison has found: some, where the text
        has a place for it."""
        draw = random.Random(5)
        count = collections.Counter()
        for kind in kinds:
            mutants = [each for each in KINDS[kind](text) if each != text]
            found = []
            for number, mutant in enumerate(
                    draw.sample(mutants, min(OF_EACH_KIND, len(mutants)))):
                path = self.folder / "mutant.mlir"
                path.write_text(mutant)
                with self.subTest(model=name, kind=kind, number=number):
                    found.append(self.compare(path, one, what))
                    self.assertNotEqual(found[-1], "equal")
            count[kind] += len(found) - found.count("refused")
            with self.subTest(model=name, kind=kind):
                self.assertFalse(found and set(found) <= {"refused"})
        return +count

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

    def check_found(self, found, least, *kinds):
        """Checks that no kind has lost its places, of which the models together
        have some for each."""
        self.assertGreaterEqual(found.total(), least)
        self.assertLessEqual(set(kinds), set(found))

    def test_mlp(self):
        self.check_found(self.find_all("mlp", "--zero", "1"), 12,
                         "a reduction is dropped", "parts change places",
                         "a state begins with another value")

    def test_gpt(self):
        self.check_found(self.find_all("gpt", "--zero", "3"), 12,
                         "a collective over the wrong axis",
                         "old weights are returned",
                         "the saved activation of another layer is read")

    def test_llama(self):
        """Ulysses' exchanges between tokens and heads."""
        self.check_found(self.find_all("llama", "--zero", "2",
                                       "--sp-attention", "ulysses"), 12,
                         "an exchange is dropped", "a factor is twice as large",
                         "the coordinate of the wrong axis")

    def test_copies(self):
        """A step that leaves copies of 16 bits as old as they were shows in
        nothing but the next."""
        fixture = Fixture("mlp")
        options = ("--precision", "bf16", "--zero", "1")
        one = self.emit(fixture, "one", "--precision", "bf16")
        divided = self.emit(fixture, "divided", "--mesh", MESH["mlp"], *options)
        what = ("--steps", "1", "--precision", "wide")
        self.assertTrue(self.agrees(divided, one, what))
        self.find_copies(divided.read_text(), one, what)

    def find_copies(self, text, one, what, of=""):
        """Copies (of weights with such a name) that are returned as they were
        given or of weights as they were given, and that are lost."""
        self.assertRegex(text, r'train\.state @\S+ "copy"')
        stale = [mutant for make in (stale_states, stale_copies)
                 for name, mutant in make(text) if f"{of}.bf16" in name]
        lost = [mutant for name, mutant in lost_copies(text)
                if f"{of}.bf16" in name]
        self.assertTrue(lost)
        self.assertTrue(stale)
        path = self.folder / "mutant.mlir"
        for number, mutant in enumerate(stale + lost):
            path.write_text(mutant)
            with self.subTest(number=number, isLost=number >= len(stale)):
                code, _, error = run(path, "--against", one, *what,
                                     tool="zc-interpret")
                self.assertEqual(code, 1)
                self.assertIn("is no copy of the weights", error)

    def test_small_gradients(self):
        """A mistake of small ones' squares alone shows beside second moments of
        their size, not beside 1."""
        kinds = ("a partial sum is squared",)
        loss = "dense<1.000000e+00> : tensor<f32>"
        eps = ("--eps", "1e-8")
        def emit(name, scale, *options):
            path = self.emit(Fixture("mlp"), name, *eps, *options)
            text = path.read_text()
            self.assertEqual(text.count(loss), 1)
            path.write_text(text.replace(loss, loss.replace("e+00", scale)))
            return path
        for steps, scale in (("1", "e-01"), ("1", "e-04"), ("2", "e-04")):
            one = emit("one", scale)
            divided = emit("small", scale, "--mesh", "dp=2")
            what = ("--steps", steps)
            self.assertTrue(self.agrees(divided, one, what))
            with self.subTest(steps=steps, scale=scale):
                self.check_found(self.find_mutations(
                    "small", divided.read_text(), one, what, kinds), 4, *kinds)

    def test_histories(self):
        """Scales of 8 bits that follow from the last steps' largest elements,
        of which a first step has none."""
        options = ("--precision", "fp8", "--fp8-scaling", "delayed",
                   "--dim", "batch=32")
        one = self.emit(Fixture("mlp"), "one", *options)
        divided = self.emit(Fixture("mlp"), "fp8", "--mesh", "dp=2", *options)
        what = ("--steps", "1", "--precision", "wide")
        self.assertIn("fp8_amax_", divided.read_text())
        self.assertTrue(self.agrees(divided, one, what))
        kinds = ("a reduction is dropped", "old histories are returned",
                 "histories change places in what is read")
        self.check_found(self.find_mutations(
            "fp8", divided.read_text(), one, what, kinds), 8, *kinds)

    def test_first_states_of_compressed_steps(self):
        """Errors that 1-bit Adam's steps begin with behind the warm-up have other
        shapes on several ranks."""
        options = ("--optimizer", "onebit-adam")
        one = self.emit(Fixture("mlp"), "one", *options)
        divided = self.emit(Fixture("mlp"), "divided", "--mesh", "dp=2",
                            *options)
        self.assertTrue(self.agrees(divided, one))
        text = divided.read_text()
        begin = text.index("func.func @init(")
        zeros = re.compile(r"dense<0\.0\S*(?=> : tensor<1x1x)")
        self.assertRegex(text[begin:], zeros)
        divided.write_text(text[:begin] + zeros.sub("dense<5.000000e-01",
                                                    text[begin:]))
        self.assertEqual(self.compare(divided, one), "differs")

    def test_versions(self):
        """Without flush each stage reads weights that are a step old."""
        kinds = ("another version is read",)
        options = ("--optimizer", "sgd", "--schedule", "2bw", "--accumulate",
                   "2")
        one = self.emit(Fixture("mlp"), "one", *options)
        divided = self.emit(Fixture("mlp"), "2bw", "--mesh", "pp=2", *options)
        what = ("--steps", "4", "--accumulate", "2")
        self.assertTrue(self.agrees(divided, one, what))
        self.check_found(self.find_mutations(
            "2bw", divided.read_text(), one, what, kinds), 4, *kinds)

    def test_stashed_versions(self):
        """Each stage reads weights of another age, which one rank knows by the
        file of stages."""
        kinds, stages = ("another version is read",), self.folder / "stages"
        what = ("--steps", "4", "--accumulate", "2")
        for more in ([], ["--vertical-sync"]):
            options = ("--optimizer", "sgd", "--schedule", "stash",
                       "--accumulate", "2", *more)
            divided = self.emit(Fixture("mlp"), "stash", "--mesh", "pp=2",
                                "--write-stages", stages, *options)
            one = self.emit(Fixture("mlp"), "one", "--stages", stages, *options)
            self.assertTrue(self.agrees(divided, one, what))
            with self.subTest(options=options):
                self.check_found(self.find_mutations(
                    "stash", divided.read_text(), one, what, kinds), 4, *kinds)

    def test_experts(self):
        """Tokens' rows go to the ranks of their experts, which have room for an
        even share, and come back."""
        fixture = Fixture("experts/gpt_oss")
        options = ("--dim", f"{fixture.reference['symbolic_batch']}=4",
                   "--moe-capacity", "1")
        one = self.emit(fixture, "one", *options)
        divided = self.emit(fixture, "experts", "--mesh", "dp=2,ep=2", *options)
        self.assertTrue(self.agrees(divided, one))
        kinds = ("rows of experts go and come back by each other's places",
                 "rows of experts go where those of another layer went",
                 "tokens get room at experts in another order",
                 "an exchange is dropped", "a collective over the wrong axis")
        self.check_found(self.find_mutations(
            "experts", divided.read_text(), one, kinds=kinds), 16, *kinds)

    def test_capacity(self):
        """Ranks count the room at experts by other numbers than one rank."""
        fixture = Fixture("experts/gpt_oss")
        dims = ("--dim", f"{fixture.reference['symbolic_batch']}=4")
        one = self.emit(fixture, "one", *dims, "--moe-capacity", "1")
        for mesh, capacity, expected in (
                ("dp=2", "1", "equal"), ("dp=2", "0.5", "differs"),
                ("dp=2,ep=2", "0.5", "differs"), ("dp=2,ep=2", "2", "differs")):
            with self.subTest(mesh=mesh, capacity=capacity):
                divided = self.emit(fixture, "rooms", *dims, "--mesh", mesh,
                                    "--moe-capacity", capacity)
                self.assertEqual(self.compare(divided, one), expected)

    def test_averages_and_factors(self):
        """A first step multiplies these by 0; one in the midst of a training
        does not."""
        kinds = ("states change places in what is read",)
        for name, options, slot in (
                ("ema", ("--ema", "0.9"), "ema"),
                ("adafactor", ("--optimizer", "adafactor"), "row_var")):
            one = self.emit(Fixture("gpt"), "one", *options)
            divided = self.emit(Fixture("gpt"), name, "--mesh", "dp=2",
                                *options)
            self.assertTrue(self.agrees(divided, one))
            self.assertIn(slot, divided.read_text())
            with self.subTest(name):
                self.check_found(self.find_mutations(
                    name, divided.read_text(), one, kinds=kinds), 4, *kinds)

    def test_noise(self):
        """Tensors that rounding moves as far as they are large: a few are no
        difference, unless they are of another size; many show nothing."""
        def emit(name, noise, sound=("%x",) * 3):
            path = self.folder / f"{name}.mlir"
            results = ", ".join(f'tensor<4xf32> {{train.output = "{i}"}}'
                                for i in range(1 + len(sound)))
            path.write_text(f"""
func.func @step(%x: tensor<4xf32> {{train.input = "x"}}) -> ({results}) {{
  %big = train.constant dense<1.0e+12> : tensor<4xf32>
  %0 = train.mul %x, %big : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = train.sin %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = train.cos %0 : (tensor<4xf32>) -> tensor<4xf32>
  %five = train.constant dense<5.0> : tensor<4xf32>
  %3 = train.mul %1, %five : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return {", ".join((noise, *sound))} : {", ".join(["tensor<4xf32>"] * (1 + len(sound)))}
}}""")
            return path
        one = emit("one", "%1")
        self.assertTrue(self.agrees(emit("other", "%2"), one))
        self.assertFalse(self.agrees(emit("large", "%3"), one))
        code, out, _ = run(emit("alone", "%2", ("%x",)), "--against",
                           emit("one-alone", "%1", ("%x",)), "--steps", "1",
                           tool="zc-interpret")
        self.assertEqual(code, 1)
        self.assertIn("1 more are noise, too many", out)

    def compressed(self, fixture, *options):
        """The program of a step behind 1-bit Adam's warm-up alone, what it is
        compared with, and how."""
        options = ("--optimizer", "onebit-adam", *options)
        divided = self.emit(fixture, "compressed", *options)
        plain = self.emit(fixture, "plain", *options, phase="step")
        what = ("--program", "apply.compressed", "--precision", "wide")
        self.assertTrue(self.agrees(divided, plain, what))
        return re.sub(r"\n  func\.func @(micro|apply|eval|init)\(.*?\n  }.*?(?=\n)",
                      "", divided.read_text(), flags=re.S), plain, what

    def test_copies_in_compressed_steps(self):
        text, plain, what = self.compressed(
            Fixture("mlp"), "--mesh", MESH["mlp"], "--precision", "bf16")
        self.find_copies(text, plain, what)

    def test_copies_of_blocks(self):
        """Each rank has its own parts of q, k and v, which one matrix holds."""
        text, plain, what = self.compressed(
            Fixture("gpt"), "--mesh", "tp=2", "--precision", "bf16")
        self.assertIn("blocks = ", text)
        self.find_copies(text, plain, what, of="blocks.0.qkv.weight")

    def test_compressed_steps(self):
        """1-bit Adam behind its warm-up: signs and scales that are sent."""
        text, plain, what = self.compressed(Fixture("mlp"), "--mesh",
                                            MESH["mlp"])
        # The mutations are of this program alone.
        self.assertEqual(len(list(programs(text))), 1)
        self.check_found(self.find_mutations("mlp", text, plain, what), 8,
                         "states change places in what is read")


if __name__ == "__main__":
    unittest.main()
