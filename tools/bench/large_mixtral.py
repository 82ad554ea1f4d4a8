#!/usr/bin/env python3
"""Write Mixtral as ONNX without its weights, for plans of models that no machine
at hand could hold.

  large_mixtral.py OUTPUT.onnx [--layers 32 --width 4096 --experts 8 ...]

The defaults have Mixtral 8x7B's 46.7 billion parameters, 12.9 of them active for
a token; Qwen3-30B-A3B is

  --layers 48 --width 2048 --head 128 --key-heads 4 --inner 768 --experts 128
  --chosen 8 --vocabulary 151936 --head-norms

and GShard's of 600 billion, whose every other layer has experts, of two matrices,

  --layers 36 --every 2 --width 1024 --heads 16 --key-heads 16 --inner 8192
  --experts 2048 --ungated --activation relu --vocabulary 64000

Positions are not encoded, which has no parameters. Every weight names
a data file that is not there: compile with `--init normal:0.02`. Each layer of
experts is an `ai.zc.MoE`, a function of the file.
"""
import pathlib
import sys

import numpy as np

from large_gpt import Graph, language_model, size_parser, write_model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "export"))
import zc_moe_body  # noqa: E402

DOMAIN = "ai.zc"


def linear(graph, module, x, rows, columns):
    weight = graph.weight(f"{module}.weight", columns, rows)
    return graph.add(module, "MatMul", x, graph.add(
        module, "Transpose", weight, perm=[1, 0]))


def norm(graph, module, x, width):
    """Divided by the root of the mean square."""
    last = graph.constant(f"{module}.axes", np.array([-1]))
    mean = graph.add(module, "ReduceMean", graph.add(module, "Mul", x, x), last)
    tiny = graph.constant(f"{module}.eps", np.array(1e-5, np.float32))
    root = graph.add(module, "Sqrt", graph.add(module, "Add", mean, tiny))
    return graph.add(module, "Mul", graph.add(module, "Div", x, root),
                     graph.weight(f"{module}.weight", width))


def attention(graph, module, x, options, mask):
    """Several heads share keys and values."""
    head = options.head or options.width // options.heads
    groups = options.heads // options.key_heads
    shared = options.key_heads * head

    def heads(name, width, shape, order):
        value = linear(graph, f"{module}.{name}", x, options.width, width)
        sizes = graph.constant(f"{module}.{name}.sizes", np.array(
            [options.batch, options.length, *shape, head]))
        value = graph.add(module, "Reshape", value, sizes)
        if options.head_norms and name != "v_proj":
            value = norm(graph, f"{module}.{name}.norm", value, head)
        return graph.add(module, "Transpose", value, perm=order)

    # [batch, key heads, group, length, head]
    q = heads("q_proj", options.heads * head, (options.key_heads, groups),
              [0, 2, 3, 1, 4])
    k = heads("k_proj", shared, (options.key_heads, 1), [0, 2, 3, 4, 1])
    v = heads("v_proj", shared, (options.key_heads, 1), [0, 2, 3, 1, 4])
    scale = graph.constant(f"{module}.scale", np.array(head ** -0.5,
                                                       np.float32))
    scores = graph.add(module, "Mul", graph.add(module, "MatMul", q, k), scale)
    scores = graph.add(module, "Softmax", graph.add(
        module, "Add", scores, mask), axis=-1)
    mixed = graph.add(module, "Transpose", graph.add(
        module, "MatMul", scores, v), perm=[0, 3, 1, 2, 4])
    flat = graph.constant(f"{module}.flat", np.array(
        [options.batch, options.length, options.heads * head]))
    return linear(graph, f"{module}.o_proj", graph.add(
        module, "Reshape", mixed, flat), options.heads * head, options.width)


def experts(graph, module, x, options, settings):
    inputs = [graph.weight(f"{module}.router", options.experts, options.width),
              graph.weight(f"{module}.gate_up_proj", options.experts,
                           (1 if options.ungated else 2) * options.inner,
                           options.width),
              graph.weight(f"{module}.down_proj", options.experts,
                           options.width, options.inner)]
    y = graph.add(module, "MoE", x, *inputs, **vars(settings))
    node = graph.nodes[-1]
    node.domain, node.overload = DOMAIN, settings.overload
    node.output.extend([f"{y}_balance", f"{y}_z"])
    return y


def feed_forward(graph, module, x, options):
    """The feed-forward part of a layer without experts."""
    hidden = graph.add(module, "Relu", linear(
        graph, f"{module}.up", x, options.width, options.inner))
    return linear(graph, f"{module}.down", hidden, options.inner,
                  options.width)


def build(options):
    graph = Graph(options.output.rpartition("/")[2] + ".data")
    settings = zc_moe_body.Settings(
        top_k=options.chosen, gate="topk-softmax",
        activation=options.activation, gated=int(not options.ungated),
        normalize=0, balance="switch", noisy=0, second="always", levels=0,
        top_groups=0, grouped=1)
    x = graph.add("embed", "Gather", graph.weight(
        "embed.weight", options.vocabulary, options.width), "tokens")
    mask = graph.constant("mask", np.triu(np.full(
        (options.length, options.length), -np.inf, np.float32), 1))
    for layer in range(options.layers):
        module = f"layers.{layer}"
        normed = norm(graph, f"{module}.norm1", x, options.width)
        x = graph.add(module, "Add", x, attention(
            graph, f"{module}.attn", normed, options, mask))
        normed = norm(graph, f"{module}.norm2", x, options.width)
        if (layer + 1) % options.every == 0:
            y = experts(graph, f"{module}.moe", normed, options, settings)
        else:
            y = feed_forward(graph, f"{module}.mlp", normed, options)
        x = graph.add(module, "Add", x, y)
    x = norm(graph, "norm", x, options.width)
    linear(graph, "head", x, options.width, options.vocabulary)
    return language_model(
        graph, "mixtral", options, {"": zc_moe_body.OPSET, DOMAIN: 1},
        functions=[zc_moe_body.make_function(DOMAIN, settings)])


def main():
    parser = size_parser(__doc__, (
        ("layers", 32), ("width", 4096), ("heads", 32),
        ("key-heads", 8), ("inner", 14336), ("experts", 8),
        ("chosen", 2), ("vocabulary", 32000), ("batch", 8),
        ("length", 4096), ("head", 0),
        ("every", 1)))
    parser.add_argument("--activation", default="silu")
    for name in ("head-norms", "ungated"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
