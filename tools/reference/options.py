#!/usr/bin/env python3
"""Record what PyTorch does under the losses, optimizers and training options.

  options.py [--output test/fixtures/options] [--only REGEX]

A handful of tiny models (`MODEL.onnx`, `MODEL.npz`), each trained under several
variants. `reference.json` lists per variant the options of `zc compile` and
`zc run`, the losses and gradient norms of ten steps, or as many as it says, in
double precision, and the largest relative distance of PyTorch's own fp32 runs
from them. With --only, the variants that it finds are recorded, and all else
stays.
"""
import argparse
import copy
import dataclasses
import json
import pathlib
import re

import numpy as np
import onnx
import torch
import torch.nn as nn
from torch.optim import swa_utils

from option_losses import CLASS_WEIGHTS, weights_like
from option_nets import (Classifier, Dropped, Normalised, OwnLoss, Pixels,
                         Sequence)
from option_variants import VARIANTS
from own_optimizers import Sm3, Workers
from record import ROOT, versions, without_machine_paths

BATCH, SAMPLES = 8, 24


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def draw_classes(seed, classes, *shape):
    return np.random.default_rng(seed).integers(0, classes, shape)


def with_ignored(labels, value):
    ignored = np.random.default_rng(7).random(labels.shape) < 0.3
    return np.where(ignored, value, labels)


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
    groups = [{"params": groups[0], **variant.settings},
              {"params": groups[1], **variant.settings, "weight_decay": 0}]
    for name, (factor, decay) in variant.groups.items():
        groups[0]["params"] = [p for p in groups[0]["params"]
                               if p is not net.get_parameter(name)]
        groups.append({"params": [net.get_parameter(name)], "factor": factor,
                       **variant.settings, "weight_decay": decay})
    return optimizer(groups, lr=variant.lr)


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
    counted = labels[labels != ignored]
    if variant.weighted:
        return total, float(weights_like(outputs.double())[counted].sum())
    return total, counted.numel()


def train(variant, dtype, threads):
    torch.set_num_threads(threads)
    if variant.optimizer == "OnebitAdam":
        return train_workers(variant, dtype)
    model, net = MODELS[variant.model], build(variant.model, dtype)
    for name, parameter in net.named_parameters():
        parameter.requires_grad_(name not in variant.frozen)
    update = make_optimizer(variant, net)
    average = swa_utils.AveragedModel(
        net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(variant.average))
    losses, norms, rates = [], [], []
    for step in range(variant.steps):
        rates.append(variant.rate(step + 1) if variant.rate else variant.lr)
        for group in update.param_groups:
            group["lr"] = rates[-1] * group.get("factor", 1)
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
        if variant.clip_value:
            nn.utils.clip_grad_value_(trained, variant.clip_value)
        losses.append(float(total / count))
        update.step()
        if variant.average:
            average.update_parameters(net)
    buffers = {name: value.numpy() for name, value in net.named_buffers()
               if value.ndim}
    if variant.average:
        buffers = {name: value.detach().numpy()
                   for name, value in average.module.named_parameters()}
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
            "average": variant.average > 0,
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
    parser.add_argument("--only", default="", metavar="REGEX")
    arguments = parser.parse_args()
    folder = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "class_weights.npy", np.array(CLASS_WEIGHTS, np.float32))
    known = {}
    if arguments.only:
        known = json.loads((folder / "reference.json").read_text())["variants"]
    else:
        for name in MODELS:
            export(name, folder)
    reference = {"versions": versions(), "variants": {
        variant.name: record(variant)
        if re.search(arguments.only, variant.name) or variant.name not in known
        else known[variant.name] for variant in VARIANTS}}
    text = json.dumps(reference, indent=1)
    (folder / "reference.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
