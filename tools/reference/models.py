"""The small models whose training is recorded, and the data they train on.

Every model is a plain torch.nn.Module built under a fixed seed. A Case says
what zc needs to repeat the run: the loss, the batch, the names of the inputs.
"""
import dataclasses
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS = 10
SEED = 0


@dataclasses.dataclass
class Case:
    """One model with its data, as zc and PyTorch both see it."""

    name: str
    net: nn.Module
    inputs: dict  # name -> array; first axis = samples
    labels: np.ndarray  # None: the model computes its loss itself
    batch: int
    loss: str  # as `zc compile --loss` spells it
    learning_rates: dict  # optimizer -> learning rate
    symbolic_batch: str = ""  # name of the batch dim when left symbolic
    images: bool = False  # has a channels-last twin
    opsets: tuple = (None,)  # to export at; the first is model.onnx
    traces: bool = True  # keep all metadata of the nodes


class Digits8x8(nn.Module):
    """A small convolutional classifier with batch normalisation."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Block(nn.Module):
    """A pre-norm transformer block with fused query, key and value."""

    def __init__(self, width, heads, causal=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, seq, width = x.shape
        qkv = self.qkv(self.ln1(x))
        qkv = qkv.view(batch, seq, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, seq, width))
        hidden = F.gelu(self.fc(self.ln2(x)), approximate="tanh")
        return x + self.out(hidden)


class Gpt(nn.Module):
    """GPT-2 with a tied head; the same graph at any size."""

    def __init__(self, vocabulary, seq, layers, heads, width, causal=True):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(seq, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal)
                                    for _ in range(layers))
        self.lnf = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.lnf(x))


def digits(samples):
    """Handwritten digits as float32 in [0, 1], with labels as int64."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = (data.images[:samples] / 16).astype(np.float32)
    return images, data.target[:samples].astype(np.int64)


def mlp():
    images, labels = digits(8 * 40)
    net = nn.Sequential(
        nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(),
        nn.Linear(32, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 10))
    return Case("mlp", net, {"x": images.reshape(-1, 64)}, labels, 32,
                "softmax-cross-entropy",
                {"sgd": 0.1, "sgd-nesterov": 0.05, "adamw": 1e-3},
                symbolic_batch="batch")


def cnn():
    images, labels = digits(8 * 20)
    return Case("cnn", Digits8x8(), {"x": images[:, None]}, labels, 16,
                "softmax-cross-entropy",
                {"sgd": 0.05, "sgd-nesterov": 0.01, "adamw": 1e-3},
                images=True)


def gpt():
    vocabulary, seq, batch = 96, 32, 4
    rng = np.random.default_rng(SEED)
    # A noisy walk over the vocabulary, so that there is something to learn.
    walk = np.cumsum(rng.integers(1, 4, (batch * STEPS, seq + 1)), axis=1)
    tokens = (walk % vocabulary).astype(np.int64)
    return Case("gpt", Gpt(vocabulary, seq, 2, 2, 32),
                {"input_ids": tokens[:, :-1]}, tokens[:, 1:], batch,
                "softmax-cross-entropy",
                {"sgd": 0.02, "sgd-nesterov": 0.005, "adamw": 1e-3})


def regression():
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((16 * 7, 8)).astype(np.float32)
    y = np.stack([np.sin(x[:, 0] + x[:, 1]), x[:, 2] * x[:, 3] / math.pi,
                  np.abs(x[:, 4]), x[:, 5] - x[:, 6]], axis=1)
    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32),
                        nn.Sigmoid(), nn.Linear(32, 4))
    # 7 batches for 10 steps: the run wraps around the end of the data.
    return Case("regression", net, {"x": x}, y.astype(np.float32), 16, "mse",
                {"sgd": 0.1, "sgd-nesterov": 0.05, "adamw": 1e-3})


CASES = {"mlp": mlp, "cnn": cnn, "gpt": gpt, "regression": regression}
