#!/usr/bin/env python3
"""Tensor parallelism from the command line: real ranks train what one rank
does, files of one mesh serve another, and reports say who divided what.

Losses within 1e-5 relative, weights within 1e-4 of the largest (float32 sums in
another order; SGD 1e-5).
"""
import json
import unittest

import numpy as np
import onnx

from zctest import Fixture, ZcTest, latest_step, load_tensors, read_log

STEPS = 10


def pack_projections(model, path):
    """Writes a Llama whose q, k and v are one product, cut apart behind it."""
    proto = onnx.load(model)
    graph = proto.graph
    weights = {each.name: each for each in graph.initializer}
    for layer in range(2):
        names = [f"layers.{layer}.{part}_proj.weight" for part in "qkv"]
        parts = [onnx.numpy_helper.to_array(weights[name]) for name in names]
        turns = [next(node for node in graph.node if name in node.input)
                 for name in names]
        products = [next(node for node in graph.node
                         if turn.output[0] in node.input) for turn in turns]
        packed, sizes = f"layers.{layer}.qkv.weight", f"layers.{layer}.sizes"
        graph.initializer.extend([
            onnx.numpy_helper.from_array(np.concatenate(parts), packed),
            onnx.numpy_helper.from_array(
                np.array([len(each) for each in parts]), sizes)])
        made = [onnx.helper.make_node("Transpose", [packed], [f"{packed}.t"],
                                      perm=[1, 0]),
                onnx.helper.make_node("MatMul", [products[0].input[0],
                                                 f"{packed}.t"],
                                      [f"{packed}.all"], name=f"qkv{layer}"),
                onnx.helper.make_node("Split", [f"{packed}.all", sizes],
                                      [node.output[0] for node in products],
                                      axis=-1, name=f"split{layer}")]
        place = list(graph.node).index(products[0])
        for node in [*turns, *products]:
            graph.node.remove(node)
        for index, node in enumerate(made):
            graph.node.insert(place - 1 + index, node)
        for name in names:
            graph.initializer.remove(weights[name])
            for value in [each for each in graph.input if each.name == name]:
                graph.input.remove(value)
    del proto.metadata_props[:]
    onnx.save(proto, path)


class Equality(ZcTest):
    model = None  # instead of the fixture's

    def run_on(self, fixture, name, options, mesh, ranks):
        artifact = self.folder / f"{name}.zca"
        self.zc("compile", self.model or fixture.model, "-o", artifact,
                *options, *mesh)
        log, checkpoint = self.folder / f"{name}.jsonl", self.folder / name
        self.zc("run", artifact, "--data", fixture.data, "--steps", STEPS,
                "--lr", "1e-3", "--no-shuffle", "--log", log, "--overwrite",
                "--checkpoint", checkpoint,
                *(["--local-ranks", ranks] if ranks > 1 else []))
        return read_log(log), load_tensors(latest_step(checkpoint))

    def compare(self, model, optimizer, layouts, *extra):
        fixture = Fixture(model)
        options = [*fixture.compile_options(optimizer), *extra]
        lines, weights = self.run_on(fixture, "one", options, [], 1)
        largest = max(np.abs(each).max() for each in weights.values())
        limit = 1e-4 if optimizer == "adamw" else 1e-5
        for index, (ranks, *mesh) in enumerate(layouts):
            with self.subTest(mesh=mesh):
                found, theirs = self.run_on(fixture, str(index), options, mesh,
                                            ranks)
                for a, b in zip(lines, found):
                    np.testing.assert_allclose(b["loss"], a["loss"], rtol=1e-5)
                    np.testing.assert_allclose(b["grad_norm"], a["grad_norm"],
                                               rtol=1e-4)
                self.assertEqual(weights.keys(), theirs.keys())
                for name, each in weights.items():
                    error = np.abs(each - theirs[name]).max() / largest
                    self.assertLess(error, limit, name)

    def test_gpt(self):
        self.compare("gpt", "sgd-nesterov",
                     [(2, "--mesh", "tp=2"),
                      (4, "--mesh", "dp=2,tp=2", "--zero", "3")],
                     "--clip-norm", "1")

    def test_llama(self):
        self.compare("llama", "adamw",
                     [(4, "--mesh", "dp=2,tp=2", "--zero", "1")])

    def test_fewer_heads_of_keys_than_ranks(self):
        """Llama has four heads of queries, and two of keys. AdamW forgives a
        gradient that is too large, SGD does not."""
        self.compare("llama", "sgd", [(4, "--mesh", "tp=4")])
        self.compare("llama", "adamw",
                     [(4, "--mesh", "tp=4"),
                      (8, "--mesh", "dp=2,tp=4", "--zero", "3",
                       "--sequence-parallel", "on"),
                      (8, "--mesh", "tp=4,sp=2", "--sp-attention",
                       "ring=zigzag"),
                      (8, "--mesh", "pp=2,tp=4", "--accumulate", "2",
                       "--sequence-parallel", "on")],
                     "--clip-norm", "1")

    def test_shared_heads_of_one_matrix(self):
        """q, k and v are one product: each is computed by itself where heads of
        keys are repeated, and the matrix stays whole."""
        fixture, self.model = Fixture("llama"), self.folder / "packed.onnx"
        pack_projections(fixture.model, self.model)
        self.compare("llama", "sgd", [(4, "--mesh", "tp=4")])
        self.compare("llama", "adamw",
                     [(8, "--mesh", "dp=2,tp=4", "--zero", "3",
                       "--sequence-parallel", "on"),
                      (8, "--mesh", "tp=4,sp=2", "--sp-attention", "ring")],
                     "--clip-norm", "1")
        flops = []
        for ranks in (1, 4):
            artifact = self.folder / "f.zca"
            out = self.zc("compile", self.model, "-o", artifact,
                          *fixture.compile_options("sgd"),
                          *(("--mesh", "tp=4") if ranks == 4 else ()))
            flops.append(json.loads(self.zc("inspect", artifact, "--json"))[
                "ops"]["flops"]["step"]["attention"] * ranks)
        self.assertEqual(*flops)
        self.assertRegex(out, "tp repeats heads of .*qkv.weight.*, which stay "
                              "whole: 2 heads are shared among 4 ranks")

    def test_mlp(self):
        self.compare("mlp", "adamw",
                     [(4, "--mesh", "tp=4"),
                      (4, "--mesh", "dp=2,tp=2", "--zero", "2")],
                     "--clip-norm", "0.1")

    def test_cnn(self):
        self.compare("cnn", "sgd", [(4, "--mesh", "dp=2,tp=2")])

    def test_padded(self):
        self.compare("mlp", "adamw",
                     [(4, "--mesh", "tp=4", "--shard", "6.weight=tp,-",
                       "--shard", "6.bias=tp")], "--clip-norm", "0.5")

    def test_narrow(self):
        """Weights in bfloat16, and a loss of parts of the vocabulary: losses as
        far from one rank's as sums of rounded terms are."""
        fixture = Fixture("gpt")
        options = [*fixture.compile_options("adamw"), "--precision", "bf16"]
        one, _ = self.run_on(fixture, "one", options, [], 1)
        two, _ = self.run_on(fixture, "two", options, ["--mesh", "tp=2"], 2)
        np.testing.assert_allclose([line["loss"] for line in two],
                                   [line["loss"] for line in one], rtol=5e-3)

    def test_drawn(self):
        """Initial weights do not depend on who holds them, blocks of q, k and
        v, in units, too, and zeros behind ten rows included."""
        self.compare("gpt", "sgd", [(2, "--mesh", "tp=2"),
                                    (4, "--mesh", "dp=2,tp=2", "--zero", "1")],
                     "--init", "normal:0.02")
        self.compare("mlp", "sgd", [(4, "--mesh", "tp=4", "--shard",
                                     "6.weight=tp,-")], "--init",
                     "torch-default")


class Files(ZcTest):

    def build(self, fixture, layouts):
        """(artifact, ranks) of each layout; the first is one rank's."""
        built = []
        for index, (ranks, *options) in enumerate([(1,), *layouts]):
            built.append((self.compile(fixture, "sgd-nesterov", *options,
                                       name=f"{index}.zca"),
                          ["--local-ranks", ranks] if ranks > 1 else []))
        return built

    def relay(self, fixture, built, folder):
        """The weights after two steps on each of `built` in turn."""
        for index, (artifact, ranks) in enumerate(built):
            self.train(artifact, fixture.data, 2 * index + 2, "--checkpoint",
                       folder, *ranks, *(["--resume"] if index else []))
        return load_tensors(latest_step(folder))

    def share(self, fixture, layouts):
        """Each layout goes on where another stopped, and exports what it and
        they trained."""
        built = self.build(fixture, layouts)
        turns = [*built[1:], built[0], *built[1:]]
        alone = self.relay(fixture, [built[0]] * len(turns),
                           self.folder / "alone")
        mixed = self.relay(fixture, turns, self.folder / "mixed")
        self.assertEqual(alone.keys(), mixed.keys())
        for name, value in alone.items():
            np.testing.assert_allclose(mixed[name], value, atol=1e-5,
                                       err_msg=name)
        for artifact, _ in built:
            model = self.folder / "trained.onnx"
            self.zc("export", artifact, "--checkpoint", self.folder / "mixed",
                    "-o", model)
            exported = {tensor.name: onnx.numpy_helper.to_array(tensor)
                        for tensor in onnx.load(model).graph.initializer}
            for name, value in mixed.items():
                np.testing.assert_array_equal(exported[name], value)
        return built

    def test_blocks(self):
        """q, k and v in one matrix, each divided by itself, in units."""
        fixture = Fixture("gpt")
        one, _, two = self.share(fixture, [
            (4, "--mesh", "dp=2,tp=2", "--zero", "3"), (2, "--mesh", "tp=2")])
        np.save(self.folder / "ids.npy", np.load(fixture.data)["input_ids"][:6])
        outputs = []
        for artifact, ranks in one, two:
            folder = self.folder / f"outputs-{len(outputs)}"
            self.zc("eval", artifact, *ranks, "--checkpoint",
                    self.folder / "mixed", "--input",
                    f"input_ids={self.folder / 'ids.npy'}", "--output-dir",
                    folder)
            outputs.append(np.load(folder / "logits.npy"))
        np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-4)

    def test_shared_heads(self):
        """Two heads of keys, which four ranks of tp share; two ranks divide
        them."""
        self.share(Fixture("llama"), [
            (4, "--mesh", "tp=4"), (8, "--mesh", "dp=2,tp=4", "--zero", "3"),
            (2, "--mesh", "tp=2"), (2, "--mesh", "dp=2", "--zero", "1")])

    def test_padded(self):
        """Ten rows among four ranks of tp, and units of those shares."""
        padded = ["--shard", "6.weight=tp,-"]
        self.share(Fixture("mlp"), [
            (8, "--mesh", "dp=2,tp=4", "--zero", "3", *padded),
            (4, "--mesh", "dp=2,tp=2", "--zero", "1"),
            (4, "--mesh", "tp=4", *padded, "--shard", "6.bias=tp")])


class Options(ZcTest):

    def inspect(self, artifact):
        json_text = self.zc("inspect", artifact, "--sharding", "--json")
        text = self.zc("inspect", artifact, "--sharding")
        entries = {}
        for entry in json.loads(json_text)["sharding"]:
            entries.setdefault(entry["name"], entry)
            self.assertIn(entry["name"], text)
        return entries

    def test_reports(self):
        fixture = Fixture("mlp")
        entries = self.inspect(self.compile(fixture, "adamw", "--mesh",
                                            "dp=2,tp=2"))
        self.assertEqual(entries["0.weight"]["sharding"], [["tp"], []])
        self.assertEqual(entries["2.weight"]["sharding"], [[], ["tp"]])
        self.assertEqual(entries["2.bias"]["sharding"], [[]])
        self.assertIn("rule auto", entries["0.weight"]["why"])
        self.assertIn("--mesh", entries["x"]["why"])
        self.assertEqual(entries["state.0.weight.exp_avg"]["sharding"],
                         [["tp"], []])
        self.assertTrue(any(entry["unreduced"] == ["tp"] and
                            "2.weight" in entry["why"]
                            for entry in entries.values()))

    def test_by_hand(self):
        """Tensors that belong together follow; those that nobody named are
        left."""
        fixture = Fixture("mlp")
        rules = self.folder / "rules"
        rules.write_text("# rows\n^4.weight$  -,tp\n")
        entries = self.inspect(self.compile(
            fixture, "adamw", "--mesh", "tp=2", "--tp-rules", rules))
        self.assertEqual(entries["4.weight"]["sharding"], [[], ["tp"]])
        self.assertIn("--tp-rules", entries["4.weight"]["why"])
        self.assertEqual(entries["2.weight"]["sharding"], [["tp"], []])
        self.assertIn("propagated from '4.weight'", entries["2.weight"]["why"])
        self.assertEqual(entries["0.weight"]["sharding"], [[], []])
        entries = self.inspect(self.compile(
            fixture, "adamw", "--mesh", "tp=2", "--shard", "0.weight=-,-"))
        self.assertEqual(entries["0.weight"]["sharding"], [[], []])
        self.assertEqual(entries["4.weight"]["sharding"], [["tp"], []])

    def test_hybrid_groups_make_two_axes_of_dp(self):
        entries = self.inspect(self.compile(
            Fixture("mlp"), "sgd", "--mesh", "dp=4", "--zero", 2,
            "--zero-group", 2, "--shard", "0.weight=dp,-"))
        self.assertEqual(entries["0.weight"]["sharding"],
                         [["dp_outer", "dp_inner"], []])

    def test_refused(self):
        fixture = Fixture("mlp")
        rules = self.folder / "rules"
        rules.write_text("4.weight\n")
        nothing = self.folder / "nothing"
        nothing.write_text("nothing.here tp,-\n")
        for code, options, said in [
                (2, ["--shard", "0.weight=tp,-"], "several ranks"),
                (2, ["--tp-rules", rules], "mesh with tp"),
                (2, ["--mesh", "tp=2", "--tp-rules", "nowhere"], "not exist"),
                (2, ["--mesh", "tp=2", "--shard", "tp"], "expected NAME="),
                (1, ["--mesh", "tp=2", "--tp-rules", rules], "rules:1"),
                (1, ["--mesh", "tp=2", "--tp-rules", nothing],
                 "no parameter and no input like 'nothing.here'"),
                (1, ["--mesh", "tp=2", "--shard", "none=tp,-"],
                 "no parameter and no input 'none'"),
                (1, ["--mesh", "tp=2", "--shard", "0.weight=tp"],
                 "has 2 dims, found 1"),
                (1, ["--mesh", "tp=2", "--shard", "0.weight=xp,-"],
                 "'xp' is no axis"),
                (1, ["--mesh", "tp=3", "--shard", "x=-,tp"],
                 "dim 1 of 'x' has 64 elements.*3 ranks of tp")]:
            with self.subTest(options=options):
                self.fails(code, [said], "compile", fixture.model, "-o",
                           self.folder / "x.zca",
                           *fixture.compile_options("adamw"), *options)

    def test_padded(self):
        """Ten rows among four ranks: two of zeros that no file knows."""
        fixture = Fixture("mlp")
        entries = self.inspect(self.compile(fixture, "adamw", "--mesh", "tp=4",
                                            "--shard", "6.weight=tp,-"))
        self.assertEqual(entries["6.weight"]["sharding"], [["tp"], []])
        self.assertEqual(entries["6.weight"]["shape"][0], 10)
        self.assertTrue(any("gathered whole over tp" in entry["why"]
                            for entry in entries.values()))
        self.fails(1, ["'6.weight'.*zeros behind.*adafactor would count"],
                   "compile", fixture.model, "-o", self.folder / "x.zca",
                   "--loss", "softmax-cross-entropy", "--dim", "batch=32",
                   "--optimizer", "adafactor", "--mesh", "tp=4", "--shard",
                   "6.weight=tp,-")
        gpt = Fixture("gpt")
        self.fails(1, ["dim 0 of 'blocks.0.ln1.weight' has 32 elements, which "
                       "do not divide among 3 ranks of tp.*layer_norm"],
                   "compile", gpt.model, "-o", self.folder / "x.zca",
                   *gpt.compile_options("adamw"), "--mesh", "tp=3", "--shard",
                   "blocks.0.ln1.weight=tp")

    def test_notes(self):
        """Two heads do not divide among four ranks: left whole, and said."""
        fixture = Fixture("gpt")
        out = self.zc("compile", fixture.model, "-o", self.folder / "x.zca",
                      *fixture.compile_options("adamw"), "--mesh", "tp=4")
        self.assertRegex(out, "note: tp leaves .*proj.weight.* whole: 2 does "
                              "not divide among 4 ranks")
        fixture = Fixture("llama")
        out = self.zc("compile", fixture.model, "-o", self.folder / "x.zca",
                      *fixture.compile_options("adamw"), "--mesh", "tp=4")
        self.assertRegex(out, "note: tp repeats heads of .*k_proj.weight.*v_proj"
                              ".*, which stay whole: 2 heads are shared among 4 "
                              "ranks")
        self.assertNotRegex(out, "tp leaves .*k_proj")


if __name__ == "__main__":
    unittest.main()
