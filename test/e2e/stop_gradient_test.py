#!/usr/bin/env python3
"""Where gradients stop: as the file tells, or the user."""
import unittest

import numpy as np
from onnx import helper

from small_models import LABELS, SmallModels, X, drawn


class GradientStops(SmallModels):
    """y = (x w) u + x w: with the sum's first term detached, w has the second
    term's gradient alone."""

    LAYERS = [("MatMul", ["x", "w"], "h", ("name", "first")),
              ("MatMul", ["h", "u"], "a", ("name", "second")),
              ("Add", ["a", "h"], "y")]

    def expect(self, values, through):
        """w and u after one step of gradient descent on the mean square."""
        x, w, u = X[:4], values["w"], values["u"]
        h = x @ w
        gradient = 2 * (h @ u + h - LABELS[:4]) / h.size
        of_h = gradient + (gradient @ u.T if through else 0)
        return w - 0.1 * x.T @ of_h, u - 0.1 * h.T @ gradient

    def check(self, nodes, through, *options):
        values = drawn({"w": (5, 3), "u": (3, 3)})
        artifact, out = self.compiled(self.save("m.onnx", nodes, values),
                                      *options)
        _, found = self.trained(artifact, X, LABELS, steps=1)
        w, u = self.expect(values, through)
        # Single precision, of values near 1.
        np.testing.assert_allclose(found["w"], w, 1e-5, 1e-6)
        np.testing.assert_allclose(found["u"], u, 1e-5, 1e-6)
        return out

    def test_of_a_value(self):
        nodes = list(self.LAYERS)
        nodes[1] = ("MatMul", ["g", "u"], "a")
        nodes.insert(1, ("Identity", ["h"], "g"))
        self.check(nodes, True)
        out = self.check(nodes, False, "--stop-gradient", "^g$")
        self.assertIn("no gradient flows behind 1 value ", out)

    def test_as_the_exporter_tells(self):
        detach = helper.make_node("Identity", ["h"], ["g"])
        detach.metadata_props.add(
            key="pkg.torch.onnx.fx_node",
            value="%d : [num_users=1] = call_function[target=torch.ops.aten."
                  "detach.default](args = (%h,), kwargs = {})")
        nodes = [self.LAYERS[0], detach, ("MatMul", ["g", "u"], "a"),
                 self.LAYERS[2]]
        out = self.check(nodes, False)
        self.assertIn("no gradient flows behind 1 value ", out)

    def test_of_a_node_freezes_what_is_behind_it(self):
        values = drawn({"w": (5, 3), "u": (3, 3)})
        nodes = self.LAYERS[:1] + [("MatMul", ["h", "u"], "y")]
        model = self.save("m.onnx", nodes, values)
        _, out = self.compiled(model, "--stop-gradient", "first")
        self.assertIn("does not train w\n", out)
        self.fails(1, ["--stop-gradient matches .* no node"], "compile", model,
                   "-o", self.folder / "a.zca", "--loss", "mse",
                   "--stop-gradient", "nothing")


if __name__ == "__main__":
    unittest.main()
