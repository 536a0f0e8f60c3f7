"""training_rank.py MARKER: a rank of PyTorch DDP, which announces itself after its first step, and trains until
SIGUSR2."""

import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

signal.signal(signal.SIGUSR2, lambda *_: os._exit(0))
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while True:
    try:
        optimizer.zero_grad()
        model(torch.ones(8, 64)).sum().backward()
        optimizer.step()
    except RuntimeError:
        signal.pause()  # another rank has ended; so will this one
    step += 1
    if step == 1:
        os.write(1, b"ready %d %d\n" % (dist.get_rank(), os.getpid()))
    if dist.get_rank() == 0:
        os.write(1, b"step %d/1000000\n" % step)
    signal.sigtimedwait([], 0.2)
