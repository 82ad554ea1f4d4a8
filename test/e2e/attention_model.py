"""A model around one attention, written by hand: masks, dropout, and what
follows it."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOKENS, WIDTH = 16, 12


def make_attention(path, mask="causal", dropout=False, tail=(),
                   tokens_first=False, drops_weights=False, bias="",
                   memory=0, joins_heads=False, convolutions=(), counts=False,
                   fused=False, front=()):
    """Attention of two heads, 6 wide, between two layers; tail: the nodes from
    "last" to "y", or none. Masks: causal; window: a query sees itself and three
    before it; padding: of keys, by finite numbers, of one sample all; padded:
    causal, and of keys where an input "seen" [8, TOKENS] is 0, by finite numbers
    as transformers exports it; padded-infinite: by minus infinity; padded-near:
    by -1e9; padded-far: by -1e38, finite in bf16, too; padded-queries: where
    "seen" is 0, queries see no key, either; padded-sum, padded-sum-infinite,
    padded-sum-far: by the sum of two masks, as older transformers do; fed: what an
    input "given" [8, 1, TOKENS, TOKENS] says; fed-keys: [8, TOKENS]; fed-seen:
    finite numbers where it is false; none. counts: positions are a running sum of
    "seen", as OPT's. fused: one Attention op, causal besides.
    tokens_first: x is [tokens, samples, width]. drops_weights: dropout behind
    the softmax. bias: added to scores; "learned": by distances, as T5's;
    "slopes": a head's times the distance, not trained, as ALiBi's. memory: keys
    are of an input z of as many tokens. joins_heads: scores are [samples heads,
    queries, keys]. convolutions: attributes of Convs that x, of more tokens by
    their strides, goes through first. front: the nodes from "x" to "front" that it
    goes through instead, or none."""
    draw = np.random.default_rng(1)
    later = np.triu(np.ones((TOKENS, TOKENS), bool), 1)
    hidden = {"causal": later, "none": np.zeros_like(later),
              "window": later | np.tril(np.ones_like(later), -4)}.get(mask, later)
    if mask == "padding":
        hidden = draw.random(size=(8, 1, 1, TOKENS)) < 0.3
        hidden[3] = True
    lowest = np.finfo(np.float32).min if mask == "padding" else -np.inf
    arrays = {f"w{i}": (draw.normal(size=(WIDTH, WIDTH)) / 4).astype(np.float32)
              for i in range(5)}
    distances = np.arange(TOKENS)[None] - np.arange(TOKENS)[:, None]
    keys = memory or TOKENS
    arrays.update(
        mask=np.where(hidden, lowest, 0).astype(np.float32),
        scale=np.float32(6 ** -0.5), split=np.array([8, TOKENS, 2, 6]),
        join=np.array([8, TOKENS, WIDTH]), low=np.array([0]),
        high=np.array([TOKENS - 1]), dim=np.array(1), dims=np.array([1]),
        back=np.array([-1]), before=np.array([-TOKENS - 1]),
        some=np.array([3, 9, 1, 15]),
        each=np.stack([np.arange(8), draw.integers(TOKENS, size=8)], 1),
        table=draw.normal(size=(2 * TOKENS - 1, 2)).astype(np.float32),
        buckets=distances + TOKENS - 1, split_keys=np.array([8, keys, 2, 6]),
        slopes=(np.array([0.5, 0.25])[:, None, None] *
                distances).astype(np.float32),
        heads_in=np.array([16, TOKENS, 6]), keys_in=np.array([16, 6, keys]),
        values_in=np.array([16, keys, 6]), heads_out=np.array([8, 2, TOKENS, 6]),
        ratio=np.float32(0.3), training=np.array(True), one=np.array(1),
        places=draw.normal(size=(TOKENS + 2, WIDTH)).astype(np.float32),
        gates=draw.normal(size=(1, 4 * WIDTH, WIDTH)).astype(np.float32))
    drop = ["ratio", "training"]
    nodes = ([("Transpose", ["x"], "turned", {"perm": [1, 0, 2]})]
             if tokens_first else [])
    arrays.update(gates_gru=arrays["gates"][:, :3 * WIDTH],
                  filter=np.full((WIDTH, WIDTH, 3), 0.1, np.float32))
    nodes += front
    length = TOKENS
    begin = "front" if front else "turned" if tokens_first else "x"
    for i, attributes in enumerate(convolutions):
        length *= attributes.get("strides", [1])[0]
        kernel, groups = attributes["kernel_shape"], attributes.get("group", 1)
        arrays[f"c{i}"] = (draw.normal(
            size=(WIDTH, WIDTH // groups, *kernel)) / 4).astype(np.float32)
        nodes += [("Transpose", [begin], f"c{i}_in", {"perm": [0, 2, 1]}),
                  ("Conv", [f"c{i}_in", f"c{i}"], f"c{i}_out", attributes),
                  ("Transpose", [f"c{i}_out"], f"c{i}_back",
                   {"perm": [0, 2, 1]})]
        begin = f"c{i}_back"
    if counts:
        nodes += [("CumSum", ["seen", "dim"], "sums"),
                  ("Mul", ["sums", "seen"], "seen_sums"),
                  ("Add", ["seen_sums", "one"], "positions"),
                  ("Gather", ["places", "positions"], "places_of"),
                  ("Add", [begin, "places_of"], "placed")]
        begin = "placed"
    nodes += [("MatMul", [begin, "w0"], "h0"),
              ("Dropout", ["h0", *drop], "h1")]
    for i, name in enumerate("qkv"):
        order = [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
        ofKeys = memory and name != "q"
        nodes += [("MatMul", ["z" if ofKeys else "h1", f"w{i + 1}"], f"{name}0"),
                  ("Reshape", [f"{name}0", "split_keys" if ofKeys else "split"],
                   f"{name}1"),
                  ("Transpose", [f"{name}1"], name, {"perm": order})]
        if joins_heads:
            nodes[-1] = ("Transpose", [f"{name}1"], f"{name}2", {"perm": order})
            nodes.append(("Reshape", [f"{name}2", {
                "q": "heads_in", "k": "keys_in", "v": "values_in"}[name]], name))
    if mask.startswith("padded"):
        arrays.update(earlier=~later, of_keys=np.array([8, 1, 1, TOKENS]),
                      of_queries=np.array([8, 1, TOKENS, 1]),
                      zero=np.float32(0), lowest=np.float32(
                          -np.inf if "infinite" in mask
                          else -1e9 if "near" in mask
                          else -1e38 if "far" in mask
                          else np.finfo(np.float32).min))
        nodes += [("Cast", ["seen"], "kept", {"to": TensorProto.BOOL}),
                  ("Reshape", ["kept", "of_keys"], "kept_keys"),
                  *([("Where", ["earlier", "zero", "lowest"], "of_later"),
                     ("Where", ["kept_keys", "zero", "lowest"], "of_padding"),
                     ("Add", ["of_later", "of_padding"], "padding")]
                    if "sum" in mask else
                    [("And", ["earlier", "kept_keys"], "of_all"),
                     ("Reshape", ["kept", "of_queries"], "kept_queries"),
                     ("And", ["of_all", "kept_queries"], "shown"),
                     ("Where", ["shown", "zero", "lowest"], "padding")]
                    if "queries" in mask else
                    [("And", ["earlier", "kept_keys"], "shown"),
                     ("Where", ["shown", "zero", "lowest"], "padding")])]
    if mask.startswith("fed"):
        arrays.update(of_keys=np.array([8, 1, 1, TOKENS]), zero=np.float32(0),
                      lowest=np.finfo(np.float32).min)
        nodes += [{"fed": ("Identity", ["given"], "padding"),
                   "fed-keys": ("Reshape", ["given", "of_keys"], "padding"),
                   "fed-seen": ("Where", ["given", "zero", "lowest"],
                                "padding")}[mask]]
    is_computed = mask.startswith(("padded", "fed"))
    added = {"": "padding" if is_computed else "mask",
             "learned": "bias", "slopes": "slopes"}[bias]
    nodes += [("Gather", ["table", "buckets"], "biases", {"axis": 0}),
              ("Transpose", ["biases"], "bias", {"perm": [2, 0, 1]}),
              ("MatMul", ["q", "k"], "s0"), ("Mul", ["s0", "scale"], "s1"),
              ("Add", ["s1", added], "s2"), ("Softmax", ["s2"], "p"),
              ("Dropout" if drops_weights else "Identity",
               ["p", *drop] if drops_weights else ["p"], "p1"),
              ("MatMul", ["p1", "v"], "a" if joins_heads else "a0"),
              ("Reshape", ["a", "heads_out"], "a0"),
              ("Transpose", ["a0"], "a1", {"perm": [0, 2, 1, 3]}),
              ("Reshape", ["a1", "join"], "a2")]
    if fused:
        nodes = [node for node in nodes
                 if node[2] not in ("bias", "biases", "s0", "s1", "s2", "p", "p1",
                                    "a", "a0", "a1", "a2", *"qkv", "q1", "k1",
                                    "v1")]
        nodes += [("Attention", ["q0", "k0", "v0", added], "a2",
                   {"is_causal": 1, "q_num_heads": 2, "kv_num_heads": 2})]
    nodes += [("Dropout", ["a2", *drop], "a3"),
              ("MatMul", ["a3", "w4"], "last"),
              *(tail or [("Identity", ["last"], "y")])]
    if bias != "learned":
        nodes = [node for node in nodes if node[2] not in ("biases", "bias")]
    if not joins_heads:
        nodes = [node for node in nodes if node[1][0] != "a"]
    made = []
    for op, inputs, output, *attributes in nodes:
        if op == "Dropout" and not (dropout or output == "p1"):
            op, inputs = "Identity", inputs[:1]
        if mask == "none" and not bias and output == "s2":
            op, inputs = "Identity", inputs[:1]
        made.append(helper.make_node(op, inputs, [output], name=output,
                                     **dict(*attributes)))
    read = {name for node in made for name in node.input}
    graph = helper.make_graph(
        made, "attention",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                       [TOKENS, 8, WIDTH] if tokens_first
                                       else [8, length, WIDTH]),
         *([helper.make_tensor_value_info("z", TensorProto.FLOAT,
                                          [8, memory, WIDTH])]
           if memory else []),
         *([helper.make_tensor_value_info("seen", TensorProto.INT64,
                                          [8, TOKENS])]
           if mask.startswith("padded") or counts else []),
         *([helper.make_tensor_value_info(
             "given", TensorProto.BOOL if mask == "fed-seen"
             else TensorProto.FLOAT, [8, TOKENS] if mask == "fed-keys"
             else [8, 1, TOKENS, TOKENS])] if mask.startswith("fed") else [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name)
         for name, value in arrays.items() if name in read])
    onnx.save(onnx.shape_inference.infer_shapes(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 23 if fused else 18)],
        ir_version=9)),
        path)
