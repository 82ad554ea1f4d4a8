"""A GPT as the stages of PyTorch's own pipeline, one for each rank."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import pipelining


def cuts(net, stages):
    """The first block of every stage, so that all multiply about as much: the
    head counts as so many blocks as it has weights for."""
    blocks = len(net.blocks)
    block = sum(p.numel() for p in net.blocks[0].parameters())
    share = (blocks + net.head.weight.numel() / block) / stages
    return [min(blocks, round(share * stage)) for stage in range(stages)] + [
        blocks]


class Stage(nn.Module):
    """Consecutive blocks, with what comes in front of the first one and behind
    the last one."""

    def __init__(self, net, rank, ranks):
        super().__init__()
        begin, end = cuts(net, ranks)[rank:rank + 2]
        self.blocks = nn.ModuleList(net.blocks[begin:end])
        self.wte = net.wte if rank == 0 else None
        self.wpe = net.wpe if rank == 0 else None
        is_last = rank == ranks - 1
        self.lnf = net.lnf if is_last else None
        self.head = net.head if is_last else None

    def forward(self, x):
        if self.wte is not None:
            x = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.lnf(x)) if self.head is not None else x


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Pipeline:
    """Schedule1F1B over Gloo; the table that embeds tokens is also the head,
    whose gradients the first and the last rank add up."""

    def __init__(self, net, micro_batches):
        torch.distributed.init_process_group("gloo")
        rank = torch.distributed.get_rank()
        ranks = torch.distributed.get_world_size()
        self.is_first, self.is_last = rank == 0, rank == ranks - 1
        self.ends = torch.distributed.new_group([0, ranks - 1])
        self.net = Stage(net, rank, ranks)
        stage = pipelining.PipelineStage(self.net, rank, ranks,
                                         torch.device("cpu"))
        self.schedule = pipelining.Schedule1F1B(stage, micro_batches,
                                                loss_fn=loss_of)

    def backward(self, x, labels):
        """The gradients of a batch; its loss, on the last rank."""
        losses = []
        self.schedule.step(*([x] if self.is_first else []),
                           target=labels if self.is_last else None,
                           losses=losses if self.is_last else None,
                           return_outputs=False)
        if self.is_first or self.is_last:
            table = self.net.wte if self.is_first else self.net.head
            torch.distributed.all_reduce(table.weight.grad, group=self.ends)
        return torch.stack(losses).mean() if losses else torch.tensor(0.0)
