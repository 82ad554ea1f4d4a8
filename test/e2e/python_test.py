#!/usr/bin/env python3
"""The Python module zc: the same numbers as zc run and zc eval, arrays where
they are."""
import gc
import json
import os
import subprocess
import sys
import threading
import unittest
import weakref

import numpy as np

from python_module import ROOT, Foreign, OldForeign, PythonTest, batches_of, \
    repeat, zc
from zctest import FIXTURES, TIMEOUT, Fixture, read_log


class Training(PythonTest):

    def check_losses(self, name, *run_options, seed=0, **options):
        fixture, steps = Fixture(name), 4
        artifact, arrays = self.compiled(name, **options), repeat(fixture, steps)
        np.savez(self.folder / "steps.npz", **arrays)
        log = self.folder / "log.jsonl"
        self.train(artifact, self.folder / "steps.npz", steps, "--no-shuffle",
                   "--seed", seed, "--log", log, *run_options)
        with zc.Session(artifact, seed=seed) as session:
            losses = [session.step(batch)
                      for batch in batches_of(arrays, session.batch)]
            self.assertEqual(session.steps_done, steps)
        # zc run writes the shortest decimal of a float32.
        self.assertEqual([np.float32(loss) for loss in losses],
                         [np.float32(line["loss"]) for line in read_log(log)])

    def test_losses_of_mlp(self):
        self.check_losses("mlp", optimizer="sgd", momentum=0.9, nesterov=True)

    def test_losses_of_cnn(self):
        self.check_losses("cnn")

    def test_losses_of_gpt(self):
        self.check_losses("gpt", accumulate=2, clip_norm=0.1)

    def test_losses_of_drawn_weights(self):
        self.check_losses("mlp", seed=3, init="normal:0.1", precision="bf16")

    def test_a_batch_in_every_form(self):
        fixture, losses = Fixture("mlp"), []
        arrays = next(batches_of(repeat(fixture, 1), fixture.reference["batch"]))
        artifact = self.compiled()
        x, labels = arrays["x"], arrays["labels"]
        wide = np.repeat(x, 2, axis=1)[:, ::2]  # not in row-major order
        forms = [((arrays,), {}), (([x, labels],), {}), ((), arrays),
                 (({"x": x},), {"labels": labels.tolist()}),
                 ((), {"x": x.astype(np.float64),
                       "labels": labels.astype(np.int32)}),
                 ((), {"x": wide, "labels": labels}),
                 ((), {"x": Foreign(x), "labels": OldForeign(labels)})]
        for args, names in forms:
            with zc.Session(artifact) as session:
                losses.append([session.step(*args, **names),
                               session.step()])
        self.assertEqual(losses, [losses[0]] * len(forms))
        self.assertLess(losses[0][1], losses[0][0])

    def test_memory_is_read_where_it_is(self):
        arrays = repeat(Fixture("mlp"), 2)
        session = self.opened()
        first, second = batches_of(arrays, session.batch)
        expected = [session.step(first), session.step(second)]
        lent = {name: array.copy() for name, array in first.items()}
        session = self.opened()
        found = [session.step(x=lent["x"], labels=Foreign(lent["labels"]))]
        for name, array in second.items():
            lent[name][:] = array
        self.assertEqual([*found, session.step()], expected)

    def test_foreign_tensors_live_as_long_as_they_are_read(self):
        arrays = repeat(Fixture("mlp"), 1)
        session = self.opened()
        for kind in (Foreign, OldForeign):
            labels = arrays["labels"].copy()
            alive = weakref.ref(labels)
            session.step(x=arrays["x"], labels=kind(labels))
            del labels
            gc.collect()
            self.assertIsNotNone(alive())
            session.step(labels=arrays["labels"])
            gc.collect()
            self.assertIsNone(alive())

    def test_rates_settings_and_seeds(self):
        arrays = repeat(Fixture("mlp"), 1)
        session = self.opened()
        self.assertEqual(session.learning_rate, np.float32(1e-3))
        session.learning_rate = 0
        session.set_setting("weight_decay", 0)
        before = session.states["0.weight"]
        session.step(arrays)
        np.testing.assert_array_equal(session.states["0.weight"], before)
        session.seed = 7
        self.assertEqual(session.seed, 7)

    def test_train_calls_back(self):
        arrays = repeat(Fixture("mlp"), 6)
        session, told = self.opened(), []
        batches = list(batches_of(arrays, session.batch))
        losses = session.train(batches, steps=2, callbacks=[
            lambda session, loss: told.append((session.steps_done, loss))])
        self.assertEqual(told, list(enumerate(losses, 1)))
        losses += session.train(batches, callbacks=[
            lambda session, loss: session.steps_done < 5])
        self.assertEqual(len(losses), 5)
        self.assertEqual(len(session.train(iter(batches))), 6)

    def test_progress_is_told_and_stops(self):
        arrays, told, wishes = repeat(Fixture("mlp"), 4), [], []

        def hear(phase, done, total):
            told.append((phase, done, total))
            if "raise" in wishes:
                raise RuntimeError("in a callback")
            return "stop" not in wishes

        with zc.Session(self.compiled(), progress=hear) as session:
            session.train(batches_of(arrays, session.batch), steps=2)
            self.assertEqual(told, [("step", 1, 0), ("step", 2, 0)])
            samples = len(arrays["x"])
            session.eval(arrays)
            self.assertEqual(told[2:], [("evaluation", done, samples) for done
                                        in range(0, samples, session.batch)])
            for wish in ("stop", "raise"):
                wishes.append(wish)
                with self.assertRaises(zc.StoppedError):
                    session.eval(arrays)
                wishes.clear()
            session.eval(arrays)
            self.assertEqual(session.steps_done, 2)
            self.assertGreater(session.memory_bytes, 0)
            self.assertEqual(session.sent_bytes, 0)

    def test_samples_of_files(self):
        """Losses and metrics of zc run on the same files."""
        digits = FIXTURES / "digits"
        artifact = self.folder / "digits.zca"
        zc.compile(digits / "model.onnx", artifact, dim={"batch": 64},
                   loss="softmax-cross-entropy")
        data, held = digits / "train.npz", digits / "heldout.npz"
        log = self.folder / "log.jsonl"
        self.train(artifact, data, 4, "--no-shuffle", "--log", log,
                   "--eval-data", held, "--metrics", "top5")
        lines = read_log(log)
        evaluation = json.loads(log.read_text().splitlines()[-1])
        with zc.Session(artifact) as session:
            self.assertEqual(session.set_data(data), len(np.load(data)["x"]))
            losses = [session.step() for _ in range(3)]
            session.select(np.arange(3 * session.batch, 4 * session.batch))
            losses.append(session.step())
            session.set_eval_data(held, metrics=["top5"])
            found = session.eval_data()
            with self.assertRaisesRegex(zc.InvalidArgumentError, "no sample -1"):
                session.select([-1] * session.batch)
        self.assertEqual([np.float32(loss) for loss in losses],
                         [np.float32(line["loss"]) for line in lines])
        self.assertEqual(found, {name: evaluation[name] for name in found})
        self.assertEqual(sorted(found),
                         ["eval_accuracy", "eval_loss", "eval_top5"])

    def test_two_sessions_in_two_threads(self):
        arrays, artifact = repeat(Fixture("cnn"), 8), self.compiled("cnn")
        losses = {}

        def train(key):
            with zc.Session(artifact) as session:
                losses[key] = session.train(batches_of(arrays, session.batch))

        train("alone")
        threads = [threading.Thread(target=train, args=(key,)) for key in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(losses[0], losses["alone"])
        self.assertEqual(losses[1], losses["alone"])


class Results(PythonTest):

    def test_what_a_session_is(self):
        session = self.opened()
        x, labels = session.inputs
        self.assertEqual((x.name, x.dtype, x.kind, x.batch_dim),
                         ("x", "float32", "input", 0))
        self.assertEqual((labels.dtype, labels.kind, labels.shape),
                         ("int64", "label", (session.batch,)))
        self.assertEqual(session.outputs[0].kind, "output")
        self.assertIn("x: float32[", repr(session))
        self.assertEqual(zc.version(), zc.__version__)
        self.assertIn(zc.__version__, self.zc("--version"))

    def test_eval_is_zc_eval(self):
        fixture, session = Fixture("cnn"), self.opened(name="cnn")
        arrays = dict(np.load(fixture.data))
        session.train(batches_of(repeat(fixture, 3), session.batch))
        session.save(self.folder / "ckpt")
        found = session.eval(arrays)
        output = session.outputs[0].name
        scores = json.loads(self.zc("eval", session.artifact, "--data",
                                    fixture.data, "--json", "--checkpoint",
                                    self.folder / "ckpt"))
        self.assertEqual(np.float32(session.metrics["eval_loss"]),
                         np.float32(scores["loss"]))
        np.save(self.folder / "x.npy", arrays["x"])
        self.zc("eval", session.artifact, "--input",
                f"x={self.folder / 'x.npy'}", "--checkpoint",
                self.folder / "ckpt", "--output-dir", self.folder / "out")
        np.testing.assert_array_equal(
            found[output], np.load(self.folder / "out" / f"{output}.npy"))
        first = session.eval(x=arrays["x"][:1])  # without the labels of others
        np.testing.assert_array_equal(first[output][0], found[output][0])
        self.assertNotIn("eval_loss", session.metrics)

    def test_views_of_outputs(self):
        session, arrays = self.opened(), repeat(Fixture("mlp"), 1)
        copied, = session.eval(arrays).values()
        view, = session.eval(arrays, copy=False).values()
        np.testing.assert_array_equal(view, copied)
        self.assertFalse(view.flags.owndata)
        shared = np.from_dlpack(view)
        np.testing.assert_array_equal(shared, copied)
        self.assertTrue(np.shares_memory(shared, view))
        del shared
        row = view[0]
        del view
        for deed in (session.close, lambda: session.eval(arrays)):
            with self.assertRaisesRegex(BufferError, "still in use"):
                deed()
        session.step(arrays)  # does not touch them
        np.testing.assert_array_equal(row, copied[0])
        del row
        session.eval(arrays)

    def test_states(self):
        session, fixture = self.opened(), Fixture("mlp")
        session.step(repeat(fixture, 1))
        states = session.states
        self.assertEqual(len(states), len(list(states)))
        self.assertIn("state.0.weight.exp_avg", states)
        self.assertNotIn("none", states)
        info = states.info("0.weight")
        self.assertEqual((info.kind, states["0.weight"].shape),
                         ("parameter", info.shape))
        value = np.arange(states["0.bias"].size, dtype=np.float64)
        states["0.bias"] = value
        np.testing.assert_array_equal(states["0.bias"], value)
        with self.assertRaisesRegex(zc.NotFoundError, "none"):
            states["none"]
        with self.assertRaisesRegex(ValueError, r"0.bias.*float32.*\[1\]"):
            states["0.bias"] = [1.0]
        with self.assertRaisesRegex(ValueError, "complex64"):
            states["0.bias"] = value.astype(np.complex64)
        with self.assertRaises(TypeError):
            del states["0.bias"]

    def test_files(self):
        session, fixture = self.opened(name="cnn"), Fixture("cnn")
        batches = list(batches_of(repeat(fixture, 4), session.batch))
        session.train(batches[:2])
        session.save(self.folder / "ckpt")
        session.export(self.folder / "own.onnx")
        session.export_weights(self.folder / "own.safetensors")
        straight = session.train(batches[2:])
        session.save(self.folder / "ckpt", keep=1)  # not moved by the export
        self.assertEqual(sorted(p.name for p in self.folder.glob("ckpt/step-*")),
                         ["step-4"])
        zc.export(session.artifact, self.folder / "ckpt", self.folder / "4.onnx")
        other = self.opened(name="cnn")
        other.load_weights(self.folder / "own.safetensors")
        self.assertEqual(other.steps_done, 0)
        other.train(batches[:2])
        session.resume(self.folder / "ckpt")
        self.assertEqual(session.steps_done, 4)
        again = self.opened(name="cnn")
        again.train(batches[:2])
        self.assertEqual(again.train(batches[2:]), straight)
        again.export(self.folder / "again.onnx")
        self.assertEqual((self.folder / "again.onnx").read_bytes(),
                         (self.folder / "4.onnx").read_bytes())
        self.assertNotEqual((self.folder / "own.onnx").read_bytes(),
                            (self.folder / "4.onnx").read_bytes())


TRAIN = """
import ctypes, json, sys
import numpy as np
for library in sys.argv[3:]:
    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
import zc
with zc.Session(sys.argv[1]) as session:
    print(json.dumps(session.train([dict(np.load(sys.argv[2]))] * 3)))
"""


class Surroundings(PythonTest):

    def test_another_openmp_for_all(self):
        """PyTorch opens its OpenMP so that all libraries see it first."""
        arrays, data = repeat(Fixture("cnn"), 1), self.folder / "data.npz"
        np.savez(data, **arrays)
        artifact, losses = self.compiled("cnn"), []
        for libraries in ([], ["libgomp.so.1"]):
            done = subprocess.run(
                [sys.executable, "-c", TRAIN, artifact, data, *libraries],
                text=True, capture_output=True, timeout=TIMEOUT, env={
                    **os.environ, "PYTHONPATH": str(ROOT / "tools" / "python")})
            self.assertEqual(done.returncode, 0, done.stderr)
            losses.append(json.loads(done.stdout))
        self.assertEqual(losses[1], losses[0])


if __name__ == "__main__":
    unittest.main()
