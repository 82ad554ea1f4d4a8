#!/usr/bin/env python3
"""Tokens in .bin files train as the same samples in an .npz do."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import Fixture, ZcTest, read_log, run

LENGTH = 32  # tokens of a sample


class Tokens(ZcTest):

    def setUp(self):
        super().setUp()
        self.artifact = self.compile(Fixture("gpt"), "sgd")
        random = np.random.default_rng(0)
        self.tokens = [random.integers(0, 60, size).astype(np.uint16)
                       for size in (9 * LENGTH + 1, 5 * LENGTH + 20)]

    def losses(self, data, *options):
        log = self.folder / "log.jsonl"
        self.zc("run", self.artifact, "--data", data, "--log", log, *options)
        return [line["loss"] for line in read_log(log)]

    def as_arrays(self, shards):
        inputs, labels = [], []
        for tokens in shards:
            for start in range(0, len(tokens) - LENGTH, LENGTH):
                inputs.append(tokens[start:start + LENGTH])
                labels.append(tokens[start + 1:start + LENGTH + 1])
        path = self.folder / "samples.npz"
        np.savez(path, input_ids=np.array(inputs, np.int64),
                 labels=np.array(labels, np.int64))
        return path

    def with_header(self, path, tokens):
        header = np.zeros(256, np.int32)
        header[:3] = 20240520, 1, len(tokens)
        path.write_bytes(header.tobytes() + tokens.tobytes())

    def test_one_file(self):
        path = self.folder / "train.bin"
        path.write_bytes(self.tokens[0].tobytes())
        arrays = self.as_arrays(self.tokens[:1])
        for options in (["--steps", 5, "--no-shuffle"],
                        ["--epochs", 2, "--seed", 3]):
            self.assertEqual(self.losses(path, *options),
                             self.losses(arrays, *options))

    def test_several_files_with_headers(self):
        for index, tokens in enumerate(self.tokens):
            self.with_header(self.folder / f"shard_{index}.bin", tokens)
        options = ["--epochs", 2, "--seed", 1]
        losses = self.losses(self.folder / "shard_*.bin", *options)
        self.assertEqual(len(losses), 7)  # 28 samples, 4 a step
        self.assertEqual(losses,
                         self.losses(self.as_arrays(self.tokens), *options))

    def test_tokens_of_32_bits(self):
        path, wide = self.folder / "train.bin", self.folder / "wide.bin"
        path.write_bytes(self.tokens[0].tobytes())
        wide.write_bytes(self.tokens[0].astype(np.uint32).tobytes())
        steps = ["--steps", 5, "--no-shuffle"]
        narrow = self.losses(path, *steps)
        self.assertEqual(self.losses(path, *steps, "--token-bits", 16), narrow)
        self.assertEqual(self.losses(wide, *steps, "--token-bits", 32), narrow)
        self.fails(1, ["multiple of 4"], "run", self.artifact, "--data", path,
                   "--steps", 1, "--token-bits", 32)
        self.fails(2, ["--token-bits"], "run", self.artifact, "--data", path,
                   "--steps", 1, "--token-bits", 8)

    def test_halves_of_wide_tokens_are_doubted(self):
        """Every second one is 0. Said once, and not where it was asked for."""
        path = self.folder / "train.bin"
        path.write_bytes(self.tokens[0].astype(np.uint32).tobytes())
        for options, expected in (([], 1), (["--token-bits", 16], 0)):
            code, _, err = run("run", self.artifact, "--data", path, "--steps",
                               1, *options)
            self.assertEqual(code, 0, err)
            self.assertEqual(err.count("every second token"), expected, err)

    def test_more_words_than_16_bits_hold(self):
        words = 65_537
        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [4, 8])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT,
                                               [4, 8, 2])
        table = numpy_helper.from_array(np.ones((words, 2), np.float32),
                                        "table")
        graph = helper.make_graph(
            [helper.make_node("Gather", ["table", "ids"], ["logits"])], "wide",
            [ids], [logits], [table])
        model, artifact = self.folder / "w.onnx", self.folder / "w.zca"
        onnx.save(helper.make_model(graph, opset_imports=[
            helper.make_opsetid("", 20)]), model)
        self.zc("compile", model, "-o", artifact, "--loss",
                "softmax-cross-entropy")
        path = self.folder / "train.bin"
        path.write_bytes(np.zeros(99, np.uint32).tobytes())
        go = ("run", artifact, "--data", path, "--steps", 1)
        self.fails(1, ["train.bin", "65537 values", "--token-bits 32"], *go)
        self.zc(*go, "--token-bits", 32)
        self.zc(*go, "--token-bits", 16)

    def test_held_out_tokens(self):
        path = self.folder / "train.bin"
        path.write_bytes(self.tokens[0].tobytes())
        out = self.zc("run", self.artifact, "--data", path, "--steps", 2,
                      "--eval-data", path)
        self.assertRegex(out, "eval loss")

    def test_a_second_input_is_no_tokens(self):
        ids = [helper.make_tensor_value_info(name, TensorProto.INT64, [4, 8])
               for name in ("input_ids", "position_ids")]
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT,
                                               [4, 8, 100])
        table = numpy_helper.from_array(np.eye(100, dtype=np.float32), "table")
        nodes = [helper.make_node("Gather", ["table", "input_ids"], ["a"]),
                 helper.make_node("Gather", ["table", "position_ids"], ["b"]),
                 helper.make_node("Add", ["a", "b"], ["logits"])]
        graph = helper.make_graph(nodes, "two", ids, [logits], [table])
        model = self.folder / "two.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[
            helper.make_opsetid("", 20)]), model)
        artifact = self.folder / "two.zca"
        self.zc("compile", model, "-o", artifact, "--loss",
                "softmax-cross-entropy")
        path = self.folder / "train.bin"
        path.write_bytes(self.tokens[0].tobytes())
        self.fails(1, ["train.bin", "'input_ids' and 'position_ids'", "npz"],
                   "run", artifact, "--data", path, "--steps", 1)

    def fails_on(self, patterns, path):
        self.fails(1, patterns, "run", self.artifact, "--data", path,
                   "--steps", 1)

    def test_damage_is_named(self):
        path = self.folder / "train.bin"
        path.write_bytes(b"\1\2\3")
        self.fails_on(["train.bin", "3 bytes", "multiple of 2"], path)
        path.write_bytes(self.tokens[0][:LENGTH].tobytes())
        self.fails_on(["train.bin", "no samples: one takes 33 tokens"], path)
        self.with_header(path, self.tokens[0])
        path.write_bytes(path.read_bytes()[:-2])
        self.fails_on(["train.bin", "says that it has 289 tokens"], path)
        self.fails_on(["no file matches"], self.folder / "none_*.bin")
        path.write_bytes(np.full(99, 40000, np.uint16).tobytes())
        self.fails_on([r"sample \d+", "40000 is out of range"], path)


if __name__ == "__main__":
    unittest.main()
