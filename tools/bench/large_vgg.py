#!/usr/bin/env python3
"""Write a VGG-16 (Simonyan & Zisserman 2014) as ONNX without its weights, for
plans of machines that are not at hand: nearly all work is in its convolutions,
nearly all parameters are in its last layers.

  large_vgg.py OUTPUT.onnx [--batch 64 --size 224 --classes 1000]

Every weight names a data file that is not there: `zc plan` needs none.
"""
from onnx import TensorProto, helper

from large_gpt import Graph, size_parser, write_model

CHANNELS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512),
            (512, 512, 512))
WIDTH = 4096


def build(options):
    graph = Graph("weights.bin")
    x, inputs, size = "images", 3, options.size
    for number, stage in enumerate(CHANNELS):
        for i, outputs in enumerate(stage):
            module = f"features.{number}.{i}"
            x = graph.add(module, "Conv", x, graph.weight(
                f"{module}.weight", outputs, inputs, 3, 3), graph.weight(
                    f"{module}.bias", outputs), kernel_shape=[3, 3],
                pads=[1] * 4)
            x = graph.add(module, "Relu", x)
            inputs = outputs
        x = graph.add("", "MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        size //= 2
    x = graph.add("", "Flatten", x)
    sizes = (inputs * size * size, WIDTH, WIDTH, options.classes)
    for i, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        x = graph.linear(f"classifier.{i}", x, rows, columns)
        if i < 2:
            x = graph.add(f"classifier.{i}", "Relu", x)
    images = helper.make_tensor_value_info(
        "images", TensorProto.FLOAT,
        [options.batch, 3, options.size, options.size])
    logits = helper.make_tensor_value_info(
        x, TensorProto.FLOAT, [options.batch, options.classes])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "vgg", [images], [logits],
                          graph.weights, value_info=graph.infos),
        opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return model, graph.elements


def main():
    options = size_parser(__doc__, (("batch", 64), ("size", 224),
                                    ("classes", 1000))).parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
