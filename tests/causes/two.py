"""A rank of two.sh."""

import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
for step in range(10**6):
    time.sleep(0.05)
    if step == 4 and sys.argv[1] == "asleep":
        print("begins", flush=True)
        time.sleep(10**6)
    dist.all_reduce(torch.ones(4))
    print(f"step {step} of {os.environ['RANK']}", flush=True)
