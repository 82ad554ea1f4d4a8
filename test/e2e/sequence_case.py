"""Models compiled for meshes that divide their tokens: fixtures, and a model
around one attention."""
import json
import math

import numpy as np

from attention_model import TOKENS, WIDTH, make_attention
from zctest import Fixture, ZcTest


class TokensCase(ZcTest):

    def compile(self, *args, model="gpt"):
        if isinstance(model, str):
            model = Fixture(model).model
        self.zc("compile", model, "-o", self.folder / "a.zca",
                "--loss", "softmax-cross-entropy", *args)
        return self.folder / "a.zca"

    def comm(self, *args, model="gpt"):
        artifact = self.compile(*args, model=model)
        return json.loads(self.zc("inspect", artifact, "--comm",
                                  "--json"))["comm"]

    def losses(self, data, common, mesh=(), ranks=1, model="gpt"):
        artifact = self.compile("--cpu-threads", 1, *common, *mesh,
                                model=model)
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", data, "--steps", 4, "--no-shuffle",
                "--log", log, *(["--local-ranks", ranks] if ranks > 1 else []))
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        if ranks > 1:
            planned = json.loads(self.zc("inspect", artifact, "--comm",
                                         "--json"))["comm"]["sent_bytes"]
            self.assertEqual({line["sent_bytes"] for line in lines}, {planned})
        return [line["loss"] for line in lines]

    def kept(self, script, mesh, *options, **sizes):
        """Bytes that a layer keeps for the backward."""
        peaks = []
        for layers in (2, 4):
            model = self.write_large(script, **{
                "layers": layers, "width": 128, "heads": 4, "length": 256,
                "batch": 2, "vocabulary": 128, **sizes})
            artifact = self.folder / "l.zca"
            self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                    "--loss", "softmax-cross-entropy", "--optimizer", "sgd",
                    "--mesh", mesh, "--verify", "off", *options)
            peaks.append(json.loads(self.zc("inspect", artifact, "--memory",
                                            "--json"))["memory"]["activations"])
        return (peaks[1] - peaks[0]) / 2


class SequenceCase(ZcTest):

    def compare(self, labels=TOKENS, options=(), on_ranks=(), meshes=(),
                rtol=5e-6, feeds=(), alone_feeds=(), alone_options=(),
                **model_options):
        """Losses of meshes and kinds of attention are those of one rank; feeds:
        more inputs, by name; alone_feeds, alone_options: others, of the one
        rank and its model."""
        model, data = self.folder / "made.onnx", self.folder / "made.npz"
        make_attention(model, **model_options)
        one = self.folder / "one.onnx"
        make_attention(one, **{**model_options, **dict(alone_options)})
        draw = np.random.default_rng(0)
        counts = {"x": TOKENS * math.prod(
            each.get("strides", [1])[0]
            for each in model_options.get("convolutions", ())),
                  "labels": labels}
        if "memory" in model_options:
            counts["z"] = model_options["memory"]
        arrays = {name: draw.normal(size=(8, count, WIDTH)).astype(np.float32)
                  for name, count in counts.items()}
        if (model_options.get("mask", "").startswith("padded") or
                model_options.get("counts")):
            # On the right, on the left, so that queries see no key, anywhere,
            # and of one sample all.
            seen = draw.random(size=(8, TOKENS)) < 0.7
            seen[0], seen[1], seen[2] = (np.arange(TOKENS) < 11,
                                         np.arange(TOKENS) >= 6, False)
            arrays["seen"] = seen.astype(np.int64)
        np.savez(data, **{**arrays, **dict(feeds)})
        alone = self.folder / "alone.npz"
        np.savez(alone, **{**arrays, **dict(feeds), **dict(alone_feeds)})
        losses = {}
        for mesh, attention in (("", ""), *(meshes or [
                ("sp=2", "ulysses"), ("sp=2", "auto"), ("sp=2", "gather"),
                ("sp=4", "gather"),
                ("sp=2", "ring"), ("sp=4", "ring")])):
            artifact, log = self.folder / "d.zca", self.folder / "log.jsonl"
            self.zc("compile", model if mesh else one, "-o", artifact, "--loss",
                    "mse", *options, *(["--mesh", mesh, "--sp-attention", attention,
                                 *on_ranks] if mesh else []))
            ranks = math.prod(int(axis.split("=")[1])
                              for axis in mesh.split(",") if axis)
            self.zc("run", artifact, "--data", data if mesh else alone, "--steps",
                    4, "--no-shuffle", "--log", log, "--local-ranks", ranks)
            losses[mesh, attention] = [json.loads(line)["loss"] for line in
                                       log.read_text().splitlines()]
        for name, found in losses.items():
            np.testing.assert_allclose(found, losses["", ""], rtol=rtol,
                                       err_msg=str(name))
