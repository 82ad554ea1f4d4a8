#!/usr/bin/env python3
"""Record what DeepSpeed's compressed all-reduce makes of random momenta, for
onebit_adam.py to be held to.

  record_onebit.py DEEPSPEED OUT.npz

DEEPSPEED: the unpacked source of DeepSpeed 0.16.9, the last that was seen to have
1-bit Adam. Its CompressedBackend runs as it is, on processes of gloo; what it asks
of an accelerator (a device's name, packing of bits) is answered here. Wants
PyTorch.
"""
import importlib.util
import pathlib
import sys
import tempfile
import types

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

WORKERS, SIZE, ROUNDS = 4, 37, 6
PADDED = 64  # to a multiple of 8 bits per worker, as OnebitAdam does


class Packer:
    """The signature of DeepSpeed's op_builder for packed bits."""

    @staticmethod
    def load():
        return Packer

    @staticmethod
    def packbits(values, count, _):
        return torch.from_numpy(np.packbits(values.numpy()[:count] >= 0))

    @staticmethod
    def unpackbits(packed, count, _):
        bits = np.unpackbits(packed.numpy()[:count]).astype(np.float32)
        return torch.from_numpy(bits * 2 - 1)


def load_backend(folder):
    def module(name, **members):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)

    # NCCL gathers a scalar into a vector of one; gloo wants equal shapes.
    def all_gather(received, sent, group):
        dist.all_gather(received, sent.reshape(received[0].shape), group)

    module("deepspeed.comm", **{**vars(dist), "all_gather": all_gather})
    module("deepspeed", comm=sys.modules["deepspeed.comm"])
    device = types.SimpleNamespace(current_device_name=lambda: "cpu")
    module("deepspeed.accelerator", get_accelerator=lambda: device)
    module("deepspeed.ops")
    module("deepspeed.ops.op_builder",
           PackbitsBuilder=lambda: Packer)
    path = pathlib.Path(folder) / "deepspeed/runtime/comm/compressed.py"
    spec = importlib.util.spec_from_file_location("compressed", path)
    compressed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compressed)
    return compressed.CompressedBackend


def work(rank, folder, meeting, momenta, results):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank,
                            world_size=WORKERS)
    backend = load_backend(folder)()
    worker_error = torch.zeros(PADDED)
    server_error = torch.zeros(PADDED // WORKERS)
    for number in range(ROUNDS):
        found = backend.compressed_allreduce(
            momenta[number, rank].clone(), worker_error, server_error, rank)
        results[number, rank] = found
    dist.destroy_process_group()


def main(folder, out):
    random = np.random.default_rng(5)
    momenta = random.standard_normal((ROUNDS, WORKERS, SIZE),
                                     dtype=np.float32)
    momenta[:, :, 3] = 0  # takes the sign of a zero
    momenta = torch.from_numpy(momenta).share_memory_()
    results = torch.zeros(ROUNDS, WORKERS, SIZE).share_memory_()
    with tempfile.TemporaryDirectory() as meeting:
        multiprocessing.spawn(
            work, (folder, f"{meeting}/file", momenta, results), WORKERS)
    results = results.numpy()
    assert (results == results[:, :1]).all(), "workers differ"
    np.savez(out, momenta=momenta.numpy(), averages=results[:, 0])


if __name__ == "__main__":
    main(*sys.argv[1:])
