#!/usr/bin/env python3
"""Write a network of linear layers with ReLUs between (or none, --relus 0) as ONNX
without its weights: compile with `--init normal:0.05`.

  large_mlp.py OUTPUT.onnx [--batch 256 --inputs 256 --width 384 --layers 3
                            --classes 16 --relus 1]
"""
from onnx import TensorProto, helper

from large_gpt import Graph, size_parser, write_model


def build(options):
    graph, x, width = Graph("weights.bin"), "x", options.inputs
    for layer in range(options.layers):
        module = f"layers.{layer}"
        x = graph.linear(module, x, width, options.width)
        if options.relus:
            x = graph.add(module, "Relu", x)
        width = options.width
    x = graph.linear("head", x, width, options.classes)
    value = helper.make_tensor_value_info
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, "mlp",
            [value("x", TensorProto.FLOAT, [options.batch, options.inputs])],
            [value(x, TensorProto.FLOAT, [options.batch, options.classes])],
            graph.weights, value_info=graph.infos),
        opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return model, graph.elements


def main():
    parser = size_parser(__doc__, (
        ("batch", 256), ("inputs", 256), ("width", 384), ("layers", 3),
        ("classes", 16), ("relus", 1)))
    options = parser.parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
