"""Every case that is recorded, by name."""
import torch

import detection
import language
import models
import pipelines
import vision

CASES = {**models.CASES, **vision.CASES, **language.CASES,
         **pipelines.CASES, **detection.CASES}


def build(name):
    """The case `name` with freshly drawn weights, the same at every call."""
    torch.manual_seed(models.SEED)
    return CASES[name]()
