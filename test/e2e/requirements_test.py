#!/usr/bin/env python3
"""Figures of test/requirements.txt that no other test has: what plans and
reports say of models of the literature, and of small ones by closed forms."""
import collections
import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import FIXTURES, Fixture, ZcTest

CLUSTERS = FIXTURES.parents[1] / "tools" / "clusters"
LOSS = ("--loss", "softmax-cross-entropy")
STATES = ("parameters", "gradients", "optimizer")
SMALL = dict(layers=4, width=128, heads=4, length=32, batch=8, vocabulary=256)


class RequirementsTest(ZcTest):

    def plan(self, *args, section="plan"):
        return json.loads(self.zc("plan", *args, "--json"))[section]

    def inspect(self, model, *options, sections=("--memory", "--comm")):
        artifact = self.folder / "a.zca"
        if "--loss" not in options:
            options = (*LOSS, *options)
        self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                "--verify", "off", "--cpu-threads", 1, *options)
        return json.loads(self.zc("inspect", artifact, "--json", *sections))

    def save(self, nodes, inputs, outputs, weights):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "g", [value(name, TensorProto.FLOAT, shape)
                         for name, shape in inputs],
            [value(name, TensorProto.FLOAT, shape) for name, shape in outputs],
            [numpy_helper.from_array(array, name)
             for name, array in weights.items()])
        model = self.folder / "own.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10), model)
        return model


class Divisions(RequirementsTest):

    def test_what_each_method_splits(self):
        """A-05: dp and sp divide data, tp tensors, pp layers."""
        model, found = self.write_large(**SMALL), {}
        for axis in ("dp", "sp", "tp", "pp"):
            more = {"pp": ["--accumulate", 2],
                    # Zigzag order takes rows of whole inputs.
                    "sp": ["--sp-attention", "ulysses"]}.get(axis, [])
            entries = self.inspect(model, "--mesh", f"{axis}=2", *more,
                                   sections=["--sharding"])["sharding"]
            found[axis] = {
                kind: [(each["name"], each.get("role", 0),
                        any(axis in dim for dim in each["sharding"]))
                       for each in entries if each["kind"] == kind]
                for kind in ("parameter", "input")}
        for axis in ("dp", "sp"):
            self.assertFalse(any(each[2] for each in found[axis]["parameter"]))
            self.assertTrue(all(each[2] for each in found[axis]["input"]
                                if each[0] == "tokens"))
        self.assertTrue(any(each[2] for each in found["tp"]["parameter"]))
        for axis in ("tp", "pp"):
            self.assertFalse(any(each[2] for each in found[axis]["input"]))
        # No tensor is cut; each layer is one role's.
        roles = collections.defaultdict(set)
        for name, role, cut in found["pp"]["parameter"]:
            self.assertFalse(cut)
            roles[name].add(role)
        self.assertEqual(set(map(len, roles.values())), {1})
        self.assertEqual(set.union(*roles.values()), {0, 1})

    def test_benefits_and_drawbacks(self):
        """A-08: of a transformer with a large batch, tp sends most; dp keeps
        most."""
        model = self.write_large(layers=4, width=64, heads=4, length=128,
                              batch=16, vocabulary=256)
        sent, kept = {}, {}
        for axis in ("dp", "tp", "pp"):
            found = self.inspect(model, "--mesh", f"{axis}=4", "--clip-norm",
                                 1, *(["--accumulate", 4] * (axis == "pp")))
            sent[axis] = found["comm"]["sent_bytes"]
            kept[axis] = sum(found["memory"][name] for name in STATES)
        self.assertLess(max(sent["dp"], sent["pp"]), sent["tp"])
        self.assertLess(max(kept["tp"], kept["pp"]), kept["dp"])

    def test_zero_is_balanced(self):
        """A-10: with ZeRO-3 every rank sends alike, but for scalars."""
        found = self.inspect(self.write_large(**SMALL), "--mesh", "dp=4",
                             "--zero", 3)["comm"]
        for sent in found["per_rank"]:
            self.assertAlmostEqual(sent, found["sent_bytes"], delta=32)

    def test_zero_is_even(self):
        """A-10: with ZeRO-3 each of n ranks has an nth of all states, so that the
        largest is the mean but for some padding."""
        ranks = 4
        whole, part = (self.inspect(
            self.write_large(**SMALL), "--mesh", f"dp={ranks}", "--zero", zero,
            "--clip-norm", 1)["memory"] for zero in (0, 3))
        for name in STATES:
            self.assertAlmostEqual(ranks * part[name] / whole[name], 1,
                                   delta=0.005)


class Steps(RequirementsTest):

    def test_phases_in_order(self):
        """B-03: parameters are everywhere, samples are divided; each gradient
        is computed, then summed, then the update takes it."""
        found = self.inspect(Fixture("mlp").model, "--dim", "batch=8",
                             "--mesh", "dp=2", "--optimizer", "sgd",
                             sections=["--schedule", "--sharding"])
        divided = {each["name"]: each["sharding"] for each in found["sharding"]
                   if each["kind"] in ("parameter", "input")}
        self.assertEqual(divided.pop("x"), [["dp"], []])
        self.assertEqual(divided["0.weight"], [[], []])
        labels = [each["label"] for each in found["schedule"]["step"]]
        loss = labels.index("train.softmax_cross_entropy")
        for layer in "0246":
            forward = labels.index(f"train.matmul {layer}/Gemm")
            sums = [at for at, label in enumerate(labels)
                    if label == f"dist.all_reduce {layer}/Gemm"]
            updates = [at for at, label in enumerate(labels)
                       if label.endswith(f"sub {layer}/initializer")]
            self.assertLess(forward, loss)
            self.assertLess(loss, min(sums))
            # A bias's update may come before the weight's sum.
            self.assertLess(min(sums), min(updates))
            self.assertLess(max(sums), max(updates))

    def zero3(self, *options, **more):
        return self.inspect(self.write_large(**SMALL), "--mesh", "dp=4",
                            "--zero", 3, "--unit", "layer", *options, **more)

    def test_gathers_ahead(self):
        """C-29: what is sent does not depend on how far ahead, room does: k + 1
        gathered layers, and less than one more, of gradients to be sent."""
        sent, layer = set(), 4 * (12 * 128 * 128 + 13 * 128)
        for ahead in (0, 1, 2):
            found = self.zero3("--prefetch", ahead)
            sent.add(found["comm"]["by_kind"]["parameters"]["bytes"])
            # Found: 1.35, 3 and 4 layers.
            room = found["memory"]["communication"] / layer
            self.assertGreaterEqual(room, ahead + 1)
            self.assertLessEqual(room, ahead + 2)
        self.assertEqual(len(sent), 1)

    def test_parts_of_four_ranks(self):
        """C-36: each unit is gathered for the forward and for the backward, and
        its gradient is reduced once."""
        found = self.zero3("--reshard-last", sections=("--comm", "--schedule"))
        moves = collections.Counter(
            each["label"] for each in found["schedule"]["step"]
            if each["kind"] == "collective" and "/" in each["label"])
        parts = ["wte/initializer"] + [f"h.{layer}.ln1/initializer" for layer
                                       in range(SMALL["layers"])]
        self.assertEqual(moves, {f"dist.{kind} {part}": count for part in parts
                                 for kind, count in (("all_gather", 2),
                                                     ("reduce_scatter", 1))})
        comm = found["comm"]["by_kind"]
        units = comm["gradients"]["count"]
        self.assertGreater(units, SMALL["layers"])
        self.assertEqual(comm["parameters"]["count"], 2 * units)
        self.assertEqual(comm["parameters"]["bytes"],
                         2 * comm["gradients"]["bytes"])

    def test_products_stay_whole(self):
        """C-42: ZeRO-3 multiplies the matrices that ZeRO-0 does."""
        products = []
        for zero in (0, 3):
            found = self.inspect(Fixture("gpt").model, "--mesh", "dp=4",
                                 "--zero", zero, sections=["--schedule"])
            products.append(collections.Counter(
                (each["label"], each["flops"], each["bytes"])
                for each in found["schedule"]["step"]
                if each["kind"] in ("matmul", "attention")))
        self.assertTrue(products[0])
        self.assertEqual(products[0], products[1])

    def test_products_of_a_rank(self):
        """A-10, R-06: the smallest product, and how many have dims that fill
        tiles of 16; tp makes them smaller, ZeRO does not."""
        model, found = self.write_large(**SMALL), {}
        for options in ((), ("--mesh", "tp=4"), ("--mesh", "dp=2", "--zero", 3)):
            found[options[1:2]] = self.inspect(
                model, *options, sections=["--ops"])["ops"]["products"]
        whole, tp, zero = found.values()
        self.assertEqual(min(whole["smallest"]), 128)
        self.assertEqual(min(tp["smallest"]), 128 // 4)
        self.assertEqual(min(zero["smallest"]), 128)
        self.assertEqual(whole["multiples_of_16"], whole["count"])

    def test_micro_batches(self):
        """D-06, N-18: [16, 10, 512] are four times [4, 10, 512]."""
        model = self.save(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            [("x", [16, 10, 512])], [("y", [16, 10, 4])],
            {"w": np.ones((512, 4), np.float32)})
        program = self.zc("compile", model, "--loss", "mse", "--accumulate", 4,
                          "--emit", "step")
        self.assertRegex(program, r"@micro\(.*tensor<4x10x512xf32> \{[^}]*"
                                  r'train\.input = "x"')
        self.fails(1, ["16", "3"], "compile", model, "--loss", "mse",
                   "--accumulate", 3, "-o", self.folder / "a.zca")

    def test_sums_of_a_layer(self):
        """E-13: tp sends 8 b s h (t - 1)/t elements a layer."""
        for ranks, batch in ((2, 8), (4, 8), (4, 16)):
            sent = [self.inspect(self.write_large(
                **dict(SMALL, layers=layers, batch=batch)), "--mesh",
                f"tp={ranks}")["comm"]["by_axis"]["tp"]["bytes"]
                for layers in (1, 3)]
            self.assertEqual(sent[1] - sent[0], 2 * 4 * 8 * batch * 32 * 128
                             * (ranks - 1) / ranks)


class Bytes(RequirementsTest):

    def test_a_parameter(self):
        """C-01, C-02, C-04: by class, together 16 in both."""
        for precision, expected in (("fp32", (4, 4, 8)), ("bf16", (2, 2, 12))):
            memory = self.inspect(Fixture("mlp").model, "--dim", "batch=8",
                                  "--clip-norm", 1, "--precision",
                                  precision)["memory"]
            count = sum(weight.size for weight in
                        Fixture("mlp").weights("adamw").values())
            self.assertEqual(tuple(memory[name] / count for name in STATES),
                             expected)
            self.assertEqual(memory["bytes_per_parameter"],
                             dict(zip(STATES, expected)))
            self.assertEqual(sum(expected), 16)

    def test_model_and_residual_states(self):
        """C-28: states of the model and all else are the peak."""
        found = self.inspect(self.write_large(**SMALL), "--mesh", "dp=2",
                             "--clip-norm", 1)["memory"]
        at_peak = found["at_peak"]
        model = sum(at_peak[name] for name in STATES)
        residual = sum(at_peak[name] for name in (
            "activations", "communication", "workspace", "unused"))
        self.assertEqual(model + residual, found["peak"])
        self.assertEqual((found["model_states"], found["residual_states"]),
                         (model, residual))
        self.assertGreaterEqual(model, 3 * at_peak["parameters"])
        self.assertAlmostEqual(found["fragmentation"],
                               at_peak["unused"] / found["peak"])
        self.assertLess(found["fragmentation"], 0.005)  # found: 0.0003

    def test_copies_of_each_class(self):
        """C-34: of n ranks' parameters, gradients and moments there are n or 1
        copies, stage by stage."""
        model, ranks = self.write_large(**SMALL), 4
        copies, size = [], None
        for zero in range(4):
            memory = self.inspect(model, "--mesh", f"dp={ranks}", "--zero",
                                  zero, "--clip-norm", 1)["memory"]
            size = size or {name: memory[name] for name in STATES}
            copies.append([round(ranks * memory[name] / size[name], 1)
                           for name in STATES])
            told = [round(memory["copies"][name], 1) for name in STATES]
            self.assertEqual(told, copies[-1])
        self.assertEqual(copies, [[4, 4, 4], [4, 4, 1], [4, 1, 1], [1, 1, 1]])

    def test_lifetimes(self):
        """H-11: the first layer's activations live longest, the last one's
        shortest: most bytes wait for a good part of the step."""
        program = self.inspect(self.write_large(**SMALL))["memory"]["programs"]
        found = program["step"]["lifetimes"]
        self.assertRegex(found["longest"]["from"], r"\bh\.0\b|n1_Add")
        self.assertRegex(found["longest"]["to"], r"\bh\.0\b|n1_Add")
        self.assertGreater(sum(found["bytes_by_tenth"][2:]), 0)
        self.assertGreater(found["count_by_tenth"][0],
                           found["count_by_tenth"][9])

    def test_states_of_rows_and_columns(self):
        """J-06, J-07: of a matrix of 1024 x 4096 the second moments of Adafactor
        and the accumulators of SM3 are 1024 + 4096 numbers; Adam has two of
        4,194,304."""
        size = 1024 * 4096
        model = self.save(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            [("x", [2, 1024])], [("y", [2, 4096])],
            {"w": np.zeros((1024, 4096), np.float32)})
        for optimizer, expected in (("adafactor", 5120), ("sm3", 5120),
                                    ("adamw", 2 * size), ("sgd", 0)):
            memory = self.inspect(model, "--loss", "mse", "--optimizer",
                                  optimizer)["memory"]
            # Beside them a few scalars, such as the step.
            self.assertAlmostEqual(memory["optimizer"] / 4, expected, delta=64)

    def test_memory_by_depth(self):
        """H-04: work in place needs less than results of their own, tensors that
        share bytes less again, and a plan that keeps sqrt(layers) boundaries
        least; so do they grow with the depth."""
        found = {}
        for layers in (4, 9, 16):
            model = self.write_large(**dict(SMALL, layers=layers))
            for policy in ("none", "sqrt"):
                program = self.inspect(model, "--recompute", policy)[
                    "memory"]["programs"]["step"]
                found[policy, layers] = program["transient"]
                if policy == "none":
                    for kind in ("in_place", "apart"):
                        found[kind, layers] = program["unshared"][kind]
            self.assertLess(found["sqrt", layers], found["none", layers])
            self.assertLess(found["none", layers], found["in_place", layers])
            self.assertLess(found["in_place", layers], found["apart", layers])
        growth = {kind: found[kind, 16] - found[kind, 4]
                  for kind in ("sqrt", "none", "in_place", "apart")}
        self.assertLess(growth["sqrt"], 0.5 * growth["none"])
        self.assertLess(growth["none"], growth["in_place"])
        self.assertLess(growth["in_place"], growth["apart"])

    def test_partitioned_activations(self):
        """C-25: a rank of 16 keeps 1/16 of a layer's saved activations. The paper's
        100 billion parameters, 125 layers of 8192 values, so keep 33 billion
        numbers for 32 samples of 1024 tokens, or 2; it calls them GB, which are
        twice that in 16 bits. The bytes sent grow by a gather a layer. Values
        that do not lower the peak stay whole; which those are depends on the
        instructions, by what products need."""
        ranks, sizes = 16, dict(SMALL, width=256, heads=16, length=64)
        kept, sent = {}, {}
        for options in ((), ("--partition-activations",)):
            found = [self.plan(
                self.write_large(**dict(sizes, layers=layers)), *LOSS, "--mesh",
                f"tp={ranks}", "--precision", "bf16", "--recompute", "layer",
                *options, "--target", "cpu", "--cpu-arch", "x86-64-v4",
                "--cluster", "ideal")
                for layers in (40, 60)]
            kept[options], sent[options] = (
                (found[1][a][b] - found[0][a][b]) / 20 for a, b in
                (("memory", "activations"), ("traffic", "sent_bytes")))
        layer = 2 * 8 * 64 * 256
        whole, part = kept.values()
        self.assertAlmostEqual(whole / layer, 1, delta=0.01)
        self.assertAlmostEqual(part / layer, 1 / ranks, delta=0.01)
        numbers = 125 * 32 * 1024 * 8192 / 1e9
        self.assertAlmostEqual(numbers * whole / layer, 33, delta=0.7)
        self.assertAlmostEqual(numbers * part / layer, 2, delta=0.5)
        before, after = sent.values()
        self.assertAlmostEqual((after - before) / layer * ranks / (ranks - 1),
                               1, delta=0.05)
        # Six all-reduces a layer, forward, again and backward, are the paper's:
        # less than a tenth of them, as it says. Here five are sent, so that a
        # gather is a tenth, and all is less than the paper's without.
        paper = 6 * 2 * layer * (ranks - 1) / ranks
        self.assertLess((after - before) / paper, 0.1)
        self.assertAlmostEqual((after - before) / before, 0.1, delta=0.005)
        self.assertLess(after, paper)


class Toy(RequirementsTest):

    def test_products_of_whole_numbers(self):
        """E-06, E-10, L-09: [1, 2] @ [2, 6] @ [6, 2] on t ranks: columns, then
        rows; 24 weights / t, one sum of two elements, the exact result."""
        a = np.array([[1, 2, 3, 4, 5, 6], [-1, 1, -2, 2, -3, 3]], np.float32)
        b = np.arange(-5, 7, dtype=np.float32).reshape(6, 2)
        x = np.array([[2, 3]], np.float32)
        model = self.save(
            [helper.make_node("MatMul", ["x", "a"], ["h"], "first"),
             helper.make_node("MatMul", ["h", "b"], ["y"], "second")],
            [("x", [1, 2])], [("y", [1, 2])], {"a": a, "b": b})
        np.save(self.folder / "x.npy", x)
        artifact = self.folder / "toy.zca"
        for ranks in (2, 3):
            options = ("--loss", "mse", "--mesh", f"tp={ranks}")
            self.zc("compile", model, "-o", artifact, *options)
            found = json.loads(self.zc("inspect", artifact, "--json",
                                       "--memory", "--comm"))
            self.assertEqual(found["memory"]["parameters"], 4 * 24 / ranks)
            sums = found["comm"]["by_kind"]["activations"]
            self.assertEqual((sums["count"], sums["steps"]),
                             (1, 2 * (ranks - 1)))
            self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                    "--output-dir", self.folder, "--local-ranks", ranks)
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"),
                                          x @ a @ b)
            program = self.zc("compile", model, *options, "--emit", "sharded")
            inner = f"tensor<1x{6 // ranks}xf32>"
            self.assertRegex(program, f"train.matmul .*-> {inner}")
            self.assertRegex(program, r"dist\.all_reduce .*tensor<1x2xf32>")


if __name__ == "__main__":
    unittest.main()
