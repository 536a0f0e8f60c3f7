"""A sum over all ranks, and training in which each example is seen once an epoch; for Accelerate."""

import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

# On CPUs, Accelerate's launcher does not set up ranks.
accelerator = Accelerator(cpu="--cpu" in sys.argv)
torch.manual_seed(0)
inputs = torch.randn(960, 8)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

losses, seen = [], 0
for epoch in range(3):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        losses.append(loss.item())
        seen += len(x)

state = accelerator.state
total = accelerator.reduce(torch.tensor([float(seen)], device=accelerator.device))
weights = accelerator.gather(accelerator.unwrap_model(model).weight.detach().reshape(1, -1))
print(f"rank {state.process_index} of {state.num_processes}, local rank {state.local_process_index}: "
      f"{int(total)} examples, {len({tuple(row.tolist()) for row in weights})} models, "
      f"the loss {'fell' if losses[-1] < losses[0] / 2 else 'stayed'}", flush=True)
accelerator.end_training()
