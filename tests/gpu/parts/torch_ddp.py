"""Trains a small network with DistributedDataParallel; each rank computes a part of the same batches.

  torch_ddp.py nccl|gloo
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 30, 64


def main():
    backend = sys.argv[1]
    device = torch.device("cpu")
    if backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    inputs = torch.randn(BATCH, 8)
    wanted = inputs.sum(dim=1, keepdim=True)
    network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(device)
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    mine = slice(rank * BATCH // ranks, (rank + 1) * BATCH // ranks)
    x, y = inputs[mine].to(device), wanted[mine].to(device)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        loss = torch.nn.functional.mse_loss(network(inputs.to(device)), wanted.to(device))
    if rank == 0:
        print(f"loss {loss.item():.6f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
