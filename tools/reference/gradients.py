#!/usr/bin/env python3
"""Record PyTorch's gradients of single operators, for test/e2e.

  gradients.py [--output test/fixtures/gradients]

Every case is a function of a few small parameters. A model holds all cases of a
family; its output is the sum over the cases of their results times fixed random
numbers, so that one SGD step at learning rate 1 moves each parameter by its
gradient. Written are `FAMILY.onnx` and `FAMILY.npz`, the gradients in double
precision by the parameters' names.
"""
import argparse
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = torch.arange(4)


def products():
    yield "matmul_batched", torch.matmul, (2, 3, 4), (2, 4, 5)
    yield "matmul_broadcast", torch.matmul, (2, 1, 3, 4), (3, 4, 2)
    yield "matmul_vector", torch.matmul, (3, 4), (4,)
    yield "matmul_row", torch.matmul, (4,), (2, 4, 3)
    yield "linear", F.linear, (2, 3, 4), (5, 4), (5,)
    yield "addmm", torch.addmm, (5,), (2, 3), (3, 5)
    yield ("einsum", lambda a, b: torch.einsum("bij,bkj->bki", a, b),
           (2, 3, 4), (2, 5, 4))
    yield ("einsum_three", lambda a, b, c: torch.einsum("ij,jk,k->ij", a, b, c),
           (2, 3), (3, 4), (4,))
    yield "bilinear", F.bilinear, (3, 2), (3, 4), (5, 2, 4), (5,)
    for name, causal in ("attention", False), ("attention_causal", True):
        def attend(q, k, v, causal=causal):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        yield name, attend, (2, 2, 4, 3), (2, 2, 4, 3), (2, 2, 4, 5)


def convolutions():
    def conv(call, **options):
        return lambda x, w, b: call(x, w, b, **options)

    yield "conv1d", conv(F.conv1d, stride=2, padding=1), (2, 3, 7), (4, 3, 3), (4,)
    yield ("conv1d_dilated", conv(F.conv1d, dilation=3, groups=2),
           (1, 4, 9), (4, 2, 2), (4,))
    yield "conv2d", conv(F.conv2d), (2, 3, 5, 6), (4, 3, 3, 2), (4,)
    yield ("conv2d_strided", conv(F.conv2d, stride=(2, 1), padding=(1, 2)),
           (1, 2, 6, 5), (3, 2, 3, 3), (3,))
    yield ("conv2d_depthwise", conv(F.conv2d, padding=1, groups=4),
           (2, 4, 4, 4), (8, 1, 3, 3), (8,))
    yield ("conv2d_atrous", conv(F.conv2d, padding=4, dilation=4),
           (1, 2, 4, 4), (3, 2, 3, 3), (3,))
    yield "conv2d_square", lambda x, w: F.silu(F.conv2d(x, w, padding=1)).mean(
        (2, 3)), (2, 3, 8, 8), (8, 3, 3, 3)
    yield ("conv3d", conv(F.conv3d, stride=(1, 2, 1), padding=1),
           (1, 2, 3, 4, 3), (3, 2, 2, 3, 3), (3,))
    yield ("transposed1d", conv(F.conv_transpose1d, stride=2, padding=1),
           (2, 3, 4), (3, 2, 3), (2,))
    yield ("transposed2d", conv(F.conv_transpose2d, stride=2, padding=1,
                                output_padding=1, groups=2),
           (1, 4, 3, 3), (4, 1, 3, 3), (2,))
    yield ("transposed2d_dilated", conv(F.conv_transpose2d, dilation=2),
           (1, 2, 3, 4), (2, 3, 2, 2), (3,))
    image = (2, 3, 6, 7)
    yield "max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), image
    yield "max_pool_dilated", lambda x: F.max_pool2d(x, 2, 1, 0, 2), image
    yield "max_pool_ceil", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), image
    yield "average_pool", lambda x: F.avg_pool2d(x, 3, 2, 1), image
    yield ("average_pool_inside", lambda x: F.avg_pool2d(
        x, 3, 2, 1, count_include_pad=False), image)
    yield "adaptive", lambda x: F.adaptive_avg_pool2d(x, (3, 1)), (2, 2, 6, 5)
    for mode in "nearest", "bilinear", "bicubic":
        options = {} if mode == "nearest" else {"align_corners": False}
        yield (f"resize_{mode}", lambda x, mode=mode, options=options:
               F.interpolate(x, size=(5, 7), mode=mode, **options), (1, 2, 3, 4))
    yield ("resize_corners", lambda x: F.interpolate(
        x, scale_factor=2, mode="bilinear", align_corners=True), (1, 2, 3, 4))
    yield "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (1, 8, 2, 3)


def reductions():
    x = (2, 3, 4)
    for dims in (0,), (1,), (-1,), (0, 2):
        name = "_".join(str(d % 3) for d in dims)
        yield f"sum_{name}", lambda t, d=dims: t.sum(d), x
        yield f"mean_{name}", lambda t, d=dims: t.mean(d, keepdim=True), x
        yield f"amax_{name}", lambda t, d=dims: t.amax(d), x
        yield f"logsumexp_{name}", lambda t, d=dims: t.logsumexp(d), x
    for dim in 0, 1, 2:
        yield f"softmax_{dim}", lambda t, d=dim: t.softmax(d), x
        yield f"log_softmax_{dim}", lambda t, d=dim: t.log_softmax(d), x
        yield f"cumsum_{dim}", lambda t, d=dim: t.cumsum(d), x
        yield f"norm_{dim}", lambda t, d=dim: t.norm(dim=d), x
        yield f"var_{dim}", lambda t, d=dim: t.var(d), x
    yield "top_k", lambda t: t.topk(2, 1)[0], (3, 5)
    yield "prod", lambda t: t.prod(1), x
    yield "layer_norm", lambda t, w, b: F.layer_norm(t, (4,), w, b), x, (4,), (4,)
    yield ("layer_norm_2", lambda t, w, b: F.layer_norm(t, (3, 4), w, b), x,
           (3, 4), (3, 4))
    yield ("group_norm", lambda t, w, b: F.group_norm(t, 2, w, b), (2, 4, 3),
           (4,), (4,))
    yield ("instance_norm", lambda t, w, b: F.instance_norm(t, weight=w, bias=b),
           (2, 3, 5), (3,), (3,))
    yield "normalize", lambda t: F.normalize(t, dim=1), x


def elementwise():
    for name, other in (("same", (2, 3, 4)), ("row", (4,)), ("column", (3, 1)),
                        ("longer", (5, 1, 1, 4)), ("one", (1,))):
        yield f"add_{name}", torch.add, (2, 3, 4), other
        yield f"sub_{name}", torch.sub, other, (2, 3, 4)
        yield f"mul_{name}", torch.mul, (2, 3, 4), other
        yield f"div_{name}", lambda a, b: a / (2 + b * b), (2, 3, 4), other
        yield f"maximum_{name}", torch.maximum, (2, 3, 4), other
        yield f"where_{name}", lambda a, b: torch.where(a > b, a, b * b), (
            2, 3, 4), other
    x = (3, 5)
    for call in (F.relu, F.gelu, F.silu, F.elu, F.selu, F.celu, F.softplus,
                 F.softsign, F.hardswish, F.hardsigmoid, F.mish, F.leaky_relu,
                 F.logsigmoid, F.relu6, F.hardtanh, torch.tanh, torch.sigmoid,
                 torch.exp, torch.sin, torch.cos, torch.erf, torch.abs,
                 torch.square, torch.atan):
        yield call.__name__, call, x
    yield "gelu_tanh", lambda t: F.gelu(t, approximate="tanh"), x
    yield "prelu", F.prelu, (2, 3, 4), (3,)
    yield "clamp", lambda t: t.clamp(-0.5, 0.7), x
    yield "log", lambda t: torch.log(1 + t * t), x
    yield "pow", lambda t: (1 + t * t).pow(1.5), x
    yield "rsqrt", lambda t: torch.rsqrt(1 + t * t), x
    yield "glu", lambda t: F.glu(t, 1), (2, 6)


def logic():
    """Operators without a gradient, which decide what others' gradients are."""
    x = (3, 5)
    yield "ceil", lambda t: t * torch.ceil(3 * t), x
    yield "floor", lambda t: t * torch.floor(3 * t), x
    yield "round", lambda t: t * torch.round(3 * t), x
    yield "sign", lambda t: t * torch.sign(t), x
    yield "either", lambda t: torch.where((t > 0.5) | (t < -0.5), t * t, t), x
    yield "both", lambda t: torch.where((t < 0.5) & (t > -0.5), t * t, t), x
    yield "negation", lambda t: torch.where(~(t > 0), 3 * t, t), x
    yield "nan", lambda t: torch.where(torch.isnan(t), 0 * t, t * t), x


def shapes():
    at = torch.tensor([[2, 0, 2], [1, 3, 0]])
    yield "embedding", lambda t: F.embedding(at, t), (4, 3)
    yield "embedding_padded", lambda t: F.embedding(at, t, padding_idx=2), (4, 3)
    yield "index_select", lambda t: t.index_select(1, SIZES[1:3]), (2, 4)
    yield "index", lambda t: t[at[0], at[1]], (4, 4, 2)
    yield "gather", lambda t: t.gather(1, at), (2, 4)
    yield "scatter", lambda t, u: t.scatter(1, at[:, :2], u), (2, 4), (2, 2)
    yield "scatter_add", lambda t, u: t.scatter_add(1, at, u), (2, 4), (2, 3)
    for kind in "amax", "amin", "prod":
        yield (f"scatter_{kind}", lambda t, u, kind=kind: t.scatter_reduce(
            1, at, u, kind), (2, 4), (2, 3))
    yield "index_add", lambda t, u: t.index_add(0, at[0], u), (4, 2), (3, 2)
    yield "slice", lambda t: t[:, 1:6:2, -2:], (2, 7, 3)
    yield "flip", lambda t: t.flip(1), (2, 3)
    yield "roll", lambda t: t.roll(1, 0), (3, 2)
    yield "cat", lambda a, b: torch.cat([a, b, a], 1), (2, 3), (2, 1)
    yield "stack", lambda a, b: torch.stack([a, b], 1), (2, 3), (2, 3)
    yield "split", lambda t: t.split([1, 3], 1)[1] * 2, (2, 4)
    yield "permute", lambda t: t.permute(2, 0, 1), (2, 3, 4)
    yield "expand", lambda t: t.expand(3, 2, 4), (2, 1)
    yield "repeat", lambda t: t.repeat(2, 3), (2, 2)
    yield "tril", torch.tril, (2, 3, 4)
    for mode in "constant", "reflect", "replicate", "circular":
        yield (f"pad_{mode}", lambda t, m=mode: F.pad(t, (1, 2), mode=m),
               (1, 2, 4))
    yield "pad_negative", lambda t: F.pad(t, (-1, 1, 2, 0)), (3, 4)
    yield "unfold", lambda t: t.unfold(1, 3, 2), (2, 7)
    yield "masked_fill", lambda t: t.masked_fill(at == 2, 0.5), (2, 3)


def sampling():
    image, places = (2, 3, 5, 6), (2, 4, 3, 2)
    for mode in "bilinear", "nearest", "bicubic":
        for padding in "zeros", "border", "reflection":
            for corners in False, True:
                def sample(x, at, mode=mode, padding=padding, corners=corners):
                    return F.grid_sample(x, 1.3 * at, mode, padding, corners)
                yield f"{mode}_{padding}_{corners}", sample, image, places
    yield ("volume", lambda x, at: F.grid_sample(x, at, align_corners=False),
           (1, 2, 3, 4, 3), (1, 2, 2, 3, 3))
    yield ("affine", lambda x, theta: F.grid_sample(x, F.affine_grid(
        theta, [2, 3, 4, 4], align_corners=False), align_corners=False),
        image, (2, 2, 3))
    yield "unpool", lambda x: F.max_unpool2d(*F.max_pool2d(
        x, 2, return_indices=True), 2), (2, 3, 4, 6)
    yield "unpool_overlapping", lambda x: F.max_unpool2d(*F.max_pool2d(
        x, 3, 2, 1, return_indices=True), 3, 2, 1, (5, 7)), (2, 2, 5, 7)
    yield "fold", lambda x: F.fold(x, (5, 6), (3, 2), padding=1, stride=2), (
        2, 12, 12)
    yield "fold_tiles", lambda x: F.fold(x, (4, 6), 2, stride=2), (2, 8, 6)
    bags = torch.tensor([[2, 0, 2], [1, 3, 0]])
    for mode in "sum", "mean", "max":
        yield (f"bag_{mode}", lambda t, mode=mode: F.embedding_bag(
            bags, t, mode=mode), (4, 3))


def transforms():
    for size in 5, 6:
        yield f"rfft_{size}", lambda x: torch.view_as_real(
            torch.fft.rfft(x, norm="ortho")), (2, size)
    yield "rfft_long", lambda x: torch.view_as_real(torch.fft.rfft(x)), (2, 210)
    yield "fft2", lambda x: torch.fft.fft2(x).real, (2, 3, 4)
    yield "irfft", lambda x: torch.fft.irfft(torch.view_as_complex(x), n=8), (
        2, 5, 2)
    yield "filter", lambda x, w: torch.fft.irfft(
        torch.fft.rfft(x) * torch.view_as_complex(w), n=8), (2, 8), (5, 2)
    window = torch.hann_window(8)
    yield "stft", lambda x: torch.view_as_real(torch.stft(
        x, 8, 3, window=window, center=False, return_complex=True)), (2, 20)
    for size in 1, 3, 4:
        yield f"det_{size}", torch.det, (2, size, size)
    yield ("antialias", lambda x: F.interpolate(
        x, size=(3, 5), mode="bilinear", antialias=True), (1, 2, 7, 6))


def regions():
    """Pixels at learnt places, and boxes (of torchvision)."""
    from torchvision.ops import deform_conv2d, roi_align
    image, weight = (2, 4, 6, 5), (6, 4, 3, 3)
    yield "deform", deform_conv2d, image, (2, 18, 4, 3), weight
    yield ("deform_padded", lambda x, at, w, b: deform_conv2d(
        x, 2 * at, w, b, stride=(2, 1), padding=(1, 2)),
        image, (2, 18, 3, 7), weight, (6,))
    yield ("deform_groups", lambda x, at, w, mask: deform_conv2d(
        x, at, w, padding=1, dilation=2, mask=mask),
        image, (2, 36, 4, 3), (6, 2, 3, 3), (2, 18, 4, 3))
    boxes = torch.tensor([[0, 0.3, 0.2, 4.1, 3.3], [1, 1.2, -2.2, 3.5, 7.6],
                          [1, 0, 0, 1.1, 0.8]])
    for aligned in False, True:
        yield (f"boxes_{aligned}", lambda x, aligned=aligned: roi_align(
            x, boxes.to(x.dtype), (2, 3), 0.9, 2, aligned), image)


class Recurrent(nn.Module):
    """The layers that hold their parameters themselves."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, 2, bidirectional=True)
        self.gru = nn.GRU(3, 2, batch_first=True)
        self.rnn = nn.RNN(3, 2)
        self.x = nn.Parameter(torch.randn(4, 2, 3))

    def forward(self, given):
        results = [self.lstm(self.x)[0], self.gru(self.x)[0], self.rnn(self.x)[0]]
        return sum(r.sin().sum() for r in results) + given.mean()


class Family(nn.Module):
    """The cases of one family."""

    def __init__(self, cases):
        super().__init__()
        self.cases, self.parameters_of = [], nn.ModuleDict()
        for name, call, *shapes_of in cases():
            values = [nn.Parameter(torch.randn(s)) for s in shapes_of]
            self.parameters_of[name] = nn.ParameterList(values)
            with torch.no_grad():
                factors = torch.randn(call(*values).shape)
            self.register_buffer(f"factors_{name}", factors)
            self.cases.append((name, call))

    def forward(self, given):
        total = given.mean()
        for name, call in self.cases:
            result = call(*self.parameters_of[name])
            total = total + (result * getattr(self, f"factors_{name}")).sum()
        return total


def all_nodes(body):
    """The nodes of a model, its functions and their branches and loops."""
    if isinstance(body, onnx.ModelProto):
        for part in body.graph, *body.functions:
            yield from all_nodes(part)
        return
    for node in body.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def record(name, net, folder):
    given = torch.zeros(2)
    path = folder / f"{name}.onnx"
    torch.onnx.export(net, (given,), str(path), dynamo=True, optimize=False,
                      external_data=False, verbose=False, input_names=["given"],
                      output_names=["cost"])
    model = onnx.load(path)
    kept = "pkg.torch.onnx.fx_node"
    for node in all_nodes(model):
        calls = [p for p in node.metadata_props
                 if p.key == kept and "aten.embedding" in p.value]
        del node.metadata_props[:]
        node.metadata_props.extend(calls)
    onnx.save(model, path)
    net = net.double()
    net(given.double()).backward()
    np.savez_compressed(folder / f"{name}.npz", **{
        key: value.grad.numpy().astype(np.float32)
        for key, value in net.named_parameters()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=ROOT / "test" / "fixtures" / "gradients")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    families = (products, convolutions, reductions, elementwise, logic, shapes,
                sampling, transforms, regions)
    for cases in families:
        torch.manual_seed(0)
        record(cases.__name__, Family(cases), folder)
    torch.manual_seed(0)
    record("recurrent", Recurrent(), folder)


if __name__ == "__main__":
    main()
