#!/usr/bin/env python3
"""Parts of mixed precision that may have 16 bits: copies of weights, first moments,
gathers, sums of gradients; and the scale of the loss."""
import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import (Fixture, ZcTest, latest_step, load_tensors, read_log, run)

BF16 = ("--precision", "bf16")
ROUNDED = (*BF16, "--weight-copies", "off")
STATES = ("parameters", "gradients", "optimizer")


def to_bfloat16(array):
    """Rounded to the nearest, ties to even, as float32."""
    bits = array.astype(np.float32).view(np.uint32)
    bits = bits + 0x7fff + ((bits >> 16) & 1)
    return (bits & 0xffff0000).view(np.float32)


class RecipesTest(ZcTest):

    def build(self, *options, model="gpt", name="a"):
        fixture = Fixture(model)
        artifact = self.folder / f"{name}.zca"
        self.zc("compile", fixture.model, "-o", artifact,
                *fixture.compile_options("adamw"), "--cpu-threads", 1, *options)
        return artifact, fixture

    def losses(self, *options, ranks=1, more=(), **build):
        """Losses of four steps, and what was planned; it is what was sent."""
        artifact, fixture = self.build(*options, **build)
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", fixture.data, "--steps", 4,
                "--no-shuffle", "--log", log, *more,
                *(["--local-ranks", ranks] if ranks > 1 else []))
        plan = json.loads(self.zc("inspect", artifact, "--json"))
        lines = read_log(log)
        self.assertEqual({line["sent_bytes"] for line in lines},
                         {plan["comm"]["sent_bytes"]})
        self.assertEqual({line["peak_bytes"] for line in lines},
                         {plan["memory"]["peak"]})
        return [line["loss"] for line in lines], plan


class Copies(RecipesTest):

    def test_the_same_bits(self):
        """A weight that is rounded where it is read is what its copy would be,
        in the backward as well."""
        for more, ranks in (((), 1), (("--accumulate", 2), 1),
                            (("--recompute", "layer"), 1),
                            (("--mesh", "tp=2"), 2),
                            (("--mesh", "pp=2", "--accumulate", 2), 2),
                            (("--mesh", "dp=2", "--zero", 1), 2)):
            with self.subTest(options=more):
                kept, with_copies = self.losses(*BF16, *more, ranks=ranks)
                rounded, without = self.losses(*ROUNDED, *more, ranks=ranks)
                self.assertEqual(rounded, kept)
                # ZeRO-1 divides masters that have copies: 4 / 2 + 2 bytes.
                if "--zero" not in more:
                    self.assertLess(without["memory"]["persistent"],
                                    with_copies["memory"]["persistent"])

    def test_gathers(self):
        """C-15: of ZeRO-3, 16 bits or, for twice the bytes, 32; without a copy
        in 16 bits a rank keeps 2/n bytes a parameter less."""
        zero3 = ("--mesh", "dp=2", "--zero", 3, "--unit", "layer")
        kept, copies = self.losses(*BF16, *zero3, ranks=2)
        found = {}
        for how in ("auto", "fp32"):
            losses, found[how] = self.losses(
                *ROUNDED, *zero3, "--gather-precision", how, ranks=2)
            self.assertEqual(losses, kept)
        sent = {how: plan["comm"]["by_kind"]["parameters"]["bytes"]
                for how, plan in found.items()}
        self.assertEqual(sent["auto"],
                         copies["comm"]["by_kind"]["parameters"]["bytes"])
        self.assertEqual(sent["fp32"], 2 * sent["auto"])
        for plan in found.values():
            self.assertAlmostEqual(
                copies["memory"]["persistent"] - plan["memory"]["persistent"],
                2 * 29568 / 2, delta=256)

    def test_twelve_bytes(self):
        """C-03, M-09: float32 weights and second moments, gradients and first
        moments of 16 bits. Clipping needs every gradient at once."""
        _, fixture = self.build(model="mlp")
        count = sum(each.size for each in fixture.weights("adamw").values())
        _, plan = self.losses(*ROUNDED, "--moment-precision", "bf16",
                              "--clip-norm", 1e9, model="mlp")
        each = [plan["memory"][name] / count for name in STATES]
        self.assertEqual(each, [4, 2, 6])
        self.assertEqual(plan["memory"]["bytes_per_parameter"],
                         dict(zip(STATES, each)))
        # Rounded weights are there one layer at a time.
        whole, _ = self.losses(*BF16, model="mlp")
        found, _ = self.losses(*ROUNDED, "--moment-precision", "bf16",
                               model="mlp")
        np.testing.assert_allclose(found, whole, rtol=0.02)
        self.assertNotEqual(found, whole)


class Moments(RecipesTest):

    def linear(self):
        """y = x w, whose gradients NumPy has too."""
        random = np.random.default_rng(0)
        weight = random.standard_normal((8, 4)).astype(np.float32)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
            [value("x", TensorProto.FLOAT, [16, 8])],
            [value("y", TensorProto.FLOAT, [16, 4])],
            [numpy_helper.from_array(weight, "w")])
        model = self.folder / "linear.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10), model)
        data = {"x": random.standard_normal((16, 8)).astype(np.float32),
                "labels": random.standard_normal((16, 4)).astype(np.float32)}
        np.savez(self.folder / "data.npz", **data)
        return model, weight, data

    def expected(self, weight, data, steps, lr=1e-2):
        """Adam in float32 whose first moment is rounded behind each step."""
        first = second = np.zeros_like(weight)
        for step in range(1, steps + 1):
            error = data["x"] @ weight - data["labels"]
            gradient = data["x"].T @ (2 * error / error.size)
            first = first + np.float32(0.1) * (gradient - first)
            second = np.float32(0.999) * second + (
                np.float32(1 - 0.999) * gradient * gradient)
            root = np.sqrt(second) / np.float32(np.sqrt(1 - 0.999 ** step))
            weight = weight - first / (root + np.float32(1e-8)) * np.float32(
                lr / (1 - 0.9 ** step))
            first = to_bfloat16(first)
        return weight, first

    def test_rounded_between_updates(self):
        """Updates are of float32; checkpoints hold what was rounded, and go on
        from it to the bit."""
        model, weight, data = self.linear()
        artifact, checkpoint = self.folder / "a.zca", self.folder / "ckpt"
        self.zc("compile", model, "-o", artifact, "--loss", "mse",
                "--optimizer", "adam", "--moment-precision", "bf16")
        for steps, more in ((4, ()), (8, ("--resume",))):
            self.zc("run", artifact, "--data", self.folder / "data.npz",
                    "--steps", steps, "--no-shuffle", "--lr", 1e-2,
                    "--checkpoint", checkpoint, *more)
        expected, first = self.expected(weight, data, 8)
        found = load_tensors(latest_step(checkpoint))["w"]
        # Products are added up in another order; a moment may round to its
        # neighbour for that, a 256th.
        np.testing.assert_allclose(found, expected, atol=1e-4)
        again = self.folder / "whole"
        self.zc("run", artifact, "--data", self.folder / "data.npz", "--steps",
                8, "--no-shuffle", "--lr", 1e-2, "--checkpoint", again)
        np.testing.assert_array_equal(
            load_tensors(latest_step(again))["w"], found)

    def test_momentum(self):
        """K of sgd with momentum is 2 instead of 4."""
        artifact = self.folder / "a.zca"
        model, *_ = self.linear()
        for precision, expected in (("fp32", 4), ("bf16", 2)):
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--optimizer", "sgd", "--momentum", 0.9,
                    "--moment-precision", precision)
            found = json.loads(self.zc("inspect", artifact, "--memory",
                                       "--json"))["memory"]
            self.assertEqual(found["optimizer_bytes_per_parameter"], expected)


class Histogram(RecipesTest):
    EDGES = (-149, -40, -36, -32, -28, -24, -20, -16, -12, -8, -4, 0, 4)

    def test_counts(self):
        """I-05, I-07: gradients by their powers of two, and the share that
        float16 has no number for, are those that NumPy finds; on ranks, too."""
        model, weight, data = Moments.linear(self)
        # Columns of the first matrix from large to what float16 rounds to 0.
        data["x"] = data["x"] * np.float32(2.0) ** np.arange(
            0, -32, -4, dtype=np.float32)
        data["x"][:, 7] = 0
        np.savez(self.folder / "data.npz", **data)
        error = (data["x"] @ weight - data["labels"]).astype(np.float64)
        gradient = np.abs(data["x"].T.astype(np.float64)
                          @ (2 * error / error.size)).ravel()
        below = [int((gradient < 2.0 ** edge).sum()) for edge in self.EDGES]
        expected = np.diff([0, *below, gradient.size])
        for ranks, options in ((1, ()), (2, ("--mesh", "dp=2"))):
            artifact = self.folder / "a.zca"
            log, events = self.folder / "log.jsonl", self.folder / str(ranks)
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--optimizer", "sgd", "--gradient-histogram", *options)
            self.zc("run", artifact, "--data", self.folder / "data.npz",
                    "--steps", 1, "--no-shuffle", "--log", log,
                    "--tensorboard", events,
                    *(["--local-ranks", ranks] if ranks > 1 else []))
            line, = read_log(log)
            self.assertEqual(line["gradient_counts"], expected.tolist())
            self.assertEqual(line["gradient_zeros"], 4 / 32)
            lost = (gradient > 0) & (gradient < 2.0 ** -24)
            self.assertGreater(lost.sum(), 0)
            self.assertEqual(line["gradient_below_fp16"], lost.sum() / 32)
            written = next(events.iterdir()).read_bytes()
            for tag in (b"gradient_exponents", b"gradient_below_fp16"):
                self.assertIn(tag, written)

    def test_of_a_model(self):
        """Every element is in one class, whatever divides gradients."""
        for options, ranks in (((), 1), (("--mesh", "dp=2", "--zero", 2), 2),
                               (("--mesh", "tp=2"), 2),
                               (("--mesh", "pp=2", "--accumulate", 2), 2)):
            artifact, fixture = self.build("--gradient-histogram", *options)
            log = self.folder / "log.jsonl"
            self.zc("run", artifact, "--data", fixture.data, "--steps", 1,
                    "--no-shuffle", "--log", log,
                    *(["--local-ranks", ranks] if ranks > 1 else []))
            line, = read_log(log)
            self.assertEqual(sum(line["gradient_counts"]), 29568)


class Sums(RecipesTest):

    def test_whole(self):
        """C-11, N-03: ZeRO-2 whose ranks get whole sums, as a slide has it:
        the same shares, twice the gradients' bytes, 3 instead of 2 times the
        parameters in all."""
        zero2 = ("--mesh", "dp=2", "--zero", 2)
        scattered, less = self.losses(*zero2, ranks=2)
        whole, more = self.losses(*zero2, "--gradient-sums", "whole", ranks=2)
        self.assertEqual(whole, scattered)
        less, more = (plan["comm"]["by_kind"] for plan in (less, more))
        self.assertEqual(more["gradients"]["bytes"],
                         2 * less["gradients"]["bytes"])
        self.assertEqual(more["parameters"]["bytes"],
                         less["parameters"]["bytes"])


class Scale(RecipesTest):

    def test_fixed(self):
        """I-03: scaled by a constant, losses are those of a scale that adapts
        and happens to be as large."""
        dynamic, _ = self.losses("--precision", "fp16", model="mlp")
        fixed, _ = self.losses("--precision", "fp16", "--loss-scale", 65536,
                               model="mlp")
        self.assertEqual(fixed, dynamic)
        other, _ = self.losses("--precision", "fp16", "--loss-scale", 1024,
                               model="mlp")
        np.testing.assert_allclose(other, fixed, rtol=1e-2)

    def test_networks(self):
        """I-08, L-14: a scale that adapts suits networks that need one and
        networks that do not, without a choice: classification, Faster R-CNN,
        an LSTM language model, within 2% of float32's losses."""
        for model in ("resnet", "rcnn", "lstm"):
            with self.subTest(model=model):
                wide, _ = self.losses(model=model)
                narrow, _ = self.losses("--precision", "fp16", model=model)
                np.testing.assert_allclose(narrow, wide, rtol=0.02)

    def tiny(self, scale):
        """What is left of a gradient of 2^-27 when the loss is scaled."""
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("Mul", ["h", "small"], ["s"]),
             helper.make_node("ReduceSum", ["s"], ["y"], keepdims=0)], "g",
            [value("x", TensorProto.FLOAT, [1, 1])],
            [value("y", TensorProto.FLOAT, [])],
            [numpy_helper.from_array(np.ones((1, 1), np.float32), "w"),
             numpy_helper.from_array(np.float32(2.0 ** -14), "small")])
        model = self.folder / "tiny.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10), model)
        np.savez(self.folder / "tiny.npz",
                 x=np.full((1, 1), 2.0 ** -13, np.float32))
        artifact, log = self.folder / "tiny.zca", self.folder / "tiny.jsonl"
        # The loss is x w 2^-14: w's gradient 2^-27.
        self.zc("compile", model, "-o", artifact, "--loss", "none",
                "--optimizer", "sgd", "--precision", "fp16", "--loss-scale",
                scale, "--train", "w")
        self.zc("run", artifact, "--data", self.folder / "tiny.npz", "--steps",
                1, "--lr", 1, "--log", log)
        return read_log(log)[0]["grad_norm"]

    def test_overflow_is_skipped(self):
        """The scale stays, and the message says so."""
        fixture = Fixture("regression")
        data = dict(np.load(fixture.data))
        data["labels"] = data["labels"] + 20
        np.savez(self.folder / "data.npz", **data)
        artifact, _ = self.build("--precision", "fp16", "--loss-scale", 65536,
                                 model="regression")
        checkpoint = self.folder / "ckpt"
        code, _, err = run("run", artifact, "--data", self.folder / "data.npz",
                           "--steps", 2, "--no-shuffle", "--checkpoint",
                           checkpoint)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("scaled as before (--loss-scale)"), 2, err)
        state = json.loads((latest_step(checkpoint)
                            / "train_state.json").read_text())["scalars"]
        self.assertEqual(state["loss_scale"]["value"], 65536)
        self.assertEqual(state["optimizer.step"]["value"], 0)
        # An artifact of another scale goes on with its own.
        self.build("--precision", "fp16", "--loss-scale", 4, model="regression")
        self.zc("run", artifact, "--data", self.folder / "data.npz", "--steps",
                4, "--no-shuffle", "--checkpoint", checkpoint, "--resume")
        state = json.loads((latest_step(checkpoint)
                            / "train_state.json").read_text())["scalars"]
        self.assertEqual(state["loss_scale"]["value"], 4)
        self.assertEqual(state["optimizer.step"]["value"], 2)

    def test_small_gradients(self):
        """I-03, N-37: 2^-27 is lost in float16, and survives a scale of 8."""
        self.assertEqual(self.tiny(1), 0)
        self.assertEqual(np.float32(self.tiny(8)), 2.0 ** -27)


if __name__ == "__main__":
    unittest.main()
