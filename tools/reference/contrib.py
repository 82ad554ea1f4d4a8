#!/usr/bin/env python3
"""Record models that ONNX Runtime's optimizer rewrote, for
test/e2e/contrib_models_test.py.

  contrib.py [--output test/fixtures/contrib] [MODEL ...]

Small models of the transformers library, exported by PyTorch's TorchScript
exporter, whose patterns `onnxruntime.transformers.optimizer` knows, and fused
by it: `model.onnx`. `data.npz` and `reference.json` are as record.py writes
them.
"""
import argparse
import json
import os
import pathlib
import tempfile

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
from onnxruntime.transformers.fusion_options import FusionOptions  # noqa: E402
from onnxruntime.transformers.optimizer import optimize_model  # noqa: E402

VOCABULARY, SEQ, WIDTH, HEADS = 48, 12, 24, 2


class Masked(nn.Module):
    """A model of tokens and a mask, without caches."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids,
                          attention_mask=attention_mask).logits


def unlike(net):
    """No two weights alike: the TorchScript exporter would make them one."""
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.ndim == 1:
                parameter += 0.02 * torch.randn(parameter.shape)
    return net


def bert():
    case = language.bert()
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=2,
        num_attention_heads=HEADS, intermediate_size=40,
        max_position_embeddings=SEQ, num_labels=3, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0, attn_implementation="eager")
    case.name = "contrib-bert"
    case.net = unlike(
        Masked(transformers.BertForSequenceClassification(config)))
    return case


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=2, n_head=HEADS,
        n_positions=SEQ, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        use_cache=False, bos_token_id=None, eos_token_id=None,
        tie_word_embeddings=False,  # the exporter writes two in any case
        attn_implementation="eager")
    tokens, following = language.walk(VOCABULARY, SEQ)
    return models.Case(
        "contrib-gpt2", unlike(Masked(transformers.GPT2LMHeadModel(config))),
        {"input_ids": tokens, "attention_mask": np.ones_like(tokens)},
        following, language.BATCH, "softmax-cross-entropy",
        {"sgd": 0.05, "adamw": 1e-3}, traces=False)


CASES = {"bert": bert, "gpt2": gpt2}


def export(name, case, path):
    example = tuple(torch.from_numpy(a[:case.batch])
                    for a in case.inputs.values())
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / "plain.onnx"
        torch.onnx.export(case.net.eval(), example, str(plain), dynamo=False,
                          opset_version=17, input_names=list(case.inputs),
                          output_names=["logits"])
        fused = optimize_model(str(plain), model_type=name, num_heads=HEADS,
                               hidden_size=WIDTH, opt_level=0,
                               optimization_options=FusionOptions(name))
    fused.save_model_to_file(str(path))
    model = record.without_machine_paths(onnx.load(path), traces=False)
    del model.graph.value_info[:]
    onnx.save(model, path)
    kinds = sorted({node.op_type for node in model.graph.node if node.domain})
    print(f"{name}: {', '.join(kinds)}")


def write(name, folder):
    zoo.CASES[f"contrib-{name}"] = CASES[name]
    case = zoo.build(f"contrib-{name}")
    folder.mkdir(parents=True, exist_ok=True)
    export(name, case, folder / "model.onnx")
    np.savez_compressed(folder / "data.npz", **case.inputs, labels=case.labels)
    reference = {"versions": {**record.versions(),
                              "transformers": transformers.__version__},
                 "loss": case.loss, "batch": case.batch,
                 "steps": models.STEPS, "symbolic_batch": "",
                 "optimizers": {}}
    for optimizer in case.learning_rates:
        entry, _ = record.record(case, optimizer)
        for key in ("weight_spread", "weight_spread_by_tensor"):
            del entry[key]  # the file has other names and shapes
        reference["optimizers"][optimizer] = entry
        print(f"{name} {optimizer}: loss {entry['losses'][0]:.4f} -> "
              f"{entry['losses'][-1]:.4f}, spread {entry['loss_spread']:.1e}")
    (folder / "reference.json").write_text(json.dumps(reference, indent=1)
                                           + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(CASES))
    parser.add_argument("--output", type=pathlib.Path,
                        default=record.ROOT / "test" / "fixtures" / "contrib")
    options = parser.parse_args()
    for name in options.models:
        write(name, options.output / name)


if __name__ == "__main__":
    main()
