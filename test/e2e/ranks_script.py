"""One rank of python_ranks_test.py: ranks_script.py ARTIFACT DATA DEED [SOCKET].
With a socket, messages to the one other rank go over it."""
import json
import os
import select
import socket
import struct
import sys

import numpy as np

import zc

HEAD = struct.Struct("<QI")


class OverSocket:
    """Messages between two ranks over one stream, each with a head."""

    def __init__(self, rank, stream):
        self.rank, self.ranks = rank, 2
        self.stream = stream
        self.last = 0
        self.sending = []  # (number, bytes that are left)
        self.wanted = {}  # number: (channel, memory)
        self.arrived = []  # (channel, bytes)
        self.rest = b""
        self.finished = set()

    def send(self, peer, channel, data):
        assert peer == 1 - self.rank
        self.last += 1
        self.sending.append([self.last, HEAD.pack(len(data), channel)
                             + data.tobytes()])
        return self.last

    def receive(self, peer, channel, into):
        self.last += 1
        self.wanted[self.last] = (channel, into)
        return self.last

    def test(self, message):
        self.move()
        if message in self.finished:
            self.finished.remove(message)
            return True
        return False

    def cancel(self, message):
        self.wanted.pop(message, None)
        self.finished.discard(message)

    def move(self):
        ready, room, _ = select.select([self.stream],
                                       [self.stream] * bool(self.sending), [], 0)
        if room:
            first = self.sending[0]
            first[1] = first[1][self.stream.send(first[1]):]
            if not first[1]:
                self.finished.add(self.sending.pop(0)[0])
        if ready:
            came = self.stream.recv(1 << 20)
            if not came and not self.rest:
                raise ConnectionError("the other rank is gone")
            self.rest += came
        while len(self.rest) >= HEAD.size:
            size, channel = HEAD.unpack_from(self.rest)
            if len(self.rest) < HEAD.size + size:
                break
            self.arrived.append((channel, self.rest[HEAD.size:HEAD.size + size]))
            self.rest = self.rest[HEAD.size + size:]
        for number, (channel, into) in list(self.wanted.items()):
            for i, (other, data) in enumerate(self.arrived):
                if other == channel:
                    into[:] = data
                    del self.arrived[i], self.wanted[number]
                    self.finished.add(number)
                    break


def batches(arrays, size):
    count = len(next(iter(arrays.values())))
    for at in range(0, count, size):
        yield {name: array[at:at + size] for name, array in arrays.items()}


def own_part(batch, session, micro_batches):
    """The samples of a batch that this rank computes: its share of each
    micro-batch."""
    own = {}
    for name, array in batch.items():
        parts = np.array_split(array, micro_batches)
        own[name] = np.concatenate(
            [np.array_split(part, session.ranks)[session.rank]
             for part in parts])
        assert len(own[name]) == session.rank_batch
    return own


def train(session, arrays, part=lambda batch: batch):
    session.learning_rate = 1e-3
    return [session.step(part(batch))
            for batch in batches(arrays, session.batch)]


def main():
    artifact, data, deed, *stream = sys.argv[1:]
    arrays = dict(np.load(data))
    ranks = "launcher"
    if stream:
        ranks = OverSocket(int(os.environ["RANK"]),
                           socket.socket(fileno=int(stream[0])))
    with zc.Session(artifact, ranks=ranks, timeout=60) as session:
        told = {"rank": session.rank, "ranks": session.ranks,
                "inputs": [each.shape for each in session.inputs]}
        if deed == "train":
            told["losses"] = train(session, arrays)
            outputs = session.eval(arrays)
            told["eval_loss"] = session.metrics["eval_loss"]
            np.savez(f"rank-{session.rank}.npz", **outputs,
                     **{"state/" + name: session.states[name]
                        for name in session.states})
            session.save("kept")
            before = session.states["state.0.weight.exp_avg"]
            session.states["state.0.weight.exp_avg"] = 0 * before
            session.resume("kept")
            np.testing.assert_array_equal(
                session.states["state.0.weight.exp_avg"], before)
            session.load_weights("kept")
        elif deed == "own":
            told["losses"] = train(session, arrays,
                                   lambda batch: own_part(batch, session, 2))
        elif deed == "rates":
            session.learning_rate = 0.1 * (1 + session.rank)
            told["errors"] = errors(session, next(batches(arrays,
                                                          session.batch)))
        elif deed == "missing":
            batch = next(batches(arrays, session.batch))
            if session.rank == 1:
                del batch["labels"]
            told["errors"] = errors(session, batch)
        elif deed == "leave":
            batch = next(batches(arrays, session.batch))
            session.step(batch)
            if session.rank == 1:
                os._exit(7)
            told["errors"] = errors(session, batch)
        print(json.dumps(told))


def errors(session, batch):
    """The errors of a step, and of the next one."""
    found = []
    for _ in range(2):
        try:
            session.step(batch)
        except zc.Error as error:
            found.append([error.status, str(error)])
    return found


main()
