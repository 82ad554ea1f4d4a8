#!/usr/bin/env python3
"""Write a Llama of any size as ONNX without its weights, for plans of models
that no machine at hand could hold.

  large_llama.py OUTPUT.onnx [--layers 126 --width 16384 --heads 128 ...]

The defaults have Llama 3's 405 billion parameters. Every weight names a data
file that is not there: `zc plan` needs none, `zc compile` takes `--init`.
"""

import numpy as np

from large_gpt import Graph, language_model, size_parser, write_model
from large_mixtral import linear

OPSET = 23  # Attention, RMSNormalization, RotaryEmbedding


def norm(graph, module, x, width):
    return graph.add(module, "RMSNormalization", x,
                     graph.weight(f"{module}.weight", width), axis=-1,
                     epsilon=1e-5)


def attention(graph, module, x, options, rotation):
    shared = options.width // options.heads * options.key_heads
    q = linear(graph, f"{module}.q_proj", x, options.width, options.width)
    k = linear(graph, f"{module}.k_proj", x, options.width, shared)
    v = linear(graph, f"{module}.v_proj", x, options.width, shared)
    q = graph.add(module, "RotaryEmbedding", q, *rotation,
                  num_heads=options.heads)
    k = graph.add(module, "RotaryEmbedding", k, *rotation,
                  num_heads=options.key_heads)
    mixed = graph.add(module, "Attention", q, k, v, is_causal=1,
                      q_num_heads=options.heads,
                      kv_num_heads=options.key_heads)
    return linear(graph, f"{module}.o_proj", mixed, options.width,
                  options.width)


def feed_forward(graph, module, x, options):
    gate = linear(graph, f"{module}.gate_proj", x, options.width,
                  options.inner)
    up = linear(graph, f"{module}.up_proj", x, options.width, options.inner)
    gate = graph.add(module, "Mul", gate, graph.add(module, "Sigmoid", gate))
    return linear(graph, f"{module}.down_proj", graph.add(
        module, "Mul", gate, up), options.inner, options.width)


def rotations(graph, options):
    """cos and sin of every position, for each sample (Su et al. 2021)."""
    half = options.width // options.heads // 2
    angles = np.arange(options.length)[:, None] * (
        options.theta ** (-np.arange(half) / half))
    shape = graph.constant("rotation.shape", np.array(
        [options.batch, options.length, half]))
    return [graph.add("", "Expand", graph.constant(
        name, function(angles).astype(np.float32)[None]), shape)
        for name, function in (("cos", np.cos), ("sin", np.sin))]


def build(options):
    graph = Graph(options.output.rpartition("/")[2] + ".data")
    x = graph.add("embed", "Gather", graph.weight(
        "embed.weight", options.vocabulary, options.width), "tokens")
    rotation = rotations(graph, options)
    for layer in range(options.layers):
        module = f"layers.{layer}"
        normed = norm(graph, f"{module}.norm1", x, options.width)
        x = graph.add(module, "Add", x, attention(
            graph, f"{module}.attn", normed, options, rotation))
        normed = norm(graph, f"{module}.norm2", x, options.width)
        x = graph.add(module, "Add", x, feed_forward(
            graph, f"{module}.mlp", normed, options))
    x = norm(graph, "norm", x, options.width)
    linear(graph, "head", x, options.width, options.vocabulary)
    return language_model(graph, "llama", options, {"": OPSET}, ir_version=11)


def main():
    parser = size_parser(__doc__, (
        ("layers", 126), ("width", 16384), ("heads", 128),
        ("key-heads", 8), ("inner", 53248),
        ("vocabulary", 128256), ("batch", 2048),
        ("length", 8192), ("theta", 500000)))
    options = parser.parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
