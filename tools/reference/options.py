#!/usr/bin/env python3
"""Record what PyTorch does under the losses, optimizers and training options.

  options.py [--output test/fixtures/options]

A handful of tiny models (`MODEL.onnx`, `MODEL.npz`), each trained under several
variants. `reference.json` lists per variant the options of `zc compile` and
`zc run`, the losses and gradient norms of ten steps, or as many as it says, in
double precision, and the largest relative distance of PyTorch's own fp32 runs
from them.
"""
import argparse
import copy
import dataclasses
import json
import math
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

from option_nets import (Classifier, Dropped, Normalised, OwnLoss, Pixels,
                         Sequence)
from own_optimizers import Sm3, Workers
from record import ROOT, versions, without_machine_paths

STEPS, BATCH, SAMPLES = 10, 8, 24


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def draw_classes(seed, classes, *shape):
    return np.random.default_rng(seed).integers(0, classes, shape)


def with_ignored(labels, value):
    ignored = np.random.default_rng(7).random(labels.shape) < 0.3
    return np.where(ignored, value, labels)


def cross_entropy(ignored=-100):
    return lambda outputs, labels, reduction: F.cross_entropy(
        outputs, labels, ignore_index=ignored, reduction=reduction)


def binary(outputs, labels, reduction):
    return F.binary_cross_entropy_with_logits(outputs, labels,
                                              reduction=reduction)


@dataclasses.dataclass
class Model:
    net: type
    data: dict
    inputs: tuple = ("x",)
    outputs: tuple = ("logits",)


MODELS = {
    "classifier": Model(Classifier, {
        "x": draw(1, SAMPLES, 6), "labels": draw_classes(2, 5, SAMPLES),
        "gaps": with_ignored(draw_classes(2, 5, SAMPLES), -100),
        "holes": with_ignored(draw_classes(2, 5, SAMPLES), 255),
        "soft": np.random.default_rng(3).random((SAMPLES, 5), np.float32)}),
    "normalised": Model(Normalised, {
        "x": draw(1, SAMPLES, 6), "labels": draw_classes(2, 5, SAMPLES)}),
    "dropped": Model(Dropped, {
        "x": draw(1, SAMPLES, 6), "labels": draw_classes(2, 5, SAMPLES)}),
    "pixels": Model(Pixels, {
        "x": draw(4, SAMPLES, 2, 5, 6),
        "labels": draw_classes(5, 4, SAMPLES, 5, 6)}),
    "sequence": Model(Sequence, {
        "x": draw(4, SAMPLES, 3, 7), "labels": draw_classes(5, 5, SAMPLES, 7)}),
    "own": Model(OwnLoss, {
        "x": draw(1, SAMPLES, 6), "target": draw_classes(2, 5, SAMPLES)},
        ("x", "target"), ("logits", "cost")),
}


@dataclasses.dataclass
class Variant:
    name: str
    model: str
    compile: str  # options of zc compile
    run: str = ""  # options of zc run
    optimizer: str = "SGD"
    settings: dict = dataclasses.field(default_factory=dict)
    loss: object = cross_entropy()
    labels: str = "labels"
    lr: float = 0.1
    rate: object = None  # learning rate of a step, from 1
    clip: float = 0
    undecayed: tuple = ()  # parameters that weight decay leaves alone
    frozen: tuple = ()
    accumulate: int = 1
    ranks: int = 1  # each normalises its part of a micro-batch by itself
    steps: int = STEPS
    divided: dict = dataclasses.field(default_factory=dict)  # by tp: (dim, parts)


CE = "--loss softmax-cross-entropy --optimizer "


def cosine(step):
    return 0.1 * step / 3 if step <= 3 else 0.01 + 0.09 * 0.5 * (
        1 + math.cos(math.pi * (step - 3) / (STEPS - 3)))


def linear(step):
    return 0.1 * (1 - step / STEPS)


def onebit(name, options, mesh="", ranks=1, tp=1, settings=None, **more):
    """1-bit Adam up to step 5 as Adam, then twelve steps compressed."""
    divided = {"hidden.weight": (0, tp), "hidden.bias": (0, tp),
               "head.weight": (1, tp)} if tp > 1 else {}
    run = f"--local-ranks {ranks * tp}" if ranks * tp > 1 else ""
    return Variant(
        f"onebit-{name}", "classifier",
        f"{CE}onebit-adam --freeze-step 5 {options} {mesh}", run,
        optimizer="OnebitAdam", lr=0.01, ranks=ranks, steps=17,
        settings={"freeze_step": 5, **(settings or {})}, divided=divided, **more)


VARIANTS = [
    Variant("adam", "classifier", CE + "adam", optimizer="Adam", lr=0.01),
    Variant("adam-decay", "classifier",
            CE + "adam --weight-decay 0.1 --beta1 0.8 --beta2 0.95 --eps 1e-6",
            optimizer="Adam", lr=0.01,
            settings={"weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6}),
    Variant("adamw-undecayed", "classifier",
            CE + "adamw --weight-decay 0.5 --no-weight-decay bias$",
            optimizer="AdamW", lr=0.01, settings={"weight_decay": 0.5},
            undecayed=("hidden.bias", "head.bias")),
    Variant("sgd-decay", "classifier",
            CE + "sgd --momentum 0.9 --weight-decay 0.05",
            settings={"momentum": 0.9, "weight_decay": 0.05}),
    Variant("adafactor", "classifier", CE + "adafactor", optimizer="Adafactor",
            lr=0.05),
    Variant("adafactor-conv", "normalised",
            CE + "adafactor --weight-decay 0.1 --clip-norm 0.5",
            optimizer="Adafactor", settings={"weight_decay": 0.1}, clip=0.5),
    Variant("sm3", "classifier", CE + "sm3", optimizer="Sm3"),
    Variant("sm3-momentum", "normalised",
            CE + "sm3 --momentum 0.9 --weight-decay 0.1", optimizer="Sm3",
            settings={"momentum": 0.9, "weight_decay": 0.1}),
    onebit("alone", ""),
    onebit("two", "", "--mesh dp=2", 2),
    onebit("four", "--weight-decay 0.1 --no-weight-decay bias$ --beta1 0.8 "
           "--beta2 0.95 --eps 1e-6", "--mesh dp=4", 4,
           settings={"weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6},
           undecayed=("hidden.bias", "head.bias")),
    onebit("tensor-parallel", "--shard hidden.weight=tp,- --shard "
           "head.weight=-,tp", "--mesh dp=2,tp=2", 2, 2),
    onebit("accumulate", "--accumulate 2", "--mesh dp=2", 2, accumulate=2),
    Variant("frozen", "classifier", CE + "sgd --freeze ^hidden --train weight",
            frozen=("hidden.weight", "hidden.bias", "head.bias")),
    Variant("clip", "classifier", CE + "sgd --clip-norm 0.3", clip=0.3, lr=0.5),
    Variant("cosine", "classifier", CE + "sgd",
            "--lr-schedule cosine --warmup-steps 3 --min-lr 0.01", rate=cosine),
    Variant("linear", "classifier", CE + "sgd", "--lr-schedule linear",
            rate=linear),
    Variant("ignore-index", "classifier", CE + "sgd --labels gaps",
            labels="gaps"),
    Variant("ignore-index-255", "classifier",
            CE + "sgd --labels holes --ignore-index 255",
            loss=cross_entropy(255), labels="holes"),
    Variant("bce", "classifier",
            "--loss bce-with-logits --optimizer sgd --labels soft",
            loss=binary, labels="soft", lr=1.0),
    Variant("pixels", "pixels", CE + "sgd", lr=0.5),
    Variant("class-axis", "sequence", CE + "sgd --class-axis 1", lr=0.5),
    Variant("own", "own", "--loss none --loss-output cost --optimizer sgd",
            loss=None),
    Variant("accumulate", "classifier", CE + "sgd --accumulate 4",
            accumulate=4),
    Variant("accumulate-ignored", "classifier",
            CE + "adamw --labels gaps --accumulate 2 --clip-norm 0.5",
            optimizer="AdamW", labels="gaps", accumulate=2, clip=0.5, lr=0.01),
    Variant("accumulate-norm", "normalised", CE + "sgd --accumulate 2",
            accumulate=2),
    Variant("accumulate-own", "own",
            "--loss none --loss-output cost --optimizer sgd --accumulate 2",
            loss=None, accumulate=2),
    Variant("local-statistics", "normalised",
            CE + "sgd --mesh dp=2 --batchnorm-stats local", "--local-ranks 2",
            ranks=2),
    Variant("local-statistics-accumulate", "normalised",
            CE + "sgd --mesh dp=2 --batchnorm-stats local --accumulate 2",
            "--local-ranks 2", ranks=2, accumulate=2),
]


def build(name, dtype=torch.float32):
    torch.manual_seed(0)
    return MODELS[name].net().to(dtype).train()


def batch_of(array, step, part, parts, dtype):
    size = BATCH // parts
    rows = (np.arange(size) + step * BATCH + part * size) % SAMPLES
    tensor = torch.from_numpy(array[rows])
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def make_optimizer(variant, net):
    groups = [[p for n, p in net.named_parameters() if p.requires_grad
               and (n in variant.undecayed) == undecayed]
              for undecayed in (False, True)]
    optimizer = Sm3 if variant.optimizer == "Sm3" else getattr(
        torch.optim, variant.optimizer)
    return optimizer([{"params": groups[0], **variant.settings},
                      {"params": groups[1], **variant.settings,
                       "weight_decay": 0}], lr=variant.lr)


def train_workers(variant, dtype):
    model, net = MODELS[variant.model], build(variant.model, dtype)
    workers, losses, norms = Workers(variant, net), [], []
    for step in range(variant.steps):
        total = count = 0
        parts = variant.accumulate * variant.ranks
        for part in range(parts):
            args = [batch_of(model.data[name], step, part, parts, dtype)
                    for name in model.inputs]
            labels = batch_of(model.data[variant.labels], step, part, parts,
                              dtype)
            part_sum, part_count = loss_sum(variant, net(*args), labels)
            part_sum.backward()
            workers.collect(part % variant.ranks)
            total, count = total + part_sum.detach(), count + part_count
        losses.append(float(total / count))
        norms.append(workers.step(count))
    return (np.array(losses), np.array(norms), [variant.lr] * variant.steps,
            dict(workers.rule.parameters))


def loss_sum(variant, outputs, labels):
    """A micro-batch's losses, added up, and how many they are."""
    if variant.loss is None:
        return outputs[1], 1
    total = variant.loss(outputs, labels, "sum")
    if labels.is_floating_point():
        return total, labels.numel()
    ignored = 255 if variant.labels == "holes" else -100
    return total, int((labels != ignored).sum())


def train(variant, dtype, threads):
    torch.set_num_threads(threads)
    if variant.optimizer == "OnebitAdam":
        return train_workers(variant, dtype)
    model, net = MODELS[variant.model], build(variant.model, dtype)
    for name, parameter in net.named_parameters():
        parameter.requires_grad_(name not in variant.frozen)
    update = make_optimizer(variant, net)
    losses, norms, rates = [], [], []
    for step in range(variant.steps):
        rates.append(variant.rate(step + 1) if variant.rate else variant.lr)
        for group in update.param_groups:
            group["lr"] = rates[-1]
        update.zero_grad()
        total = count = 0
        parts = variant.accumulate * variant.ranks
        for part in range(parts):
            args = [batch_of(model.data[name], step, part, parts, dtype)
                    for name in model.inputs]
            labels = None if variant.loss is None else batch_of(
                model.data[variant.labels], step, part, parts, dtype)
            # DDP's buffers are those of its rank 0.
            kept = copy.deepcopy(dict(net.named_buffers()))
            part_sum, part_count = loss_sum(variant, net(*args), labels)
            part_sum.backward()
            if part % variant.ranks:
                net.load_state_dict(kept, strict=False)
            total, count = total + part_sum.detach(), count + part_count
        trained = [p for p in net.parameters() if p.requires_grad]
        for parameter in trained:
            parameter.grad /= count
        limit = variant.clip or float("inf")
        norms.append(float(nn.utils.clip_grad_norm_(trained, limit)))
        losses.append(float(total / count))
        update.step()
    buffers = {name: value.numpy() for name, value in net.named_buffers()
               if value.ndim}
    return np.array(losses), np.array(norms), rates, buffers


def record(variant):
    losses, norms, rates, buffers = train(variant, torch.float64, 1)
    spread = moved = 0
    for threads in (1, 2):
        other, other_norms, _, others = train(variant, torch.float32, threads)
        moved = max([moved, *(np.max(np.abs(others[name] - buffers[name]))
                              for name in buffers)])
        spread = max(spread, np.max(np.abs(other - losses) / losses),
                     np.max(np.abs(other_norms - norms) / norms))
    print(f"{variant.name}: loss {losses[0]:.4f} -> {losses[-1]:.4f}, "
          f"spread {spread:.1e}")
    return {"model": variant.model, "compile": variant.compile.split(),
            "run": variant.run.split(), "lr": variant.lr, "steps": variant.steps,
            "losses": losses.tolist(), "grad_norms": norms.tolist(),
            "rates": rates, "spread": float(spread), "buffer_spread": float(moved),
            "buffers": {name: [float(f"{value:.7g}") for value in values.ravel()]
                        for name, values in buffers.items()}}


def export(name, folder):
    model = MODELS[name]
    example = tuple(torch.from_numpy(model.data[key][:BATCH])
                    for key in model.inputs)
    path = folder / f"{name}.onnx"
    torch.onnx.export(build(name), example, str(path), dynamo=True,
                      optimize=False, external_data=False, verbose=False,
                      input_names=list(model.inputs),
                      output_names=list(model.outputs))
    onnx.save(without_machine_paths(onnx.load(path), traces=True), path)
    np.savez(folder / f"{name}.npz", **model.data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=ROOT / "test" / "fixtures" / "options")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        export(name, folder)
    reference = {"versions": versions(), "variants": {
        variant.name: record(variant) for variant in VARIANTS}}
    text = json.dumps(reference, indent=1)
    (folder / "reference.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
