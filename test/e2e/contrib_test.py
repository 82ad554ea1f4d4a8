#!/usr/bin/env python3
"""Operators of com.microsoft, as ONNX Runtime's optimizers write them.

ONNX Runtime computes them too: forwards are compared with it, gradients with
differences of its forward along random directions.
"""
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, latest_step, load_tensors

FLOAT, INT32, INT64 = (TensorProto.FLOAT, TensorProto.INT32,
                       TensorProto.INT64)
B, S, H, N = 2, 6, 16, 2  # batch, tokens, width, heads


def draw(*shape, seed=0, scale=1.0):
    rng = np.random.default_rng(seed + 7 * sum(shape))
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def compute(model, data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options,
        providers=["CPUExecutionProvider"])
    return session.run(["y"], data)[0]


class Call:
    """One node between inputs and weights."""

    def __init__(self, op, operands, outputs=1, domain="com.microsoft",
                 **attributes):
        """`operands`: None, arrays that are given (x) or stored (w)."""
        self.op, self.domain, self.attributes = op, domain, attributes
        self.operands, self.outputs = operands, outputs

    def lacks(self, output):
        """Statistics are not given by ONNX Runtime's CPUs."""
        return self.op.startswith("Skip") and output in (1, 2)

    def model(self, wanted):
        """Gives output `wanted` of the node."""
        names, inputs, stored = [], [], []
        self.data = {}
        for index, operand in enumerate(self.operands):
            if operand is None:
                names.append("")
                continue
            kind, array = operand
            names.append(f"{kind}{index}")
            if kind == "x":
                self.data[names[-1]] = array
                inputs.append(helper.make_tensor_value_info(
                    names[-1], helper.np_dtype_to_tensor_dtype(array.dtype),
                    array.shape))
            else:
                stored.append(numpy_helper.from_array(array, names[-1]))
        outputs = ["given" if i == wanted else
                   "" if self.lacks(i) else f"other{i}"
                   for i in range(self.outputs)]
        # All may be weights; a model has an input.
        self.data["z"] = np.zeros(1, np.float32)
        inputs.append(helper.make_tensor_value_info("z", FLOAT, [1]))
        node = helper.make_node(self.op, names, outputs, domain=self.domain,
                                name="fused", **self.attributes)
        graph = helper.make_graph(
            [node, helper.make_node("Cast", ["given"], ["cast"], to=FLOAT),
             helper.make_node("Add", ["cast", "z"], ["y"])], "fused",
            inputs, [helper.make_tensor_value_info("y", FLOAT, None)], stored)
        model = helper.make_model(
            graph, ir_version=10, opset_imports=[
                helper.make_opsetid("", 20),
                helper.make_opsetid("com.microsoft", 1)])
        shape = compute(model, self.data).shape
        model.graph.output[0].CopyFrom(
            helper.make_tensor_value_info("y", FLOAT, shape))
        return model


def x(array):
    return "x", array


def w(array):
    return "w", array


def norm_operands(bias):
    operands = [x(draw(B, S, H)), x(draw(B, S, H, seed=1)), w(draw(H) + 2),
                w(draw(H, seed=2))]
    return operands + ([w(draw(H, seed=3))] if bias else [])


def angles(count, size):
    inner = np.outer(np.arange(count), 1 / 10 ** np.arange(size))
    return np.cos(inner).astype(np.float32), np.sin(inner).astype(np.float32)


def attention_operands():
    return [x(draw(B, S, H)), w(draw(H, 3 * H, scale=0.3)),
            w(draw(3 * H, scale=0.3))]


def heads(*shape, seed=0):
    return w(draw(B, S, *shape, seed=seed))


def lengths(*values):
    return x(np.array(values, np.int32))


MASK = np.ones((B, S), np.int32)
MASK[1, 4:] = 0
COS, SIN = (w(each) for each in angles(2 * S, H // N // 2))


def activations():
    yield "bias_gelu", Call("BiasGelu", [x(draw(B, S, H)), w(draw(H))])
    yield "gelu", Call("Gelu", [w(draw(B, S, H))])
    yield "fast_gelu", Call("FastGelu", [x(draw(B, S, H)), w(draw(H))])
    yield "fast_gelu_alone", Call("FastGelu", [w(draw(B, H))])
    yield "quick_gelu", Call("QuickGelu", [w(draw(B, H))], alpha=1.5)


def products():
    yield "matmul", Call("FusedMatMul", [x(draw(B, S, H)), w(draw(5, H))],
                         transB=1, alpha=0.5)
    yield "matmul_both", Call("FusedMatMul", [x(draw(2, 3, H, S)),
                                              w(draw(2, 3, 5, H))],
                              transA=1, transB=1)
    yield "matmul_batches", Call("FusedMatMul", [x(draw(S, 2, 3, H)),
                                                 w(draw(2, 3, H, 5))],
                                 transBatchA=1)
    for name, settings in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}),
                           ("LeakyRelu", {"activation_alpha": 0.2})):
        yield f"gemm_{name.lower()}", Call(
            "FusedGemm", [x(draw(B, H)), w(draw(5, H)), w(draw(5))], transB=1,
            alpha=0.7, beta=1.5, activation=name, **settings)
    image, kernel = draw(B, 3, 8, 8), draw(4, 3, 3, 3, scale=0.3)
    for name, settings in (
            ("Relu", {}), ("LeakyRelu", {"activation_params": [0.2]}),
            ("HardSigmoid", {"activation_params": [0.1, 0.5]}),
            ("Clip", {"activation_params": [-0.5, 0.5]})):
        yield f"conv_{name.lower()}", Call(
            "FusedConv", [x(image), w(kernel), w(draw(4))], activation=name,
            pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3],
            **settings)
    yield "conv_sum", Call(
        "FusedConv", [x(image), w(kernel), w(draw(4)), w(draw(B, 4, 8, 8))],
        activation="Relu", pads=[1, 1, 1, 1], kernel_shape=[3, 3])


def norms():
    yield "skip_norm", Call("SkipLayerNormalization", norm_operands(False))
    yield "skip_norm_bias", Call("SkipLayerNormalization",
                                 norm_operands(True), 4, epsilon=1e-3)
    operands = norm_operands(False)
    operands[1] = w(draw(S, H))
    operands[3] = None
    yield "skip_norm_broadcast", Call("SkipLayerNormalization", operands)
    yield "skip_rms", Call("SkipSimplifiedLayerNormalization",
                           norm_operands(False)[:3] + [w(draw(H))], 4)
    yield "rms", Call("SimplifiedLayerNormalization",
                      [x(draw(B, S, H)), w(draw(H))], domain="", axis=-1,
                      epsilon=1e-4)
    ids = np.arange(B * S, dtype=np.int32).reshape(B, S) % 7
    table = [w(draw(7, H)), w(draw(S + 2, H)), w(draw(2, H))]
    ends = [w(draw(H)), w(draw(H, seed=1))]
    yield "embeddings", Call("EmbedLayerNormalization",
                             [x(ids), x(ids % 2), *table, *ends, x(MASK)], 2)
    yield "embeddings_bare", Call(
        "EmbedLayerNormalization",
        [x(ids), None, table[0], table[1], None, *ends, None,
         x(np.arange(S, dtype=np.int32)[None] + 1)], 2)


def attentions():
    yield "attention", Call("Attention", attention_operands(), num_heads=N)
    yield "attention_causal", Call("Attention", attention_operands(),
                                   num_heads=N, unidirectional=1, scale=0.2)
    yield "attention_mask", Call("Attention",
                                 attention_operands() + [x(MASK)],
                                 num_heads=N, mask_filter_value=-1e4)
    yield "attention_mask_rows", Call(
        "Attention", attention_operands() +
        [x(np.tril(np.ones((B, S, S), np.int32)))], num_heads=N)
    yield "attention_lengths", Call(
        "Attention", attention_operands() + [lengths(S, 4)], num_heads=N)
    yield "attention_ends", Call(
        "Attention", attention_operands() + [lengths(S, 4, 0, 1)],
        num_heads=N)
    yield "attention_bias", Call(
        "Attention", attention_operands() +
        [x(MASK), None, w(draw(1, N, S, S))], num_heads=N, unidirectional=1)
    yield "attention_sizes", Call(
        "Attention", [x(draw(B, S, H)), w(draw(H, 2 * H + 8, scale=0.3)),
                      w(draw(2 * H + 8))], num_heads=N,
        qkv_hidden_sizes=[H, H, 8])
    yield "attention_past", Call(
        "Attention", attention_operands() +
        [None, w(draw(2, B, N, 3, H // N))], 2, num_heads=N, unidirectional=1)
    yield "heads", Call("MultiHeadAttention",
                        [heads(H), heads(H, seed=1), heads(H, seed=2)],
                        num_heads=N)
    yield "heads_bias", Call(
        "MultiHeadAttention", [heads(H), heads(H, seed=1), heads(H, seed=2),
                               w(draw(3 * H)), x(MASK),
                               w(draw(B, 1, S, S))], num_heads=N, scale=0.5)
    yield "heads_causal", Call(
        "MultiHeadAttention", [heads(H), heads(H, seed=1), heads(H, seed=2)],
        num_heads=N, unidirectional=1)
    yield "heads_cross", Call(
        "MultiHeadAttention", [heads(H), w(draw(B, N, 4, H // N)),
                               w(draw(B, N, 4, H // N, seed=1))], num_heads=N)
    yield "heads_past", Call(
        "MultiHeadAttention",
        [heads(H), heads(H, seed=1), heads(H, seed=2), None, None, None,
         w(draw(B, N, 3, H // N)), w(draw(B, N, 3, H // N, seed=1))], 3,
        num_heads=N)


def groups():
    size = 16  # of a head: ONNX Runtime rotates multiples of this
    alone = [heads(4 * size), heads(2 * size, seed=1),
             heads(2 * size, seed=2), None, None, lengths(S - 1, S - 1), w(np.array(S, np.int32))]
    packed = [heads(8 * size), None, None, *alone[3:]]
    tables = [w(each) for each in angles(2 * S, size // 2)]
    def call(operands, outputs=1, **settings):
        return Call("GroupQueryAttention", operands, outputs, num_heads=4,
                    kv_num_heads=2, **settings)

    yield "groups", call(alone)
    yield "groups_packed", call(packed, scale=0.3)
    yield "groups_rotary", call(alone + tables, 3, do_rotary=1)
    yield "groups_interleaved", call(packed + tables, do_rotary=1,
                                     rotary_interleaved=1)
    yield "groups_window", call(alone, local_window_size=3)
    # A token each, behind pasts of different lengths.
    token = [*(w(draw(B, 1, n * size)) for n in (4, 2, 2)),
             *(w(draw(B, 2, S, size, seed=n)) for n in (3, 4)),
             lengths(S, 3), w(np.array(S + 1, np.int32))]
    yield "groups_past", call(token, 3)
    yield "groups_past_rotary", call(token + tables, 3, do_rotary=1,
                                     local_window_size=3)


def rotations():
    places = np.tile(np.arange(S, dtype=np.int64)[::-1], (B, 1))
    yield "rotary", Call("RotaryEmbedding",
                         [w(draw(B, S, H)), x(places), COS, SIN])
    yield "rotary_offset", Call(
        "RotaryEmbedding", [w(draw(B, S, H)), x(np.array([3], np.int64)),
                            COS, SIN], interleaved=1, scale=2.0)
    yield "rotary_heads", Call("RotaryEmbedding",
                               [w(draw(B, N, S, H // N)), x(places), COS, SIN])
    half = [w(each) for each in angles(S, H // N // 4)]
    yield "rotary_part", Call(
        "RotaryEmbedding", [w(draw(B, S, H)), x(places), *half], num_heads=N,
        rotary_embedding_dim=H // N // 2, is_packed_batching=1)


def experts():
    """Logits far apart: a step along a direction changes no choice."""
    count, inner = 4, 8
    logits = draw(B * S, count, seed=3, scale=3)
    stored = lambda *shape, seed=0: w(draw(count, *shape, seed=seed,
                                           scale=0.4))
    tokens, router = w(draw(B, S, H)), w(logits)
    for name, settings in (
            ("relu", {}), ("gelu", {"activation_type": "gelu", "k": 2}),
            ("silu", {"activation_type": "silu", "k": 2,
                      "normalize_routing_weights": 1}),
            ("identity", {"activation_type": "identity", "k": 4})):
        yield f"experts_{name}", Call(
            "MoE", [tokens, router, stored(inner, H), stored(inner),
                    stored(H, inner), stored(H)], **settings)
    yield "experts_bare", Call(
        "MoE", [x(draw(B * S, H)), router, stored(inner, H), None,
                stored(H, inner)], k=2, activation_type="silu",
        normalize_routing_weights=1)
    # ONNX Runtime's CPUs know the interleaved form alone.
    yield "experts_swiglu", Call(
        "MoE", [tokens, router, stored(2 * inner, H), stored(2 * inner),
                stored(H, inner), stored(H)], k=2, activation_type="swiglu",
        swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0,
        swiglu_limit=7.0, normalize_routing_weights=1)


CALLS = {name: call for family in (activations, products, norms, attentions,
                                   groups, rotations, experts)
         for name, call in family()}


class Operators(ZcTest):
    """One node against ONNX Runtime."""

    def evaluate(self, path, data):
        inputs = []
        for name, array in data.items():
            np.save(self.folder / f"{name}.npy", array)
            inputs += ["--input", f"{name}={self.folder / name}.npy",
                       "--batch-dim", f"{name}=none"]
        self.zc("eval", path, *inputs, "--output-dir", self.folder / "out")
        return np.load(self.folder / "out" / "y.npy")

    def check(self, call):
        for wanted in range(call.outputs):
            if call.lacks(wanted):
                continue
            model = call.model(wanted)
            path = self.folder / "m.onnx"
            onnx.save(model, path)
            theirs = compute(model, call.data)
            # float32, sums of up to 48 terms in another order.
            np.testing.assert_allclose(self.evaluate(path, call.data), theirs,
                                       rtol=2e-5, atol=2e-5)
        self.check_gradients(call)

    def check_gradients(self, call):
        model = call.model(0)
        path, artifact = self.folder / "m.onnx", self.folder / "m.zca"
        onnx.save(model, path)
        target = draw(*compute(model, call.data).shape, seed=9)
        np.savez(self.folder / "data.npz", labels=target, **call.data)
        batch = [each for name, array in call.data.items()
                 for each in ("--batch-dim", f"{name}=none")]
        self.zc("compile", path, "-o", artifact, "--loss", "mse",
                "--optimizer", "sgd", *batch)
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", lr=1)
        after = load_tensors(latest_step(self.folder / "ckpt"))
        before = {each.name: numpy_helper.to_array(each)
                  for each in model.graph.initializer}
        self.assertGreater(len(after), 0)
        for name, weight in after.items():
            direction = draw(*weight.shape, seed=5)
            ours = float(((before[name] - weight) * direction).sum())
            theirs = self.slope(model, call.data, target, name, direction)
            # The slope is a quotient of float32 losses by 2e-3.
            self.assertAlmostEqual(ours, theirs, msg=name,
                                   delta=1e-3 + 1e-2 * abs(theirs))

    def slope(self, model, data, target, name, direction):
        """The slope of the loss along a direction of one weight."""
        losses = []
        for sign in (1, -1):
            moved = onnx.ModelProto()
            moved.CopyFrom(model)
            for each in moved.graph.initializer:
                if each.name == name:
                    array = (numpy_helper.to_array(each)
                             + np.float32(sign * 1e-3) * direction)
                    each.CopyFrom(numpy_helper.from_array(array, name))
            output = compute(moved, data).astype(np.float64)
            losses.append(((output - target) ** 2).mean())
        return (losses[0] - losses[1]) / 2e-3

    def test_refusals(self):
        """A call that is not opened names the node and the reason."""
        alone = CALLS["groups"]
        capped = Call("GroupQueryAttention", alone.operands, num_heads=4,
                      kv_num_heads=2, softcap=20.0)
        onnx.save(capped.model(0), self.folder / "m.onnx")
        self.fails(1, ["fused", "GroupQueryAttention", "softmax"], "compile",
                   self.folder / "m.onnx", "--mode", "infer", "-o",
                   self.folder / "m.zca")

    def test_experts_refused(self):
        """Quantised experts, and gates without a gradient."""
        call = CALLS["experts_silu"]
        mixed = call.model(0)
        mixed.graph.node[0].attribute.append(
            helper.make_attribute("use_sparse_mixer", 1))
        quantised = call.model(0)
        quantised.graph.node[0].op_type = "QMoE"
        for model, words in ((mixed, ["fused", "use_sparse_mixer"]),
                             (quantised, ["fused", "QMoE", "batched_mm"])):
            onnx.save(model, self.folder / "m.onnx")
            self.fails(1, words, "compile", self.folder / "m.onnx", "--loss",
                       "mse", "-o", self.folder / "m.zca")


def add_tests():
    for name, call in CALLS.items():
        def test(self, call=call):
            self.check(call)
        setattr(Operators, f"test_{name}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
