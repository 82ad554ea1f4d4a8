#!/usr/bin/env python3
"""Layouts of what exporters write: indices that count up with samples and
tokens, q, k and v in one matrix in all its forms. Real ranks train what one rank
does, and send what the closed forms say.

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


class LayoutTest(ZcTest):
    """A model of a test's own, trained on meshes."""

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


class Layouts(LayoutTest):

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


if __name__ == "__main__":
    unittest.main()
