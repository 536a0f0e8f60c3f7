"""Two ranks of PyTorch on each node, started by torch.multiprocessing.spawn; the second one on node 2 sleeps.
spawn.py CAUSE FOLDER"""

import os
import sys
import time

import torch
import torch.distributed as dist

CAUSE = sys.argv[1]
PER_NODE = 2
FOREVER_S = 10**6


def work(local, node, nodes):
    rank = node * PER_NODE + local
    dist.init_process_group("gloo", rank=rank, world_size=nodes * PER_NODE)
    for step in range(10**6):
        if step == 4 and rank == 2 * PER_NODE + 1 and CAUSE != "well":
            print("begins", flush=True)
            time.sleep(FOREVER_S)
        if step == 4 and rank == 0 and CAUSE == "well":
            print("begins", flush=True)
        time.sleep(0.05)
        dist.all_reduce(torch.ones(4))
        print(f"step {step}", flush=True)


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (int(os.environ["AUTODIST_NODE_RANK"]), int(os.environ["AUTODIST_NODE_COUNT"])), PER_NODE)
