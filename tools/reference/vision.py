"""Small networks of the usual kinds for images, written as their authors do.

They train on scikit-learn's digits, enlarged to 16 x 16: one channel of few
values, which compresses well.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import models

SAMPLES = 24
BATCH = 8


class ConvNorm(nn.Sequential):
    """Convolution, batch normalisation and, unless None, an activation."""

    def __init__(self, inputs, outputs, kernel, stride=1, groups=1,
                 activation=nn.ReLU):
        layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2,
                            groups=groups, bias=False), nn.BatchNorm2d(outputs)]
        super().__init__(*layers, *([activation()] if activation else []))


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions and a shortcut (ResNet-18)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = ConvNorm(inputs, outputs, 3, stride)
        self.conv2 = ConvNorm(outputs, outputs, 3, activation=None)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = ConvNorm(inputs, outputs, 1, stride,
                                     activation=None)

    def forward(self, x):
        return F.relu(self.conv2(self.conv1(x)) + self.shortcut(x))


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3, 1 x 1 and a shortcut (ResNet-50)."""

    def __init__(self, inputs, width, outputs, stride):
        super().__init__()
        self.conv1 = ConvNorm(inputs, width, 1)
        self.conv2 = ConvNorm(width, width, 3, stride)
        self.conv3 = ConvNorm(width, outputs, 1, activation=None)
        self.shortcut = ConvNorm(inputs, outputs, 1, stride, activation=None)

    def forward(self, x):
        y = self.conv3(self.conv2(self.conv1(x)))
        return F.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    """The stem and one stage of each kind of block."""

    def __init__(self):
        super().__init__()
        self.stem = ConvNorm(1, 8, 7, 2)
        self.layer1 = BasicBlock(8, 8, 1)
        self.layer2 = BasicBlock(8, 12, 2)
        self.layer3 = Bottleneck(12, 6, 16, 1)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(self.stem(x), 3, 2, 1)
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Vgg(nn.Module):
    """Plain convolutions, max pooling, three fully connected layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(inplace=True),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(inplace=True),
            nn.MaxPool2d(2, 2))
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(
            nn.Linear(48, 32), nn.ReLU(True), nn.Linear(32, 32), nn.ReLU(True),
            nn.Linear(32, 10))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class SqueezeExcite(nn.Module):
    """Scales channels by what the whole image says."""

    def __init__(self, channels, squeezed):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        scale = F.hardsigmoid(self.fc2(F.relu(self.fc1(self.pool(x)))))
        return x * scale


class InvertedResidual(nn.Module):
    """MobileNetV3's block: expand, depthwise, squeeze-excite, project."""

    def __init__(self, inputs, expanded, outputs, stride):
        super().__init__()
        self.residual = stride == 1 and inputs == outputs
        self.block = nn.Sequential(
            ConvNorm(inputs, expanded, 1, activation=nn.Hardswish),
            ConvNorm(expanded, expanded, 3, stride, expanded, nn.Hardswish),
            SqueezeExcite(expanded, 4),
            ConvNorm(expanded, outputs, 1, activation=None))

    def forward(self, x):
        return x + self.block(x) if self.residual else self.block(x)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            ConvNorm(1, 8, 3, 2, activation=nn.Hardswish),
            InvertedResidual(8, 16, 8, 1), InvertedResidual(8, 24, 12, 2))
        self.classifier = nn.Sequential(nn.Linear(12, 16), nn.Hardswish(),
                                        nn.Linear(16, 10))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class DoubleConv(nn.Sequential):
    """Two convolutions with group normalisation."""

    def __init__(self, inputs, outputs):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.GroupNorm(4, outputs), nn.SiLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.GroupNorm(4, outputs), nn.SiLU())


class UNet(nn.Module):
    """Down and up again over skip connections; a class for every pixel."""

    def __init__(self, classes):
        super().__init__()
        self.down1, self.down2 = DoubleConv(1, 8), DoubleConv(8, 12)
        self.middle = DoubleConv(12, 16)
        self.up2 = nn.ConvTranspose2d(16, 12, 2, stride=2)
        self.join2 = DoubleConv(24, 12)
        self.up1 = nn.ConvTranspose2d(12, 8, 4, stride=2, padding=1)
        self.join1 = DoubleConv(16, 8)
        self.head = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        x = self.middle(F.max_pool2d(second, 2))
        x = self.join2(torch.cat([self.up2(x), second], 1))
        x = self.join1(torch.cat([self.up1(x), first], 1))
        return self.head(x)


class EncoderBlock(nn.Module):
    """The transformer block of vision transformers."""

    def __init__(self, width, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(width, eps=1e-6)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class VisionTransformer(nn.Module):
    """Patches, a class token and learned positions."""

    def __init__(self, width=24, heads=2, layers=2):
        super().__init__()
        self.conv_proj = nn.Conv2d(1, width, 4, 4)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.layers = nn.Sequential(
            *(EncoderBlock(width, heads) for _ in range(layers)))
        self.ln = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        patches = self.conv_proj(x).flatten(2).transpose(1, 2)
        token = self.class_token.expand(x.shape[0], -1, -1)
        x = torch.cat([token, patches], 1) + self.positions
        return self.head(self.ln(self.layers(x))[:, 0])


def large_digits():
    images, labels = models.digits(SAMPLES)
    return images.repeat(2, axis=1).repeat(2, axis=2)[:, None], labels


def classifier(name, net, learning_rates, **options):
    images, labels = large_digits()
    return models.Case(name, net, {"x": images}, labels, BATCH,
                       "softmax-cross-entropy", learning_rates,
                       traces=False, **options)


def resnet():
    return classifier("resnet", ResNet(), {"sgd": 0.01, "adamw": 3e-4},
                      images=True)


def vgg():
    return classifier("vgg", Vgg(), {"sgd": 0.05, "adamw": 1e-3}, images=True)


def mobilenet():
    return classifier("mobilenet", MobileNet(), {"sgd": 0.01, "adamw": 3e-4},
                      images=True)


def vit():
    return classifier("vit", VisionTransformer(), {"sgd": 0.05, "adamw": 1e-3},
                      opsets=(18, 23))


def unet():
    images, _ = large_digits()
    labels = np.digitize(images[:, 0], [0.25, 0.75]).astype(np.int64)
    return models.Case("unet", UNet(3), {"x": images}, labels, 4,
                       "softmax-cross-entropy", {"sgd": 0.05, "adamw": 1e-3},
                       images=True, traces=False, opsets=(18, 23))


CASES = {"resnet": resnet, "vgg": vgg, "mobilenet": mobilenet, "vit": vit,
         "unet": unet}
