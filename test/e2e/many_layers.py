"""A model of many layers that are alike."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS = 12


def write_many_layers(path):
    random = np.random.default_rng(0)
    weights, nodes, value = {}, [], "x"
    for i in range(LAYERS):
        weights[f"h.{i}.weight"] = random.normal(0, 0.3, (16, 16))
        weights[f"h.{i}.bias"] = random.normal(0, 0.3, 16)
        nodes += [
            helper.make_node("MatMul", [value, f"h.{i}.weight"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"h.{i}.bias"], [f"a{i}"]),
            helper.make_node("Tanh", [f"a{i}"], [f"t{i}"])]
        value = f"t{i}"
    weights["head"] = random.normal(0, 0.3, (16, 4))
    nodes.append(helper.make_node("MatMul", [value, "head"], ["logits"]))
    graph = helper.make_graph(
        nodes, "deep",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 16])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [16, 4])],
        [numpy_helper.from_array(array.astype(np.float32), name)
         for name, array in weights.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
        path)
