"""Lightning's Trainer with a validation after each epoch; its bar is tqdm's, or with --rich that of rich."""

import argparse
import time

import lightning
import torch
from lightning.pytorch.callbacks import RichProgressBar, TQDMProgressBar
from torch.utils.data import DataLoader, TensorDataset

STEP_S = 0.15


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(8, 1)

    def loss_of(self, batch):
        time.sleep(STEP_S)
        return torch.nn.functional.mse_loss(self.line(batch[0]), batch[1])

    def training_step(self, batch, _):
        loss = self.loss_of(batch)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", self.loss_of(batch), prog_bar=True, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def batches(count):
    """This number of batches for each of two ranks."""
    inputs = torch.randn(2 * 4 * count, 8)
    return DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=4)


parser = argparse.ArgumentParser()
parser.add_argument("--rich", action="store_true")
parser.add_argument("--max_epochs", type=int)
options = parser.parse_args()
torch.manual_seed(0)
trainer = lightning.Trainer(accelerator="cpu", devices=1, num_nodes=2, strategy="ddp", max_epochs=options.max_epochs,
                            logger=False, enable_checkpointing=False,
                            callbacks=[RichProgressBar() if options.rich else TQDMProgressBar()])
trainer.fit(Line(), batches(40), batches(10))
print("trained", flush=True)
