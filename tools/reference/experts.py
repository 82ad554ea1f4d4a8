#!/usr/bin/env python3
"""Record models with experts, for test/e2e/experts_test.py.

  experts.py [--output test/fixtures/experts] [MODEL ...]

Small models of the transformers library, as PyTorch exports them with
experts_implementation="batched_mm" and a batch of any size: `model.onnx`.
`data.npz` and `reference.json` are as record.py writes them.
"""
import argparse
import json
import os
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn

import language
import models
import record
import zoo

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import transformers  # noqa: E402

VOCABULARY, SEQ = 48, 12
SHAPE = dict(vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=SEQ, use_cache=False,
             tie_word_embeddings=False, attn_implementation="eager")


class Logits(nn.Module):
    """A model of tokens, without caches."""

    def __init__(self, model, experts="batched_mm"):
        super().__init__()
        self.model = model
        model.set_experts_implementation(experts)

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def mixtral():
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(
        intermediate_size=32, num_local_experts=4, num_experts_per_tok=2,
        **SHAPE))


def qwen():
    """A softmax whose best are not divided by their sum, a shared expert."""
    return transformers.Qwen2MoeForCausalLM(transformers.Qwen2MoeConfig(
        intermediate_size=32, moe_intermediate_size=16, num_experts=8,
        shared_expert_intermediate_size=16, num_experts_per_tok=3,
        norm_topk_prob=False, **SHAPE))


def gpt_oss():
    """The softmax of the best, biases, a clamped gate; sinks in attention."""
    return transformers.GptOssForCausalLM(transformers.GptOssConfig(
        intermediate_size=24, num_local_experts=4, num_experts_per_tok=2,
        head_dim=8, sliding_window=8, rope_parameters={
            "rope_type": "default", "rope_theta": 10000.0}, **SHAPE))


def build(make, experts="batched_mm", symbolic_batch=""):
    tokens, following = language.walk(VOCABULARY, SEQ)
    return models.Case(
        make.__name__, Logits(make(), experts),
        {"input_ids": tokens}, following,
        language.BATCH, "softmax-cross-entropy", {"sgd": 0.05, "adamw": 1e-3},
        symbolic_batch=symbolic_batch, traces=False)


CASES = {make.__name__: make for make in (mixtral, qwen, gpt_oss)}


def export(case, path):
    example = torch.from_numpy(case.inputs["input_ids"][:case.batch])
    batch = torch.export.Dim(case.symbolic_batch, min=2)
    program = torch.onnx.export(
        case.net.train(), (example,), dynamo=True, optimize=False,
        verbose=False, input_names=["input_ids"], output_names=["logits"],
        dynamic_shapes={"input_ids": {0: batch}})
    program.save(str(path))
    model = record.without_machine_paths(onnx.load(path), traces=False)
    del model.graph.value_info[:]
    onnx.save(model, path)


def write_reference(case, folder):
    """PyTorch's training of the case that zoo builds by this name."""
    np.savez_compressed(folder / "data.npz", **case.inputs, labels=case.labels)
    reference = {"versions": {**record.versions(),
                              "transformers": transformers.__version__},
                 "loss": case.loss, "batch": case.batch,
                 "steps": models.STEPS,
                 "symbolic_batch": case.symbolic_batch,
                 "optimizers": {}}
    for optimizer in case.learning_rates:
        entry, _ = record.record(case, optimizer)
        for key in ("weight_spread", "weight_spread_by_tensor"):
            del entry[key]
        reference["optimizers"][optimizer] = entry
        print(f"{case.name} {optimizer}: loss {entry['losses'][0]:.4f} -> "
              f"{entry['losses'][-1]:.4f}, spread {entry['loss_spread']:.1e}")
    (folder / "reference.json").write_text(json.dumps(reference, indent=1)
                                           + "\n")


def write(name, folder):
    zoo.CASES[name] = lambda: build(CASES[name], symbolic_batch="batch")
    case = zoo.build(name)
    folder.mkdir(parents=True, exist_ok=True)
    export(case, folder / "model.onnx")
    write_reference(case, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(CASES))
    parser.add_argument("--output", type=pathlib.Path,
                        default=record.ROOT / "test" / "fixtures" / "experts")
    options = parser.parse_args()
    for name in options.models:
        write(name, options.output / name)


if __name__ == "__main__":
    main()
