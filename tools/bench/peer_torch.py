#!/usr/bin/env python3
"""Train a model with PyTorch on the CPU and print one JSON line: the peer that
tools/bench/bench.py measures zc against.

  peer_torch.py --model gpt2 [--mode eager|compile] [--steps N] [--threads N]
  peer_torch.py --model gpt2 --serve ...
  peer_torch.py --model gpt2 --dist ddp|fsdp|pipeline ...
  peer_torch.py --model gpt2 --export DIR

With --serve it trains only when told to: each line of its input asks for --steps
more steps, or as many as fit in --seconds, and is answered by a line. With
--dist it is one of the ranks that torchrun's variables tell of; a pipeline is a
GPT cut into a stage a rank, run by Schedule1F1B. The last form writes
DIR/model.onnx and DIR/data.npz, the same work for zc; a model may also be a GPT
by its numbers, gpt:VOCABULARY,LAYERS,HEADS,WIDTH,TOKENS,BATCH.
"""
import argparse
import json
import pathlib
import resource
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]
                       / "reference"))
import models  # noqa: E402  (tools/reference)
import onnx_export  # noqa: E402  (tools/bench)
import resnet  # noqa: E402  (tools/bench)

# name: vocabulary, layers, heads, width, tokens, batch, causal. BERT-base is the
# same block without a mask: what its step costs, not what it learns.
GPTS = {"gpt2": (50304, 12, 12, 768, 256, 4, True),
        "gpt2-nano": (256, 4, 4, 256, 128, 16, True),
        "bert": (30528, 12, 12, 768, 128, 8, False)}
MLP_BATCH, RESNET_BATCH, CLASSES = 256, 8, 1000
WARM_UP = 2


def gpt_numbers(name):
    if name in GPTS:
        return GPTS[name]
    return *map(int, name.removeprefix("gpt:").split(",")), True


def build(name):
    """The network, one batch with its labels, and the samples in it."""
    torch.manual_seed(0)
    if name == "mlp":
        net = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(),
                            nn.Linear(4096, 4096), nn.ReLU(),
                            nn.Linear(4096, CLASSES))
        return (net, torch.randn(MLP_BATCH, 1024),
                torch.randint(CLASSES, (MLP_BATCH,)))
    if name == "resnet50":
        return (resnet.ResNet50(CLASSES),
                torch.randn(RESNET_BATCH, 3, 224, 224),
                torch.randint(CLASSES, (RESNET_BATCH,)))
    vocabulary, layers, heads, width, seq, batch, causal = gpt_numbers(name)
    net = models.Gpt(vocabulary, seq, layers, heads, width, causal)
    return (net, torch.randint(vocabulary, (batch, seq)),
            torch.randint(vocabulary, (batch, seq)))


def export(folder, net, x, labels):
    name = onnx_export.export(folder, net, x)
    np.savez(folder / "data.npz", **{name: x.numpy(),
                                     "labels": labels.numpy()})


def distribute(net, kind):
    """The network on all ranks that torchrun's variables tell of."""
    torch.distributed.init_process_group("gloo")
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(net)
    from torch.distributed.fsdp import fully_shard
    for block in net.blocks:
        fully_shard(block)
    return fully_shard(net)


class Training:
    """A network in training on its one batch, in so many micro-batches."""

    def __init__(self, net, x, labels, options):
        self.micro_batches, self.pipeline = options.accumulate, None
        if options.dist == "pipeline":
            import torch_pipeline  # tools/bench
            self.pipeline = torch_pipeline.Pipeline(net, options.accumulate)
            net = self.pipeline.net
        elif options.dist:
            net = distribute(net, options.dist)
        self.forward = torch.compile(net) if options.mode == "compile" else net
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4,
                                           fused=options.dist != "fsdp")
        self.x, self.labels = x, labels
        self.autocast = options.precision == "bf16"
        for _ in range(WARM_UP):
            self.step()

    def backward(self, x, labels):
        """Adds a micro-batch's gradients; its part of the step's loss."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            logits = self.forward(x)
            loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]),
                                   labels.reshape(-1)) / self.micro_batches
        loss.backward()
        return loss.detach()

    def step(self):
        """One step; its milliseconds."""
        start = time.perf_counter()
        if self.pipeline:
            self.loss = self.pipeline.backward(self.x, self.labels)
        else:
            self.loss = sum(map(self.backward,
                                self.x.chunk(self.micro_batches),
                                self.labels.chunk(self.micro_batches)))
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return (time.perf_counter() - start) * 1e3

    def run(self, options):
        """Print the times of some steps as one line."""
        times = [self.step()]
        while len(times) < options.steps and sum(times) < options.seconds * 1e3:
            times.append(self.step())
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({
            "model": options.model, "mode": options.mode,
            "loss": float(self.loss), "step_ms_min": min(times),
            "step_ms_median": statistics.median(times), "peak_mib": used}),
            flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="gpt2", help="one of "
                        + ", ".join([*GPTS, "mlp", "resnet50"])
                        + ", or gpt:NUMBERS")
    parser.add_argument("--mode", default="eager",
                        choices=["eager", "compile"])
    parser.add_argument("--precision", default="fp32",
                        choices=["fp32", "bf16"], help="bf16: autocast")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dist", choices=["ddp", "fsdp", "pipeline"])
    parser.add_argument("--accumulate", type=int, default=1,
                        help="micro-batches of a step")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--export", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    # zc does the same: on Intel's processors gradients that vanish would else
    # slow PyTorch down to a fifth within ten steps on one batch.
    torch.set_flush_denormal(True)
    net, x, labels = build(options.model)
    if options.export:
        export(options.export, net, x, labels)
        return
    training = Training(net, x, labels, options)
    if not options.serve:
        training.run(options)
        return
    for _ in sys.stdin:
        training.run(options)


if __name__ == "__main__":
    main()
