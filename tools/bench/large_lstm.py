#!/usr/bin/env python3
"""Write the large LSTM language model of Jozefowicz et al. (2016) as ONNX without
its weights.

  large_lstm.py OUTPUT.onnx [--layers 2 --cells 8192 --width 1024 --length 4
                             --batch 8 --vocabulary 793471]

Layers of 8192 cells whose output is projected to 1024 numbers, which the next step
and the next layer read, between an embedding and a softmax over the 793,471 words of
the 1-Billion-Word benchmark. ONNX's LSTM has no projection, so the steps are written
one after another. Every weight names a data file that is not there: compile with
`--init normal:0.02`.
"""
import numpy as np

from large_gpt import Graph, language_model, size_parser, write_model


class Layer:
    """An LSTM with a projection, after Sak et al. (2014) without peepholes."""

    def __init__(self, graph, module, options):
        self.graph, self.module = graph, module
        cells, width = options.cells, options.width
        self.weights = [
            graph.add(module, "Transpose",
                      graph.weight(f"{module}.{name}", *shape), perm=[1, 0])
            for name, shape in (("input", (4 * cells, width)),
                                ("state", (4 * cells, width)),
                                ("projection", (width, cells)))]
        self.bias = graph.weight(f"{module}.bias", 4 * cells)

    def add(self, *args, **attributes):
        return self.graph.add(self.module, *args, **attributes)

    def gates(self, x, state):
        """Input, forget and output gates and the cell's candidate."""
        of_input, of_state, _ = self.weights
        total = self.add("Add", self.add("MatMul", x, of_input), self.bias)
        if state is not None:
            total = self.add("Add", total,
                             self.add("MatMul", state, of_state))
        parts = [f"{total}_{part}" for part in range(4)]
        self.add("Split", total, axis=-1, num_outputs=4)
        self.graph.nodes[-1].output[:] = parts
        return [self.add("Sigmoid", each) for each in parts[:3]] + [
            self.add("Tanh", parts[3])]

    def step(self, x, state, cell):
        """The projected output and the cells behind a step; None: zeros."""
        take, keep, show, candidate = self.gates(x, state)
        new = self.add("Mul", take, candidate)
        if cell is not None:
            new = self.add("Add", new, self.add("Mul", keep, cell))
        shown = self.add("Mul", show, self.add("Tanh", new))
        return self.add("MatMul", shown, self.weights[2]), new


def build(options):
    graph = Graph(options.output.rpartition("/")[2] + ".data")
    table = graph.weight("embed.weight", options.vocabulary, options.width)
    steps = [graph.add("embed", "Gather", table,
                       graph.add("embed", "Gather", "tokens", graph.constant(
                           f"embed.step{step}", np.array(step)), axis=1))
             for step in range(options.length)]
    for number in range(options.layers):
        layer, state, cell = Layer(graph, f"layers.{number}", options), None, None
        for index, x in enumerate(steps):
            state, cell = layer.step(x, state, cell)
            steps[index] = state
    axis = graph.constant("head.axis", np.array([1]))
    x = graph.add("head", "Concat", *[
        graph.add("head", "Unsqueeze", each, axis) for each in steps], axis=1)
    head = graph.weight("head.weight", options.vocabulary, options.width)
    graph.add("head", "MatMul", x,
              graph.add("head", "Transpose", head, perm=[1, 0]))
    return language_model(graph, "lstm", options, {"": 18})


def main():
    options = size_parser(__doc__, (
        ("layers", 2), ("cells", 8192), ("width", 1024), ("length", 4),
        ("batch", 8), ("vocabulary", 793471))).parse_args()
    model, elements = build(options)
    write_model(options.output, model, elements)


if __name__ == "__main__":
    main()
