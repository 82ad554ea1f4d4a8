#!/usr/bin/env python3
"""Train a model with PyTorch on a GPU and print one JSON line: the peer that
zc is to be measured against on GPUs. bfloat16 by autocast, torch.compile,
fused AdamW, flash attention.

  peer_gpu.py --model gpt2|llama|resnet50 [--mode eager|compile] [--steps N]
  peer_gpu.py --model gpt2|llama|resnet50 --export DIR

The second form, which needs no GPU, writes DIR/model.onnx, the same work for zc
(whose weights --init draws: those of a transformer are zeros there, and never
were in memory), and prints what a batch of it is.
Only PyTorch is needed for the first one. `--small` and `--device cpu` are for
tests.
"""
import argparse
import json
import pathlib
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

WARM_UP = 5


class Attention(nn.Module):
    """Heads of queries that may share heads of keys and values."""

    def __init__(self, width, heads, shared, bias, rotary):
        super().__init__()
        self.heads, self.shared, self.rotary = heads, shared, rotary
        size = width // heads
        self.q = nn.Linear(width, width, bias=bias)
        self.k = nn.Linear(width, shared * size, bias=bias)
        self.v = nn.Linear(width, shared * size, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        batch, seq, width = x.shape

        def split(y, heads):
            return y.view(batch, seq, heads, -1).transpose(1, 2)
        q, k = split(self.q(x), self.heads), split(self.k(x), self.shared)
        v = split(self.v(x), self.shared)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        if self.shared != self.heads:
            k = k.repeat_interleave(self.heads // self.shared, 1)
            v = v.repeat_interleave(self.heads // self.shared, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, seq, width))


class Rotary(nn.Module):
    """Rotary position embedding (Su et al. 2021), halves turned together."""

    def __init__(self, seq, size):
        super().__init__()
        rates = 10000.0 ** (-torch.arange(0, size, 2) / size)
        angles = torch.outer(torch.arange(seq), rates).repeat(1, 2)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, x):
        low, high = x.chunk(2, -1)
        turned = torch.cat((-high, low), -1)
        return (x * self.cosine + turned * self.sine).to(x.dtype)


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, heads, True, None)
        self.fc, self.proj = (nn.Linear(width, 4 * width),
                              nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.proj(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, shared, hidden, rotary):
        super().__init__()
        self.ln1 = nn.RMSNorm(width, eps=1e-5)
        self.ln2 = nn.RMSNorm(width, eps=1e-5)
        self.attention = Attention(width, heads, shared, False, rotary)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        y = self.ln2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Gpt(nn.Module):
    def __init__(self, vocabulary, layers, heads, width, seq):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(seq, width) * 0.02)
        self.blocks = nn.ModuleList(GptBlock(width, heads)
                                    for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


class Llama(nn.Module):
    def __init__(self, vocabulary, layers, heads, shared, width, hidden, seq):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        with torch.device("cpu"):  # wherever the weights are, also nowhere
            rotary = Rotary(seq, width // heads)
        self.blocks = nn.ModuleList(
            LlamaBlock(width, heads, shared, hidden, rotary)
            for _ in range(layers))
        self.ln = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def hollow(net):
    """The same network with weights of zeros that take no memory."""
    for module in net.modules():
        for name, weight in module.named_parameters(recurse=False):
            zeros = torch.zeros((), dtype=weight.dtype).expand(weight.shape)
            # One that several modules share stays one.
            if not hasattr(weight, "hollow"):
                weight.hollow = nn.Parameter(zeros)
            setattr(module, name, weight.hollow)
    return net


def transformer(kind, numbers, small, weightless):
    """(network, ids, labels, items, FLOP of a step). FLOPs: 6 a parameter and
    token for the products, the table of tokens left out where nothing
    multiplies by it, and 12 width seq a layer and token for attention (PaLM,
    appendix B: causal attention counted whole)."""
    batch, seq = (2, 16) if small else numbers["shape"]
    sizes = dict(numbers["small"] if small else numbers["sizes"], seq=seq)
    with torch.device("meta" if weightless else "cpu"):
        net = kind(**sizes)
    net = hollow(net) if weightless else net
    vocabulary = sizes["vocabulary"]
    count = sum(p.numel() for p in net.parameters())
    if kind is Llama:
        count -= net.tokens.weight.numel()
    flops = 6 * count + 12 * sizes["layers"] * sizes["width"] * seq
    return (net, torch.randint(vocabulary, (batch, seq)),
            torch.randint(vocabulary, (batch, seq)), batch * seq,
            flops * batch * seq)


GPT2 = {"shape": (32, 1024),
        "sizes": {"vocabulary": 50304, "layers": 12, "heads": 12, "width": 768},
        "small": {"vocabulary": 64, "layers": 2, "heads": 2, "width": 32}}
LLAMA = {"shape": (4, 2048),
         "sizes": {"vocabulary": 32000, "layers": 16, "heads": 32, "shared": 8,
                   "width": 2048, "hidden": 8192},
         "small": {"vocabulary": 64, "layers": 2, "heads": 4, "shared": 2,
                   "width": 32, "hidden": 64}}
# Multiplications and additions of ResNet-50 at 224 x 224, forward; backward is
# twice that.
RESNET_FLOPS = 2 * 4.089e9


def build(name, small, weightless):
    torch.manual_seed(0)
    if name == "gpt2":
        return transformer(Gpt, GPT2, small, weightless)
    if name == "llama":
        return transformer(Llama, LLAMA, small, weightless)
    import resnet  # beside this file
    batch, size = (2, 32) if small else (256, 224)
    return (resnet.ResNet50(1000), torch.randn(batch, 3, size, size),
            torch.randint(1000, (batch,)), batch,
            3 * RESNET_FLOPS * batch * (size / 224) ** 2)


def train(options, net, x, labels):
    """Milliseconds of the steps behind the first ones, and the last loss."""
    net, x, labels = (each.to(options.device) for each in (net, x, labels))
    wait = torch.cuda.synchronize if options.device == "cuda" else lambda: None
    if x.is_floating_point():
        net = net.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    forward = torch.compile(net) if options.mode == "compile" else net
    times = []
    for step in range(WARM_UP + options.steps):
        wait()
        start = time.perf_counter()
        with torch.autocast(options.device, torch.bfloat16):
            logits = forward(x)
            loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]),
                                   labels.reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        wait()
        if step >= WARM_UP:
            times.append((time.perf_counter() - start) * 1e3)
    return times, float(loss.detach())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True,
                        choices=["gpt2", "llama", "resnet50"])
    parser.add_argument("--mode", default="compile",
                        choices=["eager", "compile"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--export", type=pathlib.Path)
    options = parser.parse_args()
    net, x, labels, items, flops = build(options.model, options.small,
                                         bool(options.export))
    if options.export:
        import onnx_export  # beside this file
        name = onnx_export.export(options.export, net, x)
        high = None if x.is_floating_point() else int(x.max()) + 1
        print(json.dumps({"items": items, "flops": flops, "inputs": [
            {"name": name, "shape": list(x.shape), "high": high},
            {"name": "labels", "shape": list(labels.shape),
             "high": int(labels.max()) + 1}]}))
        return
    times, loss = train(options, net, x, labels)
    median = statistics.median(times)
    print(json.dumps({
        "model": options.model, "mode": options.mode, "loss": loss,
        "torch": torch.__version__, "step_ms_median": median,
        "items_per_s": items / median * 1e3,
        "flops_per_s": flops / median * 1e3,
        "peak_mib": torch.cuda.max_memory_allocated() / 2**20
        if options.device == "cuda" else 0}))


if __name__ == "__main__":
    main()
