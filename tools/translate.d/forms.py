"""Forms of the values of a DeepSpeed configuration: a wrong one is an error of
one line that names the key and says what was expected."""
import json
import math


def fail(why):
    raise SystemExit(f"translate: {why}")


class Whole:
    """A whole number from `least` to `most`; JSON may write it as 5e8."""

    def __init__(self, least=0, most=2 ** 53, auto=True):
        self.least, self.most, self.auto = least, most, auto
        self.text = f"a whole number from {least}"
        self.text += f" to {most}" if most < 2 ** 53 else ""

    def take(self, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        if not self.least <= value <= self.most or value != int(value):
            return None
        return int(value)


class Number:
    """A finite number from `least`."""
    auto = True

    def __init__(self, least=-math.inf):
        self.least = least
        self.text = "a number" if least == -math.inf else f"a number from {least}"

    def take(self, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        finite = -1e300 < value < 1e300
        return value if finite and value >= self.least else None


class Plain:
    """true, false or a text."""

    def __init__(self, kind, text, auto):
        self.kind, self.text, self.auto = kind, text, auto

    def take(self, value):
        return value if isinstance(value, self.kind) else None


class Pair:
    text, auto = "two numbers", True

    def take(self, value):
        if not isinstance(value, list) or len(value) != 2:
            return None
        taken = [Number().take(each) for each in value]
        return None if None in taken else taken


FLAG = Plain(bool, "true or false", True)
NAME = Plain(str, "a text", True)
SIZE = Whole(1)
COUNT, ANY, SHARE = Whole(), Number(), Number(0)
DEVICE = {"device": NAME}
HALF = {"enabled": FLAG, "loss_scale": SHARE, "initial_scale_power": COUNT,
        "loss_scale_window": COUNT, "hysteresis": COUNT,
        "min_loss_scale": SHARE}
MONITOR = {"enabled": FLAG, "output_path": NAME}
DEEPSPEED = {
    "train_batch_size": SIZE, "train_micro_batch_size_per_gpu": SIZE,
    "gradient_accumulation_steps": SIZE, "gradient_clipping": SHARE,
    "communication_data_type": NAME, "data_types": {"grad_accum_dtype": NAME},
    "fp16": HALF, "bf16": HALF, "bfloat16": HALF,
    "zero_optimization": {
        "stage": Whole(0, 3, auto=False), "reduce_bucket_size": COUNT,
        "zero_hpz_partition_size": Whole(1, auto=False), "cpu_offload": FLAG,
        "cpu_offload_params": FLAG, "offload_optimizer": DEVICE,
        "offload_param": DEVICE, "stage3_prefetch_bucket_size": COUNT},
    "optimizer": {"type": NAME, "params": {
        "lr": SHARE, "betas": Pair(), "eps": SHARE, "momentum": SHARE,
        "weight_decay": SHARE, "freeze_step": COUNT, "adam_w_mode": FLAG,
        "bias_correction": FLAG}},
    "scheduler": {"type": NAME, "params": {
        "warmup_min_lr": SHARE, "warmup_max_lr": SHARE,
        "warmup_num_steps": COUNT, "total_num_steps": COUNT,
        "warmup_min_ratio": SHARE, "cos_min_ratio": SHARE,
        "warmup_type": NAME}},
    "activation_checkpointing": {"partition_activations": FLAG,
                                 "cpu_checkpointing": FLAG},
    "tensorboard": MONITOR, "wandb": MONITOR, "csv_monitor": MONITOR,
    "comet": MONITOR}
# Keys that their objects cannot be without.
NEEDED = {"optimizer": "type", "scheduler": "type"}


def take(value, form, name):
    """The value as its form has it; without keys that are null, which are as
    absent ones."""
    if not isinstance(form, dict):
        if value == "auto" and form.auto:
            return value
        taken = form.take(value)
        if taken is None:
            fail(f"{name}: expected {form.text}, found {json.dumps(value)[:60]}")
        return taken
    if not isinstance(value, dict):
        fail(f"{name or 'the configuration'}: expected an object, found "
             f"{json.dumps(value)[:60]}")
    if name in NEEDED and NEEDED[name] not in value:
        fail(f"{name}: has no '{NEEDED[name]}'")
    prefix = f"{name}." if name else ""
    return {key: take(each, form[key], prefix + key) if key in form else each
            for key, each in value.items() if each is not None}


def no_twins(pairs):
    """As DeepSpeed's, an object has each key once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twin = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twin}' stands twice")
    return found


def read_deepspeed(path):
    """The configuration in a file, checked."""
    try:
        config = json.loads(path.read_text(), object_pairs_hook=no_twins)
    except (OSError, ValueError, RecursionError) as error:
        fail(f"{path}: {error}")
    return take(config, DEEPSPEED, "")
