"""The body of ai.zc.MoE: what zc_moe.MoE computes, of standard operators."""
import dataclasses
import re

from onnx import helper

OPSET = 20


@dataclasses.dataclass(frozen=True)
class Settings:
    """The attributes of a layer, which its node has in the file."""
    top_k: int
    gate: str
    activation: str
    gated: int
    normalize: int
    balance: str
    noisy: int  # the router's logits are with noise
    second: str  # whether second choices are always taken, or at random
    levels: int  # groups of experts, of which top_groups are chosen, or 0
    top_groups: int
    grouped: int  # losses are means over dim 0 of x
    group_score: int = 1  # a group is as good as the sum of so many of its best
    corrected: int = 0  # experts are chosen by scores plus a bias of each
    scale: float = 1.0  # of the weights
    biases: int = 0  # of the router and of both products
    transposed: int = 0  # experts' matrices are [inputs, outputs]
    interleaved: int = 0  # even columns of the first product are the gate
    alpha: float = 1.702  # of clamped-swiglu
    limit: float = 7.0

    @property
    def overload(self):
        """A name of all of these, shorter where the last are as usual."""
        def text(value):  # files have floats of 32 bits
            value = f"{value:g}" if isinstance(value, float) else str(value)
            return re.sub("[-.]", "_", value)

        fields = dataclasses.fields(self)
        if all(text(getattr(self, each.name)) == text(each.default)
               for each in fields if each.name in LATER):
            fields = [each for each in fields if each.name not in LATER]
        return "_".join(text(getattr(self, each.name)) for each in fields)

    @property
    def choices(self):
        """Experts of a token: a two-level gate has top_k in each group."""
        return self.top_k * (self.top_groups if self.gate == "two-level"
                             else 1)

    @property
    def inputs(self):
        """Names of the function's inputs."""
        more = {"groups": self.gate == "two-level", "noise": self.noisy,
                "correction": self.corrected, "router_bias": self.biases,
                "b1": self.biases, "b2": self.biases}
        return (["x", "router", "w1", "w2"]
                + [name for name, has in more.items() if has])


LATER = tuple(each.name for each in dataclasses.fields(Settings)
              if each.default is not dataclasses.MISSING)


class Body:
    """Nodes of a function, one after the other."""

    def __init__(self):
        self.nodes, self.ints_of = [], {}

    def add(self, op, *inputs, to=None, **attributes):
        """A node; the name of its first output, or of all `to` names."""
        outputs = to or [f"{op.lower()}_{len(self.nodes)}"]
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op, list(inputs), outputs,
                                           **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def ints(self, *values):
        if values not in self.ints_of:
            self.ints_of[values] = self.add("Constant",
                                            value_ints=list(values))
        return self.ints_of[values]

    def number(self, value, like):
        """A scalar of the type of `like`."""
        return self.add("CastLike", self.add("Constant",
                                             value_float=float(value)), like)

    def reshape(self, x, *sizes):
        """Sizes are numbers, or names of vectors of one."""
        parts = [self.ints(size) if isinstance(size, int) else size
                 for size in sizes]
        return self.add("Reshape", x, self.add("Concat", *parts, axis=0))

    def mean(self, x, axis):
        return self.add("ReduceMean", x, self.ints(axis), keepdims=0)

    def total(self, x, axis, keepdims=0):
        return self.add("ReduceSum", x, self.ints(axis), keepdims=keepdims)


def project(body, x, weight):
    return body.add("MatMul", x, body.add("Transpose", weight, perm=[1, 0]))


def draw(body, op, like):
    """Numbers of the shape of `like`: of a random sign in training, 0 in
    evaluation, where dropout drops nothing."""
    ones = body.add("Sub", like, like)
    ones = body.add("Add", ones, body.number(1, like))
    yes = helper.make_tensor("yes", 9, [], [True])
    kept = body.add("Dropout", ones,
                    body.add("Constant", value_float=0.5),
                    body.add("Constant", value=yes))
    sign = body.add("Sub", kept, body.number(1, like))
    return sign, body.add(op, like)


def add_noise(body, logits):
    sign, normal = draw(body, "RandomNormalLike", logits)
    width = body.add("Softplus", project(body, "tokens", "noise"))
    return body.add("Add", logits, body.add(
        "Mul", body.add("Mul", normal, sign), width))


def choose(body, logits, settings):
    """Weights and experts [tokens, choices], and each expert's share."""
    k = body.ints(settings.top_k)
    if settings.gate == "two-level":
        weights, chosen, shares = choose_twice(body, logits, settings)
    elif settings.gate == "topk-softmax":
        best, chosen = body.add("TopK", logits, k, to=["best", "chosen"],
                                axis=-1)
        weights = body.add("Softmax", best, axis=-1)
        shares = body.add("Softmax", logits, axis=-1)
    else:
        is_softmax = settings.gate == "softmax-topk"
        scores = (body.add("Softmax", logits, axis=-1) if is_softmax
                  else body.add("Sigmoid", logits))
        if settings.corrected or settings.levels:
            weights, chosen = choose_limited(body, scores, k, settings)
        else:
            weights, chosen = body.add("TopK", scores, k,
                                       to=["best", "chosen"], axis=-1)
        shares = scores if is_softmax else body.add(
            "Div", scores, body.total(scores, -1, keepdims=1))
    if settings.normalize:
        weights = body.add("Div", weights, body.total(weights, -1, keepdims=1))
    if settings.scale != 1:
        weights = body.add("Mul", weights,
                           body.number(settings.scale, weights))
    if settings.second == "random":
        weights = drop_second(body, weights)
    return weights, chosen, shares


def choose_limited(body, scores, k, settings):
    """The best by corrected scores, in the best groups; their own scores."""
    judged = (body.add("Add", scores, "correction") if settings.corrected
              else scores)
    if settings.levels:
        inside = body.reshape(judged, -1, settings.levels, "group_size")
        best, _ = body.add("TopK", inside, body.ints(settings.group_score),
                           to=["group_best", "group_best_index"], axis=-1)
        _, groups = body.add("TopK", body.total(best, -1),
                             body.ints(settings.top_groups),
                             to=["groups_best", "groups_chosen"], axis=-1)
        numbers = body.add("Unsqueeze", body.ints(*range(settings.levels)),
                           body.ints(0, 1))
        among = body.add("Equal", body.add("Unsqueeze", groups, body.ints(-1)),
                         numbers)
        among = body.total(body.add("CastLike", among, scores), 1)
        is_open = body.add("Greater", body.add("Unsqueeze", among,
                                               body.ints(-1)),
                           body.number(0, scores))
        judged = body.reshape(body.add(
            "Where", is_open, inside, body.number(float("-inf"), scores)),
            -1, "experts")
    _, chosen = body.add("TopK", judged, k, to=["best", "chosen"], axis=-1)
    return body.add("GatherElements", scores, chosen, axis=1), chosen


def drop_second(body, weights):
    """Second choices stay where an even draw is below twice their weight."""
    first, second = body.add("Split", weights, to=["first_weight",
                                                   "second_weight"],
                             axis=-1, num_outputs=2)
    sign, even = draw(body, "RandomUniformLike", second)
    even = body.add("Mul", even, body.add("Mul", sign, sign))
    # In evaluation all do: twice a weight is above 0.
    taken = body.add("Greater", body.add("Add", second, second), even)
    second = body.add("Mul", second, body.add("CastLike", taken, second))
    return body.add("Concat", first, second, axis=-1)


def choose_twice(body, logits, settings):
    of_groups = body.add("Softmax", project(body, "tokens", "groups"), axis=-1)
    inside = body.add("Softmax", body.reshape(logits, -1, settings.levels,
                                              "group_size"), axis=-1)
    first, groups = body.add("TopK", of_groups, body.ints(settings.top_groups),
                             to=["first", "groups_chosen"], axis=-1)
    third = body.ints(2)
    lone = body.add("Unsqueeze", groups, third)
    each = body.add("Expand", lone, body.add(
        "Concat", body.ints(1, 1), "group_size", axis=0))
    found = body.add("GatherElements", inside, each, axis=1)
    second, experts = body.add("TopK", found, body.ints(settings.top_k),
                               to=["second", "experts_chosen"], axis=-1)
    chosen = body.add("Add", body.add("Mul", lone, "group_size"), experts)
    weights = body.add("Mul", body.add("Unsqueeze", first, third), second)
    choices = settings.top_groups * settings.top_k
    shares = body.add("Mul", body.add("Unsqueeze", of_groups, third), inside)
    return (body.reshape(weights, -1, choices),
            body.reshape(chosen, -1, choices),
            body.reshape(shares, -1, "experts"))


def add_balance(body, weights, chosen, shares, settings):
    # A number for each expert, 1 where it is the choice.
    all_experts = body.add("Range", *(
        body.add("Squeeze", each) for each in (body.ints(0), "experts",
                                               body.ints(1))))
    one_hot = body.add("CastLike", body.add(
        "Equal", body.add("Unsqueeze", chosen, body.ints(-1)), all_experts),
        weights)

    def by_group(x):
        return body.mean(body.reshape(x, "group_count", -1, "experts"), 1)

    count = body.add("CastLike", body.add("Squeeze", "experts"), weights)
    if settings.balance == "importance":
        sums = body.total(body.add("Mul", one_hot, body.add(
            "Unsqueeze", weights, body.ints(-1))), 1)
        mean = by_group(sums)
        center = body.add("ReduceMean", mean, body.ints(-1), keepdims=1)
        spread = body.add("Sub", mean, center)
        loss = body.add("Div", body.mean(body.add("Mul", spread, spread), -1),
                        body.mean(body.add("Mul", center, center), -1))
    else:
        counted = (body.add("Squeeze", body.add(
            "Slice", one_hot, body.ints(0), body.ints(1), body.ints(1)),
            body.ints(1)) if settings.balance == "gshard"
            else body.mean(one_hot, 1))
        loss = body.total(body.add("Mul", by_group(counted),
                                   by_group(shares)), -1)
        loss = body.add("Div" if settings.balance == "gshard" else "Mul", loss,
                        count)
    body.add("ReduceMean", loss, to="balance", keepdims=0)


def add_z_loss(body, logits):
    z = body.add("ReduceLogSumExp", logits, body.ints(-1), keepdims=0)
    body.add("ReduceMean", body.add("Mul", z, z), to="z", keepdims=0)


def halves(body, x, settings):
    """The halves of the last dim: one after the other, or even and odd."""
    if not settings.interleaved:
        return body.add("Split", x, to=["first_half", "second_half"], axis=-1,
                        num_outputs=2)
    last, step = body.ints(-1), body.ints(2)
    end = body.ints(2 ** 63 - 1)
    return [body.add("Slice", x, body.ints(begin), end, last, step)
            for begin in (0, 1)]


def clamped_swiglu(body, gate, up, settings):
    """GPT-OSS's: gate sigmoid(alpha gate) (up + 1), of clamped numbers."""
    most = body.number(settings.limit, gate)
    gate = body.add("Min", gate, most)
    up = body.add("Max", body.add("Min", up, most),
                  body.number(-settings.limit, up))
    is_open = body.add("Sigmoid", body.add(
        "Mul", gate, body.number(settings.alpha, gate)))
    return body.add("Mul", body.add("Add", up, body.number(1, up)),
                    body.add("Mul", gate, is_open))


def add_experts(body, weights, chosen, choices, settings):
    """A row for each choice, which looks up its expert's weights."""
    rows = body.reshape(chosen, -1)
    lone = body.add("Unsqueeze", "tokens", body.ints(1))
    each = body.add("Expand", lone, body.ints(1, choices, 1))
    x_rows = body.reshape(each, -1, 1, "width")

    def product(x, weight, bias):
        found = body.add("Gather", weight, rows, axis=0)
        if not settings.transposed:
            found = body.add("Transpose", found, perm=[0, 2, 1])
        result = body.add("MatMul", x, found)
        if not settings.biases:
            return result
        return body.add("Add", result, body.add("Unsqueeze", body.add(
            "Gather", bias, rows, axis=0), body.ints(1)))

    def activate(x):
        if settings.activation == "silu":
            return body.add("Mul", x, body.add("Sigmoid", x))
        return body.add({"gelu": "Gelu", "relu": "Relu"}[settings.activation],
                        x)

    hidden = product(x_rows, "w1", "b1")
    if settings.activation == "clamped-swiglu":
        hidden = clamped_swiglu(body, *halves(body, hidden, settings),
                                settings)
    elif settings.gated:
        first, second = halves(body, hidden, settings)
        hidden = body.add("Mul", activate(first), second)
    else:
        hidden = activate(hidden)
    pairs = body.reshape(product(hidden, "w2", "b2"), -1, choices, "width")
    weighted = body.add("Mul", pairs, body.add("Unsqueeze", weights,
                                               body.ints(-1)))
    body.add("Reshape", body.total(weighted, 1), "shape", to="y")


def make_function(domain, settings):
    """A function for each choice of attributes, which its overload names."""
    body = Body()
    body.add("Shape", "x", to="shape")
    body.add("Shape", "x", to="width", start=-1)
    body.add("Shape", "router", to="experts", start=0, end=1)
    if settings.levels:
        body.add("Div", "experts", body.ints(settings.levels), to="group_size")
    if settings.grouped:
        body.add("Shape", "x", to="group_count", start=0, end=1)
    else:
        body.add("Constant", to="group_count", value_ints=[1])
    body.add("Reshape", "x", body.add("Concat", body.ints(-1), "width",
                                      axis=0), to="tokens")
    logits = project(body, "tokens", "router")
    if settings.biases:
        logits = body.add("Add", logits, "router_bias")
    if settings.noisy:
        logits = add_noise(body, logits)
    weights, chosen, shares = choose(body, logits, settings)
    add_experts(body, weights, chosen, settings.choices, settings)
    add_balance(body, weights, chosen, shares, settings)
    add_z_loss(body, logits)
    return helper.make_function(
        domain, "MoE", settings.inputs, ["y", "balance", "z"], body.nodes,
        [helper.make_opsetid("", OPSET)],
        attributes=list(vars(settings)), overload=settings.overload)
