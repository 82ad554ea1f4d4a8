#!/usr/bin/env python3
"""Write a ResNet-50 (He et al. 2015, strides in the 3x3 convolutions) as ONNX
without its weights, for plans of machines that are not at hand.

  large_resnet.py OUTPUT.onnx [--batch 64 --size 224 --classes 400]

Every weight names a data file that is not there: `zc plan` needs none.
"""
import argparse

import onnx
from onnx import TensorProto, helper

from large_gpt import Graph

# width of the bottleneck, blocks, stride of the first
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
EXPANSION = 4


def convolution(graph, module, x, inputs, outputs, kernel, stride):
    """And its batch normalisation."""
    pad = kernel // 2
    y = graph.add(module, "Conv", x, graph.weight(
        f"{module}.weight", outputs, inputs, kernel, kernel),
        kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
    parameters = [graph.weight(f"{module}.norm.{name}", outputs)
                  for name in ("weight", "bias", "mean", "variance")]
    return graph.add(module, "BatchNormalization", y, *parameters)


def bottleneck(graph, module, x, channels, width, stride):
    outputs = EXPANSION * width
    y = x
    for i, (size, into, out, step) in enumerate((
            (1, channels, width, 1), (3, width, width, stride),
            (1, width, outputs, 1))):
        if i > 0:
            y = graph.add(module, "Relu", y)
        y = convolution(graph, f"{module}.conv{i}", y, into, out, size, step)
    if stride > 1 or channels != outputs:
        x = convolution(graph, f"{module}.shortcut", x, channels, outputs, 1,
                        stride)
    return graph.add(module, "Relu", graph.add(module, "Add", y, x))


def build(options):
    graph = Graph("weights.bin")
    x = convolution(graph, "conv", "images", 3, 64, 7, 2)
    x = graph.add("", "Relu", x)
    x = graph.add("", "MaxPool", x, kernel_shape=[3, 3], strides=[2, 2],
                  pads=[1, 1, 1, 1])
    channels, number = 64, 0
    for width, count, stride in STAGES:
        for i in range(count):
            x = bottleneck(graph, f"blocks.{number}", x, channels, width,
                           stride if i == 0 else 1)
            channels, number = EXPANSION * width, number + 1
    x = graph.add("", "GlobalAveragePool", x)
    x = graph.add("", "Flatten", x)
    x = graph.linear("head", x, channels, options.classes)
    images = helper.make_tensor_value_info(
        "images", TensorProto.FLOAT,
        [options.batch, 3, options.size, options.size])
    logits = helper.make_tensor_value_info(
        x, TensorProto.FLOAT, [options.batch, options.classes])
    proto = helper.make_graph(graph.nodes, "resnet", [images], [logits],
                              initializer=graph.weights,
                              value_info=graph.infos)
    model = helper.make_model(
        proto, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return model, graph.elements


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output")
    for name, value in (("batch", 64), ("size", 224), ("classes", 400)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    model, elements = build(options)
    onnx.save(model, options.output)
    print(f"{options.output}: {elements:,} parameters")


if __name__ == "__main__":
    main()
