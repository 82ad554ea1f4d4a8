"""Detection networks, small: the losses are their own, behind what finds
objects.

They train on scikit-learn's digits, enlarged to 16 x 16, each in a corner of an
image of 32 x 32, where its box is to be found.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.ops import roi_align

import models
import vision

SIZE, SAMPLES, BATCH, CLASSES = 32, 24, 4, 11  # class 0 is background


def scenes():
    """Images [N, 1, 32, 32], boxes [N, 4] as corners in pixels, and digits, from
    1."""
    digits, labels = vision.large_digits()
    digits, labels = digits[:SAMPLES], labels[:SAMPLES] + 1
    rng = np.random.default_rng(models.SEED)
    corners = rng.integers(0, SIZE - 16, (SAMPLES, 2))
    images = np.zeros((SAMPLES, 1, SIZE, SIZE), np.float32)
    for image, digit, (x, y) in zip(images, digits, corners):
        image[:, y:y + 16, x:x + 16] = digit
    boxes = np.concatenate([corners, corners + 16], axis=1)
    return images, boxes.astype(np.float32), labels.astype(np.int64)


def overlaps(boxes, box):
    """Intersection over union of boxes [..., 4] with a box [..., 4]."""
    low = np.maximum(boxes[..., :2], box[..., :2])
    high = np.minimum(boxes[..., 2:], box[..., 2:])
    shared = np.prod(np.maximum(high - low, 0), axis=-1)
    areas = [np.prod(each[..., 2:] - each[..., :2], axis=-1)
             for each in (boxes, box)]
    return shared / (areas[0] + areas[1] - shared)


def encode(boxes, anchors):
    """Offsets of centres and logarithms of sizes, as both papers have them."""
    def split(each):
        return (each[..., :2] + each[..., 2:]) / 2, each[..., 2:] - each[..., :2]
    (centre, size), (middle, unit) = split(boxes), split(anchors)
    return np.concatenate([(centre - middle) / unit, np.log(size / unit)],
                          axis=-1).astype(np.float32)


class Backbone(nn.Sequential):
    """Strides 4 and 8."""

    def __init__(self, width):
        super().__init__(vision.ConvNorm(1, width, 3, 2),
                         vision.ConvNorm(width, width, 3, 2),
                         vision.ConvNorm(width, 2 * width, 3, 2))

    def forward(self, x):
        near = self[1](self[0](x))
        return near, self[2](near)


class Ssd(nn.Module):
    """Multibox SSD (Liu et al. 2016): every place of two feature maps has two
    boxes; of those without an object, the three hardest for each with one
    count."""

    def __init__(self, width=8, boxes=2):
        super().__init__()
        self.backbone = Backbone(width)
        self.scale = nn.Parameter(torch.full((width,), 20.0))
        self.classes = nn.ModuleList(
            nn.Conv2d(each, boxes * CLASSES, 3, padding=1)
            for each in (width, 2 * width))
        self.offsets = nn.ModuleList(nn.Conv2d(each, boxes * 4, 3, padding=1)
                                     for each in (width, 2 * width))

    def heads(self, x):
        near, far = self.backbone(x)
        maps = (F.normalize(near) * self.scale[:, None, None], far)
        def join(layers, numbers):
            return torch.cat([
                layer(each).permute(0, 2, 3, 1).reshape(len(x), -1, numbers)
                for layer, each in zip(layers, maps)], 1)
        return join(self.classes, CLASSES), join(self.offsets, 4)

    def forward(self, x, wanted, offsets):
        found, placed = self.heads(x)
        loss = F.cross_entropy(found.flatten(0, 1), wanted.flatten(),
                               reduction="none").view_as(wanted)
        has_object = wanted > 0
        hardness = torch.where(has_object, torch.zeros_like(loss), loss)
        order = hardness.detach().sort(1, descending=True).indices
        place = order.sort(1).indices
        counts = has_object | (place < 3 * has_object.sum(1, keepdim=True))
        mask = has_object[..., None].to(x.dtype)
        distance = F.smooth_l1_loss(placed * mask, offsets * mask,
                                    reduction="sum")
        objects = has_object.sum().to(x.dtype)
        return ((loss * counts.to(x.dtype)).sum() + distance) / objects


def ssd_anchors():
    """Squares around every place of the maps, as corners in pixels."""
    anchors = []
    for stride, sizes in ((4, (8, 12)), (8, (16, 24))):
        at = (np.arange(SIZE // stride) + 0.5) * stride
        for y in at:
            for x in at:
                for size in sizes:
                    anchors.append([x - size / 2, y - size / 2, x + size / 2,
                                    y + size / 2])
    return np.array(anchors, np.float32)


def ssd():
    images, boxes, labels = scenes()
    anchors = ssd_anchors()
    shared = overlaps(anchors[None], boxes[:, None])
    is_near = (shared >= 0.5) | (shared == shared.max(1, keepdims=True))
    wanted = np.where(is_near, labels[:, None], 0).astype(np.int64)
    offsets = encode(boxes[:, None], anchors[None])
    return models.Case("ssd", Ssd(), {"x": images, "wanted": wanted,
                                      "offsets": offsets}, None, BATCH, "none",
                       {"sgd": 1e-3, "adamw": 1e-3}, images=True, traces=False)


class FasterRcnn(nn.Module):
    """The second stage of Faster R-CNN (Ren et al. 2015): proposed boxes are
    cut out of a feature map, classified, and moved."""

    def __init__(self, width=8, bins=4):
        super().__init__()
        self.bins = bins
        self.backbone = nn.Sequential(vision.ConvNorm(1, width, 3, 2),
                                      vision.ConvNorm(width, width, 3, 2))
        self.fc6 = nn.Linear(width * bins * bins, 32)
        self.fc7 = nn.Linear(32, 32)
        self.cls_score = nn.Linear(32, CLASSES)
        self.bbox_pred = nn.Linear(32, 4 * CLASSES)

    def forward(self, x, proposals, wanted, offsets):
        near = self.backbone(x)
        images, boxes, _ = proposals.shape
        number = torch.arange(images, dtype=x.dtype).repeat_interleave(boxes)
        rows = torch.cat([number[:, None], proposals.flatten(0, 1)], 1)
        cut = roi_align(near, rows, self.bins, spatial_scale=0.25,
                        sampling_ratio=2, aligned=True)
        hidden = F.relu(self.fc7(F.relu(self.fc6(cut.flatten(1)))))
        wanted = wanted.flatten()
        loss = F.cross_entropy(self.cls_score(hidden), wanted)
        moves = self.bbox_pred(hidden).view(-1, CLASSES, 4)
        moves = moves.gather(1, wanted[:, None, None].expand(-1, 1, 4))[:, 0]
        mask = (wanted > 0)[:, None].to(x.dtype)
        distance = F.smooth_l1_loss(moves * mask,
                                    offsets.flatten(0, 1) * mask, beta=1 / 9,
                                    reduction="sum")
        return loss + distance / len(wanted)


def faster_rcnn():
    images, boxes, labels = scenes()
    rng = np.random.default_rng(models.SEED)
    shift = rng.uniform(-10, 10, (SAMPLES, 8, 4)).astype(np.float32)
    shift[:, :4] *= 0.3  # half of them near the object
    proposals = boxes[:, None] + shift
    proposals[..., 2:] = np.maximum(proposals[..., 2:], proposals[..., :2] + 4)
    is_near = overlaps(proposals, boxes[:, None]) >= 0.5
    wanted = np.where(is_near, labels[:, None], 0).astype(np.int64)
    offsets = encode(np.broadcast_to(boxes[:, None], proposals.shape), proposals)
    return models.Case("rcnn", FasterRcnn(),
                       {"x": images, "proposals": proposals, "wanted": wanted,
                        "offsets": offsets}, None, BATCH, "none",
                       {"sgd": 0.02, "adamw": 1e-3}, images=True, traces=False)


CASES = {"ssd": ssd, "rcnn": faster_rcnn}
