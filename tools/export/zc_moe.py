"""Experts that zc trains: a PyTorch module, and its export to ONNX.

  import zc_moe
  layer = zc_moe.MoE(hidden=64, inner=128, experts=8, top_k=2)
  zc_moe.replace_moe(model)  # transformers' blocks, same weights
  model = zc_moe.WithLosses(model)  # two more outputs: balance and z-loss
  zc_moe.export(model, (example,), "model.onnx", input_names=["x"],
                output_names=["y", "balance_loss", "z_loss"])

In the file each layer is one node, `ai.zc.MoE`, a function of the file whose
body is of standard operators (zc_moe_body.py): ONNX Runtime and any checker
know what it computes. zc computes the chosen experts alone, and adds the losses
that `zc compile --add-loss balance_loss=0.01` names.

Losses are means over groups of tokens, which are samples where x has three
dims. In evaluation, and in a file that was exported from a module in evaluation,
nothing is drawn.
"""
import dataclasses

import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import helper

import zc_moe_body
from zc_moe_body import Settings

DOMAIN = "ai.zc"
# How the weights of the chosen experts come from the router's logits.
GATES = ("topk-softmax", "softmax-topk", "sigmoid-topk", "two-level")
ACTIVATIONS = {"silu": F.silu, "gelu": F.gelu, "relu": F.relu}
# What is called balance: Shazeer et al. (2017), the squared coefficient of
# variation of the experts' sums of weights; GShard (2020), 1 / E sum of the
# share of first choices times the mean probability; Switch (2021), E times the
# sum of the share of choices times the mean probability.
BALANCES = ("importance", "gshard", "switch")
SECONDS = ("always", "random")


def check(value, known, what):
    if value not in known:
        raise ValueError(f"expected {what} of {', '.join(known)}; found {value}")


class MoE(nn.Module):
    """y = sum over the chosen experts e of weight_e down_e(act(up_e(x))).

    With `gated`, act(first half) * second half of what `gate_up_proj` gives.
    `gate`: topk-softmax is the softmax of the best logits; softmax-topk and
    sigmoid-topk are the best of all softmaxes or sigmoids; two-level chooses
    `top_groups` of `levels` groups of experts, and `top_k` in each, by the
    product of both softmaxes. `normalize` divides weights by their sum. `noisy`
    adds normal numbers times softplus(noise x) to the logits, and with
    second="random" second choices are taken with twice their weight's
    probability, both in training alone.
    """

    def __init__(self, hidden, inner, experts, top_k, gate="topk-softmax",
                 activation="silu", gated=True, normalize=False,
                 balance="switch", noisy=False, second="always", levels=0,
                 top_groups=1):
        super().__init__()
        check(gate, GATES, "a gate")
        check(activation, ACTIVATIONS, "an activation")
        check(balance, BALANCES, "a balance loss")
        check(second, SECONDS, "second choices")
        if (gate == "two-level") != (levels > 0) or experts % max(levels, 1):
            raise ValueError(f"a two-level gate, and no other, has levels, "
                             f"which divide {experts} experts; found {levels}")
        if not 1 <= top_k <= experts // max(levels, 1):
            raise ValueError(f"cannot choose {top_k} of "
                             f"{experts // max(levels, 1)} experts")
        if second == "random" and top_k != 2:
            raise ValueError(f"random second choices are of 2; found {top_k}")
        self.settings = Settings(top_k, gate, activation, int(gated),
                                 int(normalize), balance, int(noisy), second,
                                 levels, top_groups if levels else 0, 0)
        self.router = nn.Parameter(torch.empty(experts, hidden))
        self.gate_up_proj = nn.Parameter(
            torch.empty(experts, (2 if gated else 1) * inner, hidden))
        self.down_proj = nn.Parameter(torch.empty(experts, hidden, inner))
        if noisy:
            self.noise = nn.Parameter(torch.empty(experts, hidden))
        if levels:
            self.groups = nn.Parameter(torch.empty(levels, hidden))
        for name, weight in self.named_parameters():
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)
        self.losses = None  # of the last call: balance, z

    def forward(self, x):
        settings = dataclasses.replace(
            self.settings, grouped=int(x.dim() > 2),
            noisy=int(self.settings.noisy and self.training),
            second=self.settings.second if self.training else "always")
        if torch.onnx.is_in_onnx_export():
            inputs = [x, self.router, self.gate_up_proj, self.down_proj]
            inputs += [self.groups] if settings.levels else []
            inputs += [self.noise] if settings.noisy else []
            y, *losses = torch.onnx.ops.symbolic_multi_out(
                f"{DOMAIN}::MoE", inputs,
                attrs=dataclasses.asdict(settings), dtypes=[x.dtype] * 3,
                shapes=[x.shape, (), ()], version=1)
            self.losses = losses
            return y
        tokens = x.reshape(-1, x.shape[-1])
        logits = tokens @ self.router.T
        if settings.noisy:
            logits = logits + torch.randn_like(logits) * F.softplus(
                tokens @ self.noise.T)
        weights, chosen, shares = self.choose(logits, tokens, settings)
        groups = x.shape[0] if settings.grouped else 1
        self.losses = (self.balance(weights, chosen, shares, groups, settings),
                       logits.logsumexp(-1).square().mean())
        y = torch.zeros_like(tokens)
        for expert in range(self.router.shape[0]):
            token, choice = torch.where(chosen == expert)
            out = self.expert(expert, tokens[token])
            y = y.index_add(0, token, out * weights[token, choice, None])
        return y.reshape(x.shape)

    def choose(self, logits, tokens, settings):
        """Weights and experts [tokens, choices], and the share of each expert
        [tokens, experts] by the gate before choosing."""
        if settings.gate == "two-level":
            weights, chosen, shares = self.choose_twice(logits, tokens,
                                                        settings)
        elif settings.gate == "topk-softmax":
            best, chosen = logits.topk(settings.top_k)
            weights, shares = best.softmax(-1), logits.softmax(-1)
        elif settings.gate == "softmax-topk":
            shares = logits.softmax(-1)
            weights, chosen = shares.topk(settings.top_k)
        else:
            scores = logits.sigmoid()
            weights, chosen = scores.topk(settings.top_k)
            shares = scores / scores.sum(-1, keepdim=True)
        if settings.normalize:
            weights = weights / weights.sum(-1, keepdim=True)
        if settings.second == "random":
            taken = 2 * weights[:, 1] > torch.rand_like(weights[:, 1])
            weights = weights * torch.stack(
                [torch.ones_like(weights[:, 0]), taken.to(weights.dtype)], -1)
        return weights, chosen, shares

    def choose_twice(self, logits, tokens, settings):
        of_groups = (tokens @ self.groups.T).softmax(-1)
        inside = logits.unflatten(-1, (settings.levels, -1)).softmax(-1)
        first, groups = of_groups.topk(settings.top_groups)
        each = groups[..., None].expand(-1, -1, inside.shape[-1])
        second, experts = inside.gather(1, each).topk(settings.top_k)
        chosen = groups[..., None] * inside.shape[-1] + experts
        return ((first[..., None] * second).flatten(1), chosen.flatten(1),
                (of_groups[..., None] * inside).flatten(1))

    def balance(self, weights, chosen, shares, groups, settings):
        experts = self.router.shape[0]
        one_hot = F.one_hot(chosen, experts).to(weights.dtype)
        if settings.balance == "importance":
            sums = (one_hot * weights[..., None]).sum(1)
            mean = sums.reshape(groups, -1, experts).mean(1)
            spread = mean - mean.mean(-1, keepdim=True)
            return (spread.square().mean(-1)
                    / mean.mean(-1).square()).mean()
        counted = (one_hot[:, 0] if settings.balance == "gshard"
                   else one_hot.mean(1))
        counted = counted.reshape(groups, -1, experts).mean(1)
        shares = shares.reshape(groups, -1, experts).mean(1)
        factor = 1 / experts if settings.balance == "gshard" else experts
        return (counted * shares).sum(-1).mean() * factor

    def expert(self, index, tokens):
        act = ACTIVATIONS[self.settings.activation]
        hidden = tokens @ self.gate_up_proj[index].T
        if self.settings.gated:
            first, second = hidden.chunk(2, -1)
            hidden = act(first) * second
        else:
            hidden = act(hidden)
        return hidden @ self.down_proj[index].T


class WithLosses(nn.Module):
    """A model's output, and the sums over its layers of balance and z-loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args, **kwargs):
        y = self.model(*args, **kwargs)
        layers = [each for each in self.modules() if isinstance(each, MoE)]
        balance = sum(each.losses[0] for each in layers)
        z = sum(each.losses[1] for each in layers)
        for each in layers:
            each.losses = None
        return getattr(y, "logits", y), balance, z


def add_functions(model):
    """Gives the calls of ai.zc.MoE in `model` their bodies."""
    known = set()
    for node in model.graph.node:
        if node.domain != DOMAIN or node.op_type != "MoE":
            continue
        attributes = {each.name: helper.get_attribute_value(each)
                      for each in node.attribute}
        settings = Settings(**{
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in attributes.items()})
        node.overload = settings.overload
        if node.overload not in known:
            known.add(node.overload)
            model.functions.append(zc_moe_body.make_function(DOMAIN, settings))
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
            if kind not in BLOCKS:
                raise ValueError(
                    f"{kind} is none of {', '.join(BLOCKS)}; call model."
                    "set_experts_implementation('batched_mm') and export it "
                    "as it is")
            setattr(module, name, BLOCKS[kind](child))
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


class WithShared(nn.Module):
    """A layer and an expert that every token has, by a gate of its own."""

    def __init__(self, block):
        super().__init__()
        self.moe = from_block(block)
        self.shared_expert = block.shared_expert
        self.shared_expert_gate = block.shared_expert_gate

    def forward(self, x):
        shared = torch.sigmoid(self.shared_expert_gate(x))
        return self.moe(x) + shared * self.shared_expert(x)


BLOCKS = {"MixtralSparseMoeBlock": from_block,
          "Qwen3MoeSparseMoeBlock": from_block,
          "Qwen2MoeSparseMoeBlock": WithShared}
