#!/usr/bin/env python3
"""Write a ResNet-50, -101 or -152 (He et al. 2015, strides in the 3x3
convolutions) as ONNX without its weights, for plans of machines that are not at
hand. With --layers 8 it is two blocks, for tests that train.

  large_resnet.py OUTPUT.onnx [--layers 50 --batch 64 --size 224 --classes 400]
      [--frames 1]

Every weight names a data file that is not there: `zc plan` needs none. With
`--frames N` consecutive images are N frames of a video, and blocks shift an eighth
of their channels a frame back, another one a frame on (TSM, Lin et al. 2019):
no parameter, and a convolution sees three frames.
"""
import numpy as np
from onnx import TensorProto, helper

from large_gpt import Graph, size_parser, write_model

# width of the bottleneck, stride of the first block; blocks by layers in all
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3),
          8: (1, 1)}
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


def shift(graph, module, x, shape):
    """Shifts channels [images, channels, rows, columns], frames of one video
    next to one another: channels of the next frame, of the last one, and of
    this one."""
    _, frames, channels, *_ = shape
    number = len(graph.nodes)

    def integers(name, *values):
        return graph.constant(f"{module}.{name}{number}",
                              np.array(values, np.int64))

    def part(begin, end, first, last):
        """Channels [begin, end) of frames [first, last)."""
        y = graph.add(module, "Slice", x, integers("begin", first, begin),
                      integers("end", last, end), integers("dims", 1, 2))
        if last - first == frames:
            return y
        pads = [0] * 10
        pads[1], pads[6] = (1, 0) if first == 0 else (0, 1)
        return graph.add(module, "Pad", y, integers("pads", *pads))

    x = graph.add(module, "Reshape", x, integers("videos", -1, *shape[1:]))
    eighth = channels // 8
    parts = []
    for begin, end, first, last in ((0, eighth, 1, frames),
                                    (eighth, 2 * eighth, 0, frames - 1),
                                    (2 * eighth, channels, 0, frames)):
        number = len(graph.nodes)
        parts.append(part(begin, end, first, last))
    y = graph.add(module, "Concat", *parts, axis=2)
    return graph.add(module, "Reshape", y, integers(
        "images", -1, *shape[2:]))


def bottleneck(graph, module, x, channels, width, stride, video):
    outputs = EXPANSION * width
    y = shift(graph, module, x, video) if video else x
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
    channels, number, size = 64, 0, -(-options.size // 4)
    for (width, stride), count in zip(STAGES, BLOCKS[options.layers]):
        for i in range(count):
            video = options.frames > 1 and [
                options.batch // options.frames, options.frames, channels,
                size, size]
            x = bottleneck(graph, f"blocks.{number}", x, channels, width,
                           stride if i == 0 else 1, video)
            channels, number = EXPANSION * width, number + 1
            size = -(-size // stride) if i == 0 else size
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
    options = size_parser(__doc__, (
        ("layers", 50), ("batch", 64), ("size", 224), ("classes", 400),
        ("frames", 1))).parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
