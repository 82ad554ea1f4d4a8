#!/usr/bin/env python3
"""Models whose weights are of 16 bits: what published language models are.

How far a run may be from PyTorch's double precision losses is twice what
PyTorch's own runs in 16 bits are (tools/reference/halves.py), for Adafactor,
whose step hardly depends on the gradient's size, five times; a tenth of that it
must be, or nothing was rounded.
"""
import json
import unittest
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from safetensors.numpy import save_file

from zctest import Fixture, ZcTest, latest_step, load_tensors, read_log

MULTIPLE = {"adafactor": 5}
HALVES = {TensorProto.BFLOAT16: "BF16", TensorProto.FLOAT16: "F16"}


def halves_of(model):
    """The initializers of 16 bits, by name."""
    return {each.name: each for each in model.graph.initializer
            if each.data_type in HALVES}


def floats_of(tensor):
    return numpy_helper.to_array(tensor).astype(np.float32)


class HalvesTest(ZcTest):

    def options(self, fixture, optimizer):
        return ["--loss", fixture.reference["loss"], "--optimizer", optimizer,
                *(["--weight-decay", "0"] if optimizer == "adafactor" else [])]

    def build(self, fixture, optimizer, *extra, name="model.zca"):
        artifact = self.folder / name
        self.zc("compile", fixture.model, "-o", artifact,
                *self.options(fixture, optimizer), *extra)
        return artifact

    def losses(self, artifact, fixture, optimizer, *more, steps=None):
        log = self.folder / "log.jsonl"
        entry = fixture.reference["optimizers"].get(optimizer, {})
        self.train(artifact, fixture.data,
                   steps or fixture.reference["steps"], "--no-shuffle",
                   "--log", log, *more, lr=entry.get("learning_rate", 1e-3))
        return np.array([line["loss"] for line in read_log(log)])

    def check(self, model, optimizer, *extra, more=()):
        fixture = Fixture(f"halves/{model}")
        entry = fixture.reference["optimizers"][optimizer]
        exact = np.array(entry["losses"])
        found = self.losses(self.build(fixture, optimizer, *extra), fixture,
                            optimizer, *more)
        distance = (np.abs(found - exact) / np.abs(exact)).max()
        spread = entry["half_spread"]
        self.assertLessEqual(distance, MULTIPLE.get(optimizer, 2) * spread)
        self.assertGreaterEqual(distance, 0.1 * spread)
        return found


class Copies(HalvesTest):

    def plan(self, *options):
        """Losses of llama-bf16, and what `zc inspect` says."""
        fixture = Fixture("halves/llama-bf16")
        artifact = self.build(fixture, "adamw", "--precision", "bf16", *options)
        more = ("--local-ranks", 2) if "--mesh" in options else ()
        losses = self.losses(artifact, fixture, "adamw", *more, steps=3)
        return losses, json.loads(self.zc("inspect", artifact, "--json"))

    def test_without_copies(self):
        """Masters are rounded where they are read, to the same bits: no copies
        are kept."""
        kept, copies = self.plan()
        rounded, plan = self.plan("--weight-copies", "off")
        np.testing.assert_array_equal(rounded, kept)
        self.assertLess(plan["memory"]["persistent"],
                        0.9 * copies["memory"]["persistent"])

    def test_gathers(self):
        """ZeRO-3 gathers 16 bits, or all digits."""
        sent = {}
        kept, _ = self.plan("--mesh", "dp=2", "--zero", 3)
        for how in ("auto", "fp32"):
            found, plan = self.plan("--mesh", "dp=2", "--zero", 3,
                                    "--weight-copies", "off",
                                    "--gather-precision", how)
            np.testing.assert_array_equal(found, kept)
            sent[how] = plan["comm"]["by_kind"]["parameters"]["bytes"]
        self.assertEqual(sent["fp32"], 2 * sent["auto"])


class Halves(HalvesTest):

    def test_ranks(self):
        one = ["--cpu-threads", "1"]
        for zero in (0, 1, 2, 3):
            self.check("llama-bf16", "adamw", "--mesh", "dp=2", "--zero", zero,
                       *one, more=["--local-ranks", "2"])
        self.check("gpt2-fp16", "sgd", "--mesh", "dp=2", "--zero", "3", *one,
                   more=["--local-ranks", "2"])

    def test_accumulates(self):
        for model in ("qwen-bf16", "gpt2-fp16"):
            self.check(model, "adamw", "--accumulate", "2")

    def test_tensor_parallel(self):
        self.check("llama-bf16", "adamw", "--mesh", "tp=2", "--cpu-threads",
                   "1", more=["--local-ranks", "2"])

    def test_onebit_adam(self):
        # Its warm-up is Adam.
        fixture = Fixture("halves/gpt2-bf16")
        artifact = self.build(fixture, "onebit-adam", "--freeze-step", "6",
                              "--mesh", "dp=2", "--cpu-threads", "1")
        found = self.losses(artifact, fixture, "adam", "--local-ranks", "2")
        entry = fixture.reference["optimizers"]["adam"]
        np.testing.assert_allclose(found[:6], entry["losses"][:6],
                                   rtol=2 * entry["half_spread"])
        self.assertLess(found[-1], found[5])

    def test_what_a_parameter_takes(self):
        # 2 of the copy, 12 of master and two moments.
        fixture = Fixture("halves/llama-bf16")
        artifact = self.build(fixture, "adamw")
        memory = json.loads(self.zc("inspect", artifact, "--memory",
                                    "--json"))["memory"]
        count = sum(np.prod(each.dims) for each
                    in halves_of(onnx.load(fixture.model)).values())
        self.assertEqual(memory["optimizer"], 12 * count)
        # Beside the parameters there are tables: of angles, and masks.
        self.assertGreaterEqual(memory["parameters"], 2 * count)
        self.assertLess(memory["parameters"], 3 * count)

    def test_checkpoints_hold_float32(self):
        fixture = Fixture("halves/qwen-bf16")
        artifact = self.build(fixture, "adamw")
        whole, parts = self.folder / "whole", self.folder / "parts"
        losses = self.losses(artifact, fixture, "adamw", "--checkpoint", whole)
        weights = load_tensors(latest_step(whole))
        model = onnx.load(fixture.model)
        self.assertEqual(sorted(weights), sorted(halves_of(model)))
        for name, weight in weights.items():
            self.assertEqual(weight.dtype, np.float32, name)
        bits = np.concatenate([w.ravel() for w in weights.values()])
        self.assertTrue((bits.view(np.uint32) & 0xffff).any())
        # Another run in two parts, bit for bit.
        self.losses(artifact, fixture, "adamw", "--checkpoint", parts, steps=4)
        again = self.losses(artifact, fixture, "adamw", "--checkpoint", parts,
                            "--resume")
        self.assertEqual(again.tolist(), losses.tolist())
        for name, weight in load_tensors(latest_step(parts)).items():
            np.testing.assert_array_equal(weight, weights[name], name)
        self.check_export(fixture, artifact, whole, weights)

    def check_export(self, fixture, artifact, checkpoint, weights):
        """The file has its own types, rounded from what was trained."""
        path = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", path)
        before, after = onnx.load(fixture.model), onnx.load(path)
        old, new = halves_of(before), halves_of(after)
        self.assertEqual({n: t.data_type for n, t in old.items()},
                         {n: t.data_type for n, t in new.items()})
        changed = 0
        for name, tensor in new.items():
            # Half a unit of bfloat16, which has 8 digits.
            np.testing.assert_allclose(floats_of(tensor), weights[name],
                                       rtol=2 ** -8, atol=1e-30)
            changed += not np.array_equal(floats_of(tensor),
                                          floats_of(old[name]))
        self.assertGreater(changed, len(new) / 2)

    def test_evaluates_what_it_exports(self):
        """ONNX Runtime computes float16 on CPUs, and not bfloat16."""
        fixture = Fixture("halves/gpt2-fp16")
        artifact = self.build(fixture, "adamw")
        checkpoint, trained = self.folder / "ckpt", self.folder / "t.onnx"
        self.losses(artifact, fixture, "adamw", "--checkpoint", checkpoint)
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", trained)
        tokens = np.load(fixture.data)["input_ids"][:4]
        np.save(self.folder / "tokens.npy", tokens)
        outputs = []
        for model, more in ((artifact, ["--checkpoint", checkpoint]),
                            (trained, [])):
            out = self.folder / model.stem
            self.zc("eval", model, *more, "--input",
                    f"input_ids={self.folder}/tokens.npy", "--output-dir", out)
            outputs.append(np.load(out / "logits.npy").astype(np.float32))
        np.testing.assert_array_equal(*outputs)
        session = onnxruntime.InferenceSession(
            trained, providers=["CPUExecutionProvider"])
        theirs, = session.run(None, {"input_ids": tokens})
        # Float16 has 11 digits; some ten roundings follow one another.
        np.testing.assert_allclose(outputs[0], theirs.astype(np.float32),
                                   rtol=5e-3, atol=5e-3)

    def test_weights_by_reference(self):
        """The runtime widens what lies in the model's own file."""
        model = self.folder / "m.onnx"
        onnx.save(onnx.load(Fixture("halves/llama-bf16").model), model,
                  save_as_external_data=True, location="m.data",
                  size_threshold=64)
        fixture = Fixture("halves/llama-bf16")
        inside = self.losses(self.build(fixture, "adamw"), fixture, "adamw")
        fixture.model = model
        for extra in ([], ["--weights", "by-reference"]):
            artifact = self.build(fixture, "adamw", *extra, name="r.zca")
            found = self.losses(artifact, fixture, "adamw")
            self.assertEqual(found.tolist(), inside.tolist())

    def test_stores_weights_in_their_type(self):
        """Large ones stay as they are in the artifact, half as large."""
        fixture = Fixture("halves/llama-bf16")
        model = self.folder / "m.onnx"
        onnx.save(onnx.load(fixture.model), model, save_as_external_data=True,
                  location="m.data", size_threshold=64)
        fixture.model = model
        artifact = self.build(fixture, "adamw")
        with zipfile.ZipFile(artifact) as archive:
            text = archive.read("weights.safetensors")
        size = int.from_bytes(text[:8], "little")
        header = json.loads(text[8:8 + size])
        names = [name for name in halves_of(onnx.load(model))
                 if name in header and name.endswith(".weight")]
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertEqual(header[name]["dtype"], "BF16", name)

    def test_precision_of_a_half_model(self):
        """--precision says what is computed in, whatever the file has."""
        self.check("llama-bf16", "adamw", "--precision", "bf16")


def add_tests():
    for model in ("llama-bf16", "qwen-bf16", "gpt2-bf16", "gpt2-fp16"):
        for optimizer in ("sgd", "adam", "adamw", "adafactor", "sm3"):
            def test(self, model=model, optimizer=optimizer):
                self.check(model, optimizer)
            setattr(Halves, f"test_{model}_{optimizer}".replace("-", "_"),
                    test)


add_tests()

if __name__ == "__main__":
    unittest.main()
