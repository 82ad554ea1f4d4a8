#!/usr/bin/env python3
"""Write Shazeer et al.'s (2017) language models as ONNX without their weights.

  large_lstm_experts.py OUTPUT.onnx --experts 4096 --levels 16

An embedding, a layer of LSTM, noisy experts of a hidden layer of 1024, another
LSTM and a softmax, all 512 wide, for the 793,471 words of the 1-Billion-Word
benchmark. Flat ones choose 4 of the experts, those of two levels 2 of 16 groups
and 2 in each. Every weight names a data file that is not there: compile with
`--init normal:0.02`.
"""
import pathlib
import sys

import numpy as np

from large_gpt import Graph, language_model, size_parser, write_model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "export"))
import zc_moe_body  # noqa: E402

DOMAIN = "ai.zc"


def lstm(graph, module, x, width):
    """[length, batch, width], as it comes and goes."""
    weights = [graph.weight(f"{module}.{name}", 1, 4 * width, width)
               for name in ("input", "state")]
    y = graph.add(module, "LSTM", x, *weights, hidden_size=width)
    axis = graph.constant(f"{module}.axis", np.array([1]))
    return graph.add(module, "Squeeze", y, axis)


def experts(graph, module, x, options, settings):
    width, count = options.width, options.experts
    inputs = [graph.weight(f"{module}.router", count, width),
              graph.weight(f"{module}.up", count, options.inner, width),
              graph.weight(f"{module}.down", count, width, options.inner)]
    if settings.levels:
        inputs.append(graph.weight(f"{module}.groups", options.levels, width))
    inputs.append(graph.weight(f"{module}.noise", count, width))
    y = graph.add(module, "MoE", x, *inputs, **vars(settings))
    node = graph.nodes[-1]
    node.domain, node.overload = DOMAIN, settings.overload
    node.output.extend([f"{y}_balance", f"{y}_z"])
    return y


def build(options):
    graph = Graph(options.output.rpartition("/")[2] + ".data")
    two = options.levels > 0
    settings = zc_moe_body.Settings(
        top_k=2 if two else 4, gate="two-level" if two else "topk-softmax",
        activation="relu", gated=0, normalize=0, balance="importance", noisy=1,
        second="always", levels=options.levels, top_groups=2 if two else 0,
        grouped=0)
    width = options.width
    x = graph.add("embed", "Gather", graph.weight(
        "embed.weight", options.vocabulary, width), "tokens")
    x = graph.add("first", "Transpose", x, perm=[1, 0, 2])
    x = lstm(graph, "first", x, width)
    x = experts(graph, "moe", x, options, settings)
    x = lstm(graph, "second", x, width)
    x = graph.add("second", "Transpose", x, perm=[1, 0, 2])
    head = graph.weight("head.weight", options.vocabulary, width)
    graph.add("head", "MatMul", x,
              graph.add("head", "Transpose", head, perm=[1, 0]))
    return language_model(
        graph, "lstm_experts", options, {"": zc_moe_body.OPSET, DOMAIN: 1},
        functions=[zc_moe_body.make_function(DOMAIN, settings)])


def main():
    parser = size_parser(__doc__, (
        ("experts", 4096), ("levels", 0), ("width", 512),
        ("inner", 1024), ("vocabulary", 793471), ("batch", 8),
        ("length", 8)))
    options = parser.parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
