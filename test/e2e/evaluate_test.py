#!/usr/bin/env python3
"""Loss and metrics of held-out samples, in runs and by themselves; the best
checkpoint, and what a run shows meanwhile."""
import json
import math
import unittest

import numpy as np

from zctest import Fixture, ZcTest, read_log, run


def softmax_loss(logits, labels):
    shifted = logits - logits.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -logs[np.arange(len(labels)), labels]


def macro_f1(said, labels):
    """scikit-learn's f1_score(average="macro")."""
    scores = []
    for each in np.union1d(said, labels):
        hits = np.sum((said == each) & (labels == each))
        of = np.sum(said == each) + np.sum(labels == each)
        scores.append(2 * hits / of)
    return np.mean(scores)


class Evaluate(ZcTest):

    def forward(self, artifact, x, *options):
        np.save(self.folder / "x.npy", x)
        self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                "--output-dir", self.folder / "out", *options)
        output, = (self.folder / "out").iterdir()
        return np.load(output).astype(np.float64)

    def metrics(self, artifact, data, *options):
        return json.loads(self.zc("eval", artifact, "--data", data, "--json",
                                  *options))

    def samples(self, data, count):
        """The first samples, one of them ignored: no whole batches."""
        arrays = dict(np.load(data))
        arrays = {name: array[:count] for name, array in arrays.items()}
        if arrays["labels"].dtype.kind == "i":
            arrays["labels"][3] = -100
        path = self.folder / "held.npz"
        np.savez(path, **arrays)
        return path, arrays

    def test_classes(self):
        fixture = Fixture("mlp")
        artifact, ckpt = self.compile(fixture), self.folder / "ckpt"
        self.train(artifact, fixture.data, 5, "--checkpoint", ckpt)
        path, arrays = self.samples(fixture.data, 45)
        names = "accuracy,top5,perplexity,f1"
        for options in (("--checkpoint", ckpt), ()):
            logits = self.forward(artifact, arrays["x"], *options)
            kept = arrays["labels"] >= 0
            logits, labels = logits[kept], arrays["labels"][kept]
            found = self.metrics(artifact, path, "--metrics", names, *options)
            self.assertEqual(found["samples"], 45)
            # The program adds up float32 losses; the rest are counts.
            loss = softmax_loss(logits, labels).mean()
            self.assertAlmostEqual(found["loss"], loss, delta=1e-5 * loss)
            self.assertAlmostEqual(found["perplexity"],
                                   math.exp(found["loss"]), places=9)
            said = logits.argmax(-1)
            self.assertAlmostEqual(found["accuracy"],
                                   np.mean(said == labels), places=6)
            self.assertAlmostEqual(found["f1"], macro_f1(said, labels),
                                   places=9)
            best = np.argsort(-logits, axis=-1)[:, :5]
            self.assertAlmostEqual(
                found["top5"], np.mean((best == labels[:, None]).any(1)),
                places=9)
        text = self.zc("eval", artifact, "--data", path, "--checkpoint", ckpt)
        self.assertRegex(text, r"^loss \d\.\d+, accuracy 0\.\d+, of 45 samples")

    def test_numbers(self):
        fixture = Fixture("regression")
        artifact = self.compile(fixture)
        path, arrays = self.samples(fixture.data, 21)
        outputs = self.forward(artifact, arrays["x"])
        labels = arrays["labels"].astype(np.float64)
        found = self.metrics(artifact, path, "--metrics", "mae,r2")
        self.assertAlmostEqual(found["mae"], np.abs(outputs - labels).mean(),
                               places=9)
        residuals = ((outputs - labels) ** 2).sum(0)
        spread = ((labels - labels.mean(0)) ** 2).sum(0)
        self.assertAlmostEqual(found["r2"], np.mean(1 - residuals / spread),
                               places=9)
        self.assertAlmostEqual(found["loss"], ((outputs - labels) ** 2).mean(),
                               delta=1e-5 * found["loss"])

    def test_ranks_say_the_same(self):
        fixture = Fixture("mlp")
        options = ("--dim", "batch=24", "--loss", "softmax-cross-entropy")
        path, arrays = self.samples(fixture.data, 45)
        found = []
        outputs = []
        for mesh, ranks in ((None, 1), ("dp=2", 2), ("dp=2,tp=2", 4),
                            ("pp=2", 2), ("pp=3", 3), ("pp=2,dp=2", 4)):
            artifact = self.folder / "a.zca"
            self.zc("compile", fixture.model, "-o", artifact, *options,
                    *(["--mesh", mesh] if mesh else []),
                    *(["--accumulate", 4] if "pp" in str(mesh) else []))
            local = ["--local-ranks", ranks] if ranks > 1 else []
            found.append(self.metrics(artifact, path, "--metrics",
                                      "top5,f1,perplexity", *local))
            outputs.append(self.forward(artifact, arrays["x"], *local))
        for other in outputs[1:]:
            np.testing.assert_allclose(other, outputs[0], rtol=1e-5, atol=1e-5)
        for other in found[1:]:
            self.assertEqual(other["samples"], 45)
            self.assertAlmostEqual(other["loss"], found[0]["loss"], places=5)
            for name in ("top5", "f1", "accuracy"):
                self.assertAlmostEqual(other[name], found[0][name], places=9)
            self.assertAlmostEqual(other["perplexity"], found[0]["perplexity"],
                                   places=4)

    def test_averages_of_weights(self):
        """What is scored is what `zc export --ema` writes."""
        fixture = Fixture("cnn")
        ckpt, exported = self.folder / "ckpt", self.folder / "averaged.onnx"
        artifact = self.compile(fixture, "adamw", "--ema", 0.5)
        self.train(artifact, fixture.data, 4, "--checkpoint", ckpt, lr=1e-2)
        self.zc("export", artifact, "--checkpoint", ckpt, "--ema", "-o",
                exported)
        averaged = self.compile(fixture, "sgd", model=exported,
                                name="averaged.zca")
        data = fixture.data
        expected = self.metrics(averaged, data)
        found = self.metrics(artifact, data, "--checkpoint", ckpt, "--ema")
        self.assertAlmostEqual(found["loss"], expected["loss"], places=6)
        plain = self.metrics(artifact, data, "--checkpoint", ckpt)
        self.assertGreater(abs(plain["loss"] - found["loss"]), 1e-4)
        # Averages are divided over ranks where the moments are.
        artifact = self.compile(fixture, "adamw", "--ema", 0.5, "--mesh",
                                "dp=2", "--zero", 1)
        ranks = self.metrics(artifact, data, "--checkpoint", ckpt, "--ema",
                             "--local-ranks", 2)
        self.assertAlmostEqual(ranks["loss"], found["loss"], places=6)
        x = np.load(data)["x"]
        np.testing.assert_allclose(
            self.forward(artifact, x, "--checkpoint", ckpt, "--ema",
                         "--local-ranks", 2), self.forward(averaged, x),
            rtol=1e-5, atol=1e-5)
        plain = self.compile(fixture, name="plain.zca")
        self.train(plain, data, 1, "--checkpoint", self.folder / "other")
        self.fails(1, ["--ema.*no moving averages", "zc compile --ema"], "eval",
                   artifact, "--data", data, "--checkpoint",
                   self.folder / "other", "--ema", "--local-ranks", 2)

    def test_refusals(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture)
        self.fails(1, ["'mae' is a metric of models with --loss mse",
                       "softmax-cross-entropy"], "eval", artifact, "--data",
                   fixture.data, "--metrics", "mae")
        self.fails(2, ["--metrics", "accuracy"], "eval", artifact, "--data",
                   fixture.data, "--metrics", "acuracy")
        self.fails(2, ["--input", "--data"], "eval", artifact)
        self.fails(2, ["zc compile"], "eval", fixture.model, "--data",
                   fixture.data)


class Best(ZcTest):

    def go(self, steps, *options):
        log = self.folder / "log.jsonl"
        out = self.zc(
            "run", self.artifact, "--data", self.fixture.data, "--steps",
            steps, "--eval-data", self.fixture.data, "--eval-every", 1, "--log",
            log, "--checkpoint", self.folder / "ckpt", "--no-shuffle",
            *options)
        lines = map(json.loads, log.read_text().splitlines())
        return out, [line for line in lines if "eval_loss" in line]

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.artifact = self.compile(self.fixture, "sgd")

    def test_the_best_checkpoint_stays(self):
        # A rate that grows too large: better at first, then worse.
        out, lines = self.go(20, "--lr", 3, "--warmup-steps", 20, "--metrics",
                             "f1,top5,perplexity", "--keep-best", "loss",
                             "--keep", 1)
        values = {line["step"]: line["eval_loss"] for line in lines}
        best = min(values, key=values.get)
        self.assertLess(best, 20, "the fixture must become worse")
        link = self.folder / "ckpt" / "best"
        self.assertEqual(link.resolve().name, f"step-{best}")
        names = sorted(path.name for path in
                       (self.folder / "ckpt").glob("step-*"))
        self.assertEqual(names, sorted({f"step-{best}", "step-20"}))
        self.assertIn(f"at step {best}", out)
        found = json.loads(self.zc(
            "eval", self.artifact, "--data", self.fixture.data, "--checkpoint",
            link, "--json", "--metrics", "f1"))
        line = next(line for line in lines if line["step"] == best)
        self.assertAlmostEqual(found["loss"], line["eval_loss"], places=12)
        self.assertAlmostEqual(found["f1"], line["eval_f1"], places=12)
        self.assertAlmostEqual(math.exp(line["eval_loss"]),
                               line["eval_perplexity"], places=9)

    def test_patience(self):
        out, lines = self.go(50, "--lr", 3, "--warmup-steps", 50, "--patience",
                             3)
        values = [line["eval_loss"] for line in lines]
        best = int(np.argmin(values))
        self.assertEqual(len(values), best + 4, "three that were no better")
        self.assertLess(len(values), 50)
        self.assertRegex(out.splitlines()[-1],
                         f"stopped after step {best + 4} of 50")

class Shown(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.artifact = self.compile(self.fixture)

    def go(self, steps, *options):
        code, out, err = run("run", self.artifact, "--data", self.fixture.data,
                             "--steps", steps, "--no-shuffle", *options)
        self.assertEqual(code, 0, err)
        return out, err

    def test_a_short_run_has_few_lines(self):
        out, _ = self.go(200)
        lines = [line for line in out.splitlines() if line.startswith("step ")]
        self.assertLess(len(lines), 30)
        self.assertRegex(
            lines[-1], r"^step 200/200  epoch [\d.]+/[\d.]+  loss \S+  "
                       r"lr 0.001  [\d.]+ samples/s  0.0 s left$")

    def test_lines_are_means_and_come_when_asked(self):
        log = self.folder / "log.jsonl"
        out, _ = self.go(12, "--log-every", 4, "--log", log)
        whole = self.folder / "whole.jsonl"
        self.go(12, "--log", whole)
        losses = [line["loss"] for line in read_log(whole)]
        self.assertEqual([line["step"] for line in read_log(log)], [4, 8, 12])
        self.assertEqual(read_log(log)[1]["loss"], losses[7])
        shown = [line.split() for line in out.splitlines()
                 if line.startswith("step ")]
        self.assertEqual([line[1] for line in shown],
                         ["1/12", "4/12", "8/12", "12/12"])
        for line, span in zip(shown, ((0, 1), (1, 4), (4, 8), (8, 12))):
            mean = np.mean(losses[slice(*span)])
            self.assertEqual(line[5], f"{mean:.4g}")

    def test_quiet_and_a_log_on_standard_output(self):
        out, _ = self.go(5, "--quiet")
        self.assertEqual(len(out.splitlines()), 1)
        self.assertIn("trained to step 5 of 5", out)
        out, err = self.go(5, "--log", "-")
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["step"] for line in lines], [1, 2, 3, 4, 5])
        self.assertIn("trained to step 5 of 5", err)

    def test_tokens_a_second(self):
        fixture, log = Fixture("gpt"), self.folder / "log.jsonl"
        artifact = self.compile(fixture)
        out = self.zc("run", artifact, "--data", fixture.data, "--steps", 3,
                      "--log", log)
        self.assertRegex(out, r"(?m)^step 3/3 .* samples/s, \d+ tokens/s ")
        for line in read_log(log):
            self.assertAlmostEqual(line["tokens_per_s"],
                                   32 * line["samples_per_s"],
                                   delta=1e-6 * line["tokens_per_s"])

    def test_the_summary_is_of_evaluations(self):
        out, _ = self.go(6, "--eval-data", self.fixture.data, "--eval-every",
                         3)
        self.assertRegex(out.splitlines()[-1],
                         r"eval loss \S+ -> \S+, eval accuracy \S+, 6 steps")


if __name__ == "__main__":
    unittest.main()
