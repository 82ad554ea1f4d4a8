"""Blocks of transformers with experts as layers of zc_moe: the same parameters.

Of transformers 5.23 and 5.24. Each function takes a block and the class of the layer.
"""
import torch
import torch.nn as nn
import transformers.activations


def name_activation(module):
    """As zc_moe calls what `ACT2FN` gave."""
    if isinstance(module, (nn.SiLU, transformers.activations.SiLUActivation)):
        return "silu"
    if isinstance(module, nn.ReLU):
        return "relu"
    exact = (transformers.activations.GELUActivation, nn.GELU)
    if isinstance(module, exact) and getattr(module, "approximate",
                                             "none") == "none":
        return "gelu"
    raise ValueError(f"experts activate by {type(module).__name__}; expected "
                     "SiLU, ReLU or the exact GELU")


def build_layer(block, router, make, activation=None, **settings):
    experts = block.experts
    if getattr(block, "jitter_noise", 0):
        raise ValueError(f"{type(block).__name__} has router_jitter_noise "
                         f"{block.jitter_noise}; expected 0")
    transposed = settings.get("transposed", False)
    inner, hidden = experts.down_proj.shape[1:][::1 if transposed else -1]
    layer = make(hidden, inner, experts.down_proj.shape[0], router.top_k,
                 activation=activation or name_activation(experts.act_fn),
                 **settings)
    layer.router = router.weight
    layer.gate_up_proj = experts.gate_up_proj
    layer.down_proj = experts.down_proj
    return layer


def from_block(block, make):
    """Mixtral's, Qwen's, OLMoE's: the best of a softmax, over their sum or
    not."""
    normalize = getattr(block.gate, "norm_topk_prob", True)
    return build_layer(block, block.gate, make, gate="softmax-topk",
                       normalize=normalize)


class WithGatedShared(nn.Module):
    """Qwen2's: an expert that every token has, by a gate of its own."""

    def __init__(self, block, make):
        super().__init__()
        self.moe = from_block(block, make)
        self.shared_expert = block.shared_expert
        self.shared_expert_gate = block.shared_expert_gate

    def forward(self, x):
        shared = torch.sigmoid(self.shared_expert_gate(x))
        return self.moe(x) + shared * self.shared_expert(x)


class GptOss(nn.Module):
    """The softmax of the best logits, biases, interleaved and clamped halves."""

    def __init__(self, block, make):
        super().__init__()
        experts = block.experts
        self.moe = build_layer(
            block, block.router, make, activation="clamped-swiglu",
            gate="topk-softmax", biases=True, transposed=True,
            interleaved=True, alpha=experts.alpha, limit=experts.limit)
        self.moe.router_bias = block.router.bias
        self.moe.gate_up_bias = experts.gate_up_proj_bias
        self.moe.down_bias = experts.down_proj_bias

    def forward(self, x):
        return self.moe(x), None


class DeepSeek(nn.Module):
    """Experts in groups, and those that every token has."""

    def __init__(self, block, make):
        super().__init__()
        gate = block.gate
        settings = dict(gate="softmax-topk", scale=gate.routed_scaling_factor)
        limited = True
        if hasattr(gate, "e_score_correction_bias"):
            settings.update(gate="sigmoid-topk", corrected=True,
                            normalize=gate.norm_topk_prob, group_score=2)
        else:
            limited = gate.topk_method == "group_limited_greedy"
        if limited and gate.num_group > 1:
            settings.update(levels=gate.num_group, top_groups=gate.topk_group)
        else:
            settings.pop("group_score", None)
        self.moe = build_layer(block, gate, make, **settings)
        if self.moe.settings.corrected:
            self.moe.correction = gate.e_score_correction_bias
        self.shared_experts = block.shared_experts

    def forward(self, x):
        return self.moe(x) + self.shared_experts(x)


BLOCKS = {"MixtralSparseMoeBlock": from_block,
          "MiniMaxSparseMoeBlock": from_block,
          "OlmoeSparseMoeBlock": from_block,
          "FlexOlmoSparseMoeBlock": from_block,
          "Qwen3MoeSparseMoeBlock": from_block,
          "Qwen3VLMoeTextSparseMoeBlock": from_block,
          "Qwen2MoeSparseMoeBlock": WithGatedShared,
          "Qwen3NextSparseMoeBlock": WithGatedShared,
          "Qwen3_5MoeSparseMoeBlock": WithGatedShared,
          "GptOssMLP": GptOss,
          "DeepseekV2Moe": DeepSeek,
          "DeepseekV3MoE": DeepSeek,
          "Dots1MoE": DeepSeek,
          "Glm4MoeMoE": DeepSeek}
