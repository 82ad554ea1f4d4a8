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

from zctest import (TRANSLATOR_STAGES, UNET_STAGES, Fixture, ZcTest,
                    latest_step, load_tensors, read_log, run)

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

    def test_one_sample_each(self):
        """Micro-batches of one sample: what is gathered to be sent is gathered
        where it is sent from, beside what the backward keeps."""
        self.compare("mlp", "sgd", 16, [(8, "--mesh", "pp=2,dp=2,tp=2")])

    def test_divided_messages(self):
        """Each rank along tp sends its part; the other stage gathers it."""
        self.compare("gpt", "sgd", 2,
                     [(4, "--mesh", "pp=2,tp=2", "--divide-messages"),
                      (8, "--mesh", "pp=2,tp=2,dp=2", "--zero", "1",
                       "--divide-messages")])
        sent = []
        for option in ([], ["--divide-messages"]):
            artifact = self.folder / "one.zca"
            self.zc("compile", Fixture("gpt").model, "-o", artifact,
                    *Fixture("gpt").compile_options("sgd"), "--mesh",
                    "pp=2,tp=2", "--accumulate", "2", *option)
            comm = json.loads(self.zc("inspect", artifact, "--json"))["comm"]
            sent.append(sum(each["bytes"] for each in comm["messages"]))
        self.assertEqual(sent[0], 2 * sent[1])

    def test_cnn(self):
        """Batch norm's statistics are updated in the micro-batches' order."""
        self.compare("cnn", "sgd", 4,
                     [(6, "--mesh", "pp=3,dp=2", "--zero", "1"),
                      (2, "--mesh", "pp=2", "--schedule", "gpipe")])

    def test_gpt(self):
        """The embedding is tied with the head, the first role with the last."""
        self.compare("gpt", "sgd-nesterov", 2,
                     [(4, "--mesh", "pp=4"),
                      (4, "--mesh", "pp=2,dp=2", "--zero", "3"),
                      (4, "--mesh", "pp=2,tp=2", "--recompute", "full")],
                     "--clip-norm", "1")

    def test_llama(self):
        self.compare("llama", "adamw", 2,
                     [(4, "--mesh", "pp=2,dp=2", "--zero", "2"),
                      (6, "--mesh", "pp=3,tp=2", "--schedule", "gpipe"),
                      (4, "--mesh", "pp=4", "--recompute", "full",
                       "--schedule", "naive")])

    def test_unet(self):
        """Skips go over stages that do not read them."""
        stages = self.folder / "stages"
        stages.write_text(UNET_STAGES)
        self.compare("unet", "sgd", 2,
                     [(4, "--mesh", "pp=4", "--stages", stages),
                      (4, "--mesh", "pp=2,dp=2", "--zero", "3", "--schedule",
                       "naive")])

    def test_translator(self):
        """Two inputs; an encoder's output for each stage of the decoder; a
        table of three roles."""
        stages = self.folder / "stages"
        stages.write_text(TRANSLATOR_STAGES)
        self.compare("translator", "sgd", 4,
                     [(3, "--mesh", "pp=3", "--stages", stages),
                      (4, "--mesh", "pp=2,tp=2", "--schedule", "gpipe")])

    def test_odd(self):
        """More micro-batches than stages, which divides nothing."""
        self.compare("odd", "sgd-nesterov", 5,
                     [(4, "--mesh", "pp=4", "--schedule", "naive"),
                      (8, "--mesh", "pp=2,dp=2,tp=2", "--zero", "2")])


    def test_bf16(self):
        """Sums in another order round to other numbers of 16 bits: as near as
        PyTorch's own runs are to double precision."""
        for model, micro, ranks, *mesh in (
                ("gpt", 4, 4, "pp=4", "--schedule", "gpipe"),
                ("translator", 4, 4, "pp=2,dp=2", "--zero", "3"),
                ("cnn", 8, 6, "pp=3,tp=2", "--schedule", "naive")):
            with self.subTest(model=model, mesh=mesh):
                fixture = Fixture(model)
                options = [*fixture.compile_options("adamw"), "--accumulate",
                           micro, "--precision", "bf16"]
                one, _ = self.train(fixture, "one", options)
                other, _ = self.train(fixture, "other", options,
                                      ["--mesh", *mesh], ranks)
                recorded = fixture.reference["optimizers"]["adamw"]
                np.testing.assert_allclose(
                    [line["loss"] for line in other],
                    [line["loss"] for line in one],
                    rtol=recorded["bf16_spread"])


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

    def test_files_that_do_not_fit(self):
        stages = self.folder / "stages"
        two = [*self.command, "--mesh", "pp=2", "--stages", stages]
        for text, pattern in (
                ("nothing.like.it: 1\n",
                 "'nothing.like.it' finds no node and no module of the model"),
                ("0: 2\n", "expected a stage from 0 to 1, found '0 2'"),
                (".: 0\n", "stage 1 of 2 has no node"),
                ("node_gelu_1$: 1\n6: 0\n", "can only read from stages in "
                 "front of it"),
                ("# none\n\n", "expected lines of a node .* found none"),
                ("4: 1\n6\n", ":2: expected a node .* found '6'"),
                ("6: -1\n", ":1: expected a node .* found '6: -1'"),
                ("(6: 1\n", ":1: .*not a regular expression")):
            with self.subTest(text=text):
                stages.write_text(text)
                self.fails(1, [pattern], *two)
        stages.unlink()
        self.fails(2, ["--stages: File does not exist"], *two)

    def test_stage_that_trains_nothing(self):
        stages = self.folder / "stages"
        stages.write_text("node_relu$: 1\nnode_linear_1$: 2\n")
        self.fails(1, ["stage 1 of 3 trains no parameter"],
                   *self.command, "--mesh", "pp=3", "--stages", stages)

    def test_batches_that_do_not_divide(self):
        for options, patterns in (
                (["--mesh", "pp=2", "--accumulate", 5],
                 ["32 samples", "into 5 micro-batches", "30 and 35"]),
                (["--mesh", "pp=3"],  # 4 for each role by default
                 ["32 samples", "into 12 micro-batches", "24 and 36"]),
                (["--mesh", "pp=2,dp=3", "--accumulate", 4],
                 ["32 samples", "3 ranks .dp x ep. in 4 micro-batches",
                  "24 and 36"])):
            with self.subTest(options=options):
                self.fails(1, patterns, *self.command[:-2], *options)
        self.fails(2, ["--accumulate: Value 0 not in range"],
                   *self.command[:-2], "--mesh", "pp=2", "--accumulate", 0)

    def test_few_micro_batches(self):
        """Fewer than stages are no error, but some always wait."""
        warning = ("--accumulate 2 is fewer micro-batches than the 4 stages, "
                   "so that some always wait")
        for stages, is_told in ((4, True), (2, False)):
            code, out, err = run(*self.command, "--mesh", f"pp={stages}")
            self.assertEqual(code, 0, err)
            self.assertEqual(warning in out + err, is_told, out + err)

    def test_bubble_is_told(self):
        """D-12: GPipe's rule, 4 micro-batches a stage, is the default; with
        fewer, the share of the step that stages wait is told."""
        note = "micro-batches for 2 stages each waits"
        for accumulate, share in ((2, "33%"), (4, "20%"), (8, None)):
            out = self.zc(*self.command[:-1], accumulate, "--mesh", "pp=2")
            if share:
                self.assertIn(f"with {accumulate} {note} {share}", out)
            else:
                self.assertNotIn(note, out)
        out = self.zc(*self.command[:-2], "--mesh", "pp=2")
        self.assertIn("8 micro-batches a step", out)

    def test_too_many(self):
        self.fails(1, ["cannot be cut into 64 stages", "expected 4 stages at most"],
                   *self.command, "--mesh", "pp=64")

    def test_options(self):
        for options, pattern in (
                (["--schedule", "gpipe"], "--schedule needs a --mesh with pp"),
                (["--stages", __file__], "--stages needs a --mesh with pp"),
                (["--mesh", "pp=2", "--partition-activations"],
                 "--partition-activations"),
                (["--mesh", "pp=2", "--compress-activations", "bits"],
                 "do not go with pp")):
            self.fails(2, [pattern], *self.command, *options)


if __name__ == "__main__":
    unittest.main()
