"""A small training of PyTorch with Gloo in which ranks wait for each other at different places:
places.py CAUSE FOLDER [--ddp | --sharded]

Four ranks. All take part in the same collectives until step AT, in which some rank makes other ones. It
prints "begins" before that. --sharded: gathers the parameters in each forward pass and adds up the gradients
in each backward pass, as FSDP does, which needs GPUs in older versions.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

CAUSE = sys.argv[1]
DDP, SHARDED = "--ddp" in sys.argv, "--sharded" in sys.argv
RANK = int(os.environ["RANK"])
AT = 4  # the step in which ranks part
STEP_S = 0.1


def begins():
    print("begins", flush=True)


def gathered(values):
    parts = [torch.zeros_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, values)
    return parts


class Gather(torch.autograd.Function):
    """Gathers a parameter, and returns to each rank its part of the gradients' sum."""

    @staticmethod
    def forward(ctx, shard):
        return torch.cat(gathered(shard))

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient.chunk(dist.get_world_size())[RANK]


class Sharded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shard = torch.nn.Parameter(torch.ones(2))

    def forward(self, batch):
        return batch @ Gather.apply(self.shard)[:4]


def gather_objects():
    dist.all_gather_object([None] * dist.get_world_size(), {"loss": 1.0})


# What the odd ranks do in step AT, before they go on as the others.
ODD = {
    "gather": ((0,), lambda: gathered(torch.ones(4))),
    "gather_of_two": ((1, 2), lambda: gathered(torch.ones(4))),
    "gather_objects": ((0,), gather_objects),
    "barrier": ((1,), dist.barrier),
    "broadcast": ((3,), lambda: dist.broadcast(torch.ones(4), 3)),
    "reduce": ((2,), lambda: dist.reduce(torch.ones(4), 2)),
    "scatter": ((0,), lambda: dist.scatter(torch.ones(4), [torch.ones(4)] * dist.get_world_size(), 0)),
    "new_group": ((1,), lambda: dist.new_group([0, 1])),
}


def is_odd(step):
    return step == AT and CAUSE in ODD and RANK in ODD[CAUSE][0]


def skips(step):
    """Rank 2 has a loss that is not a number, and leaves out what follows."""
    return CAUSE == "skip" and RANK == 2 and step == AT


def train(model, batches):
    for step in range(batches):
        time.sleep(STEP_S / 2)
        if is_odd(step):
            begins()
            ODD[CAUSE][1]()
        loss = model(torch.ones(2, 4)).sum()
        if skips(step):
            begins()
        elif DDP or SHARDED:
            loss.backward()
        else:
            dist.all_reduce(loss.detach())
        if not SHARDED:
            gathered(loss.detach().reshape(1))
        print(f"step {step} loss {loss.item():.4f}", flush=True)


def main():
    dist.init_process_group("gloo")
    model = Sharded() if SHARDED else torch.nn.Linear(4, 1)
    if DDP:
        model = DistributedDataParallel(model)
    is_short = CAUSE == "uneven" and RANK == 0
    train(model, AT if is_short else 10**6)
    begins()
    dist.barrier()


main()
