"""The variants of options.py: options of zc and what PyTorch does for them."""
import dataclasses
import math

import torch
import torch.nn as nn

from option_losses import binary, cross_entropy, distance, huber

STEPS = 10


@dataclasses.dataclass
class Variant:
    name: str
    model: str
    compile: str  # options of zc compile
    run: str = ""  # options of zc run
    optimizer: str = "SGD"
    settings: dict = dataclasses.field(default_factory=dict)
    loss: object = cross_entropy()
    labels: str = "labels"
    lr: float = 0.1
    rate: object = None  # learning rate of a step, from 1
    clip: float = 0
    undecayed: tuple = ()  # parameters that weight decay leaves alone
    frozen: tuple = ()
    accumulate: int = 1
    ranks: int = 1  # each normalises its part of a micro-batch by itself
    steps: int = STEPS
    divided: dict = dataclasses.field(default_factory=dict)  # by tp: (dim, parts)
    weighted: bool = False  # a label counts by its class's weight
    clip_value: float = 0
    groups: dict = dataclasses.field(default_factory=dict)  # name: (lr, decay)
    average: float = 0  # decay of a moving average of the weights


CE = "--loss softmax-cross-entropy --optimizer "
# The test puts the fixtures' folder here.
WEIGHTS_FILE = "{fixtures}/class_weights.npy"


def cosine(step):
    return 0.1 * step / 3 if step <= 3 else 0.01 + 0.09 * 0.5 * (
        1 + math.cos(math.pi * (step - 3) / (STEPS - 3)))


def linear(step):
    return 0.1 * (1 - step / STEPS)


def scheduled(make):
    """The rates of one of torch.optim.lr_scheduler's schedules."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    schedule, rates = make(optimizer), []
    for _ in range(STEPS):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return lambda step: rates[step - 1]


def onebit(name, options, mesh="", ranks=1, tp=1, settings=None, **more):
    """1-bit Adam up to step 5 as Adam, then twelve steps compressed."""
    divided = {"hidden.weight": (0, tp), "hidden.bias": (0, tp),
               "head.weight": (1, tp)} if tp > 1 else {}
    run = f"--local-ranks {ranks * tp}" if ranks * tp > 1 else ""
    return Variant(
        f"onebit-{name}", "classifier",
        f"{CE}onebit-adam --freeze-step 5 {options} {mesh}", run,
        optimizer="OnebitAdam", lr=0.01, ranks=ranks, steps=17,
        settings={"freeze_step": 5, **(settings or {})}, divided=divided, **more)


VARIANTS = [
    Variant("adam", "classifier", CE + "adam", optimizer="Adam", lr=0.01),
    Variant("adam-decay", "classifier",
            CE + "adam --weight-decay 0.1 --beta1 0.8 --beta2 0.95 --eps 1e-6",
            optimizer="Adam", lr=0.01,
            settings={"weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6}),
    Variant("adamw-undecayed", "classifier",
            CE + "adamw --weight-decay 0.5 --no-weight-decay bias$",
            optimizer="AdamW", lr=0.01, settings={"weight_decay": 0.5},
            undecayed=("hidden.bias", "head.bias")),
    Variant("sgd-decay", "classifier",
            CE + "sgd --momentum 0.9 --weight-decay 0.05",
            settings={"momentum": 0.9, "weight_decay": 0.05}),
    Variant("adafactor", "classifier", CE + "adafactor", optimizer="Adafactor",
            lr=0.05),
    Variant("adafactor-conv", "normalised",
            CE + "adafactor --weight-decay 0.1 --clip-norm 0.5",
            optimizer="Adafactor", settings={"weight_decay": 0.1}, clip=0.5),
    Variant("sm3", "classifier", CE + "sm3", optimizer="Sm3"),
    Variant("sm3-momentum", "normalised",
            CE + "sm3 --momentum 0.9 --weight-decay 0.1", optimizer="Sm3",
            settings={"momentum": 0.9, "weight_decay": 0.1}),
    onebit("alone", ""),
    onebit("two", "", "--mesh dp=2", 2),
    onebit("four", "--weight-decay 0.1 --no-weight-decay bias$ --beta1 0.8 "
           "--beta2 0.95 --eps 1e-6", "--mesh dp=4", 4,
           settings={"weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6},
           undecayed=("hidden.bias", "head.bias")),
    onebit("tensor-parallel", "--shard hidden.weight=tp,- --shard "
           "head.weight=-,tp", "--mesh dp=2,tp=2", 2, 2),
    onebit("accumulate", "--accumulate 2", "--mesh dp=2", 2, accumulate=2),
    Variant("frozen", "classifier", CE + "sgd --freeze ^hidden --train weight",
            frozen=("hidden.weight", "hidden.bias", "head.bias")),
    Variant("clip", "classifier", CE + "sgd --clip-norm 0.3", clip=0.3, lr=0.5),
    Variant("clip-value", "classifier",
            CE + "sgd --clip-value 0.02 --clip-norm 0.5", clip=0.5,
            clip_value=0.02, lr=0.5),
    Variant("groups", "classifier",
            CE + "adamw --group bias$:lr=2x,weight-decay=0 "
            "--group ^head:lr=0.1x --group hidden:weight-decay=0.3",
            optimizer="AdamW", lr=0.01, settings={"weight_decay": 0.01},
            groups={"hidden.bias": (2, 0), "head.bias": (2, 0),
                    "head.weight": (0.1, 0.01), "hidden.weight": (1, 0.3)}),
    Variant("groups-zero", "classifier",
            CE + "adam --weight-decay 0.1 --group bias$:lr=0.5x,weight-decay=0 "
            "--mesh dp=2 --zero 3", "--local-ranks 2", optimizer="Adam",
            lr=0.01, settings={"weight_decay": 0.1},
            groups={"hidden.bias": (0.5, 0), "head.bias": (0.5, 0)}),
    Variant("average", "classifier", CE + "adam --ema 0.9", optimizer="Adam",
            lr=0.01, average=0.9),
    Variant("average-zero", "classifier",
            CE + "adamw --ema 0.8 --mesh dp=2 --zero 2 --accumulate 2",
            "--local-ranks 2", optimizer="AdamW", lr=0.01, accumulate=2,
            average=0.8),
    Variant("cosine", "classifier", CE + "sgd",
            "--lr-schedule cosine --warmup-steps 3 --min-lr 0.01", rate=cosine),
    Variant("linear", "classifier", CE + "sgd", "--lr-schedule linear",
            rate=linear),
    Variant("ignore-index", "classifier", CE + "sgd --labels gaps",
            labels="gaps"),
    Variant("ignore-index-255", "classifier",
            CE + "sgd --labels holes --ignore-index 255",
            loss=cross_entropy(255), labels="holes"),
    Variant("bce", "classifier",
            "--loss bce-with-logits --optimizer sgd --labels soft",
            loss=binary(), labels="soft", lr=1.0),
    Variant("bce-weights", "classifier",
            "--loss bce-with-logits --optimizer sgd --labels soft "
            f"--pos-weight 2.5 --class-weights {WEIGHTS_FILE}",
            loss=binary(2.5, True), labels="soft", lr=1.0),
    Variant("smoothing", "classifier", CE + "sgd --label-smoothing 0.1",
            loss=cross_entropy(smoothing=0.1), lr=0.5),
    Variant("smoothing-pixels", "pixels",
            CE + "adam --label-smoothing 0.2 --accumulate 2",
            loss=cross_entropy(smoothing=0.2), optimizer="Adam", lr=0.01,
            accumulate=2),
    Variant("class-weights", "classifier",
            CE + f"sgd --labels gaps --class-weights {WEIGHTS_FILE}",
            loss=cross_entropy(weighted=True), labels="gaps", weighted=True,
            lr=0.5),
    Variant("class-weights-smoothing", "classifier",
            CE + f"sgd --labels gaps --class-weights {WEIGHTS_FILE} "
            "--label-smoothing 0.3 --accumulate 2 --mesh dp=2",
            "--local-ranks 2", accumulate=2, lr=0.5, weighted=True,
            loss=cross_entropy(weighted=True, smoothing=0.3), labels="gaps"),
    Variant("huber", "classifier",
            "--loss huber --huber-delta 0.4 --optimizer sgd --labels soft",
            loss=huber(0.4), labels="soft", lr=1.0),
    Variant("l1", "classifier", "--loss l1 --optimizer sgd --labels soft",
            loss=distance, labels="soft"),
    Variant("one-cycle", "classifier", CE + "sgd", "--lr-schedule one-cycle",
            rate=scheduled(lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(
                optimizer, 0.1, total_steps=STEPS, cycle_momentum=False))),
    Variant("polynomial", "classifier", CE + "sgd",
            "--lr-schedule polynomial --lr-power 1.5",
            rate=lambda step: 0.1 * (1 - step / STEPS) ** 1.5),
    Variant("lr-steps", "classifier", CE + "sgd",
            "--lr-schedule step --lr-step-size 3 --lr-factor 0.5",
            rate=scheduled(lambda optimizer: torch.optim.lr_scheduler.StepLR(
                optimizer, 3, 0.5))),
    Variant("stable-decay", "classifier", CE + "sgd",
            "--lr-schedule warmup-stable-decay --warmup-steps 2 "
            "--lr-decay-steps 4",
            rate=lambda step: 0.1 * min(step / 2, 1, (STEPS - step) / 4)),
    Variant("pixels", "pixels", CE + "sgd", lr=0.5),
    Variant("class-axis", "sequence", CE + "sgd --class-axis 1", lr=0.5),
    Variant("own", "own", "--loss none --loss-output cost --optimizer sgd",
            loss=None),
    Variant("accumulate", "classifier", CE + "sgd --accumulate 4",
            accumulate=4),
    Variant("accumulate-ignored", "classifier",
            CE + "adamw --labels gaps --accumulate 2 --clip-norm 0.5",
            optimizer="AdamW", labels="gaps", accumulate=2, clip=0.5, lr=0.01),
    Variant("accumulate-norm", "normalised", CE + "sgd --accumulate 2",
            accumulate=2),
    Variant("accumulate-own", "own",
            "--loss none --loss-output cost --optimizer sgd --accumulate 2",
            loss=None, accumulate=2),
    Variant("local-statistics", "normalised",
            CE + "sgd --mesh dp=2 --batchnorm-stats local", "--local-ranks 2",
            ranks=2),
    Variant("local-statistics-accumulate", "normalised",
            CE + "sgd --mesh dp=2 --batchnorm-stats local --accumulate 2",
            "--local-ranks 2", ranks=2, accumulate=2),
]
