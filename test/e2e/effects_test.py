#!/usr/bin/env python3
"""Every option of `zc compile` and `zc run` either has an effect in any company,
or is refused where it has none. An option that is in neither table here fails
the test: whoever adds one says which it is."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from usage_test import offered
from zctest import Fixture, ZcTest, run

# An effect whatever else is said; or a warning where the model has no use for
# it (Absent, below).
COMPILE_ALWAYS = {
    "--batch", "--batch-dim", "--cluster", "--dim", "--dump-ir", "--emit", "--init",
    "--input-value", "--libraries", "--max-trips", "--memory-budget", "--mesh", "--mode", "--output",
    "--target", "--verbose", "--weights", "--help"}
RUN_ALWAYS = {
    "--checkpoint", "--data", "--eval-data", "--init-from", "--local-ranks",
    "--log", "--lr", "--lr-schedule", "--max-time", "--offload-dir", "--profile",
    "--quiet", "--sandbox", "--seed", "--steps", "--tensorboard", "--threads", "--timeout", "--trace",
    "--trust", "--tune", "--no-shuffle", "--help"}

LOSS = ["--loss", "softmax-cross-entropy"]
MSE = ["--loss", "mse"]
SGD = [*LOSS, "--optimizer", "sgd"]
INFER = ["--mode", "infer"]
CUDA = [*LOSS, "--target", "cuda"]

# The option with its value, the company in which it has no effect, and what is
# said.
COMPILE_REFUSED = [
    (option, INFER, "belongs to --mode train") for option in (
        "--accumulate 2", "--add-loss y=1", "--aggregation server",
        "--batchnorm frozen",
        "--clip-norm 1", "--clip-value 1", "--compress-activations bits",
        "--dropout off", "--ema 0.9", "--freeze w", "--gradient-histogram",
        "--group w:lr=2x",
        "--loss mse", "--loss-scale 8", "--moment-precision bf16",
        "--offload optimizer", "--optimizer sgd",
        "--precision bf16", "--recompute layer", "--stop-gradient w",
        "--train w", "--train-scales", "--verify on", "--weight-copies off",
        "--weight-decay 1",
        "--zero 1")
] + [
    ("--verify deep", [*LOSS, "--emit", "step"], "--emit writes none"),
    ("--batchnorm-stats local", LOSS, "needs a --mesh with dp or ep"),
    ("--batchnorm-stats local", [*LOSS, "--mesh", "tp=2"], "dp or ep"),
    ("--beta1 0.8", SGD, "belongs to --optimizer adam"),
    ("--beta2 0.8", SGD, "belongs to --optimizer adam"),
    ("--bucket-mib 1", LOSS, "needs a --mesh of several ranks"),
    ("--bucket-mib 1", [*LOSS, "--mesh", "pp=2"], "that add up gradients"),
    ("--bucket-mib 1", [*LOSS, "--mesh", "dp=2", "--zero", "3"],
     "belongs to --zero 0, 1 and 2"),
    ("--chunks 2", LOSS, "needs a --mesh with pp"),
    ("--fp8-exclude w", LOSS, "belongs to --precision fp8"),
    ("--fp8-scaling block", LOSS, "belongs to --precision fp8"),
    ("--chunks 2", [*LOSS, "--mesh", "pp=2"], "--schedule interleaved"),
    ("--class-axis 1", MSE, "belongs to --loss softmax-cross-entropy"),
    ("--class-weights {file}", MSE, "belongs to --loss softmax-cross-entropy"),
    ("--collective-algorithm ring", LOSS, "needs a --mesh"),
    ("--cpu-arch x86-64-v3", CUDA, "belongs to --target cpu"),
    ("--cpu-threads 2", CUDA, "belongs to --target cpu"),
    ("--cubins none", LOSS, "belongs to --target cuda"),
    ("--cuda-path {folder}", LOSS, "belongs to --target cuda"),
    ("--divide-messages", [*LOSS, "--mesh", "tp=2"], "with pp and tp"),
    ("--divide-messages", [*LOSS, "--mesh", "pp=2,tp=2,sp=2"],
     "does not work with sp"),
    ("--aggregation server", [*LOSS, "--mesh", "dp=2", "--zero", "1"],
     "neither --zero"),
    ("--eps 1", SGD, "belongs to --optimizer adam"),
    ("--freeze-step 5", LOSS, "belongs to --optimizer onebit-adam"),
    ("--gather-precision fp32", [*LOSS, "--mesh", "dp=2", "--zero", "3"],
     "--weight-copies off"),
    ("--gradient-sums whole", [*LOSS, "--mesh", "dp=2"], "to --zero 2"),
    ("--huber-delta 2", MSE, "belongs to --loss huber"),
    ("--ignore-index 3", MSE, "belongs to --loss softmax-cross-entropy"),
    ("--label-smoothing 0.1", MSE, "belongs to --loss softmax-cross-entropy"),
    ("--labels y", ["--loss", "none"], "has no meaning with --loss none"),
    ("--logits y", ["--loss", "none"], "use --loss-output"),
    ("--loss-scale 8", [*LOSS, "--precision", "bf16"], "--precision fp16"),
    ("--loss-output y", MSE, "belongs to --loss none"),
    ("--matmul-precision tf32", LOSS, "belongs to --target cuda"),
    ("--moe-group 4", LOSS, "needs --moe-capacity"),
    ("--moment-precision bf16", SGD, "an optimizer with first moments"),
    ("--momentum 0.9", LOSS, "belongs to --optimizer sgd and sm3"),
    ("--nesterov", [*LOSS, "--optimizer", "adam"], "belongs to --optimizer sgd"),
    ("--nesterov", SGD, "needs a --momentum above 0"),
    ("--no-reshard-after-forward", [*LOSS, "--mesh", "dp=2"], "to --zero 3"),
    ("--no-weight-decay b", SGD, "needs a --weight-decay above 0"),
    ("--partition-activations", [*LOSS, "--mesh", "dp=2"], "with tp"),
    ("--pos-weight 2", LOSS, "belongs to --loss bce-with-logits"),
    ("--prefetch 2", [*LOSS, "--mesh", "dp=2", "--zero", "2"], "to --zero 3"),
    ("--reduce-precision bf16", LOSS, "that add up gradients"),
    ("--reduce-precision bf16", [*LOSS, "--mesh", "pp=2"], "add up gradients"),
    ("--reshard-every 2", [*LOSS, "--mesh", "dp=2"], "to --zero 3"),
    ("--reshard-last", [*LOSS, "--mesh", "dp=2"], "to --zero 3"),
    ("--schedule gpipe", LOSS, "needs a --mesh with pp"),
    ("--sequence-parallel on", LOSS, "needs a --mesh with tp"),
    ("--shard w=-,dp", LOSS, "needs a --mesh of several ranks"),
    ("--sp-attention ring", LOSS, "needs a --mesh with sp"),
    ("--stage-replicas 2", LOSS, "needs a --mesh with pp"),
    ("--stages {file}", LOSS, "needs a --mesh with pp"),
    ("--token-dim x=1", LOSS, "needs a --mesh with sp"),
    ("--tp-rules {file}", LOSS, "needs a --mesh with tp"),
    ("--unit layer", [*LOSS, "--mesh", "dp=2"], "needs --zero 1"),
    ("--vertical-sync", LOSS, "belongs to --schedule stash"),
    ("--weight-copies off", LOSS, "needs --precision bf16, fp16 or fp8"),
    ("--write-stages {file}", LOSS, "needs a --mesh with pp"),
    ("--zero-group 2", [*LOSS, "--mesh", "dp=2"], "needs --zero 1"),
]

CHECKPOINT = "needs --checkpoint DIR"
STEPS = ["--steps", "5"]
RUN_REFUSED = [
    ("--epochs 2", ["--data", "-"], 2, "does not go with --data -"),
    ("--eval-every 2", STEPS, 2, "needs --eval-data"),
    ("--keep 2", STEPS, 2, CHECKPOINT),
    ("--keep-best loss", STEPS, 2, CHECKPOINT),
    ("--log-every 2", [*STEPS, "--quiet"], 2, "needs --log or --tensorboard"),
    ("--lr-decay-steps 2", STEPS, 2, "warmup-stable-decay, not to constant"),
    ("--lr-decay-steps 6",
     [*STEPS, "--lr-schedule", "warmup-stable-decay"], 1, "expected at most 5"),
    ("--lr-decay-steps 4", [*STEPS, "--lr-schedule", "warmup-stable-decay",
                            "--warmup-steps", "2"], 1, "expected at most 3"),
    ("--lr-factor 0.5", STEPS, 2, "belongs to --lr-schedule step"),
    ("--lr-power 2", STEPS, 2, "belongs to --lr-schedule polynomial"),
    ("--lr-step-size 2", STEPS, 2, "belongs to --lr-schedule step"),
    ("--metrics top5", STEPS, 2, "needs --eval-data"),
    ("--metrics perplexity", STEPS, 2, "needs --eval-data"),
    ("--min-lr 0.1", STEPS, 2, "has no effect with --lr-schedule constant"),
    ("--overwrite", STEPS, 2, CHECKPOINT),
    ("--patience 2", [*STEPS, "--eval-data", "{data}"], 2,
     "needs --eval-every"),
    ("--replica-dir {folder}/r", STEPS, 2, "needs --replicate K"),
    ("--replicate 2", STEPS, 2, "needs --replica-dir DIR"),
    ("--resume", STEPS, 2, CHECKPOINT),
    ("--save-beside off", STEPS, 2, CHECKPOINT),
    ("--save-beside off", [*STEPS, "--checkpoint", "{folder}/c"], 2,
     "needs --save-every"),
    ("--save-every 2", STEPS, 2, CHECKPOINT),
    ("--shuffle", [*STEPS, "--data", "-"], 2, "does not go with --data -"),
    ("--token-bits 16", STEPS, 2, "belongs to .bin files"),
    ("--trace-steps 1:2", STEPS, 2, "needs --trace"),
    ("--warmup-steps 9", STEPS, 2, "is beyond --steps 5"),
    ("--warmup-steps 999", ["--epochs", "1"], 1, "expected at most"),
]
# Numbers that an artifact of plain SGD does not have.
RUN_REFUSED += [(f"{option} 0.5", STEPS, 1, "no such number that a run could")
                for option in ("--momentum", "--clip-norm", "--clip-value",
                               "--beta1", "--beta2", "--weight-decay")]


def options_of(table):
    return {row[0].split()[0] for row in table}


class Effects(ZcTest):

    def fill(self, text):
        return [part.format(folder=self.folder, data=Fixture("mlp").data,
                            file=Fixture("mlp").model)
                for part in text.split()]

    def test_the_tables_are_whole(self):
        for command, always, refused in (
                ("compile", COMPILE_ALWAYS, COMPILE_REFUSED),
                ("run", RUN_ALWAYS, RUN_REFUSED)):
            known = always | options_of(refused)
            known |= {"--moe-capacity"}  # refused without experts, below
            self.assertEqual(offered(command) - known, set(), command)
            self.assertEqual(always & options_of(refused), set(), command)

    def test_compile(self):
        model = Fixture("mlp").model
        for option, company, said in COMPILE_REFUSED:
            with self.subTest(option=option, company=company):
                err = self.fails(2, [option.split()[0], said], "compile",
                                 model, *company, *self.fill(option))
                self.assertLess(len(err), 400)

    def test_run(self):
        artifact, data = self.folder / "a.zca", Fixture("mlp").data
        self.zc("compile", Fixture("mlp").model, "-o", artifact, *SGD,
                "--dim", "batch=32")
        for option, company, code, said in RUN_REFUSED:
            company = [each.format(data=data, folder=self.folder)
                       for each in company]
            given = [] if "--data" in company else ["--data", data]
            with self.subTest(option=option, company=company):
                self.fails(code, [option.split()[0], said], "run", artifact,
                           *given, *company, *self.fill(option))

    def test_eval(self):
        artifact, data = self.folder / "a.zca", Fixture("mlp").data
        self.zc("compile", Fixture("mlp").model, "-o", artifact, *SGD,
                "--dim", "batch=32")
        for option, code, said in (
                ("--token-bits 16", 2, "belongs to .bin files"),
                ("--output-dir {folder}", 2, "belongs to --input"),
                ("--ema", 2, "needs --checkpoint"),
                ("--dim x.0=4", 2, "are for models")):
            self.fails(code, [option.split()[0], said], "eval", artifact,
                       "--data", data, *self.fill(option))

    def test_a_rate_that_never_falls(self):
        artifact, data = self.folder / "a.zca", Fixture("mlp").data
        self.zc("compile", Fixture("mlp").model, "-o", artifact, *SGD,
                "--dim", "batch=32")
        step = ("run", artifact, "--data", data, "--lr-schedule", "step",
                "--lr-step-size")
        code, _, err = run(*step, 5, "--steps", 5)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "--lr-step-size 5: the run ends after 5 steps, "
                              "before the learning rate falls")
        code, _, err = run(*step, 4, "--steps", 5)
        self.assertNotIn("--lr-step-size", err)

    def test_more_steps_than_there_are(self):
        artifact, data = self.folder / "a.zca", Fixture("mlp").data
        self.zc("compile", Fixture("mlp").model, "-o", artifact, *SGD,
                "--dim", "batch=32")
        steps = ("run", artifact, "--data", data, "--steps", 5, "--eval-data",
                 data)
        kept = ["--checkpoint", self.folder / "c", "--overwrite"]
        for options, said in (
                ([*kept, "--save-every", 6], "with its only checkpoint"),
                (["--eval-every", 6], "with its only evaluation"),
                (["--log-every", 6], "of which only the last is told"),
                (["--eval-every", 2, "--patience", 2],
                 "2 evaluations before its last step, too few")):
            with self.subTest(options=options):
                code, out, err = run(*steps, *options)
                self.assertEqual(code, 0, err)
                self.assertRegex(err, f"warning: {options[-2]} .*{said}")
                self.assertIn("trained to step 5 of 5", out)
        for options in ([*kept, "--save-every", 5], ["--eval-every", 5],
                        ["--log-every", 5],
                        ["--eval-every", 1, "--patience", 3]):
            code, _, err = run(*steps, *options)
            self.assertNotIn("the run ", err.replace("what this run", ""))

    def test_a_profile_is_printed_though_quiet(self):
        artifact = self.compile(Fixture("mlp"))
        out = self.zc("run", artifact, "--data", Fixture("mlp").data,
                      "--steps", 3, "--quiet", "--profile")
        self.assertIn("backward", out)
        self.assertNotIn("left", out)


class Absent(ZcTest):
    """Options about operators that a model does not have."""

    def compile_(self, *options):
        weight = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "one",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (8, 4))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, (8, 4))],
            [weight])
        model = self.folder / "m.onnx"
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)]), model)
        code, _, err = run("compile", model, *LOSS, *options)
        self.assertEqual(code, 0, err)
        return err

    def test_warned_of(self):
        for options, said in (
                (["--dropout", "off"], "has no dropout"),
                (["--batchnorm", "frozen"], "has no batch normalisation"),
                (["--batchnorm-stats", "local", "--mesh", "dp=2"],
                 "has no batch normalisation"),
                (["--max-trips", "3"], "has no loop")):
            err = self.compile_(*options)
            self.assertRegex(err, f"warning: .*{options[0]}.* {said}")
            self.assertEqual(err.count("warning"), 1, err)
        self.assertEqual(self.compile_(), "")

    def test_experts_are_asked_for(self):
        self.fails(1, ["the model has no experts"], "compile",
                   Fixture("mlp").model, *LOSS, "--dim", "batch=8",
                   "--moe-capacity", 2, "-o", self.folder / "a.zca")

    def test_not_where_there_are_some(self):
        for name, options in (("cnn", ["--batchnorm", "frozen"]),):
            fixture = Fixture(name)
            code, _, err = run("compile", fixture.model, "-o",
                               self.folder / "a.zca", *options,
                               *fixture.compile_options("sgd"))
            self.assertEqual((code, err), (0, ""))


if __name__ == "__main__":
    unittest.main()
