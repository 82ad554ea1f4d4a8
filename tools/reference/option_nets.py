"""The tiny networks of options.py."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.head = nn.Linear(6, 16), nn.Linear(16, 5)

    def forward(self, x):
        return self.head(torch.tanh(self.hidden(x)))


class Normalised(nn.Module):
    """With batch normalisation, whose statistics are a micro-batch's own."""

    def __init__(self):
        super().__init__()
        self.hidden, self.norm = nn.Linear(6, 16), nn.BatchNorm1d(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.hidden(x))))


class Dropped(nn.Module):
    """Drops half of its hidden values; recorded under no variant."""

    def __init__(self):
        super().__init__()
        self.hidden, self.head = nn.Linear(6, 64), nn.Linear(64, 5)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.head(self.drop(torch.tanh(self.hidden(x))))


class Pixels(nn.Module):
    """A class for every pixel: logits [N, 4, H, W]."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)

    def forward(self, x):
        return self.conv(x)


class Sequence(nn.Module):
    """Logits with the classes in the middle, [N, classes, T]."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 5, 1)

    def forward(self, x):
        return self.conv(x)


class OwnLoss(nn.Module):
    """Computes its loss from its inputs."""

    def __init__(self):
        super().__init__()
        self.net = Classifier()

    def forward(self, x, target):
        logits = self.net(x)
        return logits, F.cross_entropy(logits, target)
