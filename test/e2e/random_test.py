#!/usr/bin/env python3
"""Random numbers that a model draws: of the distributions it asks for, by seed,
step and place and nothing else."""
import unittest

import numpy as np
from onnx import parser

from zctest import ZcTest, read_log

SHAPE = (400, 250)
DRAWS = """<ir_version: 10, opset_import: ["" : 20]>
main (float[400,250] x) => (float[400,250] normal, float[400,250] other,
                            float[400,250] uniform, float[400,250] bits)
<float[250] p>
{ normal = RandomNormalLike <mean = 3.0, scale = 2.0> (x)
  other = RandomNormal <shape = [400, 250]> ()
  uniform = RandomUniform <low = -1.0, high = 5.0, shape = [400, 250]> ()
  chance = Mul(x, p)
  bits = Bernoulli(chance) }"""
NOISY = """<ir_version: 10, opset_import: ["" : 20]>
main (float[8,4] x) => (float[8,4] y) <float[4] w = {1, 2, 3, 4}>
{ noise = RandomNormalLike(x)
  z = Mul(noise, w)
  y = Add(z, x) }"""


class Random(ZcTest):

    def model(self, text):
        model = parser.parse_model(text.replace(
            "<float[250] p>", "<float[250] p = {%s}>" % ",".join(
                str(column / 250) for column in range(250))))
        path = self.folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    def draw(self, *options):
        np.save(self.folder / "x.npy", np.ones(SHAPE, np.float32))
        self.zc("eval", self.model(DRAWS), "--input",
                f"x={self.folder / 'x.npy'}", "--output-dir",
                self.folder / "out", *options)
        return {path.stem: np.load(path)
                for path in (self.folder / "out").glob("*.npy")}

    def test_distributions(self):
        found = self.draw()
        for name, mean, deviation in (("normal", 3, 2), ("other", 0, 1),
                                      ("uniform", 2, 6 / 12 ** 0.5)):
            error = deviation / found[name].size ** 0.5
            self.assertLess(abs(found[name].mean() - mean), 5 * error, name)
            self.assertLess(abs(found[name].std() - deviation), 5 * error, name)
        self.assertGreaterEqual(found["uniform"].min(), -1)
        self.assertLess(found["uniform"].max(), 5)
        share = found["bits"].mean(0)
        self.assertEqual(set(np.unique(found["bits"])), {0, 1})
        self.assertLess(np.abs(share - np.arange(250) / 250).max(),
                        5 * 0.5 / 400 ** 0.5)
        pairs = np.corrcoef([found[name].ravel() for name in sorted(found)
                             if name != "bits"])
        self.assertLess(np.abs(pairs - np.eye(3)).max(),
                        5 / found["normal"].size ** 0.5)

    def test_seed_decides(self):
        one, again, two, threads = (
            self.draw("--seed", seed, "--threads", threads)
            for seed, threads in ((1, 2), (1, 2), (2, 2), (1, 1)))
        for name, values in one.items():
            np.testing.assert_array_equal(values, again[name])
            np.testing.assert_allclose(values, threads[name], rtol=1e-6)
            self.assertFalse(np.array_equal(values, two[name]), name)

    def losses(self, *options, steps=4):
        data, log = self.folder / "data.npz", self.folder / "log.jsonl"
        np.savez(data, x=np.ones((8, 4), np.float32),
                 labels=np.zeros((8, 4), np.float32))
        artifact = self.folder / "a.zca"
        self.zc("compile", self.model(NOISY), "--loss", "mse", "--optimizer",
                "sgd", "-o", artifact, *options)
        ranks = ["--local-ranks", 2] if "--mesh" in options else []
        self.train(artifact, data, steps, "--no-shuffle", "--log", log, *ranks,
                   lr=0)
        return [line["loss"] for line in read_log(log)]

    def test_every_step_draws_anew(self):
        losses = self.losses()
        self.assertEqual(len(set(losses)), len(losses))

    def test_ranks_draw_what_one_would(self):
        np.testing.assert_allclose(self.losses("--mesh", "dp=2"),
                                   self.losses(), rtol=1e-6)

    def test_micro_batches_draw_their_own(self):
        one, parts = self.losses(), self.losses("--accumulate", 2)
        self.assertNotEqual(one, parts)
        self.assertLess(abs(np.mean(parts) - np.mean(one)), np.mean(one))


if __name__ == "__main__":
    unittest.main()
