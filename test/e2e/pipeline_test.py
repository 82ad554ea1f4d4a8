#!/usr/bin/env python3
"""Pipelines from the command line: the roles of a pipeline train what one rank
does with as many micro-batches.

Losses within 1e-5 relative, weights within 1e-4 of the largest (float32 sums in
another order; SGD 1e-5). The orders of one partition compute the same sums, so
they agree to the bit. tools/pipeline-matrix runs the whole matrix; here is a
pairwise part of it.
"""
import json
import unittest

import numpy as np

from zctest import Fixture, ZcTest, latest_step, load_tensors, read_log

STEPS = 10


class PipelineTest(ZcTest):

    def train(self, fixture, name, options, mesh=(), ranks=1, *run):
        artifact = self.folder / f"{name}.zca"
        self.zc("compile", fixture.model, "-o", artifact, *options, *mesh)
        log, checkpoint = self.folder / f"{name}.jsonl", self.folder / name
        self.zc("run", artifact, "--data", fixture.data, "--steps", STEPS,
                "--lr", "1e-3", "--no-shuffle", "--log", log, "--overwrite",
                "--checkpoint", checkpoint, *run,
                *(["--local-ranks", ranks] if ranks > 1 else []))
        return read_log(log), load_tensors(latest_step(checkpoint))

    def check(self, one, other, limit, losses=1e-5):
        lines, weights = one
        found, theirs = other
        for a, b in zip(lines, found):
            np.testing.assert_allclose(b["loss"], a["loss"], rtol=losses)
            np.testing.assert_allclose(b["grad_norm"], a["grad_norm"],
                                       rtol=10 * losses)
        self.assertEqual(weights.keys(), theirs.keys())
        largest = max(np.abs(each).max() for each in weights.values())
        for name, each in weights.items():
            error = np.abs(each - theirs[name]).max() / largest
            self.assertLess(error, limit, name)

    def compare(self, model, optimizer, micro, layouts, *extra):
        fixture = Fixture(model)
        options = [*fixture.compile_options(optimizer), "--accumulate", micro,
                   *extra]
        one = self.train(fixture, "one", options)
        limit = 1e-4 if optimizer == "adamw" else 1e-5
        for index, (ranks, *mesh) in enumerate(layouts):
            with self.subTest(mesh=mesh):
                other = self.train(fixture, str(index), options, mesh, ranks)
                self.check(one, other, limit)


class Equality(PipelineTest):

    def test_mlp(self):
        self.compare("mlp", "adamw", 4,
                     [(2, "--mesh", "pp=2"),
                      (3, "--mesh", "pp=3", "--schedule", "naive"),
                      (4, "--mesh", "pp=2,dp=2", "--zero", "1"),
                      (4, "--mesh", "pp=2,tp=2", "--schedule", "gpipe")],
                     "--clip-norm", "0.1")

    def test_cnn(self):
        """Batch norm's statistics are updated in the micro-batches' order."""
        self.compare("cnn", "sgd", 4, [(3, "--mesh", "pp=3"),
                                       (2, "--mesh", "pp=2", "--schedule",
                                        "gpipe")])

    def test_gpt(self):
        """The embedding is tied with the head, the first role with the last."""
        self.compare("gpt", "sgd-nesterov", 2,
                     [(4, "--mesh", "pp=4"),
                      (4, "--mesh", "pp=2,dp=2", "--zero", "3"),
                      (4, "--mesh", "pp=2,tp=2", "--recompute", "full")],
                     "--clip-norm", "1")

    def test_llama(self):
        self.compare("llama", "adamw", 2,
                     [(4, "--mesh", "pp=2,dp=2", "--zero", "2")])

    def test_unet(self):
        """Skips go over stages that do not read them."""
        self.compare("unet", "sgd", 2, [(3, "--mesh", "pp=3")])


class Orders(PipelineTest):

    def test_equal_bits(self):
        fixture = Fixture("gpt")
        options = [*fixture.compile_options("adamw"), "--accumulate", 4,
                   "--mesh", "pp=3"]
        found = [self.train(fixture, order, [*options, "--schedule", order], (),
                            3) for order in ("1f1b", "gpipe", "naive")]
        for lines, weights in found[1:]:
            self.assertEqual([each["loss"] for each in lines],
                             [each["loss"] for each in found[0][0]])
            for name, each in weights.items():
                np.testing.assert_array_equal(each, found[0][1][name], name)


class Files(PipelineTest):

    def test_resume_on_another_mesh(self):
        fixture = Fixture("mlp")
        options = [*fixture.compile_options("adamw"), "--accumulate", 2]
        lines, weights = self.train(fixture, "one", options)
        two = self.folder / "two.zca"
        self.zc("compile", fixture.model, "-o", two, *options, "--mesh", "pp=2")
        one = self.folder / "one.zca"
        folder = self.folder / "mixed"
        common = ["--data", fixture.data, "--lr", "1e-3", "--no-shuffle",
                  "--checkpoint", folder]
        self.zc("run", two, *common, "--steps", 4, "--local-ranks", 2)
        self.zc("run", one, *common, "--steps", 7, "--resume")
        log = self.folder / "mixed.jsonl"
        self.zc("run", two, *common, "--steps", STEPS, "--resume",
                "--local-ranks", 2, "--log", log)
        np.testing.assert_allclose(read_log(log)[-1]["loss"],
                                   lines[-1]["loss"], rtol=1e-5)
        theirs = load_tensors(latest_step(folder))
        for name, each in weights.items():
            np.testing.assert_allclose(theirs[name], each, rtol=1e-3,
                                       atol=1e-5)

    def test_evaluation_and_export(self):
        fixture = Fixture("mlp")
        options = [*fixture.compile_options("adamw"), "--accumulate", 2]
        self.train(fixture, "one", options)
        self.train(fixture, "two", options, ["--mesh", "pp=2"], 2)
        found = []
        for name, ranks in (("one", 1), ("two", 2)):
            out = self.zc("eval", self.folder / f"{name}.zca", "--data",
                          fixture.data, "--checkpoint", self.folder / name,
                          "--json",
                          *(["--local-ranks", ranks] if ranks > 1 else []))
            found.append(json.loads(out))
            self.zc("export", self.folder / f"{name}.zca", "--checkpoint",
                    self.folder / name, "-o", self.folder / f"{name}.onnx")
        for key, value in found[0].items():
            if isinstance(value, float):
                np.testing.assert_allclose(found[1][key], value, rtol=1e-5)


class Stages(PipelineTest):

    def setUp(self):
        super().setUp()
        fixture = Fixture("mlp")
        self.command = ["compile", fixture.model, "-o", self.folder / "a.zca",
                        *fixture.compile_options("sgd"), "--accumulate", 2]

    def test_written_and_read(self):
        stages, again = self.folder / "stages", self.folder / "again"
        two = [*self.command, "--mesh", "pp=2"]
        self.zc(*two, "--write-stages", stages)
        self.zc(*two, "--stages", stages, "--write-stages", again)
        self.assertEqual(stages.read_text(), again.read_text())
        text = stages.read_text()
        self.assertIn(": 0\n", text)
        self.assertIn(": 1\n", text)
        # A consumer in front of its producer.
        swapped = (text.replace(": 0\n", ": x\n").replace(": 1\n", ": 0\n")
                   .replace(": x\n", ": 1\n"))
        stages.write_text(swapped)
        self.fails(1, ["a stage can only read from stages in front of it"],
                   *two, "--stages", stages)
        stages.write_text("nothing.like.it: 1\n")
        self.fails(1, ["finds no node and no module of the model"], *two,
                   "--stages", stages)
        stages.write_text("0: 2\n")
        self.fails(1, ["expected a stage from 0 to 1"], *two, "--stages",
                   stages)

    def test_too_many(self):
        self.fails(1, ["cannot be cut into 64 stages", "pp=4 at most"],
                   *self.command, "--mesh", "pp=64")

    def test_options(self):
        for options, pattern in (
                (["--schedule", "gpipe"], "--schedule needs a --mesh with pp"),
                (["--stages", __file__], "--stages needs a --mesh with pp"),
                (["--mesh", "pp=2", "--partition-activations"],
                 "--partition-activations"),
                (["--mesh", "pp=2", "--offload", "activations"],
                 "does not go with pp")):
            self.fails(2, [pattern], *self.command, *options)


if __name__ == "__main__":
    unittest.main()
