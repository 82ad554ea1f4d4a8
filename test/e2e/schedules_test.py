#!/usr/bin/env python3
"""Schedules with several stages a role, with the parameters' gradients apart,
and from files: they train what one rank does with as many micro-batches.

Splitting a backward changes no sum: such orders are equal to the bit. Two
stages of one role add up a tied parameter's gradients in another order: 1e-5.
"""
import json
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from pipeline_test import PipelineTest
from zctest import Fixture, latest_step, load_tensors, read_log

H1, H2, V = ("zero-bubble=h1", "zero-bubble=h2", "zero-bubble=v")


class Equality(PipelineTest):

    def test_several_stages(self):
        self.compare("gpt", "sgd-nesterov", 4,
                     [(2, "--mesh", "pp=2", "--schedule", "interleaved"),
                      (2, "--mesh", "pp=2", "--schedule", V),
                      (4, "--mesh", "pp=2,tp=2", "--schedule", V,
                       "--recompute", "full")],
                     "--clip-norm", "1")

    def test_divided_states(self):
        self.compare("gpt", "sgd-nesterov", 2,
                     [(4, "--mesh", "pp=2,dp=2", "--zero", stage, "--schedule",
                       "interleaved") for stage in "123"])

    def test_skips(self):
        """Skips within a role, and to another one's second stage."""
        self.compare("unet", "sgd", 4,
                     [(2, "--mesh", "pp=2", "--schedule", "interleaved"),
                      (4, "--mesh", "pp=2,tp=2", "--schedule", V)])
        self.compare("translator", "sgd", 4,
                     [(2, "--mesh", "pp=2", "--schedule", "interleaved"),
                      (2, "--mesh", "pp=2", "--schedule", V)])

    def test_chunks(self):
        self.compare("mlp", "adamw", 4,
                     [(2, "--mesh", "pp=2", "--schedule", "interleaved",
                       "--chunks", "2")])
        self.compare("llama", "sgd", 2,
                     [(2, "--mesh", "pp=2", "--schedule", "interleaved",
                       "--chunks", "3")])


class Bits(PipelineTest):

    def train_with(self, fixture, name, *options):
        return self.train(fixture, name, [
            *fixture.compile_options("adamw"), "--accumulate", "4", "--mesh",
            "pp=3", *options], (), 3)

    def check_equal(self, one, other):
        self.assertEqual([each["loss"] for each in one[0]],
                         [each["loss"] for each in other[0]])
        for name, each in one[1].items():
            np.testing.assert_array_equal(each, other[1][name], name)

    def test_split_gradients(self):
        """Splitting off gradients changes no sum, whichever and whenever."""
        for model in ("gpt", "cnn"):
            fixture = Fixture(model)
            plain = self.train_with(fixture, "plain")
            for name in ("zero-bubble", H1, H2):
                with self.subTest(model=model, schedule=name):
                    self.check_equal(plain, self.train_with(
                        fixture, name, "--schedule", name))

    def test_files(self):
        """PyTorch's cells; where they are those of a schedule, its bits."""
        fixture = Fixture("mlp")
        path = self.folder / "1f1b.csv"
        rows = [["0F0", "0F1", "0F2", "", "0B0", "0F3", "0B1", "0B2", "0B3"],
                ["", "1F0", "1F1", "1B0", "1F2", "1B1", "1F3", "1B2", "1B3"],
                ["2F0", "2B0", "2F1", "2B1", "2F2", "2B2", "2F3", "2B3"]]
        path.write_text("\n".join(",".join(row) for row in rows))
        self.check_equal(self.train_with(fixture, "plain"),
                         self.train_with(fixture, "file", "--schedule", path))
        there = self.folder / "there-and-back.csv"
        there.write_text(
            "0F0,0F1,3RECV_F0,3F0,3I0,3W0,3F1,3I1,3W1,0B0,0B1,"
            "0F2,0F3,3F2,3B2,3F3,3B3,0B2,0B3\n"
            "1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1,1F2,2F2,1F3,2F3,2B2,1B2,2B3,1B3\n")
        options = [*fixture.compile_options("adamw"), "--accumulate", "4"]
        self.check(self.train(fixture, "one", options),
                   self.train(fixture, "back", options,
                              ["--mesh", "pp=2", "--schedule", there], 2), 1e-4)


class Files(PipelineTest):

    def test_evaluation_resume_and_export(self):
        fixture = Fixture("mlp")
        options = [*fixture.compile_options("adamw"), "--accumulate", 4]
        lines, weights = self.train(fixture, "one", options)
        found, scores = {}, {}
        for name, schedule in (("round", "interleaved"), ("back", V)):
            found[name] = self.train(
                fixture, name, options,
                ["--mesh", "pp=2", "--schedule", schedule], 2,
                "--eval-data", fixture.data, "--eval-every", "5")[0]
        plain = self.train(fixture, "plain", options, ["--mesh", "pp=2"], 2,
                           "--eval-data", fixture.data, "--eval-every", "5")[0]
        for name in found:
            for a, b in zip(found[name], plain):
                self.assertEqual(a.keys(), b.keys())
                for key in a.keys() & {"loss", "eval_loss"}:
                    np.testing.assert_allclose(a[key], b[key], rtol=1e-5)
            out = self.zc("eval", self.folder / f"{name}.zca", "--data",
                          fixture.data, "--checkpoint", self.folder / name,
                          "--json", "--local-ranks", 2)
            scores[name] = json.loads(out)["loss"]
            self.zc("export", self.folder / f"{name}.zca", "--checkpoint",
                    self.folder / name, "-o", self.folder / f"{name}.onnx")
        np.testing.assert_allclose(scores["round"], scores["back"], rtol=1e-5)
        # On with another cut, another order.
        folder = self.folder / "mixed"
        common = ["--data", fixture.data, "--lr", "1e-3", "--no-shuffle",
                  "--checkpoint", folder, "--local-ranks", 2]
        self.zc("run", self.folder / "round.zca", *common, "--steps", 4)
        self.zc("run", self.folder / "back.zca", *common, "--steps", 7,
                "--resume")
        log = self.folder / "mixed.jsonl"
        self.zc("run", self.folder / "plain.zca", *common, "--steps", 10,
                "--resume", "--log", log)
        np.testing.assert_allclose(read_log(log)[-1]["loss"],
                                   lines[-1]["loss"], rtol=1e-5)
        theirs = load_tensors(latest_step(folder))
        for name, each in weights.items():
            np.testing.assert_allclose(theirs[name], each, rtol=1e-3,
                                       atol=1e-5)

    def test_inspect(self):
        """Stages by role, and what is in flight, as the papers say."""
        fixture = Fixture("gpt")
        artifact = self.folder / "a.zca"
        for schedule, in_flight, roles in (
                (H1, [2, 2], [0, 1]),
                (H2, [3, 3], [0, 1]),
                ("interleaved", [5, 3], [0, 1, 0, 1]),
                (V, [4, 4], [0, 1, 1, 0])):
            with self.subTest(schedule=schedule):
                self.zc("compile", fixture.model, "-o", artifact,
                        *fixture.compile_options("sgd"), "--accumulate", 4,
                        "--mesh", "pp=2", "--schedule", schedule)
                plan = json.loads(self.zc("inspect", artifact, "--schedule",
                                          "--json"))["schedule"]
                self.assertEqual(plan["order"], schedule)
                self.assertEqual(plan["in_flight"], in_flight)
                self.assertEqual([each["role"] for each in plan["stages"]],
                                 roles)
                for each in plan["stages"]:
                    self.assertGreater(each["forward"], 0)
                    self.assertGreater(each["backward"] + each["weights"], 0)
                text = self.zc("inspect", artifact, "--schedule")
                self.assertIn("F0a" if len(roles) == 4 else "F0", text)

    def test_best_within_the_budget(self):
        """Costs decide, as far as memory goes."""
        fixture = Fixture("cnn")
        artifact = self.folder / "a.zca"

        def plan(schedule, *options):
            self.zc("compile", fixture.model, "-o", artifact,
                    *fixture.compile_options("sgd"), "--accumulate", 8,
                    "--mesh", "pp=3", "--schedule", schedule, *options)
            found = json.loads(self.zc("inspect", artifact, "--schedule",
                                       "--memory", "--json"))
            return (found["schedule"]["bubble_of_total"],
                    found["memory"]["peak"])

        published, least = plan(H1)
        best, most = plan("zero-bubble")
        self.assertLess(best, published)
        self.assertGreaterEqual(most, least)
        for budget in (least, (most + least) // 2, most):
            bubble, peak = plan("zero-bubble", "--memory-budget", budget)
            self.assertLessEqual(best, bubble)
            self.assertLessEqual(bubble, published)
            self.assertLessEqual(peak, budget)


class Chunks(PipelineTest):
    """Sixteen equal layers on four ranks."""
    LAYERS, RANKS, WIDTH = 16, 4, 8

    def write_model(self):
        nodes, weights, value = [], [], "x"
        for i in range(self.LAYERS):
            weight = np.eye(self.WIDTH, dtype=np.float32) / (i + 2)
            weights.append(numpy_helper.from_array(weight,
                                                   f"layers.{i}.weight"))
            nodes.append(helper.make_node("MatMul", [value, weights[-1].name],
                                          [f"h{i}"], f"layers.{i}/MatMul"))
            value = f"y{i}"
            nodes.append(helper.make_node("Tanh", [f"h{i}"], [value],
                                          f"layers.{i}/Tanh"))
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT,
                                              [8, self.WIDTH])
                for name in ("x", value)]
        path = self.folder / "layers.onnx"
        graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)]), path)
        return path

    def compile(self, model, chunks, *options):
        out = self.folder / "out"
        self.zc("compile", model, "--loss", "mse", "--mesh",
                f"pp={self.RANKS}", "--accumulate", 4, "-o", out,
                *(["--schedule", "interleaved", "--chunks", chunks]
                  if chunks > 1 else []), *options)
        return out

    def test_layers_of_ranks(self):
        """Megatron's example: the first rank has layers 1, 2, 9, 10."""
        text = self.compile(self.write_model(), 2, "--emit",
                            "sharded").read_text()
        for rank, role in enumerate(text.split("module @role")[1:]):
            found = re.findall(r"train.state @layers.(\d+).weight ", role)
            self.assertEqual([int(each) + 1 for each in found],
                             [2 * rank + 1, 2 * rank + 2, 2 * rank + 9,
                              2 * rank + 10])

    def test_traffic(self):
        """v stages a rank: a middle rank sends v times as much, all of them
        together (v P - 1) / (P - 1) times."""
        model, sent = self.write_model(), {}
        for chunks in (1, 2, 4):
            plan = json.loads(self.zc("inspect", self.compile(model, chunks),
                                      "--comm", "--json"))["comm"]
            sent[chunks] = [role["by_kind"]["activations"]["bytes"]
                            for role in plan["roles"]]
        for chunks in (2, 4):
            for rank in range(1, self.RANKS - 1):
                self.assertEqual(sent[chunks][rank], chunks * sent[1][rank])
            self.assertEqual(sum(sent[chunks]) * (self.RANKS - 1),
                             sum(sent[1]) * (chunks * self.RANKS - 1))


class Refusals(PipelineTest):

    def test_numbers_and_files(self):
        fixture = Fixture("mlp")
        command = ["compile", fixture.model, "-o", self.folder / "a.zca",
                   *fixture.compile_options("sgd"), "--accumulate", 2]
        path = self.folder / "order.csv"
        path.write_text("0F0,0B0\n1F0,1B0\n")
        odd = self.folder / "odd.csv"
        odd.write_text("0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n")
        for options, pattern in (
                (["--mesh", "pp=4", "--schedule", "interleaved"],
                 "interleaved of 4 roles needs a multiple of 4 micro-batches, "
                 "not 2"),
                (["--mesh", "pp=2", "--schedule", V],
                 "zb-v of 2 roles needs at least 3 micro-batches, not 2"),
                (["--mesh", "pp=2", "--schedule", "zero-bubble=x"],
                 "neither a schedule .* nor a file"),
                (["--mesh", "pp=2", "--chunks", "2", "--schedule", "gpipe"],
                 "--chunks belongs to --schedule interleaved"),
                (["--chunks", "3"], "--chunks needs a --mesh with pp"),
                (["--mesh", "pp=3", "--schedule", path],
                 "order.csv: it is of 2 ranks, but --mesh has pp=3"),
                (["--mesh", "pp=2", "--schedule", path],
                 "it is of 1 micro-batches, but --accumulate is 2"),
                (["--mesh", "pp=2", "--schedule", odd],
                 "odd.csv: stage 0: its backward of micro-batch 1 comes where "
                 "that of 0 is expected")):
            with self.subTest(options=options):
                self.fails(2, [pattern], *command, *options)
                self.assertFalse((self.folder / "a.zca").exists())
        self.fails(1, ["cannot be cut into 8 stages"], *command, "--mesh",
                   "pp=2", "--schedule", "interleaved", "--chunks", "4")


if __name__ == "__main__":
    unittest.main()
