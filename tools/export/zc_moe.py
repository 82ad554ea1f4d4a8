"""Experts that zc trains: a PyTorch module, and its export to ONNX.

  import zc_moe
  layer = zc_moe.MoE(hidden=64, inner=128, experts=8, top_k=2)
  zc_moe.replace_moe(model)  # Mixtral's and Qwen3-MoE's blocks, same weights
  zc_moe.export(model, (example,), "model.onnx", input_names=["x"])

In the file each layer is one node, `ai.zc.MoE`, a function of the file whose
body is of standard operators: ONNX Runtime and any checker know what it
computes. zc computes the chosen experts alone.
"""
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import helper

DOMAIN = "ai.zc"
OPSET = 20
# How the weights of the chosen experts come from the router's logits.
GATES = ("topk-softmax", "softmax-topk", "sigmoid-topk")
ACTIVATIONS = {"silu": F.silu, "gelu": F.gelu, "relu": F.relu}


class MoE(nn.Module):
    """y = sum over the top_k experts e of weight_e down_e(act(up_e(x))).

    With `gated`, act(first half) * second half of what `gate_up_proj` gives.
    `gate`: topk-softmax is the softmax of the best logits; softmax-topk and
    sigmoid-topk are the best of all softmaxes or sigmoids, with `normalize`
    divided by their sum.
    """

    def __init__(self, hidden, inner, experts, top_k, gate="topk-softmax",
                 activation="silu", gated=True, normalize=False):
        super().__init__()
        if gate not in GATES or activation not in ACTIVATIONS:
            raise ValueError(f"expected a gate of {', '.join(GATES)} and an "
                             f"activation of {', '.join(ACTIVATIONS)}; found "
                             f"{gate} and {activation}")
        if not 1 <= top_k <= experts:
            raise ValueError(f"cannot choose {top_k} of {experts} experts")
        self.top_k, self.gate, self.activation = top_k, gate, activation
        self.gated, self.normalize = gated, normalize
        self.router = nn.Parameter(torch.empty(experts, hidden))
        self.gate_up_proj = nn.Parameter(
            torch.empty(experts, (2 if gated else 1) * inner, hidden))
        self.down_proj = nn.Parameter(torch.empty(experts, hidden, inner))
        for weight in self.parameters():
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)

    def attributes(self):
        return {"top_k": self.top_k, "gate": self.gate,
                "activation": self.activation, "gated": int(self.gated),
                "normalize": int(self.normalize)}

    def forward(self, x):
        if torch.onnx.is_in_onnx_export():
            return torch.onnx.ops.symbolic(
                f"{DOMAIN}::MoE",
                (x, self.router, self.gate_up_proj, self.down_proj),
                attrs=self.attributes(), dtype=x.dtype, shape=x.shape,
                version=1)
        tokens = x.reshape(-1, x.shape[-1])
        weights, chosen = self.choose(tokens @ self.router.T)
        y = torch.zeros_like(tokens)
        for expert in range(self.router.shape[0]):
            token, choice = torch.where(chosen == expert)
            out = self.expert(expert, tokens[token])
            y = y.index_add(0, token, out * weights[token, choice, None])
        return y.reshape(x.shape)

    def choose(self, logits):
        if self.gate == "topk-softmax":
            best, chosen = logits.topk(self.top_k)
            return best.softmax(-1), chosen
        scores = (logits.softmax(-1) if self.gate == "softmax-topk"
                  else logits.sigmoid())
        best, chosen = scores.topk(self.top_k)
        if self.normalize:
            best = best / best.sum(-1, keepdim=True)
        return best, chosen

    def expert(self, index, tokens):
        act = ACTIVATIONS[self.activation]
        hidden = tokens @ self.gate_up_proj[index].T
        if self.gated:
            first, second = hidden.chunk(2, -1)
            hidden = act(first) * second
        else:
            hidden = act(hidden)
        return hidden @ self.down_proj[index].T


def make_function(top_k, gate, activation, gated, normalize):
    """The body of ai.zc.MoE, of standard operators; a function for each
    choice of attributes, which its overload names."""
    nodes = []

    def add(op, inputs, outputs, **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def ints(name, values):
        return add("Constant", [], [name], value_ints=values)

    one, minus = ints("one", [1]), ints("minus", [-1])
    shape = add("Shape", ["x"], ["shape"])
    width = add("Shape", ["x"], ["width"], start=-1)
    add("Reshape", ["x", add("Concat", [minus, width], ["flat"], axis=0)],
        ["tokens"])
    add("MatMul", ["tokens", add("Transpose", ["router"], ["router_t"],
                                 perm=[1, 0])], ["logits"])
    scores = {"topk-softmax": "logits", "softmax-topk": "scores",
              "sigmoid-topk": "scores"}[gate]
    if gate != "topk-softmax":
        add("Softmax" if gate == "softmax-topk" else "Sigmoid", ["logits"],
            ["scores"], **({"axis": -1} if gate == "softmax-topk" else {}))
    add("TopK", [scores, ints("k", [top_k])], ["best", "chosen"], axis=-1)
    weights = "best"
    if gate == "topk-softmax":
        weights = add("Softmax", ["best"], ["weights"], axis=-1)
    elif normalize:
        add("ReduceSum", ["best", minus], ["sum"], keepdims=1)
        weights = add("Div", ["best", "sum"], ["weights"])
    # A row for each choice, which looks up its expert's weights.
    rows = add("Reshape", ["chosen", minus], ["rows"])
    add("Unsqueeze", ["tokens", one], ["lone"])
    add("Expand", ["lone", ints("times", [1, top_k, 1])], ["each"])
    add("Reshape", ["each", add("Concat", [minus, one, width], ["row_shape"],
                                axis=0)], ["x_rows"])

    def product(x, weight, name):
        found = add("Gather", [weight, rows], [f"{name}_found"], axis=0)
        turned = add("Transpose", [found], [f"{name}_turned"], perm=[0, 2, 1])
        return add("MatMul", [x, turned], [name])

    def activate(x, name):
        if activation == "silu":
            return add("Mul", [x, add("Sigmoid", [x], [f"{name}_open"])],
                       [name])
        return add({"gelu": "Gelu", "relu": "Relu"}[activation], [x], [name])

    hidden = product("x_rows", "w1", "up")
    if gated:
        add("Split", [hidden], ["first", "second"], axis=-1, num_outputs=2)
        hidden = add("Mul", [activate("first", "active"), "second"], ["gated"])
    else:
        hidden = activate(hidden, "active")
    product(hidden, "w2", "down")
    add("Reshape", ["down", add("Concat", [minus, ints("each_k", [top_k]),
                                           width], ["pair_shape"], axis=0)],
        ["pairs"])
    add("Unsqueeze", [weights, minus], ["factors"])
    add("Mul", ["pairs", "factors"], ["weighted"])
    add("ReduceSum", ["weighted", one], ["sums"], keepdims=0)
    add("Reshape", ["sums", shape], ["y"])
    overload = "_".join([gate, f"top{top_k}", activation,
                         "gated" if gated else "plain",
                         "normalized" if normalize else "as_is"])
    return helper.make_function(
        DOMAIN, "MoE", ["x", "router", "w1", "w2"], ["y"], nodes,
        [helper.make_opsetid("", OPSET)],
        attributes=["top_k", "gate", "activation", "gated", "normalize"],
        overload=overload.replace("-", "_"))


def add_functions(model):
    """Gives the calls of ai.zc.MoE in `model` their bodies."""
    known = {}
    for node in model.graph.node:
        if node.domain != DOMAIN or node.op_type != "MoE":
            continue
        attributes = {each.name: helper.get_attribute_value(each)
                      for each in node.attribute}
        settings = {name: value.decode() if isinstance(value, bytes) else value
                    for name, value in attributes.items()}
        function = make_function(**settings)
        node.overload = function.overload
        if function.overload not in known:
            known[function.overload] = function
            model.functions.append(function)
    if known and not any(each.domain == DOMAIN for each in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    model.ir_version = max(model.ir_version, 10)  # functions have overloads
    return model


def export(model, args, path, **options):
    """torch.onnx.export of a model with such layers."""
    program = torch.onnx.export(model, args, dynamo=True, optimize=False,
                                verbose=False, **options)
    program.save(str(path))
    onnx.save(add_functions(onnx.load(path)), path)


def replace_moe(model):
    """Replaces blocks of transformers by MoE layers of the same parameters;
    returns how many."""
    count = 0
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            kind = type(child).__name__
            if not kind.endswith("SparseMoeBlock"):
                continue
            if kind not in ("MixtralSparseMoeBlock", "Qwen3MoeSparseMoeBlock"):
                raise ValueError(
                    f"{kind} is none of MixtralSparseMoeBlock, "
                    "Qwen3MoeSparseMoeBlock; call model."
                    "set_experts_implementation('batched_mm') and export it "
                    "as it is")
            setattr(module, name, from_block(child))
            count += 1
    return count


def from_block(block):
    up, down = block.experts.gate_up_proj, block.experts.down_proj
    experts, hidden, inner = down.shape
    normalize = getattr(block.gate, "norm_topk_prob", True)
    layer = MoE(hidden, inner, experts, block.gate.top_k,
                gate="softmax-topk", normalize=bool(normalize))
    layer.router = block.gate.weight
    layer.gate_up_proj, layer.down_proj = up, down
    return layer
