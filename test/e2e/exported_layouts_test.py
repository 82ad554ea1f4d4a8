#!/usr/bin/env python3
"""Layouts of what exporters write: indices that count up with samples and
tokens, q, k and v in one matrix in all its forms, convolutions in groups. Real
ranks train what one rank does, and send what the closed forms say.

Losses within 1e-5 relative, gradient norms within 1e-4 (float32 sums in another
order).
"""
import json
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from zctest import ZcTest, read_log

BATCH, TOKENS, WIDTH, HEADS, WORDS, LAYERS, STEPS = 8, 16, 32, 4, 64, 2, 3


class Model:
    """A graph in ONNX's text form that grows node by node, with its weights."""

    def __init__(self, inputs, output):
        self.head = f"g ({inputs}) => ({output})"
        self.lines, self.weights, self.numbers = [], {}, {}
        self.rng = np.random.default_rng(1)

    def weight(self, name, *shape, scale=0.2):
        self.weights[name] = (scale * self.rng.standard_normal(shape)).astype(
            np.float32)
        return name

    def numbers_of(self, *values):
        name = "i" + "_".join(map(str, values)).replace("-", "m")
        self.numbers[name] = np.array(values, np.int64)
        return name

    def node(self, text):
        """Adds `text`, a node's right-hand side; the value's name."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def nodes(self, names, text):
        self.lines.append(f"{', '.join(names)} = {text}")
        return names

    def reshape(self, value, *shape):
        return self.node(f"Reshape({value}, {self.numbers_of(*shape)})")

    def save(self, path):
        body = "\n".join(self.lines)
        model = onnx.parser.parse_model(
            '<ir_version: 9, opset_import: ["" : 20]>\n'
            f"{self.head} {{\n{body}\n}}")
        for name, value in {**self.weights, **self.numbers}.items():
            model.graph.initializer.append(numpy_helper.from_array(value, name))
        onnx.save(model, path)


def counted(model, size, *shape):
    """arange(size) as `shape`."""
    scalars = {}
    for value in (0, 1, size):
        scalars[value] = f"n{value}"
        model.numbers[f"n{value}"] = np.array(value, np.int64)
    return model.reshape(model.node(
        f"Range({scalars[0]}, {scalars[size]}, {scalars[1]})"), *shape)


def index_pairs(model, first, second):
    """As PyTorch's exporter indexes with two tensors."""
    both = model.node(f"Max({first}, {second})")
    shape = model.node(f"Shape({both})")
    minus = model.numbers_of(-1)
    parts = []
    for each in (first, second):
        wide = model.node(f"Expand({each}, {shape})")
        parts.append(model.node(f"Unsqueeze({wide}, {minus})"))
    return model.node(f"Concat <axis = -1> ({parts[0]}, {parts[1]})")


def attention(model, q, k, v, mask=None):
    """Attention of q, k and v, [B, H, T, hd] each; a mask is true where a key
    is seen."""
    keys = model.node(f"Transpose <perm = [0, 1, 3, 2]> ({k})")
    scores = model.node(f"MatMul({q}, {keys})")
    if mask:
        model.weights["never"] = np.array(-1e9, np.float32)
        scores = model.node(f"Where({mask}, {scores}, never)")
    shares = model.node(f"Softmax <axis = -1> ({scores})")
    read = model.node(f"MatMul({shares}, {v})")
    read = model.node(f"Transpose <perm = [0, 2, 1, 3]> ({read})")
    return model.reshape(read, BATCH, TOKENS, WIDTH)


def heads(model, value):
    value = model.reshape(value, BATCH, TOKENS, HEADS, WIDTH // HEADS)
    return model.node(f"Transpose <perm = [0, 2, 1, 3]> ({value})")


def linear(model, value, name, rows, columns):
    weight = model.weight(f"{name}_weight", rows, columns)
    bias = model.weight(f"{name}_bias", columns)
    return model.node(f"Add({model.node(f'MatMul({value}, {weight})')}, {bias})")


def norm(model, value, name):
    model.weights[f"{name}_weight"] = np.ones(WIDTH, np.float32)
    bias = model.weight(f"{name}_bias", WIDTH)
    return model.node(f"LayerNormalization({value}, {name}_weight, {bias})")


def masked_model():
    """An encoder whose padding is masked, a pooled row of each sample, and some
    of its elements in an order of its own."""
    model = Model(f"int64[{BATCH},{TOKENS}] ids, int64[{BATCH},{TOKENS}] mask, "
                  f"int64[{BATCH}] last, int64[{BATCH},{WIDTH}] order",
                  f"float[{BATCH},{WORDS}] logits")
    x = model.node(f"Gather({model.weight('table', WORDS, WIDTH)}, ids)")
    bits = model.node("Cast <to = 9> (mask)")
    seen = model.node("GatherND({}, {})".format(bits, index_pairs(
        model, counted(model, BATCH, BATCH, 1, 1, 1),
        counted(model, TOKENS, 1, 1, 1, TOKENS))))
    h = norm(model, x, "norm")
    q, k, v = (heads(model, linear(model, h, name, WIDTH, WIDTH))
               for name in "qkv")
    read = linear(model, attention(model, q, k, v, seen), "o", WIDTH, WIDTH)
    x = model.node(f"Add({x}, {read})")
    pooled = model.node("GatherND({}, {})".format(x, index_pairs(
        model, counted(model, BATCH, BATCH), "last")))
    turned = model.node(f"GatherElements <axis = 1> ({pooled}, order)")
    both = model.node(f"Mul({pooled}, {turned})")
    model.lines.append(
        f"logits = MatMul({both}, {model.weight('head', WIDTH, WORDS)})")
    return model


def split(model, value):
    return model.nodes([f"{value}{part}" for part in "qkv"],
                       f"Split <axis = 2, num_outputs = 3> ({value})")


def slices(model, value):
    """The nodes that PyTorch's split and chunk become."""
    axis = model.numbers_of(2)
    return [model.node("Slice({}, {}, {}, {})".format(
        value, model.numbers_of(at * WIDTH), model.numbers_of((at + 1) * WIDTH),
        axis)) for at in range(3)]


def five_dims(model, value):
    value = model.reshape(value, BATCH, TOKENS, 3, WIDTH)
    parts = []
    for at in range(3):
        model.numbers[f"at{at}"] = np.array(at, np.int64)
        parts.append(model.node(f"Gather <axis = 2> ({value}, at{at})"))
    return parts


def gpt_model(cut):
    """nanoGPT's and Hugging Face's GPT-2 in small, with a tied head."""
    model = Model(f"int64[{BATCH},{TOKENS}] ids",
                  f"float[{BATCH},{TOKENS},{WORDS}] logits")
    model.weights["causal"] = np.tril(np.ones((TOKENS, TOKENS), bool))
    x = model.node(f"Gather({model.weight('wte', WORDS, WIDTH)}, ids)")
    for layer in range(LAYERS):
        name = f"h{layer}"
        h = norm(model, x, f"{name}_ln_1")
        packed = linear(model, h, f"{name}_c_attn", WIDTH, 3 * WIDTH)
        parts = [heads(model, part) for part in cut(model, packed)]
        read = attention(model, *parts, "causal")
        x = model.node("Add({}, {})".format(
            x, linear(model, read, f"{name}_c_proj", WIDTH, WIDTH)))
        h = norm(model, x, f"{name}_ln_2")
        wide = linear(model, h, f"{name}_c_fc", WIDTH, 4 * WIDTH)
        wide = model.node(f"Relu({wide})")
        x = model.node("Add({}, {})".format(
            x, linear(model, wide, f"{name}_proj", 4 * WIDTH, WIDTH)))
    x = norm(model, x, "ln_f")
    head = model.node("Transpose <perm = [1, 0]> (wte)")
    model.lines.append(f"logits = MatMul({x}, {head})")
    return model


def plain_convolution(model, value, name, outputs, inputs, size, groups=1,
                      stride=1):
    weight = model.weight(f"{name}_weight", outputs, inputs // groups, size,
                          size)
    pad = size // 2 if stride == 1 else 0
    return model.node(f"Conv <group = {groups}, pads = {[pad] * 4}, "
                      f"strides = {[stride] * 2}> ({value}, {weight})")


def convolution(model, value, name, outputs, inputs, size, groups=1):
    """With batch normalisation behind it."""
    value = plain_convolution(model, value, name, outputs, inputs, size, groups)
    return norm_channels(model, value, name, outputs)


def norm_channels(model, value, name, channels):
    for part, start in ("scale", 1), ("shift", 0), ("mean", 0), ("var", 1):
        model.weights[f"{name}_{part}"] = np.full(channels, start, np.float32)
    return model.node("BatchNormalization <training_mode = 0> ({}, {})".format(
        value, ", ".join(f"{name}_{part}"
                         for part in ("scale", "shift", "mean", "var"))))


def mobile_model():
    """An inverted residual, groups of several channels, several outputs of one
    input channel."""
    model = Model(f"float[{BATCH},3,8,8] x", f"float[{BATCH},4] logits")
    x = convolution(model, "x", "stem", 12, 3, 3)
    h = model.node(f"Relu({convolution(model, x, 'expand', 48, 12, 1)})")
    h = model.node(f"Relu({convolution(model, h, 'depth', 48, 48, 3, 48)})")
    x = model.node(f"Add({x}, {convolution(model, h, 'project', 12, 48, 1)})")
    h = model.node(f"Relu({convolution(model, x, 'reduce', 48, 12, 1)})")
    h = model.node(f"Relu({convolution(model, h, 'groups', 96, 48, 3, 12)})")
    x = model.node(f"Add({x}, {convolution(model, h, 'restore', 12, 96, 1)})")
    h = model.node(f"Relu({convolution(model, x, 'few', 24, 12, 1)})")
    h = model.node(f"Relu({convolution(model, h, 'more', 48, 24, 3, 24)})")
    x = model.node(f"Add({x}, {convolution(model, h, 'back', 12, 48, 1)})")
    x = model.reshape(model.node(f"GlobalAveragePool({x})"), BATCH, 12)
    model.lines.append(
        f"logits = MatMul({x}, {model.weight('head', 12, 4)})")
    return model


def pooled_logits(model, x, channels):
    x = model.reshape(model.node(f"GlobalAveragePool({x})"), BATCH, channels)
    model.lines.append(
        f"logits = MatMul({x}, {model.weight('head', channels, 4)})")
    return model


def dense_model():
    """DenseNet's block and transition: each layer takes what all before it have
    made, normalised."""
    model = Model(f"float[{BATCH},3,8,8] x", f"float[{BATCH},4] logits")
    parts, channels = [convolution(model, "x", "stem", 16, 3, 3)], 16
    for layer in range(3):
        joined = parts[0] if len(parts) == 1 else model.node(
            f"Concat <axis = 1> ({', '.join(parts)})")
        h = norm_channels(model, joined, f"n{layer}", channels)
        h = convolution(model, model.node(f"Relu({h})"), f"wide{layer}", 32,
                        channels, 1)
        parts.append(plain_convolution(model, model.node(f"Relu({h})"),
                                       f"new{layer}", 8, 32, 3))
        channels += 8
    x = model.node(f"Concat <axis = 1> ({', '.join(parts)})")
    x = convolution(model, x, "transition", 20, channels, 1)
    x = model.node(f"Relu({x})")
    x = model.node("AveragePool <kernel_shape = [2, 2], strides = [2, 2]> "
                   f"({x})")
    return pooled_logits(model, x, 20)


def next_model():
    """ConvNeXt's blocks: channels by themselves, a norm of channels that stand
    last, two wide layers, a scale for each channel."""
    model = Model(f"float[{BATCH},3,16,16] x", f"float[{BATCH},4] logits")
    x = plain_convolution(model, "x", "stem", WIDTH, 3, 4, stride=4)
    for block in range(2):
        name = f"b{block}"
        h = plain_convolution(model, x, f"{name}_depth", WIDTH, WIDTH, 7,
                              groups=WIDTH)
        h = model.node(f"Transpose <perm = [0, 2, 3, 1]> ({h})")
        h = norm(model, h, f"{name}_norm")
        h = linear(model, h, f"{name}_wide", WIDTH, 4 * WIDTH)
        h = model.node(f"Gelu({h})")
        h = linear(model, h, f"{name}_narrow", 4 * WIDTH, WIDTH)
        h = model.node(f"Transpose <perm = [0, 3, 1, 2]> ({h})")
        scale = model.weight(f"{name}_scale", WIDTH, 1, 1)
        x = model.node(f"Add({x}, {model.node(f'Mul({h}, {scale})')})")
    return pooled_logits(model, x, WIDTH)


class Layouts(ZcTest):

    def setUp(self):
        super().setUp()
        self.model, self.data = self.folder / "m.onnx", self.folder / "d.npz"
        self.rng = np.random.default_rng(2)

    def integers(self, limit, *shape):
        return self.rng.integers(0, limit, (3 * BATCH, *shape))

    def prepare(self, model, **data):
        model.save(self.model)
        np.savez(self.data, **data)

    def train(self, name, *options):
        artifact = self.folder / f"{name}.zca"
        self.zc("compile", self.model, "-o", artifact, "--optimizer", "sgd",
                "--loss", "softmax-cross-entropy", *options)
        log = self.folder / f"{name}.jsonl"
        mesh = options[1] if options else "dp=1"
        ranks = int(np.prod([int(axis.split("=")[1])
                             for axis in mesh.split(",")]))
        self.zc("run", artifact, "--data", self.data, "--steps", STEPS, "--lr",
                "1e-2", "--no-shuffle", "--log", log,
                *(["--local-ranks", ranks] if ranks > 1 else []))
        return artifact, read_log(log)

    def compare(self, layouts):
        """The artifacts of the layouts, which train as one rank does."""
        _, alone = self.train("alone")
        artifacts = []
        for index, layout in enumerate(layouts):
            with self.subTest(layout=layout):
                artifact, lines = self.train(str(index), "--mesh", *layout)
                artifacts.append(artifact)
                for one, many in zip(alone, lines, strict=True):
                    np.testing.assert_allclose(many["loss"], one["loss"],
                                               rtol=1e-5)
                    np.testing.assert_allclose(many["grad_norm"],
                                               one["grad_norm"], rtol=1e-4)
        return artifacts

    def comm(self, artifact):
        return json.loads(self.zc("inspect", artifact, "--comm",
                                  "--json"))["comm"]["by_kind"]

    def sharding(self, artifact):
        entries = json.loads(self.zc("inspect", artifact, "--sharding",
                                     "--json"))["sharding"]
        return {entry["name"]: entry["sharding"] for entry in entries}

    def test_indexed_by_samples(self):
        """A mask at its own rows and columns, a row of each sample, elements of
        each row: ranks that divide the samples send gradients alone."""
        self.prepare(masked_model(), ids=self.integers(WORDS, TOKENS),
                     mask=np.maximum(self.integers(2, TOKENS),
                                     np.arange(TOKENS) == 0).astype(np.int64),
                     last=self.integers(TOKENS), order=self.integers(2 * WIDTH,
                                                                     WIDTH) -
                     WIDTH, labels=self.integers(WORDS))
        artifacts = self.compare([
            ["dp=2"], ["dp=4"], ["dp=2", "--zero", "1"],
            ["dp=2", "--zero", "2"], ["dp=4", "--zero", "3"], ["dp=2,tp=2"],
            ["dp=2,tp=2", "--zero", "3"], ["dp=2", "--accumulate", "2"]])
        for artifact in artifacts[:5]:
            self.assertEqual(self.comm(artifact)["activations"]["bytes"], 0)

    def check_fused(self, cut):
        """Two sums forward and two backward a layer, one more for the embedding
        and one for the head, and small ones of the loss."""
        self.prepare(gpt_model(cut), ids=self.integers(WORDS, TOKENS),
                     labels=self.integers(WORDS, TOKENS))
        for ranks, artifact in zip((2, 4, 4), self.compare(
                [["tp=2"], ["tp=4"], ["dp=2,tp=2", "--zero", "3"]])):
            if ranks == 4:
                continue
            one_sum = 4 * BATCH * TOKENS * WIDTH * 2 * (ranks - 1) // ranks
            sent = self.comm(artifact)["activations"]["bytes"]
            self.assertGreaterEqual(sent, (4 * LAYERS + 2) * one_sum)
            self.assertLess(sent, (4 * LAYERS + 2.2) * one_sum)

    def test_fused_split(self):
        self.check_fused(split)

    def test_fused_slices(self):
        self.check_fused(slices)

    def test_fused_five_dims(self):
        self.check_fused(five_dims)

    def test_fused_by_hand(self):
        """Tensors that belong to a column of q, k and v follow."""
        self.prepare(gpt_model(slices), ids=self.integers(WORDS, TOKENS),
                     labels=self.integers(WORDS, TOKENS))
        artifact, = self.compare([["tp=2", "--shard",
                                   "h0_c_attn_weight=-,tp"]])
        divided = self.sharding(artifact)
        self.assertEqual(divided["h0_c_attn_bias"], [["tp"]])
        self.assertEqual(divided["h0_c_proj_weight"], [["tp"], []])

    def test_groups(self):
        """Channels that tp divides are some of a convolution's groups."""
        self.prepare(mobile_model(), x=self.rng.standard_normal(
            (3 * BATCH, 3, 8, 8)).astype(np.float32), labels=self.integers(4))
        artifacts = self.compare([["tp=2"], ["tp=3"], ["tp=4"], ["dp=2,tp=2"],
                                  ["dp=2,tp=2", "--zero", "3"]])
        for artifact in artifacts:
            divided = self.sharding(artifact)
            for name in "depth", "groups", "more":
                self.assertEqual(divided[f"{name}_weight"],
                                 [["tp"], [], [], []])

    def test_dense(self):
        """Of two convolutions in a row, the outputs of the first one."""
        self.prepare(dense_model(), x=self.rng.standard_normal(
            (3 * BATCH, 3, 8, 8)).astype(np.float32), labels=self.integers(4))
        for artifact in self.compare([["tp=2"], ["tp=4"], ["dp=2,tp=2"]]):
            divided = self.sharding(artifact)
            for layer in range(3):
                self.assertEqual(divided[f"wide{layer}_weight"],
                                 [["tp"], [], [], []])

    def test_channels_last(self):
        self.prepare(next_model(), x=self.rng.standard_normal(
            (3 * BATCH, 3, 16, 16)).astype(np.float32), labels=self.integers(4))
        for artifact in self.compare([["tp=2"], ["tp=4"], ["dp=2,tp=2"]]):
            divided = self.sharding(artifact)
            for block in range(2):
                self.assertEqual(divided[f"b{block}_wide_weight"],
                                 [[], ["tp"]])
                self.assertEqual(divided[f"b{block}_narrow_weight"],
                                 [["tp"], []])


if __name__ == "__main__":
    unittest.main()
