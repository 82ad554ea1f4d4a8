#!/usr/bin/env python3
"""Layers of ai.zc.MoE as tools/export/zc_moe.py writes them: gates, losses that
are added, what is drawn."""
import json
import sys
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from zctest import FIXTURES, ZcTest, read_log

sys.path.insert(0, str(FIXTURES.parents[1] / "tools" / "export"))
import zc_moe_body  # noqa: E402

FOLDER = FIXTURES / "moe"
CASES = ("topk", "gshard", "importance", "switch", "levels")
EXPERTS, TOKENS = 4, 2000


def load_weights(checkpoint):
    return {name: value for path in
            (checkpoint / "step-1").glob("model-*.safetensors")
            for name, value in load_file(path).items()}


class Moe(ZcTest):
    def artifact(self, model, *options):
        path = self.folder / "model.zca"
        self.zc("compile", model, "-o", path, *options)
        return path

    def losses(self, artifact, steps, lr, *options, ranks=1,
               data=FOLDER / "data.npz"):
        log = self.folder / "log.jsonl"
        self.train(artifact, data, steps, "--no-shuffle", "--log", log,
                   "--local-ranks", str(ranks), *options, lr=lr)
        return np.array([line["loss"] for line in read_log(log)])

    def of_case(self, name, *options, ranks=1, steps=10, lr=0.05, **more):
        artifact = self.artifact(
            FOLDER / f"{name}.onnx", "--loss", "softmax-cross-entropy",
            "--optimizer", "sgd", *options)
        return self.losses(artifact, steps, lr, ranks=ranks, **more)


class Gates(Moe):
    def check(self, name, *options, ranks=1):
        reference = json.loads((FOLDER / f"{name}.json").read_text())
        added = [f"--add-loss={output}={reference[output]}"
                 for output in ("balance_loss", "z_loss")]
        found = self.of_case(name, *added, *options, ranks=ranks)
        np.testing.assert_allclose(found, reference["losses"], rtol=2e-6)

    def test_losses_are_pytorchs(self):
        for name in CASES:
            with self.subTest(name=name):
                self.check(name)

    def test_switch_has_one_expert_a_token(self):
        artifact = self.artifact(FOLDER / "switch.onnx", "--loss",
                                 "softmax-cross-entropy")
        layers = json.loads(self.zc("inspect", artifact, "--json"))[
            "experts"]["layers"]
        self.assertTrue(layers)
        self.assertEqual({layer["chosen"] for layer in layers}, {1})

    def test_ranks_and_parts(self):
        """Losses are means over samples, however these are divided."""
        for name, ranks, *options in (
                ("topk", 1, "--accumulate", "2"),
                ("gshard", 2, "--mesh", "dp=2"),
                ("importance", 2, "--mesh", "ep=2"),
                ("topk", 2, "--mesh", "pp=2", "--accumulate", "2"),
                ("switch", 4, "--mesh", "dp=2,ep=2", "--zero", "3"),
                ("levels", 2, "--mesh", "tp=2"),
                ("levels", 4, "--mesh", "ep=4")):
            with self.subTest(name=name, options=options):
                self.check(name, *options, ranks=ranks)

    def test_bodies_run_anywhere(self):
        """zc computes the same as ONNX Runtime."""
        x = np.load(FOLDER / "data.npz")["x"]
        np.save(self.folder / "x.npy", x)
        for name in CASES:
            model = FOLDER / f"{name}.onnx"
            onnx.checker.check_model(str(model), full_check=True)
            session = onnxruntime.InferenceSession(
                model, providers=["CPUExecutionProvider"])
            self.zc("eval", model, "--input", f"x={self.folder / 'x.npy'}",
                    "--output-dir", self.folder)
            for output, value in zip(("logits", "balance_loss", "z_loss"),
                                     session.run(None, {"x": x})):
                np.testing.assert_allclose(
                    np.load(self.folder / f"{output}.npy"), value, rtol=1e-5,
                    atol=1e-6, err_msg=f"{name}: {output}")

    def test_refusals(self):
        model = FOLDER / "topk.onnx"
        options = ["-o", self.folder / "m.zca", "--loss",
                   "softmax-cross-entropy", "--add-loss"]
        self.fails(1, ["no output named 'balance'", "'balance_loss', 'z_loss'"],
                   "compile", model, *options, "balance=1")
        for text in ("balance_loss", "balance_loss=x", "balance_loss=-1"):
            self.fails(2, ["--add-loss", text], "compile", model, *options,
                       text)

    def test_balance_improves(self):
        """Where it is asked for: of three samples' worth of equal tokens."""
        found = {}
        x = np.load(FOLDER / "data.npz")["x"]
        np.save(self.folder / "x.npy", x)
        for weight in ("0", "0.5"):
            checkpoint = self.folder / f"ckpt{weight}"
            artifact = self.artifact(
                FOLDER / "switch.onnx", "--loss", "softmax-cross-entropy",
                "--optimizer", "sgd", "--add-loss", f"balance_loss={weight}")
            self.losses(artifact, 200, 0.05, "--checkpoint", checkpoint)
            for name, more in (("before", []),
                               ("after", ["--checkpoint", checkpoint])):
                self.zc("eval", artifact, "--input",
                        f"x={self.folder / 'x.npy'}", "--output-dir",
                        self.folder / name, *more)
                found[name, weight] = float(np.load(
                    self.folder / name / "balance_loss.npy").mean())
        self.assertEqual(found["before", "0"], found["before", "0.5"])
        self.assertLess(found["after", "0.5"],
                        found["before", "0.5"] - 0.02)
        self.assertGreater(found["after", "0"], found["before", "0"] - 0.02)


class Toy(Moe):
    """A router whose logits are its inputs, as a function of zc_moe_body."""

    def settings(self, **changes):
        return zc_moe_body.Settings(**{**dict(
            top_k=2, gate="softmax-topk", activation="relu", gated=0,
            normalize=1, balance="switch", noisy=0, second="always", levels=0,
            top_groups=0, grouped=0), **changes})

    def body(self, settings, build, outputs, tokens=TOKENS):
        """A model of x [tokens, E] and a parameter `scale` that nothing moves;
        `build` adds nodes, given weights and choices."""
        body = zc_moe_body.Body()
        body.add("Shape", "router", to="experts", start=0, end=1)
        body.add("Constant", to="group_count", value_ints=[1])
        body.add("Mul", "x", "scale", to="tokens")
        logits = zc_moe_body.project(body, "tokens", "router")
        if settings.noisy:
            logits = zc_moe_body.add_noise(body, logits)
        build(body, logits, *zc_moe_body.choose(body, logits, settings))
        inits = {"scale": np.ones((1, EXPERTS), np.float32),
                 "router": np.eye(EXPERTS, dtype=np.float32)}
        if settings.noisy:
            inits["noise"] = np.full((EXPERTS, EXPERTS), self.noise,
                                     np.float32)
        graph = helper.make_graph(
            body.nodes, "toy", [helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, [tokens, EXPERTS])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
             for name in outputs],
            [numpy_helper.from_array(value, name)
             for name, value in inits.items()])
        path = self.folder / "toy.onnx"
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", zc_moe_body.OPSET)]), path)
        return path

    def evaluate(self, model, x):
        np.save(self.folder / "x.npy", x)
        self.zc("eval", model, "--input", f"x={self.folder / 'x.npy'}",
                "--output-dir", self.folder)

    def test_uniform_routing(self):
        """Each expert the first choice of as many tokens, alike: GShard's loss
        is 1 / E^2, Switch's 1 before its weight, importance's 0."""
        for balance, expected in (("gshard", 1 / EXPERTS ** 2), ("switch", 1),
                                  ("importance", 0)):
            settings = self.settings(balance=balance, top_k=1, normalize=0)
            model = self.body(settings, lambda body, _, *chosen: zc_moe_body
                              .add_balance(body, *chosen, settings),
                              ["balance"], tokens=8 * EXPERTS)
            x = 3 * np.tile(np.eye(EXPERTS, dtype=np.float32), (8, 1))
            self.evaluate(model, x)
            self.assertAlmostEqual(
                float(np.load(self.folder / "balance.npy").ravel()[0]),
                expected, delta=1e-6)
            # One expert that takes all.
            self.evaluate(model, np.tile(x[:1] * 100, (8 * EXPERTS, 1)))
            worst = {"gshard": 1 / EXPERTS, "switch": EXPERTS,
                     "importance": EXPERTS - 1}[balance]
            self.assertAlmostEqual(
                float(np.load(self.folder / "balance.npy").ravel()[0]), worst,
                delta=1e-5 * worst)

    def test_gates_are_k_and_sum_to_1(self):
        for changes in (dict(gate="topk-softmax", normalize=0), {},
                        dict(gate="sigmoid-topk")):
            model = self.body(self.settings(**changes),
                              lambda body, logits, weights, *_: body.add(
                                  "Identity", weights, to="weights"),
                              ["weights"])
            x = np.random.default_rng(3).normal(size=(TOKENS, EXPERTS))
            self.evaluate(model, x.astype(np.float32))
            weights = np.load(self.folder / "weights.npy")
            self.assertEqual(weights.shape, (TOKENS, 2))
            self.assertGreater(weights.min(), 0)
            np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)

    def test_all_experts(self):
        """A dense gate: every weight above 0, and their sum 1."""
        model = self.body(self.settings(top_k=EXPERTS), lambda body, _, weights,
                          *__: body.add("Identity", weights, to="weights"),
                          ["weights"])
        x = np.random.default_rng(3).normal(size=(TOKENS, EXPERTS))
        self.evaluate(model, x.astype(np.float32))
        weights = np.load(self.folder / "weights.npy")
        self.assertEqual(weights.shape, (TOKENS, EXPERTS))
        self.assertGreater(weights.min(), 0)
        np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)

    def test_others_are_minus_infinity(self):
        """Shazeer's: a softmax of the best logits, the others -inf, is exactly
        0 for these; what they were changes nothing."""
        def build(body, logits, _, chosen, *__):
            values = body.add("GatherElements", logits, chosen, axis=-1)
            nothing = body.add("Add", body.add(
                "Mul", logits, body.number(0, logits)), body.add(
                    "Constant", value_float=-np.inf))
            body.add("Softmax", body.add("ScatterElements", nothing, chosen,
                                         values, axis=-1), to="gates")
        model = self.body(self.settings(), build, ["gates"])
        x = np.random.default_rng(5).normal(size=(TOKENS, EXPERTS))
        x = x.astype(np.float32)
        self.evaluate(model, x)
        gates = np.load(self.folder / "gates.npy")
        best = np.sort(np.argsort(-x, -1)[:, :2], -1)
        np.testing.assert_array_equal(np.argwhere(gates)[:, 1].reshape(-1, 2),
                                      best)
        kept = np.exp(np.take_along_axis(x, best, -1).astype(np.float64))
        np.testing.assert_allclose(
            np.take_along_axis(gates, best, -1),
            kept / kept.sum(-1, keepdims=True), rtol=1e-5)
        lowest = x.argmin(-1)[:, None]
        np.put_along_axis(x, lowest, -100, -1)
        self.evaluate(model, x)
        np.testing.assert_array_equal(np.load(self.folder / "gates.npy"), gates)

    def rate(self, settings, *options, ranks=1, steps=20):
        """The mean of the second choices that are taken, by step."""
        def build(body, logits, weights, *_):
            second = body.add("Slice", weights, body.ints(1), body.ints(2),
                              body.ints(1))
            taken = body.add("CastLike", body.add(
                "Greater", second, body.number(0, second)), second)
            nothing = body.add("Mul", body.add("ReduceMean", logits,
                                               keepdims=0),
                               body.number(0, second))
            body.add("Add", body.add("ReduceMean", taken, keepdims=0), nothing,
                     to="loss")
        model = self.body(settings, build, ["loss"])
        data = self.folder / "data.npz"
        np.savez(data, x=np.tile(np.float32([[2, 0.3, -9, -9]]), (TOKENS, 1)))
        artifact = self.artifact(model, "--loss", "none", "--optimizer", "sgd",
                                 "--train", "scale", *options)
        return self.losses(artifact, steps, 0, "--seed", "5", ranks=ranks,
                           data=data)

    def test_second_choices_are_as_frequent_as_they_weigh(self):
        second = 1 / (1 + np.exp(2 - 0.3))
        expected, steps = 2 * second, 20
        rates = self.rate(self.settings(second="random"))
        sigma = (expected * (1 - expected) / (steps * TOKENS)) ** 0.5
        self.assertLess(abs(rates.mean() - expected), 3 * sigma)
        self.assertGreater(len(set(rates)), steps // 2)  # drawn anew each step
        np.testing.assert_array_equal(self.rate(self.settings()), 1)
        # The same tokens' on every mesh.
        np.testing.assert_allclose(
            self.rate(self.settings(second="random"), "--mesh", "dp=2",
                      ranks=2), rates, rtol=1e-6)

    def test_no_noise_is_the_plain_choice(self):
        """Noise whose width is softplus of -1e4 is none; of 0 it changes
        second choices, in training alone."""
        def best(body, logits, weights, chosen, _):
            first = body.add("Slice", body.add("CastLike", chosen, logits),
                             body.ints(0), body.ints(1), body.ints(1))
            body.add("Add", body.add("ReduceMean", first, keepdims=0), body.add(
                "Mul", body.add("ReduceMean", logits, keepdims=0),
                body.number(0, logits)), to="loss")
        data = self.folder / "data.npz"
        x = np.abs(np.random.default_rng(4).normal(size=(TOKENS, EXPERTS)))
        np.savez(data, x=x.astype(np.float32) + 0.1)
        plain = x.argmax(-1).mean()
        for self.noise, same in ((-1e4, True), (0, False)):
            model = self.body(self.settings(noisy=1), best, ["loss"])
            artifact = self.artifact(model, "--loss", "none", "--optimizer",
                                     "sgd", "--train", "scale")
            found = self.losses(artifact, 3, 0, data=data)
            self.assertEqual(np.allclose(found, plain, rtol=1e-5), same, found)
            self.evaluate(model, np.load(data)["x"])
            self.assertAlmostEqual(
                float(np.load(self.folder / "loss.npy").ravel()[0]), plain,
                delta=1e-5)


class Drawn(Moe):
    def test_draws_are_the_same_everywhere(self):
        """Noise and second choices, recomputed or not, on every mesh."""
        alone = self.of_case("drawn")
        plain = self.of_case("drawn", "--dropout", "off")
        self.assertGreater(np.abs(alone - plain).max(), 1e-3)
        for ranks, *options in ((1, "--recompute", "full"),
                                (2, "--mesh", "dp=2"), (2, "--mesh", "ep=2"),
                                (2, "--mesh", "tp=2"),
                                (4, "--mesh", "dp=2,ep=2", "--zero", "3")):
            with self.subTest(options=options):
                np.testing.assert_allclose(
                    self.of_case("drawn", *options, ranks=ranks), alone,
                    rtol=2e-6)

    def test_draws_are_the_same_on_stages(self):
        """Each micro-batch has draws of its own."""
        parts = ["--accumulate", "2"]
        np.testing.assert_allclose(
            self.of_case("drawn", "--mesh", "pp=2", *parts, ranks=2),
            self.of_case("drawn", *parts), rtol=2e-6)

    def test_initial_weights_by_their_inputs(self):
        """Truncated normal numbers of the deviation sqrt(S / n); experts'
        matrices are weights too."""
        checkpoint = self.folder / "ckpt"
        artifact = self.artifact(
            FOLDER / "gshard.onnx", "--loss", "softmax-cross-entropy",
            "--init", "truncated-normal:sqrt(0.1/n)")
        self.losses(artifact, 1, 0, "--checkpoint", checkpoint)
        weights = load_weights(checkpoint)
        for name, inputs in (("gate_up_proj", 12), ("down_proj", 16)):
            value, = (value for key, value in weights.items()
                      if key.endswith(name))
            std = (0.1 / inputs) ** 0.5
            self.assertLessEqual(np.abs(value).max(), 2 * std * (1 + 1e-6))
            self.assertGreater(np.abs(value).max(), 1.9 * std)
            # A normal distribution truncated at 2 has this deviation.
            self.assertAlmostEqual(value.std() / std, 0.8796, delta=0.05)


if __name__ == "__main__":
    unittest.main()
