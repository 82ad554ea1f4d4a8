"""The footprint that Gist (Jain et al. 2018) starts from and the one that it ends
at, for a network as ONNX, in bytes.

Its baseline is CNTK of 2018: a layer's output is a tensor of its own, and so is
its gradient; ReLU keeps its output for the backward, max-pooling its input and
its output, convolutions and products their inputs. Tensors of different
times share memory: they are sorted by size, and each joins the first group none of
whose members lives when it does; a group is as large as its first. Feature maps
that are stashed for the backward, those that are consumed at once, and gradient
maps count; weights, their gradients and workspaces do not.
"""
import math

import onnx
from onnx import shape_inference

FLOAT = 4  # bytes
VIEWS = {"Flatten", "Reshape"}
READS_INPUT = {"Conv", "Gemm", "MatMul", "MaxPool"}
READS_OUTPUT = {"Relu", "MaxPool"}


class Net:
    """Layers in order, each (operator, inputs, output), views left out."""

    def __init__(self, path):
        model = shape_inference.infer_shapes(
            onnx.load(path, load_external_data=False))
        graph = model.graph
        weights = {each.name for each in graph.initializer}
        self.elements = {
            each.name: math.prod(dim.dim_value for dim in
                                 each.type.tensor_type.shape.dim)
            for each in (*graph.input, *graph.value_info, *graph.output)}
        self.images = {each.name for each in graph.input} - weights
        self.layers, same = [], {}
        for node in graph.node:
            inputs = [same.get(name, name) for name in node.input
                      if name not in weights]
            if not inputs:  # a weight, transposed
                weights.add(node.output[0])
            elif node.op_type in VIEWS:
                same[node.output[0]] = inputs[0]
            else:
                self.layers.append((node.op_type, inputs, node.output[0]))

    def readers(self, name):
        return [number for number, (_, inputs, _) in enumerate(self.layers)
                if name in inputs]

    def producer(self, name):
        return next((number for number, (_, _, output)
                     in enumerate(self.layers) if output == name), None)

    def is_written_over(self, number):
        """Whether a ReLU alone reads the output, a convolution's."""
        kind, _, output = self.layers[number]
        return kind == "Conv" and self.only_reader(output) == "Relu"

    def only_reader(self, name):
        kinds = {self.layers[number][0] for number in self.readers(name)}
        return kinds.pop() if len(kinds) == 1 else None


def whole(net):
    """The baseline's tensors: (bytes, first moment, last moment)."""
    last = 2 * len(net.layers) - 1
    for number, (kind, _, output) in enumerate(net.layers):
        readers = net.readers(output)
        size = FLOAT * net.elements[output]
        backward = [last - reader for reader in readers
                    if net.layers[reader][0] in READS_INPUT]
        if kind in READS_OUTPUT or not readers:  # the loss reads the latter
            backward.append(last - number)
        yield size, number, max(backward + readers)
        yield gradient(net, number, last)


def gradient(net, number, last):
    """From the backward of the output's last reader to the layer's own."""
    output = net.layers[number][2]
    begin = last - max(net.readers(output), default=number)
    return FLOAT * net.elements[output], begin, last - number


def encoded(net, density, digits):
    """Gist's tensors: signs of what a ReLU makes for a pool, places of the pool's
    maxima in 4 bits; without its zeros what it makes for a convolution, a byte
    an index; and all that is stashed in `digits` bytes a number. A ReLU works in
    place."""
    for number in range(len(net.layers)):
        yield gradient(net, number, 2 * len(net.layers) - 1)
        yield from maps(net, number, density, digits, places=1 / 2, signs=1 / 8)


def in_place(net, density=1, digits=FLOAT):
    """The baseline of a compiler like zc: ReLUs work in place, forward and
    backward; of a max pool's maxima the places are kept, a byte each, and what
    the pool makes has the ReLU's signs. With what Gist encodes besides."""
    last = 2 * len(net.layers) - 1
    for number in range(len(net.layers)):
        size, begin, end = gradient(net, number, last)
        if net.is_written_over(number):
            continue
        before = net.layers[number][1][0]
        producer = net.producer(before)
        if producer is not None and net.is_written_over(producer):
            end = last - producer  # that layer's gradient, too
        yield size, begin, end
        yield from maps(net, number, density, digits, places=1, signs=0)


def maps(net, number, density, digits, places, signs):
    """Tensors that are kept of a layer's output; `places` and `signs` are the
    bytes of a maximum's place and of an element's sign."""
    last = 2 * len(net.layers) - 1
    kind, _, output = net.layers[number]
    readers, elements = net.readers(output), net.elements[output]
    if net.is_written_over(number):
        return
    if not readers:
        yield FLOAT * elements, number, last - number
        return
    reader = net.only_reader(output)
    if kind == "MaxPool":
        yield places * elements, number, last - number
    if kind == "Relu" and reader == "MaxPool":
        yield FLOAT * elements, number, max(readers)
        yield signs * elements, number, last - number
        return
    backward = [last - each for each in readers
                if net.layers[each][0] in READS_INPUT - {"MaxPool"}]
    if kind == "Relu":
        backward.append(last - number)
    kept = stashed(elements, density, digits,
                   kind == "Relu" and reader == "Conv")
    if not backward:
        yield FLOAT * elements, number, max(readers)
    elif kept == FLOAT * elements:  # it stays where it is
        yield FLOAT * elements, number, max(backward)
    else:
        yield FLOAT * elements, number, max(readers)
        yield kept, max(readers), max(backward)
        yield FLOAT * elements, min(backward), max(backward)  # and back


def stashed(elements, density, digits, is_sparse):
    """The bytes of a map for the backward: as it is, without its zeros where
    that is less."""
    whole_map = digits * elements
    return (min(whole_map, density * (digits + 1) * elements) if is_sparse
            else whole_map)


class Savings:
    """The figures of a network in a file. `baseline` and `in_place` are the bytes
    of the two baselines. The others say how many times less Gist's encodings take:
    `by_digits` of the baseline, by the bytes of a number; in 8 bits `of_in_place`,
    and `of_unshared` of tensors that share no memory."""

    def __init__(self, model, density):
        net = Net(model)
        self.baseline = footprint(whole(net))
        self.in_place = footprint(in_place(net))
        self.by_digits = {
            digits: self.baseline / footprint(encoded(net, density, digits))
            for digits in (4, 2, 1)}
        self.of_in_place = self.in_place / footprint(in_place(net, density, 1))
        self.of_unshared = unshared(whole(net)) / unshared(
            encoded(net, density, 1))


def unshared(tensors):
    return sum(size for size, _, _ in tensors)


def footprint(tensors):
    groups = []
    for size, begin, end in sorted(tensors, reverse=True):
        for _, members in groups:
            if all(end < first or begin > last for first, last in members):
                members.append((begin, end))
                break
        else:
            groups.append((size, [(begin, end)]))
    return sum(size for size, _ in groups)
