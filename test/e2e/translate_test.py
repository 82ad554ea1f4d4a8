#!/usr/bin/env python3
"""tools/translate: what DeepSpeed configurations and Megatron-LM flags become,
and that zc takes it."""
import json
import pathlib
import shlex
import subprocess
import sys
import unittest

from zctest import Fixture, ZcTest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "translate"

CONFIG = {
    "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 2,
    "gradient_clipping": 1.0, "steps_per_print": 10,
    "fp16": {"enabled": True, "initial_scale_power": 16},
    "zero_optimization": {
        "stage": 2, "overlap_comm": True, "reduce_bucket_size": 262144,
        "offload_optimizer": {"device": "cpu"}},
    "optimizer": {"type": "Adam", "params": {
        "lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8}},
    "scheduler": {"type": "WarmupDecayLR", "params": {
        "warmup_num_steps": 2, "total_num_steps": 4,
        "warmup_type": "linear"}}}

MEGATRON = """--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2
--micro-batch-size 1 --global-batch-size 4 --bf16 --use-distributed-optimizer
--lr 3e-4 --lr-decay-style cosine --train-iters 2 --adam-beta2 0.95
--recompute-granularity full --recompute-method uniform --hidden-size 32
--overlap-grad-reduce""".split()


class Translate(ZcTest):

    def translate(self, *args, code=0):
        done = subprocess.run([sys.executable, TOOL, *map(str, args)],
                              text=True, capture_output=True)
        self.assertEqual(done.returncode, code, done.stderr)
        commands = [shlex.split(line)[1:] for line in done.stdout.splitlines()]
        return commands, done.stderr

    def deepspeed(self, config, *args, **options):
        path = self.folder / "ds_config.json"
        path.write_text(json.dumps(config))
        return self.translate(path, *args, **options)

    def options(self, command):
        return dict(zip(command, command[1:]))

    def trains(self, commands, ranks):
        """zc takes both commands, for a model of the fixtures."""
        fixture, artifact = Fixture("gpt"), self.folder / "model.zca"
        compile_, run_ = commands
        names = {"model.onnx": fixture.model, "model.zca": artifact,
                 "DATA": fixture.data}
        self.zc(*[names.get(word, word) for word in compile_], "-o", artifact,
                "--loss", "softmax-cross-entropy", "--verify", "off")
        self.zc(*[names.get(word, word) for word in run_], "--local-ranks",
                ranks, cwd=self.folder)

    def test_deepspeed(self):
        """C-38: ZeRO, 16 bits, batch sizes, optimizer, schedule."""
        commands, said = self.deepspeed(CONFIG, "--ranks", 2)
        self.assertEqual(said, "")
        found = self.options(commands[0])
        for name, value in {
                "--batch": "4", "--accumulate": "2", "--zero": "2",
                "--bucket-mib": "1", "--offload": "optimizer",
                "--precision": "fp16", "--optimizer": "adamw", "--beta2": "0.95",
                "--weight-decay": "0", "--mesh": "dp=2"}.items():
            self.assertEqual(found[name], value, name)
        self.trains(commands, 2)

    def test_a_scale_that_stays(self):
        """Both programs' static scales, as far as zc takes them."""
        for scale, expected in ((1024, "1024"), (0, None), (2.0 ** 40, None)):
            commands, said = self.deepspeed(
                dict(CONFIG, fp16={"enabled": True, "loss_scale": scale}),
                "--ranks", 2)
            self.assertEqual(self.options(commands[0]).get("--loss-scale"),
                             expected)
            self.assertEqual("from 1 to 2^32" in said, scale > 2 ** 32)
        flags = [each for each in MEGATRON if each != "--bf16"]
        commands, _ = self.translate("--ranks", 4, "--", *flags,
                                     "--fp16", "--loss-scale", "4096")
        self.assertEqual(self.options(commands[0])["--loss-scale"], "4096")

    def test_what_is_left_out_is_said(self):
        commands, said = self.deepspeed(
            dict(CONFIG, sparse_attention={}), "--ranks", 2, "--strict",
            code=1)
        self.assertIn("left out: sparse_attention", said)
        self.assertEqual(len(commands), 2)
        _, said = self.deepspeed({"train_batch_size": 5,
                                  "train_micro_batch_size_per_gpu": 2},
                                 "--ranks", 2, code=1)
        self.assertIn("a batch of 5 is not divided by 2 samples", said)
        self.translate(code=2)

    def test_megatron(self):
        commands, said = self.translate("--ranks", 4, "--", *MEGATRON)
        self.assertEqual(said, "translate: left out: --hidden-size: the model "
                               "has it\n")
        found = self.options(commands[0])
        for name, value in {
                "--batch": "4", "--accumulate": "4", "--mesh": "pp=2,tp=2",
                "--zero": "1", "--precision": "bf16", "--clip-norm": "1",
                "--recompute": "layer"}.items():
            self.assertEqual(found[name], value, name)
        self.assertEqual(self.options(commands[1])["--steps"], "2")
        self.trains(commands, 4)


if __name__ == "__main__":
    unittest.main()
