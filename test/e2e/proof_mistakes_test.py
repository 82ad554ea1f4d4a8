#!/usr/bin/env python3
"""The proof of `zc compile --verify` as it is made, on small dims and with one
layer for others that are equal: which mistakes it finds in what it compares, and
that a compilation whose proof fails ends without an artifact.

mutations_test.py seeds the same mistakes into programs of the fixtures' own dims.
zc-test-mistakes (test/unit/compiler/Driver/MistakesMain.cpp) is zc with a place
for mistakes, which zc's command line has not.
"""
import os
import random
import re
import unittest

from many_layers import LAYERS, write_many_layers
from seeded_mistakes import KINDS, lost_copies, stale_copies, stale_states
from zctest import Fixture, ZcTest, run

LOSS = ["--loss", "softmax-cross-entropy"]
OF_EACH_KIND = 2
MISTAKE = r"internal error: on small dims the program does not train as the plain one"


def with_dims(name, batch=8):
    """The model of a fixture, and the option for its batch."""
    fixture = Fixture(name)
    dim = fixture.reference["symbolic_batch"]
    return [fixture.model, *(["--dim", f"{dim}={batch}"] if dim else [])]


EXPERTS = [*with_dims("experts/mixtral"), *LOSS, "--mesh", "dp=2,ep=2",
           "--moe-capacity", "1"]
OF_TYPES = "rows of experts go and come back by each other's places"
WITHOUT_FLUSH = [*with_dims("mlp"), *LOSS, "--mesh", "pp=2", "--optimizer", "sgd",
                 "--accumulate", "2", "--schedule"]
CASES = [
    ([*with_dims("mlp"), *LOSS, "--mesh", "dp=2,tp=2", "--zero", "1"],
     ["a reduction is dropped", "a collective over the wrong axis",
      "parts change places", "old weights are returned",
      "the saved activation of another layer is read"]),
    ([*with_dims("gpt"), *LOSS, "--mesh", "dp=2,tp=2", "--zero", "3"],
     ["the coordinate of the wrong axis", "a collective over the wrong axis"]),
    ([*with_dims("gpt"), *LOSS, "--mesh", "dp=2", "--ema", "0.9"],
     ["a factor is twice as large", "states change places in what is read",
      "a partial sum is squared", "a state begins with another value"]),
    ([*with_dims("llama"), *LOSS, "--mesh", "dp=2,sp=2", "--zero", "2",
      "--sp-attention", "ulysses"],
     ["an exchange is dropped"]),
    (EXPERTS,
     ["rows of experts go where those of another layer went",
      "tokens get room at experts in another order", "an exchange is dropped"]),
    ([*with_dims("mlp", 32), *LOSS, "--mesh", "dp=2", "--precision", "fp8",
      "--fp8-scaling", "delayed"],
     ["old histories are returned",
      "histories change places in what is read"]),
    ([*with_dims("mlp"), *LOSS, "--mesh", "dp=2", "--optimizer", "onebit-adam"],
     ["a reduction is dropped", "a partial sum is squared",
      "an exchange is dropped"]),
    ([*WITHOUT_FLUSH, "2bw"], ["another version is read"]),
    ([*WITHOUT_FLUSH, "stash"], ["another version is read"]),
    ([*WITHOUT_FLUSH, "stash", "--vertical-sync"],
     ["another version is read"]),
]


class Found(ZcTest):
    """Mistakes in the program that the proof compares."""

    def prove(self, *arguments):
        code, out, error = run("prove", *arguments, tool="zc-test-mistakes")
        self.assertEqual(code, 0, error)
        return out.splitlines()

    def write_small(self, arguments):
        """The text of the program that the proof compares, which is right."""
        small = self.folder / "small.mlir"
        self.assertEqual(self.prove(*arguments, "--write", small), ["equal"])
        return small.read_text()

    def find(self, arguments, kinds):
        """Each of the kinds has places in the program, and is found in all that
        are tried, but for those that the verifier of the IR refuses."""
        self.assertEqual(self.judge(arguments, self.seed(arguments, kinds)),
                         set(kinds))

    def seed(self, arguments, kinds):
        """Some of each kind, as (kind, text)."""
        text, draw = self.write_small(arguments), random.Random(5)
        mistakes = []
        for kind in kinds:
            mutants = [each for each in KINDS[kind](text) if each != text]
            mistakes += [(kind, each) for each in draw.sample(
                mutants, min(OF_EACH_KIND, len(mutants)))]
        return mistakes

    def outcomes(self, arguments, mistakes):
        """The proof's words on each."""
        files = []
        for number, (_, mutant) in enumerate(mistakes):
            files.append(self.folder / f"mutant-{number}.mlir")
            files[-1].write_text(mutant)
        outcomes = self.prove(*arguments, "--given", *files)
        self.assertEqual(len(outcomes), len(mistakes))
        return outcomes

    def judge(self, arguments, mistakes):
        """The kinds of the (kind, text) that are found; none may pass."""
        outcomes = self.outcomes(arguments, mistakes)
        for (kind, _), outcome in zip(mistakes, outcomes):
            with self.subTest(kind=kind):
                self.assertRegex(outcome, r"^(differs: |refused: '[\w.]+' op )")
        return {kind for (kind, _), outcome in zip(mistakes, outcomes)
                if outcome.startswith("differs: ")}

    def test_each_kind(self):
        for arguments, kinds in CASES:
            with self.subTest(arguments=arguments[1:]):
                self.find(arguments, kinds)

    def test_no_kind_is_left_out(self):
        tried = {kind for _, kinds in CASES for kind in kinds}
        self.assertEqual(tried, set(KINDS) - {OF_TYPES})

    def test_a_mistake_of_types(self):
        """On small dims experts have less room than all rows need, so that the
        two places are of different types."""
        mistakes = self.seed(EXPERTS, [OF_TYPES])
        self.assertTrue(mistakes)
        for outcome in self.outcomes(EXPERTS, mistakes):
            self.assertRegex(outcome, "^refused: use of value .* expects "
                             "different type than prior uses")

    def test_one_layer_for_many(self):
        """Two of twelve layers are there."""
        model = self.folder / "deep.onnx"
        write_many_layers(model)
        arguments = [model, *LOSS, "--mesh", "dp=2"]
        text = self.write_small(arguments)
        self.assertEqual(len(re.findall(
            r'train\.state @"?h\.\d+\.weight"? "parameter"', text)), 2)
        self.assertGreater(LAYERS, 2)
        self.find(arguments,
                  ("a reduction is dropped", "old weights are returned",
                   "states change places in what is read",
                   "a partial sum is squared",
                   "the saved activation of another layer is read"))

    def find_copies(self, name, *options, of="", program=None):
        """Copies (of weights with such a name) that a program leaves as old as
        they were, and that it loses."""
        arguments = [*with_dims(name), *LOSS, "--precision", "bf16", *options]
        text, draw, mistakes = self.write_small(arguments), random.Random(5), []
        before = text[:text.index(f"func.func @{program}(")] if program else ""
        for kind, makers in (("stale", (stale_states, stale_copies)),
                             ("lost", (lost_copies,))):
            of_copies = [mutant for make in makers
                         for state, mutant in make(text)
                         if f"{of}.bf16" in state and mutant.startswith(before)]
            mistakes += [(kind, mutant) for mutant in draw.sample(
                of_copies, min(OF_EACH_KIND, len(of_copies)))]
        self.assertEqual(self.judge(arguments, mistakes), {"stale", "lost"})

    def test_copies(self):
        self.find_copies("mlp", "--mesh", "dp=2,tp=2", "--zero", "1")

    def test_copies_in_compressed_steps(self):
        """The second has q, k and v in one matrix."""
        options = ("--optimizer", "onebit-adam", "--mesh")
        self.find_copies("mlp", *options, "dp=2,tp=2",
                         program="apply.compressed")
        self.find_copies("gpt", *options, "tp=2", of="blocks.0.qkv.weight",
                         program="apply.compressed")

    def test_first_states_of_compressed_steps(self):
        arguments = [*with_dims("mlp"), *LOSS, "--mesh", "dp=2", "--optimizer",
                     "onebit-adam"]
        text = self.write_small(arguments)
        begin = text.index("func.func @init(")
        wrong = text[:begin] + re.sub(r"dense<0\.0\S*(?=> : tensor<1x1x)",
                                      "dense<5.000000e-01", text[begin:])
        self.assertNotEqual(wrong, text)
        self.assertEqual(self.judge(arguments, [("init", wrong)]), {"init"})


class Refused(ZcTest):
    """A compiler that forgets a sum over ranks."""

    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.artifact = self.folder / "out.zca"
        self.options = [*with_dims("mlp"), *LOSS, "--mesh", "dp=2", "-o",
                        self.artifact]

    def refuse(self, command, *options, writes=()):
        code, out, error = run(
            command, *self.options, *options, tool="zc-test-mistakes",
            env={**os.environ, "TMPDIR": str(self.temporary)})
        self.assertEqual(code, 1, out + error)
        self.assertRegex(error, MISTAKE + r".*it differs in '.*\. Nothing was "
                         "written.*--verify off writes the artifact")
        self.assertNotIn("wrote", out)
        self.assertEqual(sorted(self.folder.rglob("*")),
                         sorted([self.temporary, *writes]))

    def test_nothing_is_written(self):
        self.refuse("compile")
        self.refuse("compile", "--verify", "deep")

    def test_an_artifact_that_is_there_stays(self):
        self.artifact.write_text("an older one")
        self.refuse("compile", writes=[self.artifact])
        self.assertEqual(self.artifact.read_text(), "an older one")

    def test_plans(self):
        self.refuse("plan", "--verify", "on")

    def test_that_is_not_asked_to_prove(self):
        """The mistake is one that nothing else in the compiler finds."""
        self.zc("compile", *self.options, "--verify", "off",
                tool="zc-test-mistakes")
        self.assertTrue(self.artifact.exists())

    def test_that_makes_no_mistake(self):
        """zc itself proves the same model."""
        self.assertIn("verified: on small dims 2 ranks train as one does",
                      self.zc("compile", *self.options))


if __name__ == "__main__":
    unittest.main()
