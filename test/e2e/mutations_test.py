#!/usr/bin/env python3
"""Mistakes that are seeded into divided programs: each kind that the passes
could make, wherever a program has a place for it, is found by the comparison of
`zc compile --verify` (proof_test.py), or by the verifier of the IR.
"""
import random
import re
import unittest

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


def swapped_reads(text):
    """The optimizer reads two of its states in each other's place."""
    for begin, end in programs(text):
        program = text[begin:end]
        body = program.index(" {\n")
        slots = {}
        for argument, kind in re.findall(
                r"(%arg\d+): (tensor<[^>]*>) \{[^}]*train\.state = "
                r"@\"?[\w.]*(?:exp_avg|momentum_buffer)", program[:body]):
            slots.setdefault(kind, []).append(argument)
        for first, *others in slots.values():
            for other in others[:2]:
                swap = {first: other, other: first}
                yield (text[:begin + body] + re.sub(
                    r"%arg\d+\b", lambda use: swap.get(use[0], use[0]),
                    program[body:]) + text[end:])


KINDS = {
    "a reduction is dropped": lambda text: dropped(text, "all_reduce"),
    "an exchange is dropped": lambda text: dropped(text, "all_to_all"),
    "a collective over the wrong axis": wrong_axis,
    "the coordinate of the wrong axis": wrong_coordinate,
    "parts change places": swapped_offsets,
    "old weights are returned": stale_state,
    "a constant is twice as large": wrong_scale,
    "states change places in what is read": swapped_reads,
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

    def test_copies(self):
        """A step that leaves copies of 16 bits as old as they were shows in
        nothing but the next."""
        fixture = Fixture("mlp")
        options = ("--precision", "bf16", "--zero", "1")
        one = self.emit(fixture, "one", "--precision", "bf16")
        divided = self.emit(fixture, "divided", "--mesh", MESH["mlp"], *options)
        what = ("--steps", "1", "--precision", "wide")
        self.assertTrue(self.agrees(divided, one, what))
        text = divided.read_text()
        copies = re.findall(r'train\.state @\S+ "copy"', text)
        stale = list(stale_state(text))
        self.assertTrue(copies)
        self.assertGreater(len(stale), len(copies))
        for number, mutant in enumerate(stale):
            path = self.folder / "mutant.mlir"
            path.write_text(mutant)
            with self.subTest(number=number):
                self.assertFalse(self.agrees(path, one, what))

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


if __name__ == "__main__":
    unittest.main()
