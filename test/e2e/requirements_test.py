#!/usr/bin/env python3
"""Figures of test/requirements.txt that no other test has: what plans and
reports say of models of the literature, and of small ones by closed forms."""
import collections
import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import FIXTURES, Fixture, ZcTest, latest_step, load_tensors

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
            more = ["--accumulate", 2] if axis == "pp" else []
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

    def zero3(self, *options):
        return self.inspect(self.write_large(**SMALL), "--mesh", "dp=4",
                            "--zero", 3, "--unit", "layer", *options)

    def test_gathers_ahead(self):
        """C-29: what is sent does not depend on how far ahead, room does."""
        sent, room = set(), []
        for ahead in (0, 1, 2):
            found = self.zero3("--prefetch", ahead)
            sent.add(found["comm"]["by_kind"]["parameters"]["bytes"])
            room.append(found["memory"]["communication"])
        self.assertEqual(len(sent), 1)
        layer = 4 * (12 * 128 * 128 + 13 * 128)
        for before, after in zip(room, room[1:]):
            self.assertGreaterEqual(after - before, layer)
            self.assertLessEqual(after - before, 2 * layer)

    def test_parts_of_four_ranks(self):
        """C-36: each unit is gathered for the forward and for the backward, and
        its gradient is reduced once."""
        comm = self.zero3("--reshard-last")["comm"]["by_kind"]
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
        self.assertLess(found["fragmentation"], 0.05)

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

    def test_copies_of_offloading(self):
        """K-01: what lies in the second memory is copied there in each step, and
        back once or, where it is read far apart, twice; what the peak falls by is
        a part of it."""
        plain, away = (self.inspect(self.write_large(**SMALL), *options)["memory"]
                       for options in ((), ("--offload", "activations")))
        self.assertEqual(plain["copied"], {"away": 0, "back": 0})
        self.assertLessEqual(away["copied"]["away"], away["copied"]["back"])
        self.assertLessEqual(away["copied"]["back"],
                             2 * away["copied"]["away"])
        self.assertGreaterEqual(away["copied"]["away"], away["offloaded"])
        self.assertGreaterEqual(away["offloaded"], plain["peak"] - away["peak"])

    def test_copies_hide(self):
        """K-02: a step that keeps its parameters in the host's memory is as long
        as one that does not while a layer's copies take no longer than it; where
        the link is slower, the step waits."""
        model = self.write_large(**dict(SMALL, width=512, length=256,
                                        batch=64, vocabulary=1024))
        cluster = json.loads((CLUSTERS / "h100-dgx.json").read_text())
        steps = {}
        for rate in (2e11, 1e10):
            cluster["host"]["bytes_per_s"] = rate
            path = self.folder / "c.json"
            path.write_text(json.dumps(cluster))
            for offload in ("none", "parameters"):
                steps[rate, offload] = self.plan(
                    model, *LOSS, "--cluster", path, "--precision", "bf16",
                    "--accumulate", 8, "--offload", offload)["step_s"]
        self.assertEqual(steps[2e11, "none"], steps[1e10, "none"])
        self.assertLess(steps[2e11, "parameters"],
                        1.02 * steps[2e11, "none"])
        self.assertGreater(steps[1e10, "parameters"],
                           1.2 * steps[1e10, "none"])

    def test_zero_offload(self):
        """K-03: of 13e9 parameters a GPU keeps the weights in 16 bits, 26 GB;
        moments and float32 weights are the host's, 12 bytes a parameter, and in
        a step 2 bytes a parameter go there and 2 come back. A GPU of 80 GB has
        room for a step."""
        layers, width, vocabulary = 10, 10240, 25600
        model = self.write_large(layers=layers, width=width, heads=80,
                                 length=256, batch=1, vocabulary=vocabulary)
        weights = 12 * layers * width**2 + 2 * vocabulary * width
        artifact = self.folder / "a.zca"
        self.zc("compile", model, *LOSS, "--optimizer", "adamw", "--init",
                "normal:0.02", "--verify", "off", "--target", "cuda", "--cubins",
                "none", "--precision", "bf16", "--recompute", "layer",
                "--offload", "update", "-o", artifact)
        memory = json.loads(self.zc("inspect", artifact, "--json",
                                    "--memory"))["memory"]
        self.assertAlmostEqual(memory["parameters"] / 1e9, 26, delta=1)
        self.assertLess(memory["persistent"], 2.02 * weights)
        self.assertLess(memory["peak"], 40e9)
        # Beside the states gradients and new weights on their way.
        self.assertGreater(memory["offloaded"], 11.9 * weights)
        self.assertLess(memory["offloaded"], 16.1 * weights)
        for way in ("away", "back"):
            self.assertAlmostEqual(memory["copied"][way] / weights, 2,
                                   delta=0.02)

    def test_partitioned_activations(self):
        """C-25: a rank of 16 keeps 1/16 of a layer's saved activations: 62
        layers of 32 samples, 1024 tokens and 8192 values of 16 bits keep 33 GB,
        or 2. The bytes sent grow by a gather a layer."""
        ranks, sizes = 16, dict(SMALL, width=256, heads=16, length=64)
        kept, sent = {}, {}
        for options in ((), ("--partition-activations",)):
            found = [self.plan(
                self.write_large(**dict(sizes, layers=layers)), *LOSS, "--mesh",
                f"tp={ranks}", "--precision", "bf16", "--recompute", "layer",
                *options, "--target", "cpu", "--cluster", "ideal")
                for layers in (40, 60)]
            kept[options], sent[options] = (
                (found[1][a][b] - found[0][a][b]) / 20 for a, b in
                (("memory", "activations"), ("traffic", "sent_bytes")))
        layer = 2 * 8 * 64 * 256
        whole, part = kept.values()
        self.assertAlmostEqual(whole / layer, 1, delta=0.01)
        self.assertAlmostEqual(part / layer, 1 / ranks, delta=0.01)
        paper = 62 * 2 * 32 * 1024 * 8192 / 1e9
        self.assertAlmostEqual(paper, 33, delta=0.5)
        self.assertAlmostEqual(paper * part / whole, 2, delta=0.5)
        before, after = sent.values()
        self.assertAlmostEqual((after - before) / layer * ranks / (ranks - 1),
                               1, delta=0.05)
        self.assertLess(after / before, 1.11)


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

    @staticmethod
    def shifted(frames, back=1):
        """TSM's shift of [videos, frames, channels]: the first eighth comes from
        the next frame, the second from the last one; back=-1: its gradient."""
        result, eighth = frames.copy(), frames.shape[2] // 8
        for first, way in ((0, -back), (eighth, back)):
            part = np.roll(frames[..., first:first + eighth], way, axis=1)
            part[:, -1 if way < 0 else 0] = 0
            result[..., first:first + eighth] = part
        return result

    def shifting_model(self, videos, frames, channels, weights):
        """x w shifted, times v; as tools/bench/large_resnet.py writes a shift."""
        constants, parts, eighth = dict(weights), [], channels // 8
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]),
                 helper.make_node("Reshape", ["a", "videos"], ["b"])]
        for i, (begin, end, first, last, pads) in enumerate((
                (0, eighth, 1, frames, [0] * 4 + [1, 0]),
                (eighth, 2 * eighth, 0, frames - 1, [0, 1] + [0] * 4),
                (2 * eighth, channels, 0, frames, [0] * 6))):
            constants |= {f"begin{i}": np.int64([first, begin]),
                          f"end{i}": np.int64([last, end]),
                          f"pads{i}": np.int64(pads)}
            nodes += [helper.make_node("Slice", ["b", f"begin{i}", f"end{i}",
                                                 "dims"], [f"s{i}"]),
                      helper.make_node("Pad", [f"s{i}", f"pads{i}"],
                                       [f"p{i}"])]
            parts.append(f"p{i}")
        constants |= {"dims": np.int64([1, 2]),
                      "videos": np.int64([-1, frames, channels]),
                      "images": np.int64([-1, channels])}
        nodes += [helper.make_node("Concat", parts, ["c"], axis=2),
                  helper.make_node("Reshape", ["c", "images"], ["d"]),
                  helper.make_node("MatMul", ["d", "v"], ["y"])]
        shape = [videos * frames, channels]
        return self.save(nodes, [("x", shape)], [("y", shape)], constants)

    def test_shifted_frames_train(self):
        """L-06: gradients pass the shift of channels between frames as NumPy's
        do, and ranks have whole videos."""
        videos, frames, channels = 2, 4, 16
        random = np.random.default_rng(0)
        x, labels = random.standard_normal((2, videos * frames, channels),
                                           np.float32)
        w, v = random.standard_normal((2, channels, channels), np.float32)
        model = self.shifting_model(videos, frames, channels,
                                    {"w": w, "v": v})
        np.savez(self.folder / "d.npz", x=x, labels=labels)

        def shift(images, back=1):
            return self.shifted(images.reshape(videos, frames, channels),
                                back).reshape(images.shape)
        middle = shift(x @ w)
        error = 2 * (middle @ v - labels) / labels.size
        expected = {"v": v - middle.T @ error,
                    "w": w - x.T @ shift(error @ v.T, -1)}
        for ranks in (1, 2):
            artifact = self.folder / "tsm.zca"
            checkpoint = self.folder / f"c{ranks}"
            mesh = ("--mesh", "dp=2") if ranks > 1 else ()
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--optimizer", "sgd", *mesh)
            self.zc("run", artifact, "--data", self.folder / "d.npz", "--steps",
                    1, "--lr", 1, "--no-shuffle", "--checkpoint", checkpoint,
                    *(("--local-ranks", ranks) if ranks > 1 else ()))
            found = load_tensors(latest_step(checkpoint))
            for name, array in expected.items():
                np.testing.assert_allclose(found[name], array, atol=1e-5,
                                           err_msg=name)


if __name__ == "__main__":
    unittest.main()
