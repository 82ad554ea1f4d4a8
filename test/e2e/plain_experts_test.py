#!/usr/bin/env python3
"""Experts of plain PyTorch: masks over all of them, einsums of GShard's, of
DeepSpeed's and Switch's."""
import json
import re
import unittest

import numpy as np

from moe_test import FOLDER, Moe
from zctest import read_log

CASES = ("masked", "stacked", "summed", "einsum", "flat", "switched",
         "doubtful")


class Plain(Moe):
    def test_losses_are_pytorchs(self):
        for name in CASES:
            for ranks, *options in (
                    (1,), (2, "--mesh", "ep=2"), (2, "--mesh", "dp=2"),
                    (2, "--mesh", "tp=2"), (1, "--accumulate", "2")):
                # Its one group of all tokens is of those of a micro-batch.
                if name == "flat" and ("ep=2" in options
                                       or "--accumulate" in options):
                    continue
                with self.subTest(name=name, options=options):
                    reference = json.loads(
                        (FOLDER / f"plain_{name}.json").read_text())
                    found = self.of_case(f"plain_{name}", *options,
                                         ranks=ranks, lr=reference["lr"])
                    np.testing.assert_allclose(found, reference["losses"],
                                               rtol=2e-6)

    def check_work(self, name, matrices, biases=0):
        """A token has 2 of 4 experts, each of which has so many `matrices`, 12
        x 16."""
        artifact = self.artifact(FOLDER / f"plain_{name}.onnx", "--loss",
                                 "softmax-cross-entropy", "--optimizer", "sgd")
        found = json.loads(self.zc("inspect", artifact, "--json"))
        forward = 2 * 24 * 2 * matrices * 12 * 16
        self.assertEqual(found["ops"]["flops"]["step"]["grouped_matmul"],
                         3 * forward)
        layer, = found["experts"]["layers"]
        self.assertEqual((layer["experts"], layer["chosen"], layer["rows"],
                          layer["flops_active"], layer["flops_total"]),
                         (4, 2, 48, forward, 2 * forward))
        of_experts = 4 * (matrices * 12 * 16 + biases)
        self.assertEqual(layer["parameters"], of_experts)
        self.assertEqual(found["experts"]["active_parameters"],
                         found["experts"]["parameters"] - of_experts / 2)

    def test_einsums_compute_the_chosen_alone(self):
        """As many rows as there is room; the masks' products are none."""
        tokens, experts, hidden, inner, classes = 24, 4, 12, 16, 5
        for name, chosen, room in (("einsum", 2, 48), ("flat", 2, 48),
                                   ("doubtful", 2, 48), ("switched", 1, 32)):
            with self.subTest(name=name):
                artifact = self.artifact(
                    FOLDER / f"plain_{name}.onnx", "--loss",
                    "softmax-cross-entropy", "--optimizer", "sgd")
                found = json.loads(self.zc("inspect", artifact, "--json"))
                factor = round(room / (tokens * chosen), 6)
                # The first layer's inputs have no gradient.
                others = tokens * (2 * hidden * hidden + 3 * hidden * experts
                                   + 3 * hidden * classes)
                self.assertEqual(found["ops"]["flops"]["step"]["matmul"],
                                 2 * (others + 3 * room * 2 * hidden * inner))
                layer, = found["experts"]["layers"]
                active = 2 * tokens * chosen * 2 * hidden * inner
                self.assertEqual(
                    (layer["experts"], layer["chosen"], layer["rows"],
                     layer["flops_active"], layer["flops_total"],
                     layer["room_over_rows"], layer["multiplied_over_rows"]),
                    (experts, chosen, tokens * chosen, active,
                     active * experts / chosen, factor, factor))

    def test_rooms_of_einsums(self):
        """The file's own, unless others are asked for; what overflows is known
        and the same on every mesh."""
        logs = []
        for ranks, *options in ((1,), (4, "--mesh", "ep=4"),
                                (4, "--mesh", "dp=2,ep=2", "--zero", "3"),
                                (2, "--mesh", "pp=2", "--accumulate", "2")):
            self.of_case("plain_einsum", *options, ranks=ranks)
            logs.append(read_log(self.folder / "log.jsonl")[0])
        self.assertGreater(logs[0]["moe_overflow"], 0)
        for line in logs[1:]:
            for key in ("moe_overflow", "moe_tokens"):
                self.assertEqual(line[key], logs[0][key])
            self.assertAlmostEqual(line["loss"], logs[0]["loss"], places=5)
        # Second choices that are not made want no room.
        self.of_case("plain_doubtful")
        tokens = read_log(self.folder / "log.jsonl")[0]["moe_tokens"]
        self.assertLess(np.sum(tokens), 48)
        self.assertGreater(np.sum(tokens), 24)
        self.of_case("plain_einsum", "--moe-capacity", "2")
        self.assertEqual(
            read_log(self.folder / "log.jsonl")[0]["moe_overflow"], 0)

    def test_masked_experts_compute_the_chosen_alone(self):
        self.check_work("masked", 2, 16 + 12)

    def test_stacked_experts_compute_the_chosen_alone(self):
        for name in ("stacked", "summed"):
            with self.subTest(name=name):
                self.check_work(name, 3)

    def test_rooms_of_masked_experts(self):
        """Room for all drops nothing; less does."""
        for room, same in (("2", True), ("0.5", False)):
            reference = json.loads((FOLDER / "plain_masked.json").read_text())
            found = self.of_case("plain_masked", "--moe-capacity", room)
            self.assertEqual(np.allclose(found, reference["losses"],
                                         rtol=2e-6), same)

    def test_first_choices_come_first(self):
        """Rows do not tell a token's first choice from its second one."""
        for name in ("masked", "stacked", "summed", "einsum", "flat"):
            step = self.folder / "step.mlir"
            self.zc("compile", FOLDER / f"plain_{name}.onnx", "--loss",
                    "softmax-cross-entropy", "--moe-capacity", "1", "--emit",
                    "step", "-o", step)
            slots = re.findall(r"train\.expert_slots .*", step.read_text())
            self.assertGreater(len(slots), 0)
            for each in slots:
                self.assertIn("choices = 2 : i64", each, name)

    def test_experts_that_are_modules_over_ep(self):
        """Parameters of one expert each lie on the ranks of their experts: four
        exchanges a layer, and neither weights nor their gradients are sent."""
        reference = json.loads((FOLDER / "plain_masked.json").read_text())
        for ranks, *options in (
                (4, "--mesh", "ep=4"), (4, "--mesh", "dp=2,ep=2", "--zero", "3"),
                (4, "--mesh", "ep=2,tp=2"), (2, "--mesh", "ep=2",
                                             "--clip-norm", "1000"),
                (2, "--mesh", "ep=2", "--accumulate", "2"),
                (4, "--mesh", "pp=2,ep=2", "--accumulate", "2")):
            with self.subTest(options=options):
                np.testing.assert_allclose(
                    self.of_case("plain_masked", *options, ranks=ranks,
                                 lr=reference["lr"]), reference["losses"],
                    rtol=2e-6)
        found = {}
        for mesh in ("dp=2", "ep=2"):
            artifact = self.artifact(
                FOLDER / "plain_masked.onnx", "--loss",
                "softmax-cross-entropy", "--optimizer", "adamw", "--mesh", mesh)
            found[mesh] = json.loads(self.zc("inspect", artifact, "--json"))
        sent = {mesh: each["comm"]["by_kind"] for mesh, each in found.items()}
        self.assertEqual(sent["ep=2"]["activations"]["count"]
                         - sent["dp=2"].get("activations",
                                            {"count": 0})["count"], 4)
        experts = 4 * 4 * (2 * 12 * 16 + 16 + 12)  # bytes
        self.assertLessEqual(sent["ep=2"]["gradients"]["bytes"] + experts,
                             sent["dp=2"]["gradients"]["bytes"])
        self.assertEqual(found["dp=2"]["memory"]["parameters"]
                         - found["ep=2"]["memory"]["parameters"], experts // 2)

    def test_experts_that_are_modules_go_on_elsewhere(self):
        """Files know each expert's parameters by their own names."""
        reference = json.loads((FOLDER / "plain_masked.json").read_text())
        found, checkpoint = [], self.folder / "ckpt"
        for end, ranks, *mesh in ((4, 2, "--mesh", "ep=2"),
                                  (7, 4, "--mesh", "ep=4"),
                                  (10, 1)):
            artifact = self.artifact(
                FOLDER / "plain_masked.onnx", "--loss",
                "softmax-cross-entropy", "--optimizer", "sgd", *mesh)
            found = self.losses(artifact, end, reference["lr"], "--checkpoint",
                                checkpoint, "--lr-schedule", "constant",
                                *(["--resume"] if len(found) else []),
                                ranks=ranks)
        np.testing.assert_allclose(found, reference["losses"], rtol=2e-6)

    def test_refusals(self):
        """An optimizer that looks at a parameter's rows and columns takes no
        vector."""
        self.fails(1, ["experts' weights are computed", "of one expert each",
                       "rows and columns", "dim 0 counts", "zc_moe.py",
                       "--zero 3"],
                   "compile", FOLDER / "plain_masked.onnx", "--loss",
                   "softmax-cross-entropy", "--mesh", "ep=2", "--optimizer",
                   "adafactor", "-o", self.folder / "m.zca")
        # The other way that the message names.
        reference = json.loads((FOLDER / "plain_masked.json").read_text())
        np.testing.assert_allclose(
            self.of_case("plain_masked", "--mesh", "dp=2", "--zero", "3",
                         ranks=2, lr=reference["lr"]), reference["losses"],
            rtol=2e-6)
        # Room that all tokens share is no rank's.
        self.fails(1, ["1 of 24 tokens", "2 ranks of ep", "--moe-capacity"],
                   "compile", FOLDER / "plain_flat.onnx", "--loss",
                   "softmax-cross-entropy", "--mesh", "ep=2", "-o",
                   self.folder / "m.zca")


if __name__ == "__main__":
    unittest.main()
