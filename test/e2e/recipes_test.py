#!/usr/bin/env python3
"""Parts of mixed precision that may have 16 bits: copies of weights, first moments,
gathers, sums of gradients."""
import json
import struct
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import Fixture, ZcTest, latest_step, load_tensors, read_log

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
        common = fixture.compile_options("adamw")
        if "--optimizer" in options:
            del common[common.index("--optimizer"):]
        self.zc("compile", fixture.model, "-o", artifact, *common,
                "--cpu-threads", 1, *options)
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

    def linear(self, rows=8, columns=4):
        """y = x w, whose gradients NumPy has too."""
        random = np.random.default_rng(0)
        weight = random.standard_normal((rows, columns)).astype(np.float32)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
            [value("x", TensorProto.FLOAT, [16, rows])],
            [value("y", TensorProto.FLOAT, [16, columns])],
            [numpy_helper.from_array(weight, "w")])
        model = self.folder / "linear.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10), model)
        data = {"x": random.standard_normal((16, rows)).astype(np.float32),
                "labels": random.standard_normal((16, columns)).astype(
                    np.float32)}
        np.savez(self.folder / "data.npz", **data)
        return model, weight, data


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

    def test_gathers_of_rows_and_columns(self):
        """Likewise where ZeRO divides parameters in their own shapes."""
        for optimizer in ("adafactor", "sm3"):
            found = {}
            for how in ("auto", "fp32"):
                found[how] = self.losses(
                    *ROUNDED, "--mesh", "dp=2", "--zero", 3, "--optimizer",
                    optimizer, "--gather-precision", how, ranks=2)
            self.assertEqual(found["auto"][0], found["fp32"][0])
            sent = {how: plan["comm"]["by_kind"]["parameters"]["bytes"]
                    for how, (_, plan) in found.items()}
            self.assertEqual(sent["fp32"], 2 * sent["auto"], optimizer)

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

    def expected(self, weight, data, steps, lr=1e-2, rounds=to_bfloat16):
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
            first = rounds(first)
        return weight

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
        expected = self.expected(weight, data, 8)
        found = load_tensors(latest_step(checkpoint))["w"]
        # Products are added up in another order; a moment may round to its
        # neighbour for that, a 256th, of steps of 1e-2 of which few do.
        np.testing.assert_allclose(found, expected, atol=2e-5)
        # Moments of all digits would be further away than that.
        wide = self.expected(weight, data, 8, rounds=lambda first: first)
        self.assertGreater(np.abs(wide - expected).max(), 4e-5)
        again = self.folder / "whole"
        self.zc("run", artifact, "--data", self.folder / "data.npz", "--steps",
                8, "--no-shuffle", "--lr", 1e-2, "--checkpoint", again)
        np.testing.assert_array_equal(
            load_tensors(latest_step(again))["w"], found)

    @staticmethod
    def stored(step_folder):
        """{slot: types} of a checkpoint's optimizer files."""
        found = {}
        for path in step_folder.glob("optimizer-*.safetensors"):
            content = path.read_bytes()
            size, = struct.unpack("<Q", content[:8])
            for name, entry in json.loads(content[8:8 + size]).items():
                if name.startswith("state."):
                    slot = name.rsplit(".", 1)[1]
                    found.setdefault(slot, set()).add(entry["dtype"])
        return found

    def test_divided(self):
        """ZeRO divides moments of 16 bits, and a server has all of them: the
        losses of ranks that hold all, and checkpoints that one rank takes up."""
        bf16 = ("--moment-precision", "bf16", "--mesh", "dp=2")
        everywhere, _ = self.losses(*bf16, ranks=2)
        alone, _ = self.build("--moment-precision", "bf16", name="alone")
        for more, size in ((("--zero", 1), 3), (("--zero", 2), 3),
                           (("--zero", 3), 3),
                           (("--aggregation", "server"), 6)):
            with self.subTest(options=more):
                checkpoint = self.folder / "-".join(map(str, more)).strip("-")
                losses, plan = self.losses(
                    *bf16, *more, ranks=2,
                    more=("--checkpoint", checkpoint))
                # Sums of two terms are the same in any order; norms of units
                # are not, and the log's losses have no more than float32.
                np.testing.assert_allclose(losses, everywhere, rtol=1e-6)
                # Units' zeros may be some bytes.
                self.assertAlmostEqual(
                    plan["memory"]["optimizer"], size * 29568, delta=256)
                self.assertEqual(self.stored(latest_step(checkpoint)),
                                 {"exp_avg": {"BF16"}, "exp_avg_sq": {"F32"}})
                self.zc("run", alone, "--data", Fixture("gpt").data, "--steps",
                        5, "--no-shuffle", "--checkpoint", checkpoint,
                        "--resume")

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


if __name__ == "__main__":
    unittest.main()
