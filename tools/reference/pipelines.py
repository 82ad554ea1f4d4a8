"""Networks that a pipeline finds hard to cut: an encoder with a decoder, and
layers of odd sizes."""
import numpy as np
import torch.nn as nn
import torch.nn.functional as F

import models

PADDING = 0


class Attention(nn.Module):
    """Queries of one sequence over keys and values of the same or another."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, mask=None):
        y = F.scaled_dot_product_attention(
            self.split(self.query(x)), self.split(self.key(memory)),
            self.split(self.value(memory)), attn_mask=mask,
            is_causal=x is memory and mask is None)
        return self.output(y.transpose(1, 2).reshape(x.shape))


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.fc, self.out = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x, mask):
        y = self.norm1(x)
        x = x + self.attention(y, y, mask)
        return x + self.out(F.relu(self.fc(self.norm2(x))))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (
            nn.LayerNorm(width) for _ in range(3))
        self.attention = Attention(width, heads)
        self.cross = Attention(width, heads)
        self.fc, self.out = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x, memory, mask):
        y = self.norm1(x)
        x = x + self.attention(y, y)
        x = x + self.cross(self.norm2(x), memory, mask)
        return x + self.out(F.relu(self.fc(self.norm3(x))))


class Translator(nn.Module):
    """Encoder and decoder (Vaswani et al. 2017), pre-norm: one table embeds
    source and target and is the head; every decoder layer reads the encoder's
    output and the source's mask."""

    def __init__(self, vocabulary, source, target, width, heads, hidden,
                 layers):
        super().__init__()
        self.shared = nn.Embedding(vocabulary, width)
        self.source_positions = nn.Embedding(source, width)
        self.target_positions = nn.Embedding(target, width)
        self.encoder = nn.ModuleList(
            EncoderLayer(width, heads, hidden) for _ in range(layers))
        self.encoder_norm = nn.LayerNorm(width)
        self.decoder = nn.ModuleList(
            DecoderLayer(width, heads, hidden) for _ in range(layers))
        self.decoder_norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.shared.weight

    def forward(self, source, target):
        mask = (source != PADDING)[:, None, None, :]
        x = self.shared(source) + self.source_positions.weight
        for layer in self.encoder:
            x = layer(x, mask)
        memory = self.encoder_norm(x)
        y = self.shared(target) + self.target_positions.weight
        for layer in self.decoder:
            y = layer(y, memory, mask)
        return self.head(self.decoder_norm(y))


def translator():
    """The source backwards, its last tokens padding in some samples."""
    vocabulary, source, target, batch = 31, 11, 9, 8
    rng = np.random.default_rng(models.SEED)
    tokens = rng.integers(1, vocabulary, (3 * batch, source))
    reverse = np.ascontiguousarray(tokens[:, target::-1])
    lengths = source - np.arange(len(tokens)) % 3
    tokens = np.where(np.arange(source) < lengths[:, None], tokens, PADDING)
    net = Translator(vocabulary, source, target, 24, 2, 40, 2)
    return models.Case("translator", net,
                       {"source": tokens, "target": reverse[:, :target]},
                       reverse[:, 1:target + 1], batch,
                       "softmax-cross-entropy", {"sgd": 0.05, "adamw": 1e-3},
                       traces=False)


def odd():
    """No width that 2 divides."""
    rng = np.random.default_rng(models.SEED)
    x = rng.standard_normal((90, 13)).astype(np.float32)
    labels = (np.abs(x[:, :5]) + x[:, 5:10]).argmax(1)
    net = nn.Sequential(nn.Linear(13, 11), nn.ReLU(), nn.Linear(11, 9),
                        nn.Tanh(), nn.Linear(9, 7), nn.GELU(), nn.Linear(7, 15),
                        nn.ReLU(), nn.Linear(15, 5))
    return models.Case("odd", net, {"x": x}, labels, 30,
                       "softmax-cross-entropy",
                       {"sgd": 0.1, "sgd-nesterov": 0.05, "adamw": 1e-3},
                       symbolic_batch="batch", traces=False)


CASES = {"translator": translator, "odd": odd}
