"""Training that reads its rank from the environment itself."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

rank = int(os.environ["RANK"])
world_size = int(os.environ["WORLD_SIZE"])
local_rank = int(os.environ["LOCAL_RANK"])

dist.init_process_group(backend="gloo", init_method="env://", world_size=world_size, rank=rank)
dist.barrier()

dataset = TensorDataset(torch.arange(60.0).unsqueeze(1))
sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank, shuffle=True)
model = DistributedDataParallel(torch.nn.Linear(1, 1))
seen = torch.zeros(60)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (batch,) in DataLoader(dataset, batch_size=5, sampler=sampler):
        seen[batch.long().flatten()] += 1
        model(batch).sum().backward()

dist.all_reduce(seen)
if local_rank == 0:
    torch.save(model.module.state_dict(), f"model-{os.uname().nodename}.pth")
print(f"rank {rank} of {world_size}, local rank {local_rank}: "
      f"each example was seen {seen.min():.0f} to {seen.max():.0f} times", flush=True)
dist.destroy_process_group()
