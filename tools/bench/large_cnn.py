#!/usr/bin/env python3
"""Write one of the five convolutional networks of Gist (Jain et al. 2018) as
ONNX without its weights, for plans of machines that are not at hand.

  large_cnn.py OUTPUT.onnx --net alexnet|nin|overfeat|vgg16|inception
               [--batch 64 --size 224 --classes 1000]

Every weight names a data file that is not there: `zc plan` needs none, and
`zc compile --init` draws others.
"""
import argparse

from onnx import TensorProto, helper

from large_gpt import Graph, write_model

# (channels, kernel, stride, pads): a convolution and its ReLU; "pool" with
# kernel and stride; numbers alone: fully connected layers behind it all.
POOL3, POOL2 = ("pool", 3, 2), ("pool", 2, 2)
ALEXNET = [(64, 11, 4, 2), POOL3, (192, 5, 1, 2), POOL3, (384, 3, 1, 1),
           (256, 3, 1, 1), (256, 3, 1, 1), POOL3, 4096, 4096]
NIN = [(96, 11, 4, 0), (96, 1, 1, 0), (96, 1, 1, 0), POOL3, (256, 5, 1, 2),
       (256, 1, 1, 0), (256, 1, 1, 0), POOL3, (384, 3, 1, 1), (384, 1, 1, 0),
       (384, 1, 1, 0), POOL3, (1024, 3, 1, 1), (1024, 1, 1, 0), "average"]
OVERFEAT = [(96, 11, 4, 0), POOL2, (256, 5, 1, 0), POOL2, (512, 3, 1, 1),
            (1024, 3, 1, 1), (1024, 3, 1, 1), POOL2, 3072, 4096]
VGG16 = [each for width, count in ((64, 2), (128, 2), (256, 3), (512, 3),
                                   (512, 3))
         for each in [(width, 3, 1, 1)] * count + [POOL2]] + [4096, 4096]
# A module has four branches: 1x1; 1x1 and 3x3; 1x1 and 5x5; 1x1 behind a pool.
INCEPTION = [(64, 7, 2, 3), POOL3, (64, 1, 1, 0), (192, 3, 1, 1), POOL3,
             ("mixed", 64, 96, 128, 16, 32, 32),
             ("mixed", 128, 128, 192, 32, 96, 64), POOL3,
             ("mixed", 192, 96, 208, 16, 48, 64),
             ("mixed", 160, 112, 224, 24, 64, 64),
             ("mixed", 128, 128, 256, 24, 64, 64),
             ("mixed", 112, 144, 288, 32, 64, 64),
             ("mixed", 256, 160, 320, 32, 128, 128), POOL3,
             ("mixed", 256, 160, 320, 32, 128, 128),
             ("mixed", 384, 192, 384, 48, 128, 128), "average"]
NETS = {"alexnet": ALEXNET, "nin": NIN, "overfeat": OVERFEAT, "vgg16": VGG16,
        "inception": INCEPTION}


class Net(Graph):
    """With the channels and the size of the images at hand."""

    def __init__(self, size):
        super().__init__("weights.bin")
        self.channels, self.size = 3, size

    def conv(self, module, x, outputs, kernel, stride=1, pads=0):
        x = self.add(module, "Conv", x, self.weight(
            f"{module}.weight", outputs, self.channels, kernel, kernel),
            self.weight(f"{module}.bias", outputs), pads=[pads] * 4,
            kernel_shape=[kernel] * 2, strides=[stride] * 2)
        self.channels = outputs
        self.size = (self.size + 2 * pads - kernel) // stride + 1
        return self.add(module, "Relu", x)

    def pool(self, x, kernel, stride, pads=0):
        self.size = (self.size + 2 * pads - kernel) // stride + 1
        return self.add("", "MaxPool", x, kernel_shape=[kernel] * 2,
                        strides=[stride] * 2, pads=[pads] * 4)

    def mixed(self, module, x, one, before3, three, before5, five, behind):
        inputs, parts = self.channels, []
        for name, widths, kernel in (("1", (one,), 1), ("3", (before3, three), 3),
                                     ("5", (before5, five), 5)):
            self.channels, y = inputs, x
            for width, size in zip(widths, (1, kernel)):
                y = self.conv(f"{module}.{name}.{size}", y, width, size,
                              pads=size // 2)
            parts.append(y)
        self.channels = inputs
        parts.append(self.conv(f"{module}.pool", self.pool(x, 3, 1, 1), behind,
                               1))
        self.channels = one + three + five + behind
        return self.add(module, "Concat", *parts, axis=1)


def build(net, batch, size, classes):
    graph, x, width = Net(size), "images", None
    for number, layer in enumerate(NETS[net]):
        module = f"features.{number}"
        if layer == "average":
            x = graph.add("", "GlobalAveragePool", x)
            graph.size = 1
        elif isinstance(layer, int):
            if width is None:
                x = graph.add("", "Flatten", x)
                width = graph.channels * graph.size ** 2
            x = graph.add(module, "Relu",
                          graph.linear(module, x, width, layer))
            width = layer
        elif layer[0] == "pool":
            x = graph.pool(x, *layer[1:])
        elif layer[0] == "mixed":
            x = graph.mixed(module, x, *layer[1:])
        else:
            x = graph.conv(module, x, *layer)
    if width is None:
        x = graph.add("", "Flatten", x)
        width = graph.channels
    x = graph.linear("classifier", x, width, classes)
    value = helper.make_tensor_value_info
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, net,
            [value("images", TensorProto.FLOAT, [batch, 3, size, size])],
            [value(x, TensorProto.FLOAT, [batch, classes])], graph.weights,
            value_info=graph.infos),
        opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return model, graph.elements


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output")
    parser.add_argument("--net", choices=sorted(NETS), default="vgg16")
    for name, value in (("batch", 64), ("size", 224), ("classes", 1000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    model, elements = build(options.net, options.batch, options.size,
                            options.classes)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
