#!/usr/bin/env python3
"""Train an ONNX file with a peer that reads ONNX, and print JSON lines: ONNX
Runtime Training, or the step that onnxsim differentiates, run by ONNX Runtime.

  peer_onnx.py --folder DIR [--engine ort-training|onnxsim] [--steps N]
               [--threads N] [--serve]

DIR has model.onnx and data.npz, as peer_torch.py --export writes them. AdamW as
zc's (onnxsim: Adam, which has no decay of weights). With --serve it trains only
when told to, as peer_torch.py does. The Python must have onnxruntime-training-cpu
1.19.2 and torch, which that imports, or onnxsim and an ONNX Runtime.
"""
import argparse
import json
import pathlib
import resource
import statistics
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FIRST, RATE, DECAY, EPSILON = 3, 1e-4, 0.01, 1e-8


def load(folder):
    """The model with its scores as a matrix, its parameters, one batch."""
    model = onnx.load(folder / "model.onnx")
    scores = model.graph.output[0]
    classes = scores.type.tensor_type.shape.dim[-1].dim_value
    model.graph.initializer.append(helper.make_tensor(
        "scores_shape", TensorProto.INT64, [2], [-1, classes]))
    model.graph.node.append(helper.make_node(
        "Reshape", [scores.name, "scores_shape"], ["scores"]))
    data = np.load(folder / "data.npz")
    name = model.graph.input[0].name
    labels = data["labels"].reshape(-1).astype(np.int64)
    model.graph.ClearField("output")
    model.graph.output.append(helper.make_tensor_value_info(
        "scores", TensorProto.FLOAT, [len(labels), classes]))
    parameters = [each.name for each in model.graph.initializer
                  if each.data_type == TensorProto.FLOAT and "." in each.name
                  and "running_" not in each.name]
    return model, parameters, (name, data[name], labels, classes)


class OrtTraining:
    """ONNX Runtime Training's graphs: gradients, and AdamW."""

    def __init__(self, options):
        import onnxruntime
        from onnxruntime.training import api, artifacts, onnxblock
        model, parameters, (_, self.x, self.labels, _) = load(options.folder)
        made = options.folder / "ort-training"
        made.mkdir(exist_ok=True)
        artifacts.generate_artifacts(
            model, requires_grad=parameters, artifact_directory=str(made),
            loss=artifacts.LossType.CrossEntropyLoss,
            optimizer=onnxblock.optim.AdamW(eps=EPSILON, weight_decay=DECAY))
        # onnx writes newer versions than this runtime reads.
        optimizer = onnx.load(made / "optimizer_model.onnx")
        optimizer.ir_version = min(optimizer.ir_version, model.ir_version)
        onnx.save(optimizer, made / "optimizer_model.onnx")
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        state = api.CheckpointState.load_checkpoint(str(made / "checkpoint"))
        self.module = api.Module(str(made / "training_model.onnx"), state,
                                 session_options=settings)
        self.optimizer = api.Optimizer(str(made / "optimizer_model.onnx"),
                                       self.module)
        self.optimizer.set_learning_rate(RATE)

    def step(self):
        self.module.train()
        loss = self.module(self.x, self.labels)
        self.optimizer.step()
        self.module.lazy_reset_grad()
        return float(loss)


class Onnxsim:
    """onnxsim's own gradients as one plain ONNX graph, by ONNX Runtime."""

    def __init__(self, options):
        import onnxruntime
        import onnxsim
        model, parameters, (name, x, labels, classes) = load(options.folder)
        # It feeds float32 alone; the one batch's integers are constants.
        places = np.arange(len(labels), dtype=np.int64) * classes + labels
        self.append_loss(model, places)
        self.feeds = {name: x}
        if not np.issubdtype(x.dtype, np.floating):
            self.feeds = {}
            model.graph.ClearField("input")
            model.graph.initializer.append(
                numpy_helper.from_array(x.astype(np.int64), name))
        # Its sessions are made with the defaults of ONNX Runtime.
        make = onnxruntime.SessionOptions

        def settings():
            made = make()
            made.intra_op_num_threads = options.threads
            return made

        onnxruntime.SessionOptions = settings
        self.loop = onnxsim.compile_training_loop(model, "loss", parameters)

    @staticmethod
    def append_loss(model, places):
        """Adds the mean logarithm of the labels' chances."""
        graph = model.graph
        graph.initializer.extend([
            numpy_helper.from_array(places, "places"),
            helper.make_tensor("flat_shape", TensorProto.INT64, [1], [-1])])
        graph.node.extend([
            helper.make_node("Softmax", ["scores"], ["chances"], axis=1),
            helper.make_node("Reshape", ["chances", "flat_shape"], ["flat"]),
            helper.make_node("Gather", ["flat", "places"], ["own"], axis=0),
            helper.make_node("Log", ["own"], ["logs"]),
            helper.make_node("ReduceMean", ["logs"], ["mean"], keepdims=0),
            helper.make_node("Neg", ["mean"], ["loss"])])
        graph.ClearField("output")
        graph.output.append(helper.make_tensor_value_info(
            "loss", TensorProto.FLOAT, []))

    def step(self):
        return float(self.loop(self.feeds, lr=RATE))


ENGINES = {"ort-training": OrtTraining, "onnxsim": Onnxsim}


def timed(step):
    start = time.perf_counter()
    loss = step()
    return loss, (time.perf_counter() - start) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--engine", default="ort-training",
                        choices=list(ENGINES))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    engine = ENGINES[options.engine](options)
    first = [engine.step() for _ in range(FIRST)]
    for _ in sys.stdin if options.serve else "\n":
        times, loss = [], first[-1]
        while not times or (len(times) < options.steps
                            and sum(times) < options.seconds * 1e3):
            loss, took = timed(engine.step)
            times.append(took)
        print(json.dumps({
            "engine": options.engine, "first_losses": first, "loss": loss,
            "step_ms_min": min(times),
            "step_ms_median": statistics.median(times),
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            / 1024}), flush=True)


if __name__ == "__main__":
    main()
