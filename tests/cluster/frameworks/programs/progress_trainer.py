"""Hugging Face's Trainer with a small untrained model, and an evaluation after each epoch."""

import time

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

STEP_S = 0.15
BATCH = 4


class Examples(torch.utils.data.Dataset):
    """Slow to load."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        time.sleep(STEP_S / BATCH)
        return {"input_ids": [i % 90 + 1] * 8, "attention_mask": [1] * 8, "labels": i % 2}


torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(
    vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
    max_position_embeddings=16))
arguments = TrainingArguments(
    output_dir="trained", num_train_epochs=3, per_device_train_batch_size=BATCH, per_device_eval_batch_size=BATCH,
    logging_steps=5, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, ddp_backend="gloo")
# 40 batches for each of two ranks, and 10 to evaluate.
trainer = Trainer(model, arguments, train_dataset=Examples(320), eval_dataset=Examples(80))
trainer.train()
print("trained", flush=True)
