"""Data parallel training of a small network; for torchrun."""

import hashlib
import os
import struct

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS = 3


def digest(model):
    whole = hashlib.sha256()
    for parameter in model.parameters():
        numbers = parameter.detach().flatten().tolist()
        whole.update(struct.pack(f"{len(numbers)}f", *numbers))
    return whole.digest()


def of_all_ranks(value):
    mine = torch.tensor(list(value), dtype=torch.uint8)
    gathered = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, mine)
    return {bytes(one.tolist()) for one in gathered}


def train():
    rank, world_size = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    inputs = torch.randn(960, 8)
    dataset = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)

    torch.manual_seed(rank)  # replicas become equal only by training together
    network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    started_as = len(of_all_ranks(digest(network)))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())

    ended_as = len(of_all_ranks(digest(network)))
    if rank == 0:
        with open("checkpoint.pt", "xb") as file:  # fails if it exists
            torch.save(network.state_dict(), file)
    print(f"rank {rank} of {world_size}, local rank {os.environ['LOCAL_RANK']}: "
          f"{started_as} models became {ended_as}, "
          f"the loss {'fell' if losses[-1] < losses[0] / 2 else 'stayed'}", flush=True)


def main():
    dist.init_process_group("gloo")
    train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
