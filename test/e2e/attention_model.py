"""A model around one attention, written by hand: masks, dropout, and what
follows it."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOKENS, WIDTH = 16, 12


def make_attention(path, mask="causal", dropout=False, tail=(),
                   tokens_first=False):
    """Attention of two heads, 6 wide, between two layers; tail: the nodes from
    "last" to "y", or none. Masks: causal; window: a query sees itself and three
    before it; padding: of keys, by finite numbers, of one sample all; none.
    tokens_first: x is [tokens, samples, width]."""
    draw = np.random.default_rng(1)
    later = np.triu(np.ones((TOKENS, TOKENS), bool), 1)
    hidden = {"causal": later, "none": np.zeros_like(later),
              "window": later | np.tril(np.ones_like(later), -4)}.get(mask)
    if mask == "padding":
        hidden = draw.random(size=(8, 1, 1, TOKENS)) < 0.3
        hidden[3] = True
    lowest = np.finfo(np.float32).min if mask == "padding" else -np.inf
    arrays = {f"w{i}": (draw.normal(size=(WIDTH, WIDTH)) / 4).astype(np.float32)
              for i in range(5)}
    arrays.update(
        mask=np.where(hidden, lowest, 0).astype(np.float32),
        scale=np.float32(6 ** -0.5), split=np.array([8, TOKENS, 2, 6]),
        join=np.array([8, TOKENS, WIDTH]), low=np.array([0]),
        high=np.array([TOKENS - 1]), dim=np.array(1), dims=np.array([1]),
        back=np.array([-1]), before=np.array([-TOKENS - 1]),
        some=np.array([3, 9, 1, 15]),
        each=np.stack([np.arange(8), draw.integers(TOKENS, size=8)], 1),
        ratio=np.float32(0.3), training=np.array(True),
        gates=draw.normal(size=(1, 4 * WIDTH, WIDTH)).astype(np.float32))
    drop = ["ratio", "training"]
    nodes = ([("Transpose", ["x"], "turned", {"perm": [1, 0, 2]})]
             if tokens_first else [])
    nodes += [("MatMul", ["turned" if tokens_first else "x", "w0"], "h0"),
              ("Dropout", ["h0", *drop], "h1")]
    for i, name in enumerate("qkv"):
        order = [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
        nodes += [("MatMul", ["h1", f"w{i + 1}"], f"{name}0"),
                  ("Reshape", [f"{name}0", "split"], f"{name}1"),
                  ("Transpose", [f"{name}1"], name, {"perm": order})]
    nodes += [("MatMul", ["q", "k"], "s0"), ("Mul", ["s0", "scale"], "s1"),
              ("Add", ["s1", "mask"], "s2"), ("Softmax", ["s2"], "p"),
              ("MatMul", ["p", "v"], "a0"),
              ("Transpose", ["a0"], "a1", {"perm": [0, 2, 1, 3]}),
              ("Reshape", ["a1", "join"], "a2"), ("Dropout", ["a2", *drop], "a3"),
              ("MatMul", ["a3", "w4"], "last"),
              *(tail or [("Identity", ["last"], "y")])]
    made = []
    for op, inputs, output, *attributes in nodes:
        if op == "Dropout" and not dropout:
            op, inputs = "Identity", inputs[:1]
        if mask == "none" and output == "s2":
            op, inputs = "Identity", inputs[:1]
        made.append(helper.make_node(op, inputs, [output], name=output,
                                     **dict(*attributes)))
    read = {name for node in made for name in node.input}
    graph = helper.make_graph(
        made, "attention",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                       [TOKENS, 8, WIDTH] if tokens_first
                                       else [8, TOKENS, WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name)
         for name, value in arrays.items() if name in read])
    onnx.save(onnx.shape_inference.infer_shapes(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)),
        path)
