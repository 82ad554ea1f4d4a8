#!/usr/bin/env python3
"""`zc compile --verify on`: of layers that are equal some stand for all, and
what is said of those that were left out."""
import re
import unittest

from many_layers import LAYERS, write_many_layers
from zctest import ZcTest

OF_A_PARAMETER = 3  # AdamW: itself and two moments
LEFT_OUT = (r"; (\d+) blocks? of layers \((\d+) parameter tensors?\), equal to "
            "others, left out")


class EqualLayers(ZcTest):

    def setUp(self):
        super().setUp()
        self.model = self.folder / "deep.onnx"
        write_many_layers(self.model)

    def prove(self, *options):
        """The tensors compared, and the blocks and parameters left out."""
        said = self.zc("compile", self.model, "--loss", "softmax-cross-entropy",
                       *options, "-o", self.folder / "out.zca")
        line = re.search("zc: verified: on small dims .* in all (\\d+) tensors "
                         "of (?:a step|\\d steps) within "
                         f"[^;\n]+(?:{LEFT_OUT})?$", said, re.M)
        self.assertTrue(line, said)
        return tuple(int(number or 0) for number in line.groups())

    def test_two_stand_for_all(self):
        tensors, blocks, parameters = self.prove("--mesh", "dp=2")
        self.assertEqual((blocks, parameters), (LAYERS - 2, 2 * (LAYERS - 2)))
        everything = self.prove("--mesh", "dp=2", "--verify", "deep")
        self.assertEqual(everything,
                         (tensors + OF_A_PARAMETER * parameters, 0, 0))

    def test_by_columns_and_by_rows(self):
        """A block is two layers."""
        _, blocks, parameters = self.prove("--mesh", "dp=2,tp=2")
        self.assertEqual(parameters, 4 * blocks)
        self.assertGreaterEqual(blocks, 3)

    def test_a_layer_divided_by_hand(self):
        """It is like no other; names of those that are left out do no harm."""
        _, blocks, _ = self.prove(
            "--mesh", "tp=2", "--shard", "h.7.weight=-,tp", "--shard",
            "h.2.weight=-,tp", "--shard", "h.3.weight=-,tp")
        self.assertLess(blocks, LAYERS // 2)

    def test_stages(self):
        """Each has a layer; all stay where a file names them."""
        stages = self.folder / "stages.txt"
        pipeline = ("--mesh", "pp=4", "--accumulate", "4")
        _, blocks, _ = self.prove(*pipeline, "--write-stages", stages)
        self.assertEqual(blocks, LAYERS - 4)
        self.assertEqual(self.prove(*pipeline, "--stages", stages)[1:], (0, 0))

    def test_groups(self):
        """A layer in a group of its own is like no other, and one whose group
        changes nothing may be left out though a group names it."""
        for options in (["--group", "h.7.bias:lr=1x"],
                        ["--no-weight-decay", "h.7.bias"]):
            with self.subTest(options=options):
                self.prove("--mesh", "dp=2", *options)
        _, blocks, _ = self.prove("--mesh", "dp=2", "--group",
                                  "h.7.weight:lr=0.5x")
        self.assertLess(blocks, LAYERS - 2)


if __name__ == "__main__":
    unittest.main()
