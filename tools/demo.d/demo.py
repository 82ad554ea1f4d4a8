#!/usr/bin/env python3
"""Train a classifier of handwritten digits with zc, from an untrained ONNX
file to a trained one that ONNX Runtime loads. tools/demo calls it."""
import argparse
import json
import pathlib
import shlex
import shutil
import subprocess
import sys

import numpy as np
import onnxruntime

import chart

BATCH, EPOCHS = 64, 10
WANTED_ACCURACY = 0.95


def say(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}",
          flush=True)


class Demo:

    def __init__(self, tools, fixture, output):
        self.zc_path, self.fixture, self.output = tools / "zc", fixture, output
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)

    def zc(self, *args):
        """Show the command and run it."""
        print("$ " + shlex.join(["zc", *map(str, args)]), flush=True)
        subprocess.run([self.zc_path, *map(str, args)], check=True)

    def train(self):
        say("1. Compile: forward, backward and optimizer into one artifact")
        self.artifact = self.output / "digits.zca"
        self.zc("compile", self.fixture / "model.onnx", "-o", self.artifact,
                "--loss", "softmax-cross-entropy", "--dim", f"batch={BATCH}")
        say("2. Train on 1438 digits")
        self.checkpoint = self.output / "checkpoint"
        self.log = self.output / "log.jsonl"
        self.zc("run", self.artifact, "--data", self.fixture / "train.npz",
                "--epochs", EPOCHS, "--lr", "3e-3",
                "--log", self.log, "--checkpoint", self.checkpoint,
                "--overwrite")

    def draw(self):
        losses = [json.loads(line)["loss"]
                  for line in self.log.read_text().splitlines()]
        print(chart.terminal(chart.smooth(losses), "training loss"))
        self.picture = self.output / "loss.svg"
        self.picture.write_text(chart.svg(losses, "Digits: training loss"))

    def score(self):
        """zc's accuracy on the digits that training never saw."""
        say("3. Evaluate on 359 digits that training never saw")
        held_out = np.load(self.fixture / "heldout.npz")
        self.x, self.labels = held_out["x"], held_out["labels"]
        np.save(self.output / "heldout-x.npy", self.x)
        self.zc("eval", self.artifact, "--input",
                f"x={self.output / 'heldout-x.npy'}", "--checkpoint",
                self.checkpoint, "--output-dir", self.output / "eval")
        logits = np.load(self.output / "eval" / "logits.npy")
        accuracy = self.accuracy(logits)
        print(f"held-out accuracy: {accuracy:.2%}")
        return accuracy

    def score_exported(self):
        """The accuracy of the exported model under ONNX Runtime."""
        say("4. Export, and let ONNX Runtime judge")
        self.trained = self.output / "trained.onnx"
        self.zc("export", self.artifact, "--checkpoint", self.checkpoint, "-o",
                self.trained)
        session = onnxruntime.InferenceSession(str(self.trained))
        accuracy = self.accuracy(session.run(["logits"], {"x": self.x})[0])
        print(f"ONNX Runtime on {self.trained.name}: {accuracy:.2%}")
        return accuracy

    def accuracy(self, logits):
        return float((logits.argmax(axis=1) == self.labels).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--fixture", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    demo = Demo(options.tools, options.fixture, options.output)
    demo.train()
    demo.draw()
    ours, theirs = demo.score(), demo.score_exported()
    if ours <= WANTED_ACCURACY:
        sys.exit(f"demo: accuracy {ours:.2%}, expected above "
                 f"{WANTED_ACCURACY:.0%}")
    if ours != theirs:
        sys.exit(f"demo: zc scores {ours:.2%}, ONNX Runtime {theirs:.2%}")
    say("Done. It left:")
    for path, what in ((demo.trained, "the trained model"),
                       (demo.picture, "the loss curve"),
                       (demo.log, "loss, rate and memory of every step"),
                       (demo.checkpoint, "checkpoints"),
                       (demo.artifact, "the compiled artifact")):
        print(f"  {path}: {what}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"demo: zc ended with {error.returncode}")
