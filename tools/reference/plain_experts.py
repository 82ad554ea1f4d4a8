#!/usr/bin/env python3
"""Record experts as people write them, for test/e2e/plain_experts_test.py.

  plain_experts.py [--output test/fixtures/moe] [CASE ...]

Layers of experts of plain PyTorch, which compute every expert for every token
and mask what was not chosen, or exchange rows by GShard's einsums. The rest is
as in moe_layers.py: `plain_CASE.onnx` and `plain_CASE.json`.
"""
import argparse
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

import moe_layers
import record
from moe_layers import CLASSES, HIDDEN, LEARNING_RATE, STEPS

EXPERTS, CHOSEN, INNER = 4, 2, 16


class Router(nn.Module):
    """The best of a softmax, over their sum: weights and choices [.., k]."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(HIDDEN, EXPERTS, bias=False)

    def forward(self, x):
        best, chosen = self.gate(x).softmax(-1).topk(CHOSEN)
        return best / best.sum(-1, keepdim=True), chosen


class Masked(nn.Module):
    """Each expert a module of its own, for all tokens."""

    def __init__(self):
        super().__init__()
        self.router = Router()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(HIDDEN, INNER), nn.GELU(),
                          nn.Linear(INNER, HIDDEN)) for _ in range(EXPERTS))

    def forward(self, x):
        weights, chosen = self.router(x)
        y = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            gate = (weights * (chosen == index)).sum(-1, keepdim=True)
            y = y + gate * expert(x)
        return y


class Stacked(nn.Module):
    """All experts at once, by einsums over all tokens."""

    def __init__(self):
        super().__init__()
        self.router = Router()
        self.up = nn.Parameter(torch.randn(EXPERTS, HIDDEN, 2 * INNER) * 0.3)
        self.down = nn.Parameter(torch.randn(EXPERTS, INNER, HIDDEN) * 0.3)

    def forward(self, x):
        weights, chosen = self.router(x)
        gates = torch.zeros(*x.shape[:-1], EXPERTS, dtype=x.dtype).scatter(
            -1, chosen, weights)
        gate, up = torch.einsum("gsm,emh->egsh", x, self.up).chunk(2, -1)
        y = torch.einsum("egsh,ehm->egsm", F.silu(gate) * up, self.down)
        return torch.einsum("gse,egsm->gsm", gates, y)


class Summed(Stacked):
    """Gates of one-hot numbers, and a sum of what they weigh."""

    def forward(self, x):
        weights, chosen = self.router(x)
        one_hot = F.one_hot(chosen, EXPERTS).to(x.dtype)
        gates = (weights[..., None] * one_hot).sum(-2)
        gate, up = torch.einsum("gsm,emh->gseh", x, self.up).chunk(2, -1)
        y = torch.einsum("gseh,ehm->gsem", F.silu(gate) * up, self.down)
        return (gates[..., None] * y).sum(-2)


class Einsum(nn.Module):
    """GShard's Algorithm 2: dispatch and combine, with room for few."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.randn(HIDDEN, EXPERTS) * 0.5)
        self.up = nn.Parameter(torch.randn(EXPERTS, HIDDEN, INNER) * 0.3)
        self.down = nn.Parameter(torch.randn(EXPERTS, INNER, HIDDEN) * 0.3)

    def route(self, x):
        capacity = CHOSEN * x.shape[1] // EXPERTS
        gates = torch.einsum("gsm,me->gse", x, self.gate).softmax(-1)
        best, chosen = gates.topk(CHOSEN)
        best = best / best.sum(-1, keepdim=True)
        combine, used = 0, 0
        for index in range(CHOSEN):  # all first choices before second ones
            mask = F.one_hot(chosen[..., index], EXPERTS).to(x.dtype)
            place = (mask.cumsum(1) - 1 + used) * mask
            used = used + mask.sum(1, keepdim=True)
            mask = mask * (place < capacity)
            slot = torch.arange(capacity, dtype=x.dtype)
            slots = (place[..., None] == slot) * mask[..., None]
            combine = combine + best[..., index, None, None] * slots
        return combine

    def forward(self, x):
        combine = self.route(x)
        dispatch = (combine > 0).to(x.dtype)
        rows = torch.einsum("gsec,gsm->egcm", dispatch, x)
        hidden = F.relu(torch.einsum("egcm,emh->egch", rows, self.up))
        y = torch.einsum("egch,ehm->egcm", hidden, self.down)
        return torch.einsum("gsec,egcm->gsm", combine, y)


class Flat(Einsum):
    """As DeepSpeed and FairScale write it: one group of all tokens, gates and
    places of the kept ones by sums over experts."""

    def route(self, x):
        capacity = CHOSEN * x.shape[0] // EXPERTS
        gates = (x @ self.gate).softmax(-1)
        first = F.one_hot(gates.argmax(-1), EXPERTS)
        others = gates.masked_fill(first.bool(), float("-inf"))
        second = F.one_hot(others.argmax(-1), EXPERTS)
        places = [first.cumsum(0) - 1,
                  second.cumsum(0) - 1 + first.sum(0, keepdim=True)]
        masks = [mask * (place < capacity)
                 for mask, place in zip((first, second), places)]
        weights = [(gates * mask.to(x.dtype)).sum(1) for mask in masks]
        total = (weights[0] + weights[1]).clamp(min=1e-6)
        combine = 0
        for mask, place, weight in zip(masks, places, weights):
            place = F.one_hot((place * mask).sum(1), capacity).to(x.dtype)
            gate = (weight / total)[:, None] * mask.to(x.dtype)
            combine = combine + torch.einsum("se,sc->sec", gate, place)
        return combine

    def forward(self, x):
        tokens = x.flatten(0, 1)
        combine = self.route(tokens)
        rows = torch.einsum("sec,sm->ecm", combine.bool().to(x.dtype), tokens)
        hidden = F.relu(torch.einsum("ecm,emh->ech", rows, self.up))
        y = torch.einsum("ech,ehm->ecm", hidden, self.down)
        return torch.einsum("sec,ecm->sm", combine, y).view_as(x)


class Switched(Einsum):
    """Switch's: one choice, whose mask is weighed by its probability."""

    def forward(self, x):
        capacity = -(-x.shape[1] // EXPERTS)
        gates = (x @ self.gate).softmax(-1)
        best, chosen = gates.max(-1)
        mask = F.one_hot(chosen, EXPERTS)
        place = (mask.cumsum(1) - mask) * mask
        mask = mask * (place < capacity)
        slot = F.one_hot((place * mask).sum(-1), capacity)
        dispatch = (mask[..., None] * slot[:, :, None]).to(x.dtype)
        rows = torch.einsum("gsec,gsm->egcm", dispatch, x)
        hidden = F.gelu(rows.flatten(1, 2) @ self.up)
        y = (hidden @ self.down).view_as(rows)
        return torch.einsum("gsec,egcm->gsm",
                            dispatch * best[..., None, None], y)


class Doubtful(Einsum):
    """Mesh TensorFlow's: exclusive places of kept ones, a second choice only
    above a threshold, which is drawn with GShard."""

    def route(self, x):
        capacity = CHOSEN * x.shape[1] // EXPERTS
        gates = torch.einsum("gsm,me->gse", x, self.gate).softmax(-1)
        best, chosen = gates.topk(CHOSEN)
        masks = [F.one_hot(chosen[..., index], EXPERTS).to(x.dtype)
                 for index in range(CHOSEN)]
        masks[1] = masks[1] * (best[..., 1:] > 0.3).to(x.dtype)
        combine, used = 0, 0
        for index, mask in enumerate(masks):
            place = (mask.cumsum(1) - mask + used) * mask
            mask = mask * (place < capacity)
            used = mask.sum(1, keepdim=True)
            slots = F.one_hot((place * mask).sum(-1).long(), capacity)
            combine = combine + (best[..., index] * mask.sum(-1))[
                ..., None, None] * F.one_hot(chosen[..., index], EXPERTS)[
                    ..., None] * slots[..., None, :].to(x.dtype)
        return combine


CASES = {"masked": Masked, "doubtful": Doubtful, "flat": Flat, "switched": Switched, "stacked": Stacked, "summed": Summed,
         "einsum": Einsum}


class Classifier(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.first, self.experts = nn.Linear(HIDDEN, HIDDEN), experts
        self.last = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        x = self.first(x)
        return self.last(x + self.experts(x))


def record_case(name, folder):
    torch.manual_seed(len(name))
    model = Classifier(CASES[name]())
    data = np.load(folder / "data.npz")
    x, labels = torch.tensor(data["x"]), torch.tensor(data["labels"])
    path = folder / f"plain_{name}.onnx"
    program = torch.onnx.export(model, (x,), dynamo=True, optimize=False,
                                verbose=False, input_names=["x"],
                                output_names=["logits"])
    program.save(str(path))
    written = record.without_machine_paths(onnx.load(path), traces=False)
    del written.graph.value_info[:]
    onnx.save(written, path)
    model.double()
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE)
    losses = []
    for _ in range(STEPS):
        loss = F.cross_entropy(model(x.double()).flatten(0, 1),
                               labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    (folder / f"plain_{name}.json").write_text(json.dumps(
        {"lr": LEARNING_RATE, "losses": losses}, indent=1) + "\n")
    print(f"{name}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=moe_layers.ROOT / "test" / "fixtures" / "moe")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    arguments = parser.parse_args()
    for name in arguments.cases:
        record_case(name, arguments.output)


if __name__ == "__main__":
    main()
