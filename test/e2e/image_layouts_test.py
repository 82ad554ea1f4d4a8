#!/usr/bin/env python3
"""Networks of images whose channels tp divides: MobileNet's, DenseNet's and
ConvNeXt's forms. Real ranks train what one rank does, as exported_layouts_test.py
has it.
"""
import unittest

import numpy as np

from exported_layouts_test import (BATCH, WIDTH, LayoutTest, Model, linear,
                                   norm)


def plain_convolution(model, value, name, outputs, inputs, size, groups=1,
                      stride=1):
    weight = model.weight(f"{name}_weight", outputs, inputs // groups, size,
                          size)
    pad = size // 2 if stride == 1 else 0
    return model.node(f"Conv <group = {groups}, pads = {[pad] * 4}, "
                      f"strides = {[stride] * 2}> ({value}, {weight})")


def convolution(model, value, name, outputs, inputs, size, groups=1):
    """With batch normalisation behind it."""
    value = plain_convolution(model, value, name, outputs, inputs, size, groups)
    return norm_channels(model, value, name, outputs)


def norm_channels(model, value, name, channels):
    for part, start in ("scale", 1), ("shift", 0), ("mean", 0), ("var", 1):
        model.weights[f"{name}_{part}"] = np.full(channels, start, np.float32)
    return model.node("BatchNormalization <training_mode = 0> ({}, {})".format(
        value, ", ".join(f"{name}_{part}"
                         for part in ("scale", "shift", "mean", "var"))))


def mobile_model():
    """An inverted residual, groups of several channels, several outputs of one
    input channel."""
    model = Model(f"float[{BATCH},3,8,8] x", f"float[{BATCH},4] logits")
    x = convolution(model, "x", "stem", 12, 3, 3)
    h = model.node(f"Relu({convolution(model, x, 'expand', 48, 12, 1)})")
    h = model.node(f"Relu({convolution(model, h, 'depth', 48, 48, 3, 48)})")
    x = model.node(f"Add({x}, {convolution(model, h, 'project', 12, 48, 1)})")
    h = model.node(f"Relu({convolution(model, x, 'reduce', 48, 12, 1)})")
    h = model.node(f"Relu({convolution(model, h, 'groups', 96, 48, 3, 12)})")
    x = model.node(f"Add({x}, {convolution(model, h, 'restore', 12, 96, 1)})")
    h = model.node(f"Relu({convolution(model, x, 'few', 24, 12, 1)})")
    h = model.node(f"Relu({convolution(model, h, 'more', 48, 24, 3, 24)})")
    x = model.node(f"Add({x}, {convolution(model, h, 'back', 12, 48, 1)})")
    x = model.reshape(model.node(f"GlobalAveragePool({x})"), BATCH, 12)
    model.lines.append(
        f"logits = MatMul({x}, {model.weight('head', 12, 4)})")
    return model


def pooled_logits(model, x, channels):
    x = model.reshape(model.node(f"GlobalAveragePool({x})"), BATCH, channels)
    model.lines.append(
        f"logits = MatMul({x}, {model.weight('head', channels, 4)})")
    return model


def dense_model():
    """DenseNet's block and transition: each layer takes what all before it have
    made, normalised."""
    model = Model(f"float[{BATCH},3,8,8] x", f"float[{BATCH},4] logits")
    parts, channels = [convolution(model, "x", "stem", 16, 3, 3)], 16
    for layer in range(3):
        joined = parts[0] if len(parts) == 1 else model.node(
            f"Concat <axis = 1> ({', '.join(parts)})")
        h = norm_channels(model, joined, f"n{layer}", channels)
        h = convolution(model, model.node(f"Relu({h})"), f"wide{layer}", 32,
                        channels, 1)
        parts.append(plain_convolution(model, model.node(f"Relu({h})"),
                                       f"new{layer}", 8, 32, 3))
        channels += 8
    x = model.node(f"Concat <axis = 1> ({', '.join(parts)})")
    x = convolution(model, x, "transition", 20, channels, 1)
    x = model.node(f"Relu({x})")
    x = model.node("AveragePool <kernel_shape = [2, 2], strides = [2, 2]> "
                   f"({x})")
    return pooled_logits(model, x, 20)


def next_model():
    """ConvNeXt's blocks: channels by themselves, a norm of channels that stand
    last, two wide layers, a scale for each channel."""
    model = Model(f"float[{BATCH},3,16,16] x", f"float[{BATCH},4] logits")
    x = plain_convolution(model, "x", "stem", WIDTH, 3, 4, stride=4)
    for block in range(2):
        name = f"b{block}"
        h = plain_convolution(model, x, f"{name}_depth", WIDTH, WIDTH, 7,
                              groups=WIDTH)
        h = model.node(f"Transpose <perm = [0, 2, 3, 1]> ({h})")
        h = norm(model, h, f"{name}_norm")
        h = linear(model, h, f"{name}_wide", WIDTH, 4 * WIDTH)
        h = model.node(f"Gelu({h})")
        h = linear(model, h, f"{name}_narrow", 4 * WIDTH, WIDTH)
        h = model.node(f"Transpose <perm = [0, 3, 1, 2]> ({h})")
        scale = model.weight(f"{name}_scale", WIDTH, 1, 1)
        x = model.node(f"Add({x}, {model.node(f'Mul({h}, {scale})')})")
    return pooled_logits(model, x, WIDTH)


class ImageLayouts(LayoutTest):

    def test_groups(self):
        """Channels that tp divides are some of a convolution's groups."""
        self.prepare(mobile_model(), x=self.rng.standard_normal(
            (3 * BATCH, 3, 8, 8)).astype(np.float32), labels=self.integers(4))
        artifacts = self.compare([["tp=2"], ["tp=3"], ["tp=4"], ["dp=2,tp=2"],
                                  ["dp=2,tp=2", "--zero", "3"]])
        for artifact in artifacts:
            divided = self.sharding(artifact)
            for name in "depth", "groups", "more":
                self.assertEqual(divided[f"{name}_weight"],
                                 [["tp"], [], [], []])

    def test_dense(self):
        """The first of two convolutions in a row has its outputs divided."""
        self.prepare(dense_model(), x=self.rng.standard_normal(
            (3 * BATCH, 3, 8, 8)).astype(np.float32), labels=self.integers(4))
        for artifact in self.compare([["tp=2"], ["tp=4"], ["dp=2,tp=2"]]):
            divided = self.sharding(artifact)
            for layer in range(3):
                self.assertEqual(divided[f"wide{layer}_weight"],
                                 [["tp"], [], [], []])

    def test_channels_last(self):
        self.prepare(next_model(), x=self.rng.standard_normal(
            (3 * BATCH, 3, 16, 16)).astype(np.float32), labels=self.integers(4))
        for artifact in self.compare([["tp=2"], ["tp=4"], ["dp=2,tp=2"]]):
            divided = self.sharding(artifact)
            for block in range(2):
                self.assertEqual(divided[f"b{block}_wide_weight"],
                                 [[], ["tp"]])
                self.assertEqual(divided[f"b{block}_narrow_weight"],
                                 [["tp"], []])


if __name__ == "__main__":
    unittest.main()
