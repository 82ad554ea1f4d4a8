"""Small networks of the usual kinds for sequences and tables."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import models

BATCH = 4
BATCHES = 3


class BertLayer(nn.Module):
    """Post-norm encoder layer over an additive mask."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(width, width) for _ in range(4))
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.intermediate = nn.Linear(width, 2 * width)
        self.dense = nn.Linear(2 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = (self.split(layer(x))
                   for layer in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        y = y.transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.output(y))
        return self.norm2(x + self.dense(F.gelu(self.intermediate(x))))


class Bert(nn.Module):
    """Three embeddings, masked attention, a pooler and a classifier."""

    def __init__(self, vocabulary, seq, width, heads, layers, classes):
        super().__init__()
        self.word = nn.Embedding(vocabulary, width, padding_idx=0)
        self.position = nn.Embedding(seq, width)
        self.token_type = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(
            BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.classifier = nn.Linear(width, classes)
        self.register_buffer("position_ids", torch.arange(seq)[None])

    def forward(self, input_ids, attention_mask):
        types = torch.zeros_like(input_ids)
        x = self.word(input_ids) + self.position(self.position_ids)
        x = self.norm(x + self.token_type(types))
        mask = (1 - attention_mask[:, None, None, :].to(x.dtype))
        mask = mask * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


def rotate(x, cos, sin):
    """Rotary position embedding of halves, as in Llama."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class LlamaLayer(nn.Module):
    """Grouped-query attention and SwiGLU over RMS norms."""

    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, groups * self.size, bias=False)
        self.v_proj = nn.Linear(width, groups * self.size, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)
        self.input_norm = nn.RMSNorm(width, eps=1e-5)
        self.post_norm = nn.RMSNorm(width, eps=1e-5)

    def attend(self, x, cos, sin):
        batch, seq, width = x.shape
        q, k, v = (proj(x).view(batch, seq, -1, self.size).transpose(1, 2)
                   for proj in (self.q_proj, self.k_proj, self.v_proj))
        y = F.scaled_dot_product_attention(
            rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True,
            enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, seq, width))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.input_norm(x), cos, sin)
        y = self.post_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nn.Module):
    def __init__(self, vocabulary, seq, width, heads, groups, hidden, layers):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(
            LlamaLayer(width, heads, groups, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        half = width // heads // 2
        angles = torch.outer(torch.arange(seq),
                             10000.0 ** (-torch.arange(half) / half))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, input_ids):
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.lm_head(self.norm(x))


class LstmLanguageModel(nn.Module):
    """Two LSTM layers between an embedding and a projection."""

    def __init__(self, vocabulary, width, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, input_ids):
        return self.head(self.lstm(self.embedding(input_ids))[0])


class Recommender(nn.Module):
    """Embeddings of user and item, their product, numbers, and an MLP."""

    def __init__(self, users, items, width, numbers):
        super().__init__()
        self.user = nn.Embedding(users, width)
        self.item = nn.Embedding(items, width)
        self.numbers = nn.Linear(numbers, width)
        self.mlp = nn.Sequential(nn.Linear(4 * width, 16), nn.LeakyReLU(0.1),
                                 nn.Linear(16, 1))

    def forward(self, user, item, numbers):
        u, i = self.user(user), self.item(item)
        x = torch.cat([u, i, u * i, F.elu(self.numbers(numbers))], -1)
        return self.mlp(x).squeeze(-1)


def walk(vocabulary, seq):
    """A noisy walk over the vocabulary, so that there is something to learn:
    tokens and those that follow."""
    rng = np.random.default_rng(models.SEED)
    steps = rng.integers(1, 4, (BATCH * BATCHES, seq + 1))
    tokens = (np.cumsum(steps, axis=1) % vocabulary).astype(np.int64)
    return tokens[:, :-1], tokens[:, 1:]


def language_model(name, net, vocabulary, seq, learning_rates, **options):
    tokens, following = walk(vocabulary, seq)
    return models.Case(name, net, {"input_ids": tokens}, following, BATCH,
                       "softmax-cross-entropy", learning_rates,
                       traces=False, **options)


def bert():
    vocabulary, seq = 48, 12
    tokens, _ = walk(vocabulary, seq)
    lengths = 5 + np.arange(len(tokens)) % (seq - 4)
    mask = (np.arange(seq) < lengths[:, None]).astype(np.int64)
    return models.Case("bert", Bert(vocabulary, seq, 24, 2, 2, 3),
                       {"input_ids": tokens * mask, "attention_mask": mask},
                       tokens[:, 0] % 3, BATCH, "softmax-cross-entropy",
                       {"sgd": 0.05, "adamw": 1e-3}, opsets=(18, 23),
                       traces=False)


def llama():
    return language_model("llama", Llama(48, 16, 24, 4, 2, 40, 2), 48, 16,
                          {"sgd": 0.05, "adamw": 1e-3}, opsets=(18, 23))


def lstm():
    return language_model("lstm", LstmLanguageModel(48, 12, 16), 48, 10,
                          {"sgd": 0.5, "adamw": 3e-3})


def recommender():
    rng = np.random.default_rng(models.SEED)
    count = BATCH * BATCHES * 2
    user, item = rng.integers(0, 20, count), rng.integers(0, 30, count)
    numbers = rng.standard_normal((count, 5)).astype(np.float32)
    rating = np.sin(user) + np.cos(item) + numbers[:, 0] / 2
    return models.Case("recommender", Recommender(20, 30, 8, 5),
                       {"user": user, "item": item, "numbers": numbers},
                       rating.astype(np.float32), BATCH * 2, "mse",
                       {"sgd": 0.05, "adamw": 3e-3}, traces=False)


CASES = {"bert": bert, "llama": llama, "lstm": lstm,
         "recommender": recommender}
