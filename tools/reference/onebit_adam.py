"""1-bit Adam (Tang et al. 2021, algorithm 1) in numpy: what every worker has and
sends, message by message. PyTorch has none; what messages make of momenta is what
DeepSpeed's own code makes of them, which record_onebit.py records. Like DeepSpeed's
OnebitAdam it compresses every parameter by itself, scales by the root of the mean
square, padding included, and takes 0 for positive. Unlike it, both moments are
corrected for their zero beginnings, the second as at the freeze step, and an
element whose second moment is 0 is not moved: DeepSpeed asks the user for
a mask of these.
"""
import numpy as np


def compress(values):
    """Packed signs and the scale; and the values that they stand for."""
    scale = np.sqrt(np.mean(values * values))
    bits = np.packbits(values >= 0)
    return (bits, scale), expand((bits, scale), values.dtype)


def expand(message, dtype):
    bits, scale = message
    return (np.unpackbits(bits).astype(dtype) * 2 - 1) * scale


class Share:
    """The part of a parameter that tensor parallelism gives one group of
    workers: all of it, or equal parts along a dim. Each is compressed by
    itself."""

    def __init__(self, size, workers, dtype):
        unit = 8 * workers
        self.size, self.padded = size, -(-size // unit) * unit
        self.worker_errors = np.zeros((workers, self.padded), dtype)
        self.server_errors = np.zeros((workers, self.padded // workers), dtype)

    def average(self, momenta):
        """The workers' momenta, each with its own gradient in it, as all have
        them after two rounds of messages."""
        workers = len(momenta)
        received = [[] for _ in range(workers)]  # by server
        for worker, momentum in enumerate(momenta):
            mine = np.concatenate([momentum, np.zeros(
                self.padded - self.size, momentum.dtype)])
            mine = mine + self.worker_errors[worker]
            (bits, scale), sent = compress(mine)
            self.worker_errors[worker] = mine - sent
            for server, chunk in enumerate(np.split(bits, workers)):
                received[server].append((chunk, scale))
        chunks = []
        for server, messages in enumerate(received):
            mean = sum(expand(message, momenta[0].dtype)
                       for message in messages) / workers
            mean = mean + self.server_errors[server]
            _, sent = compress(mean)
            self.server_errors[server] = mean - sent
            chunks.append(sent)
        return np.concatenate(chunks)[:self.size]


class OnebitAdam:
    """`parameters`: arrays by name, changed in place; `divided`: those that
    tensor parallelism divides, name: (dim, parts)."""

    def __init__(self, parameters, workers, freeze_step, lr, betas=(0.9, 0.999),
                 eps=1e-8, weight_decay=0.0, undecayed=(), divided=None):
        self.parameters, self.workers = parameters, workers
        self.freeze_step, self.lr, self.betas = freeze_step, lr, betas
        self.eps, self.weight_decay = eps, weight_decay
        self.undecayed, self.divided = undecayed, divided or {}
        self.steps = 0
        self.m = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.v = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.shares = {
            name: [Share(part.size, workers, p.dtype)
                   for part in self.cut(name, p)]
            for name, p in parameters.items()}

    def cut(self, name, array):
        dim, parts = self.divided.get(name, (0, 1))
        return np.split(array, parts, axis=dim)

    def step(self, gradients):
        """`gradients`: per worker, the mean gradient of its own samples, by
        name. Returns the norm that zc reports: of the mean gradient, and from
        the freeze step on the root of the mean square of the workers' own."""
        self.steps += 1
        mean = {name: sum(g[name] for g in gradients) / self.workers
                for name in self.parameters}
        warm = self.steps <= self.freeze_step
        for name, p in self.parameters.items():
            if warm:
                self.adam(name, mean[name])
            else:
                self.compressed(name, [g[name] for g in gradients])
            self.update(name, p)
        norms = [np.sqrt(sum(np.sum(part * part) for part in each.values()))
                 for each in ([mean] if warm else gradients)]
        return float(np.sqrt(np.mean(np.square(norms))))

    def adam(self, name, gradient):
        b1, b2 = self.betas
        self.m[name] = b1 * self.m[name] + (1 - b1) * gradient
        self.v[name] = b2 * self.v[name] + (1 - b2) * gradient * gradient

    def compressed(self, name, gradients):
        b1 = self.betas[0]
        own = [self.cut(name, b1 * self.m[name] + (1 - b1) * gradient)
               for gradient in gradients]
        parts = []
        for index, share in enumerate(self.shares[name]):
            momenta = [cut[index].ravel() for cut in own]
            parts.append(share.average(momenta).reshape(own[0][index].shape))
        dim = self.divided.get(name, (0, 1))[0]
        self.m[name] = np.concatenate(parts, axis=dim)
        self.m[name][self.v[name] == 0] = 0

    def update(self, name, p):
        b1, b2 = self.betas
        first = self.m[name] / (1 - b1 ** self.steps)
        seen = min(self.steps, self.freeze_step)
        second = self.v[name] / (1 - b2 ** seen)
        decay = 0 if name in self.undecayed else self.weight_decay
        p -= self.lr * (first / (np.sqrt(second) + self.eps) + decay * p)
