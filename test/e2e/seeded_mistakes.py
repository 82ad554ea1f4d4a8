"""Mistakes for mutations_test.py, by kind: functions that yield the texts of a
divided program in each of which one is made.
"""
import re

SLOTS = "exp_avg|momentum_buffer|ema|row_var|col_var|variance"


def programs(text):
    """Where @step, or @micro, @apply and @apply.compressed, are in the text."""
    for match in re.finditer(
            r"func\.func @(step|micro|apply|apply\.compressed)\(.*?\n  }", text,
            re.S):
        yield match.span()


def at_lines(text, pattern):
    """Yields each match of a line's pattern in the training programs."""
    for begin, end in programs(text):
        for match in re.compile(pattern, re.M).finditer(text, begin, end):
            yield match


def replaced(text, match, new):
    return text[:match.start()] + new + text[match.end():]


def dropped(text, kind):
    """A collective that changes no shape is left out."""
    for match in at_lines(
            text, rf"^    (%\d+) = dist\.{kind} (%\w+) .*? : \((\S+)\) -> (\S+)( loc.*)?$"):
        if match[3] == match[4]:
            begin = match.end()
            end = text.index("\n  }", begin)
            body = re.sub(rf"{match[1]}\b", match[2], text[begin:end])
            yield text[:match.start()] + body.lstrip("\n") + text[end:]


def squared_partial_sums(text):
    """Second moments take the sum of the terms' squares for the square of their
    sum; all ranks hold the same."""
    for sum_ in at_lines(
            text, r"(%\d+) = dist\.all_reduce (%\w+) (.*?)( loc.*)?$"):
        square = re.compile(rf"(%\d+) = train\.mul {sum_[1]}, {sum_[1]} (.*)"
                            ).search(text, sum_.end())
        if square:
            yield replaced(text, square, (
                f"%partial = train.mul {sum_[2]}, {sum_[2]} {square[2]}\n"
                f"    {square[1]} = dist.all_reduce %partial {sum_[3]}"))


def wrong_axis(text):
    """A collective over the other axis of the same size."""
    axes = re.search(r"#dist\.mesh<([^>]*)>", text)[1]
    first, second = (axis.split("=")[0] for axis in axes.split(","))
    other = {first: second, second: first}
    for match in at_lines(text, r'(?<=\{axes = \[")(\w+)(?="\])'):
        yield replaced(text, match, other[match[1]])


def wrong_coordinate(text):
    """A rank takes the part of its number along another axis."""
    names = sorted(set(re.findall(r"train\.state = @(coordinate\.\w+)", text)))
    if len(names) == 2:
        for match in at_lines(text, r"(?<=train\.state = @)coordinate\.\w+"):
            yield replaced(text, match, names[1 - names.index(match[0])])


def swapped_offsets(text):
    """Two parts of one vector change places."""
    slices = {}
    for match in at_lines(
            text, r"train\.slice (%\w+) \{offsets = (array<i64: [\d, ]+>).*? -> (\S+)"):
        slices.setdefault((match[1], match[3]), []).append(match)
    for (_, _), (first, second, *_rest) in (
            entry for entry in slices.items() if len(entry[1]) > 1):
        if first[2] == second[2]:
            continue
        both = (text[:first.start(2)] + second[2] + text[first.end(2):])
        shift = len(second[2]) - len(first[2])
        yield (both[:second.start(2) + shift] + first[2] +
               both[second.end(2) + shift:])


def stale_states(text):
    """Yields the name of a state, and the text in which a step returns it as
    it was given."""
    for begin, end in programs(text):
        program = text[begin:end]
        header = program[:program.index("{\n")] if "{\n" in program else program
        given = {name: argument for argument, name in re.findall(
            r"(%arg\d+): [^(]*?train\.state = @(\"?[\w.]+\"?)", header)}
        results = header[header.index(") -> ") + 5:]
        states = re.findall(r"tensor<[^>]*>(?: \{.*?\})?(?=, tensor|\)| attributes|$)",
                            results)
        final = re.search(r"    return ((?:%\w+(?:#\d+)?(?:, )?)+) :", program)
        values = final[1].split(", ")
        for index, state in enumerate(states[:len(values)]):
            name = re.search(r"train\.state = @(\"?[\w.]+\"?)", state)
            if not name or name[1] not in given or "step" in name[1]:
                continue
            mutant = list(values)
            mutant[index] = given[name[1]]
            yield name[1], (text[:begin + final.start(1)] +
                            ", ".join(mutant) + text[begin + final.end(1):])


def stale_state(text):
    return (mutant for _, mutant in stale_states(text))


def stale_histories(text):
    return (mutant for name, mutant in stale_states(text)
            if "fp8_amax_" in name)


def lost_copies(text):
    """Yields the result of a copy of 16 bits, and the text in which a step no
    longer returns it, as if nobody read it."""
    for begin, end in programs(text):
        program = text[begin:end]
        final = re.search(r"    return ((?:%\w+(?:#\d+)?(?:, )?)+) : (.*)",
                          program)
        header = program[program.index(") -> (") + 6:program.index("{\n")]
        results = re.findall(r"tensor<[^>]*>(?: \{[^}]*\})?", header)
        values, types = final[1].split(", "), re.findall(r"tensor<[^>]*>",
                                                         final[2])
        for index, result in enumerate(results):
            if ".bf16" not in result:
                continue
            def left(items):
                return ", ".join(items[:index] + items[index + 1:])
            yield result, text[:begin] + program.replace(
                ", ".join(results), left(results)).replace(
                    f"    return {final[1]} : {', '.join(types)}",
                    f"    return {left(values)} : {left(types)}") + text[end:]


def stale_copies(text):
    """Yields the name of a copy of 16 bits, and the text in which a step returns
    that of the parameter which it was given."""
    for begin, end in programs(text):
        program = text[begin:end]
        header = program[:program.index(" {\n")]
        split = header.index(") -> (")
        given = {name: (argument, kind) for argument, kind, name in re.findall(
            r"(%arg\d+): (tensor<[^>]*>) \{[^}]*?train\.state = @\"?([\w.]+)\"?",
            header[:split])}
        final = re.search(r"    return ((?:%\w+(?:#\d+)?(?:, )?)+) :", program)
        values = final[1].split(", ")
        results = re.findall(r"(tensor<[^>]*>)(?: \{([^}]*)\})?", header[split:])
        for index, (kind, attributes) in enumerate(results):
            name = re.search(r"train\.state = @\"?([\w.]+)\.bf16", attributes)
            argument, wide = given.get(name[1] if name else "", ("", ""))
            if wide.replace("f32", "bf16") != kind:
                continue
            stale = ", ".join([*values[:index], "%stale", *values[index + 1:]])
            yield name[1] + ".bf16", (
                text[:begin + final.start()] +
                f"    %stale = train.convert {argument} : ({wide}) -> {kind}\n"
                f"    return {stale} :" + text[begin + final.end():])


def wrong_scale(text):
    """A factor, not what keeps a divisor from 0 and hardly shows."""
    for match in at_lines(
            text, r"train\.constant dense<(\d\.\d+(?:[eE][-+]\d+)?)>"):
        if float(match[1]) > 0.01 and float(match[1]) != 1:
            yield replaced(text, match, match[0].replace(
                match[1], f"{2 * float(match[1]):e}"))


def swapped_reads(text, slots_of=SLOTS):
    """The optimizer reads two of its states in each other's place."""
    for begin, end in programs(text):
        program = text[begin:end]
        body = program.index(" {\n")
        slots = {}
        for argument, kind, slot in re.findall(
                r"(%arg\d+): (tensor<[^>]*>) \{[^}]*train\.state = "
                rf"@\"?state\.[\w.]*\.({slots_of})\b", program[:body]):
            slots.setdefault((kind, slot), []).append(argument)
        for first, *others in slots.values():
            for other in others[:2]:
                swap = {first: other, other: first}
                yield (text[:begin + body] + re.sub(
                    r"%arg\d+\b", lambda use: swap.get(use[0], use[0]),
                    program[body:]) + text[end:])


def wrong_begin(text):
    """Moments begin with another value; numbers of no dims are the run's to
    set."""
    for program in re.finditer(r"func\.func @init\(.*?\n  }", text, re.S):
        for match in re.compile(
                r"(?<=train\.constant dense<)0\.0\S*(?=> : tensor<\d)"
        ).finditer(text, *program.span()):
            yield replaced(text, match, "5.000000e-01")


def wrong_version(text):
    """A stage reads weights one step older or newer than it should."""
    for match in re.finditer(r"(?<=[{ ]delay = )\d+", text):
        for delay in (int(match[0]) - 1, int(match[0]) + 1):
            yield replaced(text, match, str(delay))


EXCHANGE = r"train\.exchange_rows (%\w+), (%\w+), (%\w+)"


def swapped_places(text):
    """Rows go to experts as they should come back, and the reverse."""
    for match in at_lines(text, EXCHANGE):
        yield replaced(text, match, "train.exchange_rows "
                       f"{match[1]}, {match[3]}, {match[2]}")


def places_of_another_layer(text):
    """Rows go where those of the layer before went."""
    layers = [match.groups() for match in at_lines(
        text, r"(%slots\w*), (%rows\w*), %counts\w* = train\.expert_slots")]
    for match in at_lines(text, EXCHANGE):
        for before, layer in zip(layers, layers[1:]):
            if set(match.group(2, 3)) == set(layer):
                places = [before[layer.index(match[i])] for i in (2, 3)]
                yield replaced(text, match, "train.exchange_rows "
                               f"{match[1]}, {', '.join(places)}")


def rooms_in_another_order(text):
    """Tokens get room one behind the other with all of their choices."""
    for match in at_lines(text, r"(?<=choices = )\d+"):
        if match[0] != "1":
            yield replaced(text, match, "1")


SAVED = r"^    (%\d+) = train\.(add|attention|gelu|layer_norm|matmul|softmax) .* -> (\S+)( loc.*)?$"


def saved_of_another_layer(text):
    """The backward reads in place of what the forward has computed in a layer
    what it has computed in one before it."""
    for begin, end in programs(text):
        loss = text.find("cross_entropy", begin, end)
        before = {}
        for match in re.compile(SAVED, re.M).finditer(text, begin, max(loss, begin)):
            uses = [*re.compile(rf"{match[1]}\b").finditer(text, loss, end)]
            earlier = before.get(match.group(2, 3))
            if uses and earlier:
                yield replaced(text, uses[-1], earlier)
            before[match.group(2, 3)] = match[1]


KINDS = {
    "a reduction is dropped": lambda text: dropped(text, "all_reduce"),
    "an exchange is dropped": lambda text: dropped(text, "all_to_all"),
    "a collective over the wrong axis": wrong_axis,
    "the coordinate of the wrong axis": wrong_coordinate,
    "parts change places": swapped_offsets,
    "old weights are returned": stale_state,
    "a factor is twice as large": wrong_scale,
    "states change places in what is read": swapped_reads,
    "a state begins with another value": wrong_begin,
    "another version is read": wrong_version,
    "old histories are returned": stale_histories,
    "histories change places in what is read":
        lambda text: swapped_reads(text, r"fp8_amax_\w+"),
    "a partial sum is squared": squared_partial_sums,
    "rows of experts go and come back by each other's places": swapped_places,
    "rows of experts go where those of another layer went":
        places_of_another_layer,
    "tokens get room at experts in another order": rooms_in_another_order,
    "the saved activation of another layer is read": saved_of_another_layer,
}
