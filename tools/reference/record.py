#!/usr/bin/env python3
"""Record what PyTorch does, for test/e2e to compare zc with.

  record.py [--output test/fixtures] [--export-only] [MODEL ...]

For every model: `model.onnx` as PyTorch exports it, `data.npz` with its
samples, `reference.json` with the losses of ten steps per optimizer in double
precision and the fp32 spread, and `weights-OPTIMIZER.npz` with the final
weights and statistics of the double precision run.

The spread is the largest distance from the double precision run among fp32
runs that should not matter: 1 and 2 threads, contiguous and channels-last.
"""
import argparse
import json
import pathlib
import platform
import re

import numpy as np
import onnx
import torch
import torch.nn.functional as F

import models
import zoo

OPTIMIZERS = {
    "sgd": lambda p, lr: torch.optim.SGD(p, lr=lr),
    "sgd-nesterov": lambda p, lr: torch.optim.SGD(
        p, lr=lr, momentum=0.9, nesterov=True),
    "adamw": lambda p, lr: torch.optim.AdamW(p, lr=lr),
}


ROOT = pathlib.Path(__file__).resolve().parents[2]
# The module that a node belongs to: all of its metadata that zc reads.
SCOPES = "pkg.torch.onnx.name_scopes"


def without_machine_paths(model, traces):
    """Shorten the file names in the exporter's stack traces.

    The traces are kept where asked for, as names and locations are read from
    such metadata, but where Python lives on the recording machine is nobody's
    business.
    """
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props
                if traces or entry.key == SCOPES]
        for entry in kept:
            text = entry.value.replace(f"{ROOT}/", "")
            entry.value = re.sub(r'File "/[^"]*/site-packages/', 'File "', text)
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    return model


def export(case, path, opset=None):
    """Write the model in training mode, as the exporter leaves it."""
    example = tuple(torch.from_numpy(a[:case.batch])
                    for a in case.inputs.values())
    shapes = None
    if case.symbolic_batch:
        dim = torch.export.Dim(case.symbolic_batch, min=2)
        shapes = tuple({0: dim} for _ in example)
    torch.onnx.export(case.net.train(), example, str(path), dynamo=True,
                      optimize=False, external_data=False, verbose=False,
                      opset_version=opset, dynamic_shapes=shapes,
                      input_names=list(case.inputs), output_names=["logits"])
    model = without_machine_paths(onnx.load(path), case.traces)
    onnx.save(model, path)


def batch_of(array, step, size):
    """Samples step*size onwards, wrapping around the end of the data."""
    rows = (np.arange(size) + step * size) % len(array)
    return torch.from_numpy(array[rows])


def loss_of(case, output, labels):
    if case.loss == "none":  # the model's own
        return output
    if case.loss == "mse":
        return F.mse_loss(output, labels.to(output.dtype))
    if output.ndim == 3:  # language: the classes come last
        output, labels = output.flatten(0, 1), labels.flatten()
    return F.cross_entropy(output, labels)


def train(name, optimizer, dtype, threads=1, channels_last=False):
    """Ten steps; returns the losses and the final state, both as float64."""
    torch.set_num_threads(threads)
    case = zoo.build(name)
    net = case.net.train().to(dtype)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    update = OPTIMIZERS[optimizer](net.parameters(),
                                   case.learning_rates[optimizer])
    losses = []
    for step in range(models.STEPS):
        args = []
        for array in case.inputs.values():
            x = batch_of(array, step, case.batch)
            x = x.to(dtype) if x.is_floating_point() else x
            if channels_last and x.ndim == 4:
                x = x.to(memory_format=torch.channels_last)
            args.append(x)
        labels = None if case.labels is None else batch_of(
            case.labels, step, case.batch)
        loss = loss_of(case, net(*args), labels)
        losses.append(float(loss.detach()))
        update.zero_grad()
        loss.backward()
        update.step()
    state = {key: value.detach().double().numpy().copy()
             for key, value in net.state_dict().items()
             if value.is_floating_point()}
    return np.array(losses), state


def record(case, optimizer):
    """The double precision run and how far fp32 runs stray from it."""
    losses, state = train(case.name, optimizer, torch.float64)
    largest = max(np.abs(value).max() for value in state.values())
    loss_spread, weight_spread = np.zeros(models.STEPS), {}
    for threads in (1, 2):
        for channels_last in (False, True) if case.images else (False,):
            losses32, state32 = train(case.name, optimizer, torch.float32,
                                      threads, channels_last)
            loss_spread = np.maximum(loss_spread, np.abs(losses32 - losses))
            for key, value in state.items():
                distance = np.abs(state32[key] - value).max() / largest
                weight_spread[key] = max(weight_spread.get(key, 0), distance)
    entry = {
        "learning_rate": case.learning_rates[optimizer],
        "losses": losses.tolist(),
        "loss_spread": float(np.max(loss_spread / np.abs(losses))),
        "weight_spread": max(weight_spread.values()),
        "weight_spread_by_tensor": weight_spread,
        "largest_weight": largest,
    }
    return entry, state


def versions():
    import onnxscript
    return {"torch": torch.__version__, "onnx": onnx.__version__,
            "onnxscript": onnxscript.__version__, "numpy": np.__version__,
            "machine": platform.machine(),
            "capability": torch.backends.cpu.get_cpu_capability()}


def write_model(name, folder):
    case = zoo.build(name)
    folder.mkdir(parents=True, exist_ok=True)
    for index, opset in enumerate(case.opsets):
        name = f"model-opset{opset}.onnx" if index else "model.onnx"
        export(case, folder / name, opset)
    labels = {} if case.labels is None else {"labels": case.labels}
    np.savez_compressed(folder / "data.npz", **case.inputs, **labels)
    return case


def write_reference(case, folder):
    reference = {"versions": versions(), "loss": case.loss,
                 "batch": case.batch, "steps": models.STEPS,
                 "symbolic_batch": case.symbolic_batch, "optimizers": {}}
    for optimizer in case.learning_rates:
        entry, state = record(case, optimizer)
        reference["optimizers"][optimizer] = entry
        np.savez_compressed(
            folder / f"weights-{optimizer}.npz",
            **{key: value.astype(np.float32) for key, value in state.items()})
        print(f"{case.name} {optimizer}: loss {entry['losses'][0]:.4f} -> "
              f"{entry['losses'][-1]:.4f}, spread {entry['loss_spread']:.1e}, "
              f"weights {entry['weight_spread']:.1e}")
    text = json.dumps(reference, indent=1)
    (folder / "reference.json").write_text(text + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(zoo.CASES))
    parser.add_argument("--output", type=pathlib.Path,
                        default=ROOT / "test" / "fixtures")
    parser.add_argument("--export-only", action="store_true")
    options = parser.parse_args()
    for name in options.models:
        case = write_model(name, options.output / name)
        if not options.export_only:
            write_reference(case, options.output / name)


if __name__ == "__main__":
    main()
