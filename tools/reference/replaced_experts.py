#!/usr/bin/env python3
"""Record models whose experts zc_moe.replace_moe replaced, for
test/e2e/replaced_test.py.

  replaced_experts.py [--output test/fixtures/replaced] [MODEL ...]

Small models of the transformers library. In double precision their outputs and
gradients must be the original's, whose experts PyTorch loops over, and the
losses recorded are the original's: `model.onnx` alone has zc_moe's layers.
`batched.onnx` is the same as transformers exports it by itself, with
experts_implementation="batched_mm", of models that experts.py does not record.
"""
import argparse
import contextlib
import copy
import pathlib
import sys
from unittest import mock

import onnx
import torch
import torch.nn as nn

import experts
import record
import zoo
from experts import SHAPE, transformers

sys.path.insert(0, str(record.ROOT / "tools" / "export"))
import zc_moe  # noqa: E402

MOST = 1e-6  # routers choose in float32, whatever the model is


def qwen3():
    """The best of a softmax, divided by their sum; norms of heads."""
    return transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
        intermediate_size=32, moe_intermediate_size=16, num_experts=6,
        num_experts_per_tok=3, norm_topk_prob=True, head_dim=8, **SHAPE))


def olmoe():
    """The best of a softmax as they are; norms of all heads at once."""
    return transformers.OlmoeForCausalLM(transformers.OlmoeConfig(
        intermediate_size=16, num_experts=8, num_experts_per_tok=3,
        norm_topk_prob=False, pad_token_id=0, eos_token_id=1, **SHAPE))


DEEPSEEK = dict(
    SHAPE, num_key_value_heads=4, intermediate_size=32,
    moe_intermediate_size=16, n_routed_experts=8, num_experts_per_tok=3,
    n_shared_experts=1, n_group=4, topk_group=2, first_k_dense_replace=1,
    q_lora_rank=12, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=4,
    v_head_dim=6)


class Rotations(nn.Module):
    """DeepSeek-V2's by numbers that are not complex, which ONNX has not."""

    def __init__(self, rotary):
        super().__init__()
        self.rotary = rotary

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.rotary.inv_freq
        return (torch.stack([angles.cos(), angles.sin()], -1)
                * self.rotary.attention_scaling)

    @staticmethod
    def rotate(q, k, parts):
        cos, sin = parts.unsqueeze(1).unbind(-1)

        def one(x):
            a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
            return torch.stack([a * cos - b * sin, a * sin + b * cos],
                               -1).flatten(-2)

        return one(q), one(k)


def deepseek_v2():
    """The best of the best groups, which are as good as their best; weights
    that are scaled; a shared expert; a first layer without a router."""
    return transformers.DeepseekV2ForCausalLM(transformers.DeepseekV2Config(
        topk_method="group_limited_greedy", routed_scaling_factor=1.5,
        **DEEPSEEK))


def deepseek_v3():
    """Sigmoids, chosen by what a bias corrects, in the groups whose two best
    have the largest sums."""
    model = transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(
        routed_scaling_factor=2.5, norm_topk_prob=True, **DEEPSEEK))
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            buffer.normal_(std=0.05)
    return model


def gpt_oss():
    """With biases and clamps that are at work."""
    model = transformers.GptOssForCausalLM(transformers.GptOssConfig(
        intermediate_size=24, num_local_experts=4, num_experts_per_tok=2,
        head_dim=8, sliding_window=8, swiglu_limit=0.1, rope_parameters={
            "rope_type": "default", "rope_theta": 10000.0}, **SHAPE))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".mlp." in name and name.endswith("bias"):
                parameter.normal_(std=0.1)
    return model


CASES = {make.__name__: make for make in (
    experts.mixtral, experts.qwen, qwen3, olmoe, gpt_oss, deepseek_v2, deepseek_v3)}


def check_equal(net):
    """Outputs and gradients of a model and of its replacement, which have the
    same parameters."""
    net = copy.deepcopy(net).double()
    replaced = copy.deepcopy(net)
    mine = dict(replaced.named_parameters())  # by the original's names
    count = zc_moe.replace_moe(replaced)
    tokens = torch.from_numpy(
        experts.language.walk(experts.VOCABULARY, experts.SEQ)[0][:8])
    found = []
    for model in (net, replaced):
        y = model(tokens)
        (y * torch.linspace(-1, 1, y.numel()).view_as(y)).sum().backward()
        found.append(y.detach())
    pairs = [found] + [(each.grad, mine[name].grad)
                       for name, each in net.named_parameters()]
    most = max(float((a - b).abs().max() / a.abs().max()) for a, b in pairs)
    if not count or not most < MOST:
        raise SystemExit(f"{count} blocks are replaced, off by {most:.1e}; "
                         f"expected less than {MOST}")
    return f"{count} blocks, off by {most:.1e}"


def export(net, tokens, path):
    zc_moe.export(net.train(), (tokens,), path, input_names=["input_ids"],
                  output_names=["logits"])
    model = record.without_machine_paths(onnx.load(path), traces=False)
    # Infos of initializers say which are parameters and which are buffers.
    kept = [each for each in model.graph.value_info if each.metadata_props]
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)
    onnx.save(model, path)


def write(name, folder):
    zoo.CASES[name] = lambda: experts.build(CASES[name], "eager")
    case = zoo.build(name)
    print(f"{name}: {check_equal(case.net)}")
    folder.mkdir(parents=True, exist_ok=True)
    tokens = torch.from_numpy(case.inputs["input_ids"][:case.batch])
    with contextlib.ExitStack() as stack:
        if name == "deepseek_v2":
            inner = case.net.model.model
            inner.rotary_emb = Rotations(inner.rotary_emb)
            stack.enter_context(mock.patch.object(
                sys.modules[type(inner).__module__], "apply_rotary_emb",
                Rotations.rotate))
        if CASES[name] not in experts.CASES.values():
            case.net.model.set_experts_implementation("batched_mm")
            export(case.net, tokens, folder / "batched.onnx")
        zc_moe.replace_moe(case.net)
        export(case.net, tokens, folder / "model.onnx")
    experts.write_reference(case, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="*", default=list(CASES))
    parser.add_argument("--output", type=pathlib.Path,
                        default=record.ROOT / "test" / "fixtures" / "replaced")
    options = parser.parse_args()
    for name in options.models:
        write(name, options.output / name)


if __name__ == "__main__":
    main()
