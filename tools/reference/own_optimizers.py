"""Optimizers that PyTorch has none of, for the recording of options.py."""
import numpy as np
import torch

from onebit_adam import OnebitAdam


class Sm3(torch.optim.Optimizer):
    """Anil et al. 2019, algorithm SM3-II, index by index as it stands there:
    PyTorch has none."""

    def __init__(self, parameters, lr, momentum=0, weight_decay=0):
        super().__init__(parameters, {"lr": lr, "momentum": momentum,
                                      "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.update(group, p, self.state[p])

    def update(self, group, p, state):
        grad = p.grad + group["weight_decay"] * p
        covers = state.setdefault("covers", [torch.zeros(n, dtype=p.dtype)
                                             for n in p.shape])
        step = torch.zeros_like(p)
        largest = [torch.zeros_like(cover) for cover in covers]
        for index in np.ndindex(*p.shape):
            second = min(cover[i] for cover, i in zip(covers, index))
            second = second + grad[index] ** 2
            if second > 0:
                step[index] = grad[index] / second.sqrt()
            for cover, i in zip(largest, index):
                cover[i] = max(cover[i], second)
        state["covers"] = largest
        if group["momentum"]:
            old = state.get("momentum", torch.zeros_like(p))
            step = group["momentum"] * old + (1 - group["momentum"]) * step
            state["momentum"] = step
        p -= group["lr"] * step


class Workers:
    """1-bit Adam in place of PyTorch's optimizers: takes the gradients apart
    by the rank whose samples they are of."""

    def __init__(self, variant, net):
        self.names = [name for name, _ in net.named_parameters()]
        self.net, self.ranks = net, variant.ranks
        self.own = [{} for _ in range(variant.ranks)]
        parameters = {name: parameter.detach().numpy()
                      for name, parameter in net.named_parameters()}
        self.rule = OnebitAdam(parameters, variant.ranks, lr=variant.lr,
                               undecayed=variant.undecayed,
                               divided=variant.divided, **variant.settings)

    def collect(self, rank):
        """Takes what the rank's part of a micro-batch has added."""
        for name, parameter in self.net.named_parameters():
            self.own[rank][name] = (self.own[rank].get(name, 0)
                                    + parameter.grad.numpy().copy())
            parameter.grad = None

    def step(self, count):
        """`count`: samples of the step; returns the norm."""
        scale = self.ranks / count
        norm = self.rule.step([{name: grad * scale for name, grad in own.items()}
                               for own in self.own])
        self.own = [{} for _ in self.own]
        return norm
