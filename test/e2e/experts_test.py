#!/usr/bin/env python3
"""Models with experts: what transformers exports, against PyTorch's losses.

No weights are looked up by token, and only the chosen experts are computed.
"""
import json
import re
import subprocess
import sys
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import FIXTURES, Fixture, ZcTest, read_log

NAMES = ("mixtral", "qwen", "gpt_oss")
# For each model: experts, chosen, hidden size, inner size of all products.
SIZES = {"mixtral": (4, 2, 24, 32), "qwen": (8, 3, 24, 16),
         "gpt_oss": (4, 2, 24, 24)}
LAYERS, BATCH, TOKENS = 2, 4, 48


class Experts(ZcTest):
    def losses(self, fixture, optimizer, *options, ranks=1):
        artifact = self.compile(fixture, optimizer, *options)
        entry = fixture.reference["optimizers"][optimizer]
        log = self.folder / "log.jsonl"
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log, "--local-ranks", str(ranks),
                   lr=entry["learning_rate"])
        return np.array([line["loss"] for line in read_log(log)])

    def check(self, name, optimizer, *options, ranks=1):
        fixture = Fixture(f"experts/{name}")
        entry = fixture.reference["optimizers"][optimizer]
        found = self.losses(fixture, optimizer, *options, ranks=ranks)
        np.testing.assert_allclose(
            found, entry["losses"],
            rtol=max(2e-6, 5 * entry["loss_spread"]))

    def test_losses(self):
        for name in NAMES:
            for optimizer in ("sgd", "adamw"):
                with self.subTest(name=name, optimizer=optimizer):
                    self.check(name, optimizer)

    def test_ranks(self):
        for name, mesh, ranks, *options in (
                ("mixtral", "dp=2", 2), ("mixtral", "tp=2", 2),
                ("mixtral", "ep=4", 4), ("mixtral", "dp=2,ep=2", 4),
                ("mixtral", "ep=2,tp=2", 4), ("qwen", "ep=2", 2),
                ("mixtral", "ep=2,tp=2", 4, "--sequence-parallel", "on"),
                ("mixtral", "tp=2", 2, "--sequence-parallel", "on"),
                ("qwen", "ep=4", 4), ("gpt_oss", "ep=2", 2),
                ("gpt_oss", "ep=4", 4),
                ("mixtral", "ep=2", 2, "--accumulate", "2")):
            with self.subTest(name=name, mesh=mesh, options=options):
                self.check(name, "adamw", "--mesh", mesh, *options,
                           ranks=ranks)

    def test_traffic(self):
        """In each layer rows go to experts and back, and so do their gradients:
        four times (ep - 1) / ep of the rooms of a rank's groups, and nothing
        besides."""
        ranks, groups = 2, 2  # a rank's
        comm, plain = (self.traffic(f"{axis}={ranks}") for axis in ("ep", "dp"))
        experts, _, hidden, _ = SIZES["mixtral"]
        room = groups * experts * (TOKENS // BATCH)
        sent = LAYERS * room * 4 * 4 * hidden * (ranks - 1) // ranks
        for key, expected in (("count", 4 * LAYERS), ("bytes", sent)):
            more = (comm["by_kind"]["activations"][key]
                    - plain["by_kind"].get("activations", {key: 0})[key])
            self.assertEqual(more, expected, key)
        # Gradients of experts are whole where they are computed.
        shared = sum(array.nbytes for name, array in
                     self.parameters("mixtral").items()
                     if ".experts." not in name)
        self.assertLess(comm["by_kind"]["gradients"]["bytes"],
                        1.01 * 2 * (ranks - 1) / ranks * shared + 1)

    def test_traffic_of_micro_batches(self):
        """Four exchanges a layer in each of them."""
        comm, plain = (self.traffic(f"{axis}=2", "--accumulate", "2")
                       for axis in ("ep", "dp"))
        more = (comm["by_kind"]["activations"]["count"]
                - plain["by_kind"].get("activations", {"count": 0})["count"])
        self.assertEqual(more, 2 * 4 * LAYERS)

    def test_traffic_of_limited_rooms(self):
        """Four all-to-alls a layer, each (ep - 1) / ep of experts times
        capacity times the hidden size; 16 bits an element where these are what
        is stored."""
        ranks, groups = 2, 2
        experts, chosen, hidden, _ = SIZES["mixtral"]
        capacity = -(-TOKENS // BATCH * chosen // experts)
        for precision, width in (("fp32", 4), ("bf16", 2)):
            options = ["--moe-capacity", "1", "--precision", precision]
            comm, plain = (self.traffic(f"{axis}={ranks}", *options)
                           for axis in ("ep", "dp"))
            for key, expected in (
                    ("count", 4 * LAYERS),
                    ("bytes", 4 * LAYERS * groups * experts * capacity * hidden
                     * width * (ranks - 1) // ranks)):
                more = (comm["by_kind"]["activations"][key] -
                        plain["by_kind"].get("activations", {key: 0})[key])
                self.assertEqual(more, expected, (precision, key))

    def test_gates_are_chosen_in_32_bits(self):
        experts, _, hidden, _ = SIZES["mixtral"]
        step = self.step("mixtral", "--precision", "bf16")
        gates = [line for line in step.splitlines() if re.search(
            rf"train\.matmul .*-> tensor<{TOKENS}x{experts}xf32>", line)]
        self.assertEqual(len([line for line in gates if re.search(
            rf"\(tensor<{TOKENS}x{hidden}xf32>, tensor<{experts}x{hidden}xf32>",
            line)]), 2 * LAYERS, gates)  # in the step and in evaluations
        self.assertIn(f"tensor<{TOKENS * 2}x{hidden}xbf16>", step)

    def test_16_bits_on_the_wire(self):
        path = self.folder / "sharded.mlir"
        fixture = Fixture("experts/mixtral")
        self.zc("compile", fixture.model, "--emit", "sharded", "-o", path,
                *fixture.compile_options("adamw"), "--mesh", "ep=2",
                "--precision", "bf16")
        # The step only; evaluations are in float32.
        step = path.read_text().split("func.func @")
        step, = (each for each in step if each.startswith("step("))
        sent = [line for line in step.splitlines()
                if "= dist.all_to_all" in line]
        self.assertEqual(len(sent), 4 * LAYERS)
        for line in sent:
            self.assertNotIn("f32", line)

    def traffic(self, mesh, *options):
        artifact = self.compile(Fixture("experts/mixtral"), "adamw", "--mesh",
                                mesh, *options)
        return json.loads(self.zc("inspect", artifact, "--json"))["comm"]

    def parameters(self, name):
        model = onnx.load(Fixture(f"experts/{name}").model)
        return {each.name: numpy_helper.to_array(each)
                for each in model.graph.initializer
                if each.name.endswith("weight") or ".experts." in each.name}

    def test_capacity(self):
        """Room for all is as no limit; with less the losses are other ones,
        the same on every mesh, and norms count each expert once."""
        fixture = Fixture("experts/mixtral")
        with self.subTest("room for all"):
            self.check("mixtral", "adamw", "--moe-capacity", "4")
        limited = ["--moe-capacity", "1", "--clip-norm", "0.5"]
        alone = self.losses(fixture, "adamw", *limited)
        free = fixture.reference["optimizers"]["adamw"]["losses"]
        self.assertGreater(np.abs(alone - free).max(), 1e-3)
        for mesh, ranks in (("dp=2", 2), ("ep=2", 2), ("dp=2,ep=2", 4)):
            with self.subTest(mesh=mesh):
                found = self.losses(fixture, "adamw", "--mesh", mesh, *limited,
                                    ranks=ranks)
                np.testing.assert_allclose(found, alone, rtol=2e-6)

    def test_another_mesh_goes_on(self):
        """Experts are whole in checkpoints, whoever had which; exported, they
        compute in ONNX Runtime what they do here."""
        fixture = Fixture("experts/mixtral")
        steps = fixture.reference["steps"]
        expected = fixture.reference["optimizers"]["adamw"]["losses"]
        checkpoint, log = self.folder / "ckpt", self.folder / "log.jsonl"
        found = []
        for end, mesh, ranks, *more in (
                (4, ["--mesh", "dp=2,ep=2", "--zero", "3"], 4),
                (7, ["--mesh", "ep=4"], 4, "--resume"),
                (steps, [], 1, "--resume")):
            artifact = self.compile(fixture, "adamw", *mesh)
            self.train(artifact, fixture.data, end, "--no-shuffle", "--log",
                       log, "--checkpoint", checkpoint, "--local-ranks",
                       str(ranks), "--lr-schedule", "constant", *more)
            found = [line["loss"] for line in read_log(log)]
        np.testing.assert_allclose(found, expected, rtol=2e-6)
        trained = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", trained)
        tokens = np.load(fixture.data)["input_ids"][:BATCH]
        np.save(self.folder / "x.npy", tokens)
        self.zc("eval", artifact, "--checkpoint", checkpoint, "--input",
                f"input_ids={self.folder / 'x.npy'}", "--output-dir",
                self.folder)
        session = onnxruntime.InferenceSession(
            trained, providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(
            np.load(self.folder / "logits.npy"),
            session.run(None, {"input_ids": tokens})[0], rtol=1e-4, atol=1e-5)

    def test_what_overflows_is_the_same_everywhere(self):
        """Rows without room and rows by expert, on every mesh and however the
        step is accumulated; nothing overflows without a limit."""
        found = []
        for ranks, *options in ((1,), (1, "--accumulate", "2"),
                                (2, "--mesh", "dp=2"), (4, "--mesh", "ep=4"),
                                (4, "--mesh", "dp=2,ep=2", "--zero", "3"),
                                (2, "--mesh", "ep=2", "--recompute", "full")):
            found.append(self.log("--moe-capacity", "1", *options,
                                  ranks=ranks))
        experts, chosen, _, _ = SIZES["mixtral"]
        for lines in found:
            for line, other in zip(lines, found[0]):
                tokens = np.array(line["moe_tokens"])
                self.assertEqual(tokens.shape, (LAYERS, experts))
                np.testing.assert_array_equal(tokens.sum(-1), chosen * TOKENS)
                self.assertEqual(line["moe_tokens"], other["moe_tokens"])
                self.assertEqual(line["moe_overflow"], other["moe_overflow"])
                self.assertAlmostEqual(
                    line["moe_balance"],
                    (tokens.max(-1) / tokens.mean(-1)).mean(), places=6)
        self.assertGreater(found[0][0]["moe_overflow"], 0)
        self.assertEqual(self.log()[0]["moe_overflow"], 0)
        self.assertEqual(self.log()[0]["moe_tokens"],
                         found[0][0]["moe_tokens"])
        self.assertEqual(self.log("--mesh", "ep=2", ranks=2)[0]["moe_tokens"],
                         found[0][0]["moe_tokens"])

    def log(self, *options, ranks=1):
        fixture = Fixture("experts/mixtral")
        self.losses(fixture, "sgd", *options, ranks=ranks)
        return read_log(self.folder / "log.jsonl")

    def test_inspect(self):
        """Parameters and FLOPs at work for a token, what room costs, who owns
        what."""
        parameters = self.parameters("mixtral")
        experts, chosen, hidden, inner = SIZES["mixtral"]
        of_experts = LAYERS * experts * 3 * hidden * inner
        for ranks, room, multiplied, *options in (
                (1, 1, 1), (2, experts / chosen, 1),
                (2, experts / chosen, 1, "--target", "cuda",
                 "--cubins", "none"), (2, 1, 1, "--moe-capacity", "1")):
            artifact = self.compile(Fixture("experts/mixtral"), "adamw",
                                    "--mesh", f"ep={ranks}", *options)
            found = json.loads(self.zc("inspect", artifact, "--ops",
                                       "--json"))["experts"]
            # With the rotary frequencies, which the file calls parameters.
            self.assertEqual(found["parameters"], 3 + sum(
                each.size for each in parameters.values()))
            self.assertEqual(found["active_parameters"], found["parameters"]
                             - of_experts * (1 - chosen / experts))
            self.assertEqual(len(found["layers"]), LAYERS)
            for layer in found["layers"]:
                self.assertEqual(
                    (layer["experts"], layer["chosen"], layer["rows"],
                     layer["experts_per_rank"]),
                    (experts, chosen, TOKENS * chosen, experts // ranks))
                # G-09: k b / n, of all ranks together.
                self.assertEqual(layer["rows_per_expert"],
                                 chosen * TOKENS / experts)
                self.assertEqual(layer["parameters"] * LAYERS, of_experts)
                self.assertEqual(layer["flops_active"],
                                 2 * TOKENS * chosen * 3 * hidden * inner)
                self.assertEqual(layer["flops_total"],
                                 layer["flops_active"] * experts / chosen)
                self.assertEqual((layer["room_over_rows"],
                                  layer["multiplied_over_rows"]),
                                 (room, multiplied))
            said = self.zc("inspect", artifact)
            self.assertIn("of them active for a token", said)
            self.assertIn(f"{TOKENS * chosen} rows, "
                          f"{chosen * TOKENS / experts:.4g} an expert", said)

    def inspect_by_shape(self, *options, tool="large_mixtral.py", ranks=8):
        """A large model over ranks of ep, without its weights."""
        model, artifact = self.folder / "m.onnx", self.folder / "m.zca"
        subprocess.run(
            [sys.executable, FIXTURES.parents[1] / "tools" / "bench" /
             tool, model, "--length", "512", *options],
            check=True, stdout=subprocess.DEVNULL)
        self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                "--loss", "softmax-cross-entropy", "--mesh",
                f"ep={ranks}", "--precision", "bf16")
        return json.loads(self.zc("inspect", artifact, "--json"))

    def test_qwen3_by_shape(self):
        """30B-A3B: 30.5 billion parameters, 3.3 of them active."""
        found = self.inspect_by_shape(
            *"--layers 48 --width 2048 --head 128 --key-heads 4 --inner 768 "
            "--experts 128 --chosen 8 --vocabulary 151936 --head-norms".split())
        experts = 48 * 128 * 3 * 2048 * 768
        self.assertEqual(found["experts"]["parameters"], 30_532_122_624)
        self.assertEqual(found["experts"]["active_parameters"],
                         30_532_122_624 - experts * 15 // 16)
        self.assertEqual({layer["experts_per_rank"] for layer in
                          found["experts"]["layers"]}, {16})
        self.assertLess(found["memory"]["parameters"],
                        1.001 * 2 * (30_532_122_624 - experts * 7 // 8))

    def test_deepseek_by_shape(self):
        """V3 over ep=64: 671 billion parameters, 37.6 of them active."""
        found = self.inspect_by_shape(tool="large_deepseek.py", ranks=64)
        experts = 58 * 256 * 3 * 7168 * 2048
        self.assertEqual(found["experts"]["parameters"], 671_026_404_352)
        self.assertEqual(found["experts"]["active_parameters"],
                         671_026_404_352 - experts * 31 // 32)
        self.assertEqual({layer["experts_per_rank"] for layer in
                          found["experts"]["layers"]}, {4})
        self.assertLess(found["memory"]["parameters"],
                        1.001 * 2 * (671_026_404_352 - experts * 63 // 64))

    def test_mixtral_by_shape(self):
        """8x7B: what it holds and sends."""
        found = self.inspect_by_shape()
        layers, width, inner, tokens = 32, 4096, 14336, 512
        experts = layers * 8 * 3 * width * inner
        self.assertEqual(found["experts"]["parameters"], 46_702_792_704)
        self.assertEqual(found["experts"]["active_parameters"],
                         46_702_792_704 - experts * 3 // 4)  # 12.88 billion
        self.assertEqual(len(found["experts"]["layers"]), layers)
        # A rank's weights in 16 bits: all of the others' and an eighth.
        self.assertLess(found["memory"]["parameters"],
                        1.001 * 2 * (46_702_792_704 - experts * 7 // 8))
        # Room for all of a rank's sample there and back, twice; besides these
        # how many tokens each expert has.
        sent = found["comm"]["by_kind"]["activations"]
        self.assertEqual(sent["count"], 4 * layers + 1)
        room = 8 * tokens * 7 // 8
        self.assertLess(sent["bytes"], layers * room * 4 * 2 * width * 1.001)

    def test_groups(self):
        """A group of all of a sample's tokens is the default."""
        fixture = Fixture("experts/mixtral")
        by_sample = self.losses(fixture, "sgd", "--moe-capacity", "1")
        for tokens, same in ((TOKENS // BATCH, True), (4, False)):
            found = self.losses(fixture, "sgd", "--moe-capacity", "1",
                                "--moe-group", str(tokens))
            self.assertEqual(np.allclose(found, by_sample, rtol=1e-7), same)

    def test_refusals(self):
        model = Fixture("experts/mixtral").model
        loss = ["--loss", "softmax-cross-entropy", "-o",
                self.folder / "m.zca", "--dim", "batch=8"]
        for words, options in (
                (["4 experts", "8 ranks of ep"], ["--mesh", "ep=8"]),
                (["above 0", "'-1'"], ["--moe-capacity", "-1"]),
                (["--moe-group", "--moe-capacity"], ["--moe-group", "4"]),
                (["groups of 5 tokens"], ["--moe-capacity", "1",
                                          "--moe-group", "5"])):
            code = 2 if "--moe" in words[0] or "above" in words[0] else 1
            self.fails(code, words, "compile", model, *options, *loss)
        self.fails(1, ["axis 'ep'", "batched_mm"], "compile",
                   Fixture("mlp").model, "--mesh", "ep=2",
                   *loss)

    def test_experts_that_look_for_their_tokens(self):
        """As a model exports them that loops over its experts."""
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        model = self.folder / "loop.onnx"
        onnx.save(helper.make_model(helper.make_graph(
            [helper.make_node("NonZero", ["x"], ["tokens"], name="expert_0"),
             helper.make_node("Cast", ["tokens"], ["y"], to=1)], "loop", [x],
            [y]), ir_version=10, opset_imports=[helper.make_opsetid("", 20)]),
            model)
        self.fails(1, ["NonZero", "expert_0", "batched_mm", "zc_moe.py"],
                   "compile", model, "--loss", "mse", "-o",
                   self.folder / "m.zca")

    def step(self, name, *options):
        path = self.folder / "step.mlir"
        fixture = Fixture(f"experts/{name}")
        self.zc("compile", fixture.model, "--emit", "step", "-o", path,
                *fixture.compile_options("adamw"), *options)
        return path.read_text()

    def test_nothing_is_looked_up_by_token(self):
        for name, (_, chosen, hidden, inner) in SIZES.items():
            step = self.step(name)
            for a, b in ((2 * inner, hidden), (hidden, 2 * inner),
                         (hidden, inner), (inner, hidden)):
                self.assertNotIn(f"tensor<{TOKENS * chosen}x{a}x{b}x", step)
            self.assertIn("train.grouped_matmul_grad", step)

    def test_flops_are_those_of_the_chosen(self):
        """Experts take tokens times those chosen, three times (forward and two
        gradients), two products whose sizes add up to 3 inner hidden."""
        for name, (_, chosen, hidden, inner) in SIZES.items():
            artifact = self.compile(Fixture(f"experts/{name}"))
            ops = json.loads(self.zc("inspect", artifact, "--json"))["ops"]
            self.assertEqual(ops["programs"]["step"]["grouped_matmul"],
                             6 * LAYERS)
            forward = 2 * TOKENS * chosen * 3 * inner * hidden * LAYERS
            self.assertEqual(ops["flops"]["step"]["grouped_matmul"],
                             3 * forward, name)
            self.assertEqual(ops["flops"]["eval"]["grouped_matmul"], forward)
            self.assertIn("of the chosen alone",
                          self.zc("inspect", artifact, "--ops"))


if __name__ == "__main__":
    unittest.main()
