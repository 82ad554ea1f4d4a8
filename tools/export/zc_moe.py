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
ACTIVATIONS = {"silu": F.silu, "gelu": F.gelu, "relu": F.relu,
               "clamped-swiglu": None}
# Balance losses: Shazeer et al. (2017), the squared coefficient of variation of
# the experts' sums of weights; GShard (2020), 1 / E sum of the share of first
# choices times the mean probability; Switch (2021), E times the sum of the
# share of choices times the mean probability.
BALANCES = ("importance", "gshard", "switch")
SECONDS = ("always", "random")


# Members of a layer by the inputs of its function in the file.
MEMBERS = {"w1": "gate_up_proj", "w2": "down_proj", "b1": "gate_up_bias",
           "b2": "down_bias"}


def check(value, known, what):
    if value not in known:
        raise ValueError(f"expected {what} of {', '.join(known)}; found {value}")


def check_settings(settings, experts):
    check(settings.gate, GATES, "a gate")
    check(settings.activation, ACTIVATIONS, "an activation")
    check(settings.balance, BALANCES, "a balance loss")
    check(settings.second, SECONDS, "second choices")
    levels = settings.levels
    if experts % max(levels, 1) or (levels and settings.gate ==
                                    "topk-softmax"):
        raise ValueError(f"gates over scores have levels, which divide "
                         f"{experts} experts; found {levels}")
    if settings.gate == "two-level" and not levels:
        raise ValueError("a two-level gate has levels; found none")
    if levels and not 1 <= settings.top_groups <= levels:
        raise ValueError(f"cannot choose {settings.top_groups} of {levels} "
                         "groups")
    each = experts // max(levels, 1)
    among = each * (settings.top_groups if levels and settings.gate !=
                    "two-level" else 1)
    if not 1 <= settings.top_k <= among:
        raise ValueError(f"cannot choose {settings.top_k} of {among} experts")
    if levels and not 1 <= settings.group_score <= each:
        raise ValueError(f"a group of {each} experts has no "
                         f"{settings.group_score} best")
    if settings.second == "random" and settings.top_k != 2:
        raise ValueError(f"random second choices are of 2; found "
                         f"{settings.top_k}")
    if settings.activation == "clamped-swiglu" and not settings.gated:
        raise ValueError("clamped-swiglu is a gate; found gated=False")


class MoE(nn.Module):
    """y = sum over the chosen experts e of weight_e down_e(act(up_e(x))).

    With `gated`, act(first half) * second half of what `gate_up_proj` gives;
    clamped-swiglu is GPT-OSS's. `gate`: topk-softmax is the softmax of the best
    logits; softmax-topk and sigmoid-topk are the best of all softmaxes or
    sigmoids, with `levels` among the `top_groups` of `levels` groups whose
    `group_score` best experts have the largest sums; two-level chooses
    `top_groups` of `levels` groups by a softmax of their own, and `top_k` in
    each, by the product of both softmaxes. `normalize` divides weights by their
    sum, `scale` multiplies them; with `corrected`, experts are chosen by scores
    plus `correction`, which does not train. `noisy` adds normal numbers times
    softplus(noise x) to the logits, and with second="random" second choices are
    taken with twice their weight's probability, both in training alone.
    """

    def __init__(self, hidden, inner, experts, top_k, gate="topk-softmax",
                 activation="silu", gated=True, normalize=False,
                 balance="switch", noisy=False, second="always", levels=0,
                 top_groups=1, **more):
        super().__init__()
        self.settings = Settings(top_k, gate, activation, int(gated),
                                 int(normalize), balance, int(noisy), second,
                                 levels, top_groups if levels else 0, 0, **{
                                     name: type(getattr(Settings, name))(value)
                                     for name, value in more.items()})
        check_settings(self.settings, experts)
        self.router = nn.Parameter(torch.empty(experts, hidden))
        width = (2 if gated else 1) * inner
        order = -1 if self.settings.transposed else 1
        self.gate_up_proj = nn.Parameter(
            torch.empty(experts, *(width, hidden)[::order]))
        self.down_proj = nn.Parameter(
            torch.empty(experts, *(hidden, inner)[::order]))
        if noisy:
            self.noise = nn.Parameter(torch.empty(experts, hidden))
        if gate == "two-level":
            self.groups = nn.Parameter(torch.empty(levels, hidden))
        for name, weight in self.named_parameters():
            is_turned = weight.dim() == 3 and self.settings.transposed
            inputs = weight.shape[-2 if is_turned else -1]
            nn.init.normal_(weight, std=inputs ** -0.5)
        if self.settings.biases:
            self.router_bias = nn.Parameter(torch.zeros(experts))
            self.gate_up_bias = nn.Parameter(torch.zeros(experts, width))
            self.down_bias = nn.Parameter(torch.zeros(experts, hidden))
        if self.settings.corrected:
            self.register_buffer("correction", torch.zeros(experts))
        self.losses = None  # of the last call: balance, z

    def forward(self, x):
        settings = dataclasses.replace(
            self.settings, grouped=int(x.dim() > 2),
            noisy=int(self.settings.noisy and self.training),
            second=self.settings.second if self.training else "always")
        if torch.onnx.is_in_onnx_export():
            inputs = [x if name == "x" else getattr(self, MEMBERS.get(
                name, name)) for name in settings.inputs]
            y, *losses = torch.onnx.ops.symbolic_multi_out(
                f"{DOMAIN}::MoE", inputs,
                attrs=dataclasses.asdict(settings), dtypes=[x.dtype] * 3,
                shapes=[x.shape, (), ()], version=1)
            self.losses = losses
            return y
        tokens = x.reshape(-1, x.shape[-1])
        logits = tokens @ self.router.T
        if settings.biases:
            logits = logits + self.router_bias
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
            weights, chosen = self.choose_limited(shares, settings)
        else:
            scores = logits.sigmoid()
            weights, chosen = self.choose_limited(scores, settings)
            shares = scores / scores.sum(-1, keepdim=True)
        if settings.normalize:
            weights = weights / weights.sum(-1, keepdim=True)
        if settings.scale != 1:
            weights = weights * settings.scale
        if settings.second == "random":
            taken = 2 * weights[:, 1] > torch.rand_like(weights[:, 1])
            weights = weights * torch.stack(
                [torch.ones_like(weights[:, 0]), taken.to(weights.dtype)], -1)
        return weights, chosen, shares

    def choose_limited(self, scores, settings):
        """The best by corrected scores, in the best groups."""
        judged = scores + self.correction if settings.corrected else scores
        if settings.levels:
            inside = judged.unflatten(-1, (settings.levels, -1))
            best = inside.topk(settings.group_score)[0].sum(-1)
            groups = best.topk(settings.top_groups)[1]
            is_open = torch.zeros_like(best, dtype=torch.bool).scatter(
                1, groups, True)
            judged = inside.masked_fill(~is_open[..., None],
                                        float("-inf")).flatten(1)
        chosen = judged.topk(settings.top_k)[1]
        return scores.gather(1, chosen), chosen

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
        settings = self.settings

        def product(x, weight, bias):
            x = x @ (weight[index] if settings.transposed
                     else weight[index].T)
            return x + getattr(self, bias)[index] if settings.biases else x

        hidden = product(tokens, self.gate_up_proj, "gate_up_bias")
        if settings.gated:
            first, second = ((hidden[..., ::2], hidden[..., 1::2])
                             if settings.interleaved else hidden.chunk(2, -1))
        if settings.activation == "clamped-swiglu":
            first = first.clamp(max=settings.limit)
            second = second.clamp(-settings.limit, settings.limit) + 1
            hidden = first * torch.sigmoid(settings.alpha * first) * second
        elif settings.gated:
            hidden = ACTIVATIONS[settings.activation](first) * second
        else:
            hidden = ACTIVATIONS[settings.activation](hidden)
        return product(hidden, self.down_proj, "down_bias")


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
    import zc_moe_blocks  # needs transformers, which layers alone do not

    count = 0
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            kind = type(child).__name__
            weights = getattr(getattr(child, "experts", None), "gate_up_proj",
                              None)
            if kind not in zc_moe_blocks.BLOCKS and weights is not None:
                raise ValueError(
                    f"{kind} is none of {', '.join(zc_moe_blocks.BLOCKS)}; "
                    "call model.set_experts_implementation('batched_mm') and "
                    "export it as it is")
            if weights is not None:
                setattr(module, name, zc_moe_blocks.BLOCKS[kind](child, MoE))
                count += 1
    return count
