#!/usr/bin/env python3
"""Programs divided among ranks compute what the whole ones do: both are run by
the interpreter in double precision, on simulated ranks, from the same random
state and batch, and must agree to 1e-12 in every result: loss, new weights,
statistics, moments, accumulators.

SHARDING_TEST_ALL=1 goes through every layout and model.
"""
import math
import os
import re
import unittest

import numpy as np

from attention_model import make_attention
from sharding_layouts import LAYOUTS, MORE, ODD, SGD
from zctest import FIXTURES, Fixture, ZcTest

STATE = re.compile(r'train.state @"?([^" ]+)"? "parameter" : '
                   r'tensor<((?:\d+x)*)f32>(.*)')
ARGUMENT = re.compile(r'tensor<((?:\d+x)*)(f32|f64|i64)> {(.*?)}(?: loc|,|\)|$)')


class Units:
    """The flat vectors of ZeRO in a module's text: of what tp divides, one
    rank's share behind the other's."""

    def __init__(self, text):
        self.members = {}
        self.lengths = {}
        sizes = dict(re.findall(r"(\w+)=(\d+)", re.search(
            r"#dist.mesh<([^>]*)>|$", text)[1] or ""))
        for name, dims, attributes in STATE.findall(text):
            shape = [int(dim) for dim in dims.split("x") if dim]
            unit = re.search(r'unit = @"?([^",]+)"?, '
                             r'unit_offset = (\d+)', attributes)
            if not unit:
                whole = re.search(r"dist.whole = tensor<(\d+)xf32>", attributes)
                self.lengths[name] = (int(whole[1]) if whole
                                      else math.prod(shape))
                continue
            sharding = re.search(r"dist.sharding = #dist.sharding<([^>]*)>|$",
                                 attributes)[1] or ""
            divided = [(dim, int(sizes[axes])) for dim, axes in
                       enumerate(sharding.split(",")) if axes not in ("", "_")]
            dim, count = divided[0] if divided else (0, 1)
            # The sizes of blocks that are divided each by itself.
            blocks = re.findall(r"array<i64(?:: ([\d, ]+))?>", re.search(
                r"blocks = \[(.*?)\]|$", attributes)[0])
            sizes_of = ([int(size) for size in blocks[dim].split(", ")]
                        if blocks and blocks[dim] else [shape[dim]]
                        if shape else [1])
            # In files; in programs there may be zeros behind.
            shape = [int(size) for size in (re.search(
                r"dist.whole = tensor<((?:\d+x)*)|$", attributes)[1] or
                dims).split("x") if size]
            self.members.setdefault(unit[1], []).append(
                (name, shape, int(unit[2]), dim, count, sizes_of))

    def pack(self, arrays):
        """Members, their moments and their sums, as the vectors hold them."""
        packed = dict(arrays)
        for unit, members in self.members.items():
            for form in {self.form(key, name) for key in arrays
                         for name, *_ in members} - {None}:
                count = members[0][4]
                rows = np.zeros((count, self.lengths[unit] // count))
                for name, _, offset, dim, _, blocks in members:
                    parts = self.cut(packed.pop(form.format(name)), dim, count,
                                     blocks)
                    rows[:, offset:offset + parts[0].size] = [
                        part.ravel() for part in parts]
                packed[form.format(unit)] = rows.ravel()
        return packed

    @staticmethod
    def cut(array, dim, count, blocks):
        """The parts that each of `count` ranks has, its part of every block."""
        if count == 1:
            return [array]
        padding = [(0, 0)] * array.ndim
        padding[dim] = (0, sum(blocks) - array.shape[dim])
        pieces = [np.split(block, count, dim) for block in
                  np.split(np.pad(array, padding),
                           np.cumsum(blocks)[:-1], dim)]
        return [np.concatenate(part, dim) for part in zip(*pieces)]

    @staticmethod
    def join(parts, dim, blocks):
        """The inverse, padding included."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum(blocks)[:-1] // len(parts)
        pieces = zip(*(np.split(part, ends, dim) for part in parts))
        return np.concatenate([each for piece in pieces for each in piece], dim)

    @staticmethod
    def form(key, name):
        for form in ("{}", "state.{}.momentum_buffer", "accumulated.{}"):
            if key == form.format(name):
                return form
        return None

    def unpack(self, arrays):
        unpacked = {}
        for key, array in arrays.items():
            form = next((self.form(key, unit) for unit in self.members
                         if self.form(key, unit)), None)
            if form is None:
                unpacked[key] = array
                continue
            unit = next(unit for unit in self.members
                        if self.form(key, unit) == form)
            for name, shape, offset, dim, count, blocks in self.members[unit]:
                part = list(shape)
                if count > 1:
                    part[dim] = sum(blocks) // count
                size = math.prod(part)
                parts = [row[offset:offset + size].reshape(part)
                         for row in array.reshape(count, -1)]
                unpacked[form.format(name)] = self.join(parts, dim, blocks)[
                    tuple(map(slice, shape))]
        return unpacked


class Sharding(ZcTest):

    def emit(self, model, what, *options):
        path = self.folder / f"{what}.mlir"
        self.zc("compile", model, *options, "--emit", what, "-o", path)
        return path

    def evaluate(self, module, program, inputs):
        """Results by name, of a run from `inputs`."""
        folder = module.with_suffix("." + program)
        folder.mkdir()
        units = Units(module.read_text())
        options = []
        for name, array in units.pack(inputs).items():
            path = folder / f"{len(options)}.npy"
            np.save(path, array)
            options += ["--input", f"{name}={path}"]
        results = folder / "results"
        results.mkdir()
        self.zc(module, "--program", program, *options, "--output-dir",
                results, tool="zc-interpret")
        return units.unpack({path.name[:-len(".npy")]: np.load(path)
                             for path in results.iterdir()})

    def signature(self, module, program):
        text = module.read_text()
        start = text.index(f"func.func @{program}(")
        return text[start:text.index("\n", start)].split(") -> (")[0]

    def draw(self, module, program):
        """A value for every argument; variances above 0."""
        random = np.random.default_rng(7)
        arrays = {}
        for dims, kind, attributes in ARGUMENT.findall(
                self.signature(module, program)):
            name = re.search(r'train.(?:state = @|input = )"?([^",}]+)',
                             attributes)[1]
            shape = [int(dim) for dim in dims.split("x") if dim]
            limit = re.search(r"train.range = array<i64: (\d+), (\d+)",
                              attributes)
            if kind == "f64":  # a number of the update, as the module has it
                constant = re.search(
                    rf"@\"?{re.escape(name)}\"? \"scalar\" : tensor<f64> "
                    r"{draw = {constant = (\S+) :", module.read_text())[1]
                arrays[name] = np.array(float(constant))
            elif kind == "f32" and (bits := re.search(
                    rf'state @"?{re.escape(name)}"? "constant" : [^{{]*'
                    r'{value = dense<"0x(\w+)"', module.read_text())):
                # The compiler uses constants that it knows, as causal masks.
                arrays[name] = np.frombuffer(bytes.fromhex(bits[1]),
                                             np.float32).reshape(shape)
            elif kind == "f32":
                low = 0.1 if re.search("_var$|_sq$|variance$|tor_\\d$", name) else -1
                arrays[name] = random.uniform(low, 1, shape)
            else:
                arrays[name] = random.integers(
                    0, int(limit[2]) if limit else 2, shape)
        return arrays

    def compare(self, name):
        model, options, mesh = {**LAYOUTS, **MORE}[name]
        if options is None:
            fixture = Fixture(model)
            options = ["--loss", fixture.reference["loss"], *SGD]
            if fixture.reference["symbolic_batch"]:
                options += fixture.compile_options("sgd")[2:4]
            model = fixture.exports[0]
        elif isinstance(model, str):
            model = Fixture(model).model
        elif isinstance(model, dict):
            make_attention(self.folder / "made.onnx", **model)
            model = self.folder / "made.onnx"
        one = self.emit(model, "step", *options)
        many = self.emit(model, "sharded", *options, *mesh)
        self.assertRegex(many.read_text(), "dist.(all_reduce|reduce_scatter)")
        text = one.read_text()
        programs = [each for each in ("step", "micro", "apply", "eval")
                    if f"func.func @{each}(" in text]
        for program in programs:
            inputs = self.draw(one, program)
            expected = self.evaluate(one, program, inputs)
            found = self.evaluate(many, program, inputs)
            self.assertEqual(expected.keys(), found.keys())
            for key, value in expected.items():
                with self.subTest(program=program, result=key):
                    scale = max(np.abs(value).max(), 1e-6)
                    self.assertEqual(value.shape, found[key].shape)
                    error = np.abs(value - found[key]).max() / scale
                    self.assertLess(error, 1e-12)

    def check_dropped(self, name, axis):
        """Without one of the sums of gradients, ranks disagree."""
        fixture = Fixture(name)
        options, model = fixture.compile_options("sgd"), fixture.model
        inputs = self.draw(self.emit(model, "step", *options), "step")
        many = self.emit(model, "sharded", *options, "--mesh", f"{axis}=2")
        text, dropped = re.subn(
            rf'dist\.all_reduce (%\d+) {{axes = \["{axis}"\], traffic = '
            r'"gradients"[^}]*}', r"train.reshape \1", many.read_text(),
            count=1)
        self.assertEqual(dropped, 1)
        many.write_text(text)
        with self.assertRaisesRegex(AssertionError, "holds other elements"):
            self.evaluate(many, "step", inputs)

    def test_a_gradient_not_summed_over_tokens_shows(self):
        self.check_dropped("gpt", "sp")

    def test_labels_that_ranks_count_for_themselves_show(self):
        """The loss is a mean over all labels that count, not one of the ranks'
        means, where these have unequally many."""
        fixture = Fixture("gpt")
        options, model = fixture.compile_options("sgd"), fixture.model
        one = self.emit(model, "step", *options)
        many = self.emit(model, "sharded", *options, "--mesh", "sp=2")
        inputs = self.draw(one, "step")
        inputs["labels"][:, :11] = inputs["labels"][::3, 13:15] = -100
        expected = self.evaluate(one, "step", inputs)["loss"]
        found = self.evaluate(many, "step", inputs)["loss"]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        text, changed = re.subn(
            r'dist\.all_reduce (%\d+) {axes = \["sp"\], traffic = "scalars"}',
            r"train.add \1, \1", many.read_text(), count=1)
        self.assertEqual(changed, 1)
        mutant = self.folder / "own.mlir"
        mutant.write_text(re.sub(
            r"(train\.add (%\d+), \2 :) \((tensor<f32>)\)",
            r"\1 (\3, \3)", text))
        # Either rank then has the mean of its own tokens' losses.
        means = []
        for rank in range(2):
            alone = self.folder / f"rank{rank}.mlir"
            alone.write_text(one.read_text())
            labels = inputs["labels"].copy()
            labels[:, 16 * (1 - rank):16 * (2 - rank)] = -100
            means.append(self.evaluate(alone, "step", {
                **inputs, "labels": labels})["loss"])
        own = self.evaluate(mutant, "step", inputs)["loss"]
        np.testing.assert_allclose(own, sum(means) / 2, rtol=1e-12)
        self.assertGreater(abs(own - expected), 1e-3)

    def test_a_gradient_not_summed_over_experts_shows(self):
        self.check_dropped("experts/mixtral", "ep")

    def test_a_ring_whose_forward_is_elsewhere(self):
        """A gradient of an attention that the program does not compute begins
        with a turn more, which brings what the forward would have ended with."""
        one = self.folder / "one.mlir"
        inputs = ", ".join(
            f'%{name}: !{"s" if name == "s" else "t"} {{train.input = '
            f'"{name}", train.batch_dim = 0 : i64}}' for name in "qkrsg")
        one.write_text(f"""
            !t = tensor<2x8x3x6xf32>
            !s = tensor<2x3x8xf32>
            func.func @step({inputs}) -> (!t {{train.output = "dq"}},
                !t {{train.output = "dk"}}, !t {{train.output = "dv"}}) {{
              %v = train.add %q, %k : (!t, !t) -> !t
              %d:3 = train.attention_grad %q, %k, %v, %r, %s, %g
                {{causal, scale = 0.4 : f64}}
                : (!t, !t, !t, !t, !s, !t) -> (!t, !t, !t)
              return %d#0, %d#1, %d#2 : !t, !t, !t
            }}""")
        draw = np.random.default_rng(0)
        inputs = {name: draw.uniform(-1, 1, (2, 3, 8) if name == "s"
                                     else (2, 8, 3, 6)).astype(np.float32)
                  for name in "qkrsg"}
        expected = self.evaluate(one, "step", inputs)
        self.assertEqual(len(expected), 3)
        for ranks in (2, 4):
            many = self.folder / f"{ranks}.mlir"
            self.zc(one, f"--zc-find-tokens=parts={ranks} attention=ring",
                    f"--zc-annotate-mesh=mesh=sp={ranks}",
                    "--zc-propagate-sharding", "--zc-insert-collectives",
                    "--zc-localize", "--canonicalize", "--cse", "-o", many,
                    tool="zc-opt")
            # Keys, values; and the gradients of both.
            self.assertEqual(many.read_text().count("dist.send_receive"),
                             2 * ranks + 2 * (ranks - 1))
            found = self.evaluate(many, "step", inputs)
            for key, value in expected.items():
                np.testing.assert_allclose(found[key], value, rtol=0,
                                           atol=1e-12, err_msg=key)

    def test_tp_chunks(self):
        """Classes that tp divides, and samples in chunks that dp divides."""
        one = (FIXTURES.parent / "passes" / "Fusion" /
               "chunk-cross-entropy-divided.mlir")
        many = self.folder / "many.mlir"
        self.zc(one, "--zc-chunk-cross-entropy=axis=tp sample-parts=2 "
                "min-bytes=1", "--zc-annotate-mesh=mesh=dp=2,tp=2",
                "--zc-propagate-sharding", "--zc-insert-collectives",
                "--zc-verify-sharding", "--zc-localize", "-o", many,
                tool="zc-opt")
        text = self.zc(one, tool="zc-opt")
        whole = self.folder / "whole.mlir"
        whole.write_text(re.sub("{dist.sharding = .*?>}", "", re.sub(
            "attributes {dist.mesh.*?} ", "", text)))
        inputs = self.draw(whole, "step")
        expected = self.evaluate(whole, "step", inputs)
        for key, found in self.evaluate(many, "step", inputs).items():
            np.testing.assert_allclose(found, expected[key], rtol=1e-12,
                                       err_msg=key)


for layout in {**LAYOUTS, **(MORE if os.environ.get("SHARDING_TEST_ALL")
                             else {})}:
    def check(self, name=layout):
        self.compare(name)
    setattr(Sharding, "test_" + layout.replace("-", "_"), check)


class Refused(ZcTest):

    def test_batch(self):
        model = Fixture("mlp").model
        self.fails(1, ["batch of 14 samples", "4 ranks", "12 and 16"],
                   "compile", model, *ODD[2:], "--dim", "batch=14", "--mesh",
                   "dp=4", "--emit", "sharded")
        self.fails(1, ["24 and 32"], "compile", model, *ODD[2:], "--dim",
                   "batch=30", "--mesh", "dp=4", "--accumulate", "2",
                   "--emit", "sharded")

    def test_axes(self):
        model = Fixture("mlp").model
        for mesh, message in {"xp=2": "expected axes pp, dp, ep, sp and tp",
                              "dp=0": "size of at least 1",
                              "dp=2,dp=2": "'dp' comes twice"}.items():
            self.fails(2, [message], "compile", model, *ODD, "--mesh", mesh,
                       "--emit", "sharded")


if __name__ == "__main__":
    unittest.main()
