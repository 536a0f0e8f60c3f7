"""Training by Lightning's Trainer on two devices of each of two machines."""

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(8, 1)
        self.losses = []

    def training_step(self, batch):
        loss = torch.nn.functional.mse_loss(self.line(batch[0]), batch[1])
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


torch.manual_seed(0)
inputs = torch.randn(960, 8)
loader = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=16, shuffle=True)
trainer = lightning.Trainer(accelerator="cpu", devices=2, num_nodes=2, strategy="ddp", max_epochs=3, logger=False)
module = Line()
trainer.fit(module, loader)
steps = trainer.strategy.reduce(torch.tensor(float(len(module.losses))), reduce_op="sum")
print(f"\nrank {trainer.global_rank} of {trainer.world_size}, local rank {trainer.local_rank}: {int(steps)} steps, "
      f"the loss {'fell' if module.losses[-1] < module.losses[0] / 2 else 'stayed'}", flush=True)
