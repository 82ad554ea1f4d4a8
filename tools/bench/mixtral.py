#!/usr/bin/env python3
"""A step of a small Mixtral of the transformers library: zc against PyTorch.

  mixtral.py [--build BUILD] [--rounds N] [--threads N] [shape options]

PyTorch's eager step loops over the experts, as the library does by itself, or
multiplies by grouped_mm; zc trains the same model after zc_moe.replace_moe. All
by AdamW on the same tokens, in turns. A line: the median step of each in
milliseconds over all rounds. Needs a Python with PyTorch, transformers and onnx;
tools/bench/README.md has what was measured.
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn as nn
import transformers

import experts
from experts import zc_moe

FORMS = ("eager", "grouped_mm")


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def build(options):
    torch.manual_seed(0)
    return Logits(transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=options.vocabulary, hidden_size=options.hidden,
        intermediate_size=options.inner, num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        num_key_value_heads=options.heads // 2,
        num_local_experts=options.experts, num_experts_per_tok=options.chosen,
        max_position_embeddings=options.length, use_cache=False,
        tie_word_embeddings=False, attn_implementation="eager"))).train()


def compile_model(options, folder, tokens):
    model = build(options)
    zc_moe.replace_moe(model)
    zc_moe.export(model, (tokens,), folder / "model.onnx",
                  input_names=["input_ids"], output_names=["logits"])
    artifact = folder / "model.zca"
    subprocess.run(
        [options.build / "bin" / "zc", "compile", folder / "model.onnx", "-o",
         artifact, "--loss", "softmax-cross-entropy", "--optimizer", "adamw",
         "--cpu-threads", str(options.threads)], check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return artifact


def time_torch(options, form, tokens, labels):
    """Milliseconds of each step but the first two."""
    model = build(options)
    model.model.set_experts_implementation(form)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    times = []
    for _ in range(options.steps + 2):
        begin = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1),
                                    labels.flatten()).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times[2:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=experts.ROOT / "build")
    for name, value in (("batch", 4), ("length", 256), ("hidden", 256),
                        ("inner", 512), ("layers", 4), ("heads", 8),
                        ("experts", 8), ("chosen", 2), ("vocabulary", 8000),
                        ("rounds", 5), ("steps", 4), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    stream = np.random.default_rng(0).integers(
        0, options.vocabulary, (options.batch, options.length + 1))
    data = {"input_ids": stream[:, :-1], "labels": stream[:, 1:]}
    tokens, labels = (torch.tensor(each) for each in data.values())
    times = {name: [] for name in ("zc", *FORMS)}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        np.savez(folder / "data.npz", **data)
        artifact = compile_model(options, folder, tokens)
        for _ in range(options.rounds):
            times["zc"] += experts.time_zc(options, artifact,
                                           folder / "data.npz")
            for form in FORMS:
                times[form] += time_torch(options, form, tokens, labels)
    median = {name: statistics.median(each) for name, each in times.items()}
    print(", ".join(f"{name} {value:.1f} ms" for name, value in
                    median.items()))
    for form in FORMS:
        print(f"zc takes {median['zc'] / median[form]:.2f} of PyTorch's time "
              f"with {form}")


if __name__ == "__main__":
    main()
