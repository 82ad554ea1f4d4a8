"""The network of fp8_test.py and tools/reference/fp8.py: its data, and in numpy
how it trains with factors of 8-bit floats, by PyTorch's and Transformer Engine's
rules. There are no biases; the last product stays in bfloat16."""
import ml_dtypes
import numpy as np

STEPS, LEARNING_RATE, BATCH = 10, 0.5, 32
WIDTHS = (64, 128, 64, 16)
BLOCK = 128
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def weights(widths=WIDTHS):
    random = np.random.default_rng(0)
    return [(random.normal(size=(n, m)) / n ** 0.5).astype(np.float32)
            for n, m in zip(widths, widths[1:])]


def data(batch=BATCH, widths=WIDTHS):
    random = np.random.default_rng(1)
    x = random.normal(size=(batch * STEPS, widths[0])).astype(np.float32)
    target = (np.random.default_rng(2).normal(size=(widths[0], widths[-1]))
              / widths[0] ** 0.5).astype(np.float32)
    return x, np.tanh(x @ target).astype(np.float32)


def narrow(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def rounded(x, scale, dtype):
    """x times scale in 8 bits, within what they hold; as float32."""
    largest = float(ml_dtypes.finfo(dtype).max)
    return np.clip(x * scale, -largest, largest).astype(dtype).astype(
        np.float32)


def scale_of(size, dtype):
    largest = np.float32(ml_dtypes.finfo(dtype).max)
    return largest / np.maximum(size, np.float32(1e-12))


class Current:
    """Scales are of the tensor as it is."""

    def end_step(self):
        pass

    def scale(self, name, x, dtype):
        return scale_of(np.abs(x).max(), dtype)

    def multiply(self, a, b):
        """Factors (name, tensor, type), [M, K] and [K, N]; float32."""
        (a, a_scale), (b, b_scale) = (
            (rounded(x, scale, dtype), scale) for name, x, dtype in (a, b)
            for scale in [self.scale(name, x, dtype)])
        one = np.float32(1)
        return (a @ b) * ((one / a_scale) * (one / b_scale))


class Delayed(Current):
    """Scales are of the largest magnitude of so many steps before; of 1 where
    there is none yet. `history`: by tensor, the newest first."""

    def __init__(self, steps):
        self.steps, self.history, self.seen = steps, {}, {}

    def end_step(self):
        for name, size in self.seen.items():
            self.history[name] = [size, *self.history.get(name, [])][:self.steps]
        self.seen = {}

    def scale(self, name, x, dtype):
        size = np.abs(x).max()
        self.seen[name] = max(size, self.seen.get(name, 0))
        past = max(self.history.get(name, [0]))
        return scale_of(np.float32(past), dtype) if past > 0 else np.float32(1)


class Blocks(Current):
    """A scale for 128 elements along the sum, of weights for 128 x 128: the power
    of two below. All is of E4M3."""

    def multiply(self, a, b):
        return self.stored(*a[:2], 1) @ self.stored(*b[:2], 0)

    def stored(self, name, x, along):
        """x as its 8-bit numbers stand for it."""
        blocks = [BLOCK if along == dim or name.endswith("weight") else 1
                  for dim in (0, 1)]
        parts = x.reshape(x.shape[0] // blocks[0], blocks[0],
                          x.shape[1] // blocks[1], blocks[1])
        scale = scale_of(np.abs(parts).max((1, 3), keepdims=True), E4M3)
        scale = np.exp2(np.floor(np.log2(scale.astype(np.float64)))).astype(
            np.float32)
        return (rounded(parts, scale, E4M3) / scale).reshape(x.shape)


def train(mode, batch=BATCH, widths=WIDTHS):
    """Losses of each step, and the weights behind the last."""
    x, labels = data(batch, widths)
    masters, losses = weights(widths), []
    for step in range(STEPS):
        rows = slice(step * batch, (step + 1) * batch)
        loss, gradients = differentiate(mode, masters, narrow(x[rows]),
                                        labels[rows])
        losses.append(loss)
        masters = [w - np.float32(LEARNING_RATE) * g
                   for w, g in zip(masters, gradients)]
        mode.end_step()
    return losses, masters


def differentiate(mode, masters, value, labels):
    *hidden, last = [narrow(w) for w in masters]
    inputs = [value]
    for i, w in enumerate(hidden):
        product = mode.multiply((f"w{i}.input", inputs[-1], E4M3),
                                (f"w{i}.weight", w, E4M3))
        inputs.append(np.maximum(narrow(product), 0))
    error = narrow(inputs[-1] @ last) - labels
    grad = narrow(error * np.float32(2 / error.size))
    gradients = [narrow(inputs[-1].T @ grad)]
    grad = narrow(grad @ last.T)
    for i in reversed(range(len(hidden))):
        grad = np.where(inputs[i + 1] > 0, grad, 0)
        named = (f"w{i}.gradient", grad, E5M2)
        gradients.insert(0, narrow(mode.multiply(
            (f"w{i}.input", inputs[i].T, E4M3), named)))
        if i:
            grad = narrow(mode.multiply(named, (f"w{i}.weight", hidden[i].T,
                                                E4M3)))
    return float(np.square(error).mean()), gradients
