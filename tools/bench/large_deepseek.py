#!/usr/bin/env python3
"""Write DeepSeek-V3 as ONNX without its weights, as large_mixtral.py does.

  large_deepseek.py OUTPUT.onnx [--layers 61 --experts 256 ...]

The defaults have its 671.0 billion parameters, 37.6 of them active for a token:
latent attention, three layers without experts, then 256 experts in 8 groups, of
which a token has 8 in 4, chosen by corrected sigmoids, and one that all have.
Positions are not encoded, which has no parameters.
"""

import numpy as np

from large_gpt import Graph, language_model, size_parser, write_model
from large_mixtral import DOMAIN, linear, norm, zc_moe_body


def reshape(graph, module, x, *shape):
    return graph.add(module, "Reshape", x, graph.constant(
        f"{module}.shape{len(graph.nodes)}", np.array(shape)))


def split(graph, module, x, *sizes):
    first = graph.add(module, "Split", x, graph.constant(
        f"{module}.sizes{len(graph.nodes)}", np.array(sizes)), axis=-1)
    graph.nodes[-1].output.append(f"{first}_rest")
    return first, f"{first}_rest"


def attention(graph, module, x, options, mask):
    """Queries, keys and values by narrow products; a part of the keys is all
    heads'."""
    batch, length, heads = options.batch, options.length, options.heads
    plain, shared, value = 128, 64, 128
    q = linear(graph, f"{module}.q_a", x, options.width, options.q_rank)
    q = norm(graph, f"{module}.q_norm", q, options.q_rank)
    q = linear(graph, f"{module}.q_b", q, options.q_rank,
               heads * (plain + shared))
    q = graph.add(module, "Transpose", reshape(
        graph, module, q, batch, length, heads, plain + shared),
        perm=[0, 2, 1, 3])
    latent, key = split(graph, module, linear(
        graph, f"{module}.kv_a", x, options.width, options.kv_rank + shared),
        options.kv_rank, shared)
    latent = norm(graph, f"{module}.kv_norm", latent, options.kv_rank)
    both = linear(graph, f"{module}.kv_b", latent, options.kv_rank,
                  heads * (plain + value))
    k, v = split(graph, module, graph.add(module, "Transpose", reshape(
        graph, module, both, batch, length, heads, plain + value),
        perm=[0, 2, 1, 3]), plain, value)
    key = graph.add(module, "Expand", reshape(
        graph, module, key, batch, 1, length, shared), graph.constant(
            f"{module}.expand", np.array([batch, heads, length, shared])))
    k = graph.add(module, "Transpose", graph.add(
        module, "Concat", k, key, axis=-1), perm=[0, 1, 3, 2])
    scale = graph.constant(f"{module}.scale", np.array(
        (plain + shared) ** -0.5, np.float32))
    scores = graph.add(module, "Mul", graph.add(module, "MatMul", q, k), scale)
    scores = graph.add(module, "Softmax", graph.add(
        module, "Add", scores, mask), axis=-1)
    mixed = graph.add(module, "Transpose", graph.add(
        module, "MatMul", scores, v), perm=[0, 2, 1, 3])
    return linear(graph, f"{module}.o", reshape(
        graph, module, mixed, batch, length, heads * value), heads * value,
        options.width)


def dense(graph, module, x, width, inner):
    gate = linear(graph, f"{module}.gate", x, width, inner)
    gate = graph.add(module, "Mul", gate, graph.add(module, "Sigmoid", gate))
    up = linear(graph, f"{module}.up", x, width, inner)
    return linear(graph, f"{module}.down", graph.add(module, "Mul", gate, up),
                  inner, width)


def experts(graph, module, x, options, settings):
    inputs = [graph.weight(f"{module}.router", options.experts, options.width),
              graph.weight(f"{module}.gate_up_proj", options.experts,
                           2 * options.inner, options.width),
              graph.weight(f"{module}.down_proj", options.experts,
                           options.width, options.inner),
              graph.constant(f"{module}.correction",
                             np.zeros(options.experts, np.float32))]
    y = graph.add(module, "MoE", x, *inputs, **vars(settings))
    node = graph.nodes[-1]
    node.domain, node.overload = DOMAIN, settings.overload
    node.output.extend([f"{y}_balance", f"{y}_z"])
    return graph.add(module, "Add", y, dense(
        graph, f"{module}.shared", x, options.width, options.inner))


def build(options):
    graph = Graph(options.output.rpartition("/")[2] + ".data")
    settings = zc_moe_body.Settings(
        top_k=options.chosen, gate="sigmoid-topk", activation="silu", gated=1,
        normalize=1, balance="switch", noisy=0, second="always",
        levels=options.groups, top_groups=options.groups // 2, grouped=1,
        group_score=2, corrected=1, scale=2.5)
    x = graph.add("embed", "Gather", graph.weight(
        "embed.weight", options.vocabulary, options.width), "tokens")
    mask = graph.constant("mask", np.triu(np.full(
        (options.length, options.length), -np.inf, np.float32), 1))
    for layer in range(options.layers):
        module = f"layers.{layer}"
        x = graph.add(module, "Add", x, attention(
            graph, f"{module}.attn", norm(graph, f"{module}.norm1", x,
                                          options.width), options, mask))
        normed = norm(graph, f"{module}.norm2", x, options.width)
        x = graph.add(module, "Add", x, dense(
            graph, f"{module}.mlp", normed, options.width, 9 * options.inner)
            if layer < 3 else
            experts(graph, f"{module}.moe", normed, options, settings))
    linear(graph, "head", norm(graph, "norm", x, options.width), options.width,
           options.vocabulary)
    return language_model(
        graph, "deepseek", options, {"": zc_moe_body.OPSET, DOMAIN: 1},
        functions=[zc_moe_body.make_function(DOMAIN, settings)])


def main():
    parser = size_parser(__doc__, (
        ("layers", 61), ("width", 7168), ("heads", 128),
        ("q-rank", 1536), ("kv-rank", 512), ("inner", 2048),
        ("experts", 256), ("groups", 8), ("chosen", 8),
        ("vocabulary", 129280), ("batch", 64),
        ("length", 512)))
    options = parser.parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
