"""A training of PyTorch with Gloo in which rank 2 does at its third step what the first argument
says, or in which nothing is wrong: standstill.py CAUSE [FILE]"""

import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

CAUSE, REST, RANK = sys.argv[1], sys.argv[2:], int(os.environ["RANK"])
ODD = RANK == 2
AT = 2  # the step


class Examples(Dataset):
    """Of which the later ones never come on rank 2."""

    def __len__(self):
        return 64

    def __getitem__(self, i):
        if ODD and i >= 4 * AT:
            threading.Event().wait()
        return torch.ones(4)


def odd():
    if CAUSE == "asleep":
        time.sleep(10**6)
    if CAUSE == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if CAUSE == "file":
        open(REST[0], "rb").read()
    if CAUSE == "lock":
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    if CAUSE == "broadcast":
        dist.broadcast(torch.ones(4), 0)


def compute():
    values = torch.ones(300, 300)
    while True:
        values = values @ values


class Slowly:
    """What takes for ever to be pickled, as a checkpoint on a slow disk does to be written."""

    def __reduce__(self):
        compute()


def train():
    torch.set_num_threads(1)
    loader = iter(DataLoader(Examples(), batch_size=4, num_workers=1)) if CAUSE == "data" else None
    step = 0
    while True:
        batch = next(loader) if loader else torch.ones(4)
        if step == AT - 1:
            print("step", step, flush=True)
        if step == AT:
            if CAUSE == "barrier" and not ODD:
                dist.barrier()
            if ODD:
                odd()
            if CAUSE == "compute" or (CAUSE == "evaluate" and ODD):
                compute()
            if CAUSE == "checkpoint" and ODD:
                torch.save(Slowly(), os.devnull)
        if CAUSE == "uneven" and step % 4 == RANK:
            time.sleep(0.1)
        dist.all_reduce(batch)
        if CAUSE == "output":
            print("epoch 0", flush=True)
            time.sleep(0.2)
        step += 1


dist.init_process_group("gloo")
train()
