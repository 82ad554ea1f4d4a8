#!/usr/bin/env python3
"""Record attentions of the transformers library, for
test/e2e/attentions_test.py.

  attentions.py [--output test/fixtures/attentions] [MODEL ...]

Small language models, as PyTorch exports them: `model.onnx`. `data.npz` and
`reference.json` are as record.py writes them.
"""
import argparse
import os
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn

import experts
import language
import models
import record
import zoo

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import transformers  # noqa: E402

VOCABULARY, SEQ = 48, 16
SHAPE = dict(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=40,
             num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=SEQ, use_cache=False,
             bos_token_id=None, eos_token_id=None,
             attn_implementation="eager")


class Logits(nn.Module):
    """A language model without caches."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask=None):
        mask = None
        if attention_mask is not None:
            mask = hide(attention_mask, self.model.dtype)
        return self.model(input_ids=input_ids, attention_mask=mask,
                          use_cache=False).logits


def hide(tokens, dtype):
    """The mask that transformers adds to the scores, with float32's least
    number in double precision, too: its softmax of float32 would take that of
    float64 for minus infinity."""
    earlier = torch.ones(SEQ, SEQ, dtype=torch.bool).tril()
    seen = earlier & (tokens[:, None, None, :] != 0)
    return torch.where(seen, 0.0, torch.finfo(torch.float32).min).to(dtype)


def deepseek():
    """Keys of 12 elements, 4 of which turn and are the same for all heads;
    values of 8."""
    return transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(
        first_k_dense_replace=2, kv_lora_rank=16, q_lora_rank=20,
        qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8,
        num_key_value_heads=4, **SHAPE)), False


def padded():
    """Samples padded on the right, on the left and not at all."""
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_key_value_heads=2, **SHAPE)), True


CASES = {make.__name__: make for make in (deepseek, padded)}


def pad(count):
    """1 for tokens of a sample, 0 for its padding: [count, SEQ]."""
    place, sample = np.arange(SEQ)[None], np.arange(count)[:, None]
    shorter = (sample * 5) % 9
    return np.where(sample % 3 == 0, place < SEQ - shorter,
                    np.where(sample % 3 == 1, place >= shorter, True)
                    ).astype(np.int64)


def build(make):
    net, is_padded = make()
    tokens, labels = language.walk(VOCABULARY, SEQ)
    inputs = {"input_ids": tokens}
    if is_padded:
        inputs["attention_mask"] = pad(len(tokens))
        # The first two labels count in any case: what queries of padding
        # compute that see no token is compared, too.
        hidden = inputs["attention_mask"] == 0
        hidden[:, :2] = False
        labels = np.where(hidden, -100, labels)
    return models.Case(make.__name__, Logits(net), inputs, labels,
                       language.BATCH, "softmax-cross-entropy",
                       {"sgd": 0.05, "adamw": 1e-3}, traces=False)


def write(name, folder):
    zoo.CASES[name] = lambda: build(CASES[name])
    case = zoo.build(name)
    folder.mkdir(parents=True, exist_ok=True)
    record.export(case, folder / "model.onnx")
    model = onnx.load(folder / "model.onnx")
    del model.graph.value_info[:]
    onnx.save(model, folder / "model.onnx")
    experts.write_reference(case, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(CASES))
    parser.add_argument("--output", type=pathlib.Path,
                        default=record.ROOT / "test/fixtures/attentions")
    options = parser.parse_args()
    for name in options.models:
        write(name, options.output / name)


if __name__ == "__main__":
    main()
