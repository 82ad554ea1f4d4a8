#!/usr/bin/env python3
"""Export models of torchvision and of Hugging Face's transformers afresh, with
small sizes and drawn weights, and follow the guide with each: check, compile,
run, eval, export.

  tools/reference/fresh.py FOLDER [NAME …] [--zc build/bin/zc]

Needs torch, torchvision and transformers; it is no part of CI. Exits with 1 if
any model does not get through, and says at which command.
"""
import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import torch

BATCH, SAMPLES, TOKENS, WORDS = 4, 16, 16, 100

IMAGES = {name: {} for name in (
    "resnet18", "densenet121", "mobilenet_v3_small", "efficientnet_b0",
    "squeezenet1_1", "shufflenet_v2_x1_0", "convnext_tiny", "swin_t",
    "regnet_y_400mf", "vgg11")}
IMAGES["vit_b_16"] = {"image_size": 64}

SIZES = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2,
         "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 64}
LANGUAGE = {
    "bert": ("BertForSequenceClassification", "BertConfig", {"num_labels": 3}),
    "roberta": ("RobertaForSequenceClassification", "RobertaConfig",
                {"num_labels": 3, "pad_token_id": 1}),
    "electra": ("ElectraForSequenceClassification", "ElectraConfig",
                {"num_labels": 3, "embedding_size": 32}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {"num_key_value_heads": 2}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", {"num_key_value_heads": 2}),
    "mistral": ("MistralForCausalLM", "MistralConfig",
                {"num_key_value_heads": 2})}


class Logits(torch.nn.Module):
    """A model of transformers as one of tensors."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names
        self.options = {} if "Classification" in type(model).__name__ else {
            "use_cache": False}

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)),
                          **self.options).logits


def language(name):
    import transformers
    if name == "gpt2":
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=64))
    elif name == "distilbert":
        model = transformers.DistilBertForSequenceClassification(
            transformers.DistilBertConfig(
                vocab_size=WORDS, dim=32, n_layers=2, n_heads=4, hidden_dim=64,
                max_position_embeddings=64, num_labels=3))
    else:
        model, config, more = LANGUAGE[name]
        model = getattr(transformers, model)(
            getattr(transformers, config)(**SIZES, **more))
    words = torch.randint(2, WORDS, (BATCH, TOKENS))
    names = ["input_ids", "attention_mask"]
    return Logits(model, names), (words, torch.ones_like(words)), names


def images(name):
    import torchvision
    model = getattr(torchvision.models, name)(num_classes=10, **IMAGES[name])
    return model, (torch.randn(BATCH, 3, 64, 64),), ["x"]


def export(name, folder):
    """model.onnx and train.npz, as the guide's first page makes them."""
    torch.manual_seed(0)
    model, inputs, names = (images if name in IMAGES else language)(name)
    model.train()
    torch.onnx.export(model, inputs, folder / "model.onnx", dynamo=True,
                      optimize=False, input_names=names,
                      output_names=["logits"])
    with torch.no_grad():
        shape = model(*inputs).shape
    draw, arrays = np.random.default_rng(0), {}
    for key, tensor in zip(names, inputs):
        size = (SAMPLES, *tensor.shape[1:])
        arrays[key] = (
            draw.standard_normal(size).astype(np.float32)
            if tensor.is_floating_point() else np.ones(size, np.int64)
            if "mask" in key else draw.integers(2, WORDS, size))
    arrays["labels"] = draw.integers(0, shape[-1], (SAMPLES, *shape[1:-1]))
    np.savez(folder / "train.npz", **arrays)


def follow(zc, folder):
    """The command that fails and what it says; None where all get through."""
    data = ["--data", "train.npz"]
    checkpoint = ["--checkpoint", "ckpt"]
    for command in (
            ["check", "model.onnx"],
            ["compile", "model.onnx", "--loss", "softmax-cross-entropy", "-o",
             "step.zca"],
            ["run", "step.zca", *data, "--epochs", "2", *checkpoint,
             "--overwrite"],
            ["eval", "step.zca", *data, *checkpoint],
            ["export", "step.zca", *checkpoint, "-o", "trained.onnx"]):
        done = subprocess.run([zc, *command], cwd=folder, text=True,
                              capture_output=True)
        if done.returncode != 0:
            return f"zc {' '.join(command)}: {done.stderr[-2000:]}"
    onnx.checker.check_model(folder / "trained.onnx")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--zc", type=pathlib.Path, default="build/bin/zc")
    options = parser.parse_args()
    failed = 0
    for name in options.names or [*IMAGES, *LANGUAGE, "gpt2", "distilbert"]:
        folder = options.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        export(name, folder)
        wrong = follow(options.zc.resolve(), folder)
        print(f"{name}: {wrong or 'trained, evaluated and exported'}")
        failed += wrong is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
