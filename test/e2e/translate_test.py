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
    "fp16": {"enabled": True, "initial_scale_power": 16, "hysteresis": 1,
             "loss_scale_window": 2000},
    "communication_data_type": "fp32",
    "zero_optimization": {
        "stage": 2, "overlap_comm": True, "reduce_bucket_size": 262144,
        "offload_optimizer": {"device": "cpu"}},
    "optimizer": {"type": "Adam", "params": {
        "lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8}},
    "scheduler": {"type": "WarmupDecayLR", "params": {
        "warmup_num_steps": 2, "total_num_steps": 4, "warmup_max_lr": 3e-4,
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
                 "DATA": fixture.data, "EVAL_DATA": fixture.data}
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

    def test_what_other_programs_fill_in(self):
        """A configuration of transformers' documentation, whose values are
        "auto": no precision is guessed, and nothing else is said of them."""
        auto = {name: "auto" for name in (
            "train_batch_size", "train_micro_batch_size_per_gpu",
            "gradient_accumulation_steps", "gradient_clipping")}
        commands, said = self.deepspeed(dict(
            auto, fp16={"enabled": "auto", "loss_scale": 0, "hysteresis": 2,
                        "loss_scale_window": 1000, "initial_scale_power": 16,
                        "min_loss_scale": 1},
            bf16={"enabled": "auto"}, steps_per_print=2000,
            optimizer={"type": "AdamW", "params": {
                name: "auto" for name in ("lr", "betas", "eps",
                                          "weight_decay")}},
            scheduler={"type": "WarmupLR", "params": {
                "warmup_min_lr": "auto", "warmup_max_lr": "auto",
                "warmup_num_steps": "auto", "warmup_type": "linear"}},
            zero_optimization={
                "stage": 3, "offload_param": {"device": "none"},
                "offload_optimizer": {"device": "cpu", "pin_memory": True},
                "stage3_prefetch_bucket_size": "auto", "sub_group_size": 1e9,
                "reduce_bucket_size": "auto"}), "--ranks", 2)
        self.assertEqual(said.splitlines(), [
            f"translate: left out: {name}.enabled auto: say --precision fp16 "
            "or bf16" for name in ("fp16", "bf16")])
        self.assertNotIn("--precision", commands[0])
        self.trains([commands[0], [*commands[1], "--steps", "2"]], 2)

    def test_a_host_that_updates(self):
        """DeepSpeed's Adam of an offloaded optimizer runs on the host; so does
        zc's of a GPU."""
        for more, expected in (({}, "update"),
                               ({"offload_param": {"device": "cpu"}},
                                "optimizer,parameters")):
            zero = dict(CONFIG["zero_optimization"], **more)
            commands, _ = self.deepspeed(dict(CONFIG, zero_optimization=zero),
                                         "--ranks", 1, "--target", "cuda")
            self.assertEqual(self.options(commands[0])["--offload"], expected)
            names = {"model.onnx": Fixture("gpt").model}
            self.zc(*[names.get(word, word) for word in commands[0]], "-o",
                    self.folder / "gpu.zca", "--loss", "softmax-cross-entropy",
                    "--cubins", "none")

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

    def test_what_contradicts_itself(self):
        """C-38, R-08: batch sizes that do not make one another, both kinds of
        16 bits and values of a wrong form are one line, as these programs
        refuse them, too."""
        sizes = ("train_batch_size", "train_micro_batch_size_per_gpu",
                 "gradient_accumulation_steps")
        batches = [dict(zip(sizes, each)) for each in (
            (8, 1, 2), (6, None, 4), (2, 2, 2), (5, None, None))]
        for config, expected in (
                (batches[0], "8 is not 1 samples a micro-batch x 2 "
                 "micro-batches x 2 ranks = 4"),
                (batches[1], "6 is not divided by 1 samples a micro-batch x 4"),
                (batches[2], "2 is not divided by 2 samples"),
                (batches[3], "5 is not divided by 1 samples"),
                ({"train_batch_size": "many"}, "train_batch_size: expected a "
                 'whole number from 1, found "many"'),
                ({"train_batch_size": 1.5}, "train_batch_size: expected"),
                ({"gradient_clipping": float("nan")}, "gradient_clipping: "
                 "expected a number from 0, found NaN"),
                ({"zero_optimization": {"stage": 4}}, "zero_optimization.stage: "
                 "expected a whole number from 0 to 3, found 4"),
                ({"zero_optimization": {"stage": "2"}}, 'found "2"'),
                ({"zero_optimization": True}, "zero_optimization: expected an "
                 "object, found true"),
                ({"fp16": {"enabled": True}, "bf16": {"enabled": True}},
                 "fp16 and bf16 are both enabled"),
                ({"optimizer": {"params": {}}}, "optimizer: has no 'type'"),
                ({"optimizer": {"type": "Adam", "params": {"betas": [0.9]}}},
                 "optimizer.params.betas: expected two numbers"),
                ([], "the configuration: expected an object, found []")):
            with self.subTest(config=config):
                commands, said = self.deepspeed(config, "--ranks", 2, code=1)
                self.assertEqual(commands, [])
                self.assertIn(expected, said)
                self.assertEqual(said.count("\n"), 1)
        commands, _ = self.deepspeed({"train_batch_size": 8, "zero_optimization":
                                      {"offload_param": None}}, "--ranks", 2)
        self.assertEqual(self.options(commands[0])["--batch"], "8")
        path = self.folder / "twice.json"
        path.write_text('{"fp16": {}, "fp16": {}}')
        _, said = self.translate(path, code=1)
        self.assertIn("the key 'fp16' stands twice", said)

    def test_flags_that_contradict_each_other(self):
        for flags, expected in (
                (["--bf16", "--fp16"], "--fp16 and --bf16"),
                (["--micro-batch-size", "0"], "expected 1 or more, found 0"),
                (["--micro-batch-size", "few"], "--micro-batch-size: invalid"),
                (["--micro-batch-size", "2", "--global-batch-size", "5"],
                 "5 is not divided by 2 samples")):
            _, said = self.translate("--ranks", 1, "--", *flags, code=1)
            self.assertIn(expected, said)
            self.assertEqual(said.count("\n"), 1)
        _, said = self.translate("--ranks", 0, "--", "--bf16", code=1)
        self.assertIn("--ranks 0: expected 1 or more", said)

    def test_one_micro_batch_of_a_pipeline(self):
        """Megatron-LM's batch is one micro-batch a rank where nothing is said,
        zc's pipelines take more: the number is always in the command."""
        flags = ("--pipeline-model-parallel-size 2 "
                 "--tensor-model-parallel-size 2 --train-iters 2 --bf16").split()
        commands, _ = self.translate("--ranks", 4, "--", *flags,
                                     "--micro-batch-size", 1)
        found = self.options(commands[0])
        self.assertEqual((found["--batch"], found["--accumulate"]), ("1", "1"))
        self.trains(commands, 4)
        commands, said = self.translate("--ranks", 4, "--", *flags)
        self.assertNotIn("--accumulate", commands[0])
        self.assertIn("--micro-batch-size: none is given", said)

    def schedule(self, kind, **numbers):
        """Options of the run, and what is said, of such a scheduler."""
        commands, said = self.deepspeed(
            dict(CONFIG, scheduler={"type": kind, "params": numbers}),
            "--ranks", 2)
        return self.options(commands[1]), said

    def test_schedules(self):
        """DeepSpeed's are taken key by key, or it is said that they are not."""
        found, said = self.schedule("WarmupCosineLR", total_num_steps=4,
                                    warmup_num_steps=2, cos_min_ratio=0.1,
                                    warmup_type="linear")
        self.assertEqual((found["--lr-schedule"], found["--lr"], said),
                         ("cosine", "0.0003", ""))
        self.assertEqual(float(found["--min-lr"]), 3e-5)
        found, said = self.schedule("WarmupCosineLR", total_num_steps=4,
                                    warmup_min_ratio=0.5, more=1,
                                    warmup_type="linear")
        self.assertEqual(float(found["--min-lr"]), 3e-8)  # theirs
        self.assertEqual(found["--warmup-steps"], "1000")  # theirs, too
        self.assertEqual(said.splitlines(), [
            "translate: left out: scheduler.params.warmup_min_ratio: zc's "
            "warm-up begins at 0",
            "translate: left out: scheduler.params.more: not known here"])
        found, said = self.schedule("WarmupDecayLR", warmup_num_steps=2)
        self.assertIn("warmup_type log: zc's is linear", said)

    def megatron(self, *more, without=()):
        """Options of both commands, and names of what is left."""
        flags = [each for each in MEGATRON if each not in without]
        commands, said = self.translate("--ranks", 4, "--", *flags, *more)
        return (*map(self.options, commands),
                [line.split(": ")[2] for line in said.splitlines()
                 if "--hidden-size" not in line
                 and "--weight-decay of" not in line])

    def test_megatron_schedules(self):
        """Where nothing is said it is Megatron-LM's own, and a decay that does
        not end with the run is no zc's."""
        _, run, left = self.megatron(without=("--lr-decay-style", "cosine"))
        self.assertEqual((run["--lr-schedule"], left), ("linear", []))
        wsd = ("--lr-decay-style", "WSD", "--lr-wsd-decay-style", "linear",
               "--lr-wsd-decay-iters", "1")
        _, run, left = self.megatron(*wsd)
        self.assertEqual((run["--lr-decay-steps"], left), ("1", []))
        _, _, left = self.megatron(*wsd, "--lr-decay-iters", "3")
        self.assertEqual(left, ["--lr-decay-iters 3"])
        _, _, left = self.megatron(*wsd[:4])
        self.assertEqual(left, ["--lr-decay-style WSD"])
        _, _, left = self.megatron(*wsd[:2], *wsd[4:])  # theirs
        self.assertEqual(left, ["--lr-wsd-decay-style exponential"])

    def test_own_numbers(self):
        """Numbers that these programs take where nothing is said, and zc does
        not: they are in the options, or it is said that zc has others."""
        compile_, _, _ = self.megatron("--optimizer", "sgd")
        self.assertEqual((compile_["--momentum"], compile_["--weight-decay"]),
                         ("0.9", "0.01"))
        _, _, left = self.megatron("--fp16", without=("--bf16",))
        self.assertEqual(left, ["--initial-loss-scale 4.29497e+09",
                                "--loss-scale-window 1000", "--hysteresis 2"])
        for more, scaling in (((), "delayed:1"),
                              (("--fp8-amax-compute-algo", "max"),
                               "delayed:16")):
            compile_, _, _ = self.megatron("--fp8-format", "hybrid",
                                           "--fp8-amax-history-len", "16",
                                           *more)
            self.assertEqual(compile_["--fp8-scaling"], scaling)
        config = {key: CONFIG[key] for key in (
            "train_micro_batch_size_per_gpu", "optimizer")}
        commands, said = self.deepspeed(
            dict(config, fp16={"enabled": True}), "--ranks", 2)
        self.assertEqual(self.options(commands[0])["--clip-norm"], "1.0")
        self.assertEqual([line.split(": ")[2] for line in said.splitlines()], [
            "fp16.loss_scale_window 1000", "fp16.hysteresis 2",
            "communication_data_type fp16"])
        for ranks, sent in ((2, "bf16"), (1, None)):
            commands, said = self.deepspeed(
                dict(config, bf16={"enabled": True}), "--ranks", ranks)
            self.assertEqual(
                self.options(commands[0]).get("--reduce-precision"), sent)
            self.assertEqual(said, "")
        found, _ = self.schedule("WarmupDecayLR", warmup_type="linear")
        self.assertEqual(found["--lr"], "0.001")  # not the optimizer's

    def test_megatron_sharding(self):
        """The most that any flag asks for; values that do not exist are left."""
        for strategy, stage, left in (
                ("no_shard", "1", []), ("optim_grads", "2", []),
                ("most", "1", ["--data-parallel-sharding-strategy most"])):
            compile_, _, found = self.megatron(
                "--data-parallel-sharding-strategy", strategy)
            self.assertEqual((compile_["--zero"], found), (stage, left))
        _, _, left = self.megatron("--optimizer", "muon",
                                   "--recompute-granularity", "some",
                                   "--recompute-method", "odd")
        self.assertEqual(left, ["--optimizer muon",
                                "--recompute-granularity some",
                                "--recompute-method odd"])

    def test_megatron(self):
        commands, said = self.translate("--ranks", 4, "--", *MEGATRON)
        self.assertEqual(said.splitlines(), [
            "translate: left out: --weight-decay of biases and norms: "
            "Megatron-LM leaves these alone: say --no-weight-decay REGEX",
            "translate: left out: --hidden-size: the model has it"])
        found = self.options(commands[0])
        for name, value in {
                "--batch": "4", "--accumulate": "4", "--mesh": "pp=2,tp=2",
                "--zero": "1", "--precision": "bf16", "--clip-norm": "1",
                "--recompute": "layer"}.items():
            self.assertEqual(found[name], value, name)
        self.assertEqual(self.options(commands[1])["--steps"], "2")
        self.trains(commands, 4)

    def test_megatron_experts_and_8_bits(self):
        """Flags of Megatron-LM's Mixtral example with Transformer Engine."""
        commands, said = self.translate("--ranks", 16, "--", *(
            "--num-layers 32 --num-experts 8 --moe-router-topk 2 --seq-length "
            "4096 --swiglu --moe-grouped-gemm --micro-batch-size 1 "
            "--global-batch-size 128 --train-iters 1000 --lr 1e-4 "
            "--lr-decay-style WSD --lr-wsd-decay-style linear "
            "--lr-wsd-decay-iters 100 --fp8-amax-compute-algo max "
            "--lr-warmup-fraction 0.01 --bf16 --fp8-format hybrid "
            "--fp8-amax-history-len 1024 --tensor-model-parallel-size 1 "
            "--pipeline-model-parallel-size 4 --expert-model-parallel-size 4 "
            "--num-virtual-stages-per-pipeline-rank 2 --sequence-parallel "
            "--use-distributed-optimizer --moe-expert-capacity-factor 1.5 "
            "--data-path my --tokenizer-type GPT2BPETokenizer --log-interval 10 "
            "--save ckpt --load ckpt --rampup-batch-size 16 16 100").split())
        found, runs = map(self.options, commands)
        for name, value in {
                "--mesh": "pp=4,ep=4", "--accumulate": "32", "--zero": "1",
                "--precision": "fp8", "--fp8-scaling": "delayed:1024",
                "--schedule": "interleaved", "--chunks": "2",
                "--moe-capacity": "1.5"}.items():
            self.assertEqual(found[name], value, name)
        self.assertNotIn("--sequence-parallel", found)  # there is no tp
        for name, value in {
                "--lr-schedule": "warmup-stable-decay", "--warmup-steps": "10",
                "--lr-decay-steps": "100", "--log-every": "10"}.items():
            self.assertEqual(runs[name], value, name)
        self.assertIn("--resume", commands[1])
        left = [line.split(": ", 3)[2:] for line in said.splitlines()]
        self.assertEqual({name for name, why in left if why == "not known here"},
                         {"--rampup-batch-size"})
        self.assertEqual({name for name, why in left
                          if why.startswith("data is")},
                         {"--data-path", "--tokenizer-type"})


if __name__ == "__main__":
    unittest.main()
