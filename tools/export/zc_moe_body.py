"""The body of ai.zc.MoE: what zc_moe.MoE computes, of standard operators."""
import dataclasses

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
    levels: int  # groups of experts of a two-level gate, else 0
    top_groups: int
    grouped: int  # losses are means over dim 0 of x

    @property
    def overload(self):
        return "_".join(str(value).replace("-", "_") for value in
                        dataclasses.asdict(self).values())


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
        weights, chosen = body.add("TopK", scores, k, to=["best", "chosen"],
                                   axis=-1)
        shares = scores if is_softmax else body.add(
            "Div", scores, body.total(scores, -1, keepdims=1))
    if settings.normalize:
        weights = body.add("Div", weights, body.total(weights, -1, keepdims=1))
    if settings.second == "random":
        weights = drop_second(body, weights)
    return weights, chosen, shares


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


def add_experts(body, weights, chosen, choices, settings):
    """A row for each choice, which looks up its expert's weights."""
    rows = body.reshape(chosen, -1)
    lone = body.add("Unsqueeze", "tokens", body.ints(1))
    each = body.add("Expand", lone, body.ints(1, choices, 1))
    x_rows = body.reshape(each, -1, 1, "width")

    def product(x, weight):
        found = body.add("Gather", weight, rows, axis=0)
        return body.add("MatMul", x, body.add("Transpose", found,
                                              perm=[0, 2, 1]))

    def activate(x):
        if settings.activation == "silu":
            return body.add("Mul", x, body.add("Sigmoid", x))
        return body.add({"gelu": "Gelu", "relu": "Relu"}[settings.activation],
                        x)

    hidden = product(x_rows, "w1")
    if settings.gated:
        first, second = body.add("Split", hidden, to=["first_half",
                                                      "second_half"],
                                 axis=-1, num_outputs=2)
        hidden = body.add("Mul", activate(first), second)
    else:
        hidden = activate(hidden)
    pairs = body.reshape(product(hidden, "w2"), -1, choices, "width")
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
    if settings.noisy:
        logits = add_noise(body, logits)
    weights, chosen, shares = choose(body, logits, settings)
    choices = settings.top_k * max(1, settings.top_groups)
    add_experts(body, weights, chosen, choices, settings)
    add_balance(body, weights, chosen, shares, settings)
    add_z_loss(body, logits)
    inputs = ["x", "router", "w1", "w2"]
    inputs += ["groups"] if settings.levels else []
    inputs += ["noise"] if settings.noisy else []
    return helper.make_function(
        domain, "MoE", inputs, ["y", "balance", "z"], body.nodes,
        [helper.make_opsetid("", OPSET)],
        attributes=list(vars(settings)), overload=settings.overload)
