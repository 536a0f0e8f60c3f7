"""Ranks that share a GPU and reduce, until one of them has a fault.

  torch_faults.py late|another|given_up|too_much|bad_index|busy
"""

import os
import sys
import time
from datetime import timedelta

FAULT = sys.argv[1]
RANK = int(os.environ["RANK"])
# Set before CUDA and NCCL are loaded, not by a shell: flight records need Python as the rank's command.
os.environ.update(CUDA_VISIBLE_DEVICES="0", NCCL_HOSTID=f"host-of-rank-{RANK}")

import torch  # noqa: E402  pylint: disable=wrong-import-position
import torch.distributed as dist  # noqa: E402  pylint: disable=wrong-import-position

DEVICE = torch.device("cuda:0")
WHO = 2
STEPS = 20
COUNT = 1 << 18
LIMIT_S = 10  # of a collective, for the fault given_up
FOREVER_S = 3600


def step(data):
    dist.all_reduce(data)
    torch.cuda.synchronize()


def fetch_batch():
    time.sleep(FOREVER_S)


def evaluate():
    dist.barrier()
    torch.cuda.synchronize()


def fault(data):
    if FAULT in ("late", "given_up"):
        fetch_batch()
    elif FAULT == "another":
        evaluate()
    elif FAULT == "too_much":
        torch.empty(1 << 45, device=DEVICE)
    elif FAULT == "bad_index":
        data[torch.tensor([COUNT + 7], device=DEVICE)].sum().item()


def main():
    limit = timedelta(seconds=LIMIT_S if FAULT == "given_up" else FOREVER_S)
    dist.init_process_group("nccl", timeout=limit)
    data = torch.ones(COUNT, device=DEVICE)
    matrix = torch.ones(1024, 1024, device=DEVICE)
    for number in range(STEPS):
        step(data.fill_(1))
        print(f"step {number}", flush=True)
    print("begins", flush=True)
    if RANK == WHO:
        fault(data)
    while True:
        if FAULT == "busy":
            for _ in range(200):
                matrix @ matrix  # pylint: disable=pointless-statement
        step(data.fill_(1))


if __name__ == "__main__":
    main()
