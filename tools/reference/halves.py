#!/usr/bin/env python3
"""Record models whose weights are of 16 bits, for test/e2e/halves_test.py.

  halves.py [--output test/fixtures/halves] [MODEL ...]

Small language models of the transformers library, drawn at random and turned
to bfloat16 or float16 as published ones are. For each: `model.onnx` as
PyTorch exports it, `data.npz`, and `reference.json` with the losses of ten
steps per optimizer in double precision, from the rounded weights on, and the
spread: the largest distance, relative, of PyTorch's own runs in 16 bits, whose
optimizer has weights of float32, with attention whole and step by step.
"""
import argparse
import dataclasses
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
from own_optimizers import Sm3

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import transformers  # noqa: E402

VOCABULARY, SEQ, BATCH = 48, 12, 4
OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {}, 0.03),
    "adam": (torch.optim.Adam, {}, 3e-3),
    "adamw": (torch.optim.AdamW, {}, 3e-3),
    "adafactor": (torch.optim.Adafactor, {"weight_decay": 0}, 5e-2),
    "sm3": (Sm3, {}, 0.01),
}
# Small gradients are no numbers of float16 unless the loss is scaled.
SCALE = {torch.bfloat16: 1.0, torch.float16: 2.0 ** 12}


class Logits(nn.Module):
    """A language model without caches, that takes tokens alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def llama(attention):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        attn_implementation=attention,
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=40,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=SEQ, use_cache=False, bos_token_id=None,
        eos_token_id=None))


def qwen(attention):
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        attn_implementation=attention,
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=40,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=8, max_position_embeddings=SEQ, use_cache=False,
        tie_word_embeddings=True, bos_token_id=None, eos_token_id=None))


def gpt2(attention):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        attn_implementation=attention,
        vocab_size=VOCABULARY, n_embd=24, n_layer=2, n_head=2,
        n_positions=SEQ, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        use_cache=False, bos_token_id=None, eos_token_id=None))


@dataclasses.dataclass
class Half:
    build: object
    dtype: torch.dtype

    def net(self, attention="sdpa"):
        """The same weights at every call, with the digits of `dtype`."""
        torch.manual_seed(models.SEED)
        return Logits(self.build(attention).to(self.dtype)).train()


CASES = {
    "llama-bf16": Half(llama, torch.bfloat16),
    "qwen-bf16": Half(qwen, torch.bfloat16),
    "gpt2-bf16": Half(gpt2, torch.bfloat16),
    "gpt2-fp16": Half(gpt2, torch.float16),
}


def make_optimizer(name, parameters):
    kind, settings, rate = OPTIMIZERS[name]
    return kind(parameters, lr=rate, **settings)


def losses_of(net, data, update, scale=1.0):
    """Ten steps; `update(step)` follows each backward."""
    tokens, following = data
    losses = []
    for step in range(models.STEPS):
        output = net(record.batch_of(tokens, step, BATCH))
        output = output if output.dtype == torch.float64 else output.float()
        loss = nn.functional.cross_entropy(
            output.flatten(0, 1),
            record.batch_of(following, step, BATCH).flatten())
        losses.append(float(loss.detach()))
        net.zero_grad()
        (loss * scale).backward()
        update()
    return np.array(losses)


def exact(case, optimizer, data):
    net = case.net().double()
    rule = make_optimizer(optimizer, net.parameters())
    return losses_of(net, data, rule.step)


def halves(case, optimizer, data, attention):
    """A network of 16 bits, whose weights are rounded from those of float32
    that the optimizer updates."""
    net, scale = case.net(attention), SCALE[case.dtype]
    weights = [p.detach().float() for p in net.parameters()]
    rule = make_optimizer(optimizer, weights)

    def update():
        for weight, parameter in zip(weights, net.parameters()):
            weight.grad = parameter.grad.float() / scale
        rule.step()
        with torch.no_grad():
            for weight, parameter in zip(weights, net.parameters()):
                parameter.copy_(weight)

    return losses_of(net, data, update, scale)


def export(case, path):
    example = torch.zeros((BATCH, SEQ), dtype=torch.int64)
    torch.onnx.export(case.net(), (example,), str(path), dynamo=True,
                      optimize=False, external_data=False, verbose=False,
                      input_names=["input_ids"], output_names=["logits"])
    model = record.without_machine_paths(onnx.load(path), traces=False)
    # Types of values between nodes are for readers.
    del model.graph.value_info[:]
    onnx.save(model, path)


def write(name, folder):
    case = CASES[name]
    data = language.walk(VOCABULARY, SEQ)
    folder.mkdir(parents=True, exist_ok=True)
    export(case, folder / "model.onnx")
    np.savez_compressed(folder / "data.npz", input_ids=data[0],
                        labels=data[1])
    reference = {"versions": {**record.versions(),
                              "transformers": transformers.__version__},
                 "loss": "softmax-cross-entropy", "batch": BATCH,
                 "steps": models.STEPS, "symbolic_batch": "",
                 "optimizers": {}}
    for optimizer, (_, _, rate) in OPTIMIZERS.items():
        curve = exact(case, optimizer, data)
        spread = max(
            float(np.max(np.abs(halves(case, optimizer, data, attention)
                                - curve) / np.abs(curve)))
            for attention in ("sdpa", "eager"))
        reference["optimizers"][optimizer] = {
            "learning_rate": rate, "losses": curve.tolist(),
            "half_spread": spread}
        print(f"{name} {optimizer}: loss {curve[0]:.4f} -> {curve[-1]:.4f}, "
              f"spread {spread:.1e}", flush=True)
    (folder / "reference.json").write_text(json.dumps(reference, indent=1)
                                           + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(CASES))
    parser.add_argument("--output", type=pathlib.Path,
                        default=record.ROOT / "test" / "fixtures" / "halves")
    options = parser.parse_args()
    for name in options.models:
        write(name, options.output / name)


if __name__ == "__main__":
    main()
