#!/usr/bin/env python3
"""Write a GPT of any size as ONNX without its weights, for plans of models that
no machine at hand could hold.

  large_gpt.py OUTPUT.onnx [--layers 36 --width 4096 --heads 32 ...]

The defaults have 7.5 billion parameters. Every weight names a data file that
is not there: compile with `--init normal:0.02`. Module names stand where
PyTorch's exporter writes them. `--causal 0` leaves every token attend all, as
BERT's do; `--tied 1` makes the embedding the head.
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SCOPES = "pkg.torch.onnx.name_scopes"
KIND = "pkg.torch.export.graph_signature.InputSpec.kind"


class Graph:
    """Grows node by node; every value is called after its node."""

    def __init__(self, file):
        self.file = file
        self.nodes, self.weights, self.infos = [], [], []
        self.offset = 0
        self.elements = 0

    def weight(self, name, *shape):
        tensor = TensorProto(name=name, dims=shape,
                             data_type=TensorProto.FLOAT,
                             data_location=TensorProto.EXTERNAL)
        size = 4 * int(np.prod(shape))
        for key, value in (("location", self.file), ("offset", self.offset),
                           ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        self.offset += size
        self.elements += size // 4
        self.weights.append(tensor)
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        info.metadata_props.add(key=KIND, value="PARAMETER")
        self.infos.append(info)
        return name

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, module, operator, *inputs, **attributes):
        name = f"n{len(self.nodes)}_{operator}"
        node = helper.make_node(operator, inputs, [name], name, **attributes)
        parts = module.split(".") if module else []
        scopes = [""] + [".".join(parts[:i + 1]) for i in range(len(parts))]
        node.metadata_props.add(key=SCOPES, value=str(scopes + [name]))
        self.nodes.append(node)
        return name

    def linear(self, module, x, rows, columns):
        """x @ W^T + b, W stored [columns, rows] as PyTorch has it."""
        weight = self.weight(f"{module}.weight", columns, rows)
        bias = self.weight(f"{module}.bias", columns)
        turned = self.add(module, "Transpose", weight, perm=[1, 0])
        return self.add(module, "Add", self.add(module, "MatMul", x, turned),
                        bias)

    def norm(self, module, x, width):
        return self.add(module, "LayerNormalization", x,
                        self.weight(f"{module}.weight", width),
                        self.weight(f"{module}.bias", width), axis=-1)


def attention(graph, module, x, options, mask):
    width, heads = options.width, options.heads
    shape = graph.constant(f"{module}.heads", np.array(
        [options.batch, options.length, heads, width // heads]))
    flat = graph.constant(f"{module}.flat", np.array(
        [options.batch, options.length, width]))
    split = {}
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]),
                        ("v", [0, 2, 1, 3])):
        value = graph.linear(f"{module}.{name}", x, width, width)
        value = graph.add(module, "Reshape", value, shape)
        split[name] = graph.add(module, "Transpose", value, perm=order)
    scores = graph.add(module, "MatMul", split["q"], split["k"])
    scale = graph.constant(f"{module}.scale", np.array(
        (width // heads) ** -0.5, np.float32))
    scores = graph.add(module, "Mul", scores, scale)
    if mask:
        scores = graph.add(module, "Add", scores, mask)
    weights = graph.add(module, "Softmax", scores, axis=-1)
    mixed = graph.add(module, "MatMul", weights, split["v"])
    mixed = graph.add(module, "Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = graph.add(module, "Reshape", mixed, flat)
    return graph.linear(f"{module}.out", mixed, width, width)


def block(graph, module, x, options, mask):
    normed = graph.norm(f"{module}.ln1", x, options.width)
    x = graph.add(module, "Add", x, attention(
        graph, f"{module}.attn", normed, options, mask))
    normed = graph.norm(f"{module}.ln2", x, options.width)
    hidden = graph.linear(f"{module}.fc", normed, options.width,
                          4 * options.width)
    hidden = graph.add(module, "Gelu", hidden)
    return graph.add(module, "Add", x, graph.linear(
        f"{module}.proj", hidden, 4 * options.width, options.width))


def language_model(graph, name, options, opsets, functions=(), ir_version=10):
    """A model from tokens to logits, which the graph's last node makes, and its
    number of parameters."""
    graph.nodes[-1].output[0] = "logits"
    shape = [options.batch, options.length]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, name,
            [helper.make_tensor_value_info("tokens", TensorProto.INT64, shape)],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT,
                                           [*shape, options.vocabulary])],
            graph.weights, value_info=graph.infos),
        functions=list(functions), ir_version=ir_version,
        opset_imports=[helper.make_opsetid(*each) for each in opsets.items()])
    return model, graph.elements


def build(options):
    graph = Graph(options.output.rpartition("/")[2] + ".data")
    tokens = graph.add("wte", "Gather", graph.weight(
        "wte.weight", options.vocabulary, options.width), "tokens")
    x = graph.add("", "Add", tokens, graph.weight(
        "wpe.weight", options.length, options.width))
    mask = options.causal and graph.constant("mask", np.triu(np.full(
        (options.length, options.length), -np.inf, np.float32), 1))
    for layer in range(options.layers):
        x = block(graph, f"h.{layer}", x, options, mask)
    x = graph.norm("ln_f", x, options.width)
    head = "wte.weight" if options.tied else graph.weight(
        "head.weight", options.vocabulary, options.width)
    graph.add("head", "MatMul", x, graph.add(
        "head", "Transpose", head, perm=[1, 0]))
    return language_model(graph, "gpt", options, {"": 20})


def size_parser(doc, sizes):
    """Arguments of a program that writes a model to a file: its name, and the
    model's sizes, (name, default)."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    parser.add_argument("output")
    for name, value in sizes:
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser


def write_model(path, model, elements):
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    print(f"{path}: {elements:,} parameters")


def main():
    parser = size_parser(__doc__, (
        ("layers", 36), ("width", 4096), ("heads", 32),
        ("vocabulary", 32000), ("batch", 64),
        ("length", 1024), ("causal", 1), ("tied", 0)))
    options = parser.parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
