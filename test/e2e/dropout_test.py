#!/usr/bin/env python3
"""Dropout: drops in training alone, by seed, step and place and nothing else."""
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from zctest import FIXTURES, ZcTest, read_log

MODEL = FIXTURES / "options" / "dropped.onnx"
DATA = FIXTURES / "options" / "dropped.npz"
LOSS = ["--loss", "softmax-cross-entropy", "--optimizer", "sgd"]


class Dropout(ZcTest):

    def artifact(self, *options, name="a.zca"):
        path = self.folder / name
        self.zc("compile", MODEL, "-o", path, *LOSS, *options)
        return path

    def losses(self, artifact, *options, steps=6, lr=0.1):
        log = self.folder / "log.jsonl"
        self.train(artifact, DATA, steps, "--no-shuffle", "--log", log,
                   *options, lr=lr)
        return [line["loss"] for line in read_log(log)]

    def test_seed_and_step_decide(self):
        artifact = self.artifact()
        # Nothing is learned and samples come round after three steps, so that
        # whatever changes is the masks'.
        one = self.losses(artifact, "--seed", 1, lr=0)
        self.assertEqual(one, self.losses(artifact, "--seed", 1, lr=0))
        self.assertNotEqual(one, self.losses(artifact, "--seed", 2, lr=0))
        self.assertNotEqual(one[:3], one[3:])
        off = self.losses(self.artifact("--dropout", "off"), lr=0)
        self.assertEqual(off[:3], off[3:])
        self.assertNotEqual(one[:3], off[:3])

    def test_threads_do_not(self):
        artifact = self.artifact("--cpu-threads", 2)
        losses = [self.losses(artifact, "--threads", threads)
                  for threads in (1, 2)]
        np.testing.assert_allclose(losses[0], losses[1], rtol=2e-6)

    def test_ranks_do_not(self):
        """Masks of hidden values that tp divides, samples that dp divides,
        micro-batches: those of one rank. Sums come in another order."""
        for parts in ([], ["--accumulate", 2]):
            expected = self.losses(self.artifact(*parts), "--seed", 5)
            for mesh, zero in (("dp=2", 2), ("tp=4", 0), ("dp=2,tp=2", 3)):
                with self.subTest(parts=parts, mesh=mesh, zero=zero):
                    artifact = self.artifact(*parts, "--mesh", mesh, "--zero",
                                             zero)
                    found = self.losses(artifact, "--seed", 5, "--local-ranks",
                                        2 if mesh == "dp=2" else 4)
                    np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_resumes_bit_for_bit(self):
        artifact = self.artifact()
        whole = self.losses(artifact, "--seed", 3)
        checkpoint = self.folder / "ckpt"
        self.losses(artifact, "--seed", 3, "--checkpoint", checkpoint, steps=2)
        self.assertEqual(whole, self.losses(
            artifact, "--checkpoint", checkpoint, "--resume"))

    def test_micro_batches_differ(self):
        """One sample four times over, in micro-batches of two: were their masks
        the same, the loss of four would be that of the first two."""
        data = np.load(DATA)
        losses = []
        for size in (2, 4):
            samples = self.folder / f"{size}.npz"
            np.savez(samples, x=np.repeat(data["x"][:1], 8, 0),
                     labels=np.repeat(data["labels"][:1], 8))
            losses.append(self.losses_of(samples, "--accumulate", 8 // size))
        self.assertNotEqual(losses[0], losses[1])

    def losses_of(self, data, *options):
        log = self.folder / "log.jsonl"
        self.train(self.artifact(*options), data, 1, "--no-shuffle", "--log",
                   log, lr=0)
        return read_log(log)[0]["loss"]

    def test_keeps_the_mean(self):
        """The share of what is kept, through a model that passes x on."""
        artifact = self.artifact()
        dropped = np.array(self.losses(artifact, steps=300, lr=0))
        off = np.mean(self.losses(self.artifact("--dropout", "off"), steps=3,
                                  lr=0))
        # The loss is convex in what is dropped, so noise can only raise it,
        # and by no more than its variance says.
        self.assertGreater(dropped.mean(), off)
        self.assertLess(dropped.mean(), off + 0.2)

    def test_evaluation_drops_nothing(self):
        np.save(self.folder / "x.npy", np.load(DATA)["x"])
        outputs = []
        for name, options in (("on", []), ("off", ["--dropout", "off"])):
            artifact = self.artifact(*options, name=f"{name}.zca")
            self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                    "--output-dir", self.folder / name)
            outputs.append(np.load(self.folder / name / "logits.npy"))
        self.assertEqual(outputs[0].tobytes(), outputs[1].tobytes())

    def test_training_mode_left_out(self):
        """The exporter writes the dropout in scaled_dot_product_attention
        without a training_mode: the call it names says that it is on."""
        call = ("%y : [num_users=1] = call_function[target=torch.ops.aten."
                "scaled_dot_product_attention.default](args = (%q, %k, %v, "
                "None, 0.5, True), kwargs = {})")
        model = onnx.load(MODEL)
        node, = (node for node in model.graph.node if node.op_type == "Dropout")
        ratio, = (constant.attribute[0].t for constant in model.graph.node
                  if constant.output[0] == node.input[1])
        ratio.CopyFrom(numpy_helper.from_array(np.float32(0.5), ratio.name))
        losses = {}
        for name in ("given", "called", "absent"):
            del node.metadata_props[:]
            if name == "called":
                del node.input[2]
                node.metadata_props.add(key="pkg.torch.onnx.fx_node",
                                        value=call)
            path = self.folder / f"{name}.onnx"
            onnx.save(model, path)
            artifact = self.folder / f"{name}.zca"
            self.zc("compile", path, "-o", artifact, *LOSS)
            losses[name] = self.losses(artifact)
        self.assertEqual(losses["given"], losses["called"])
        self.assertEqual(losses["absent"],
                         self.losses(self.artifact("--dropout", "off")))


if __name__ == "__main__":
    unittest.main()
