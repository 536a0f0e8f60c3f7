"""Training with a bar for each epoch and one for the evaluation after it, all by tqdm."""

import time

from tqdm import tqdm

EPOCHS, BATCHES, BATCHES_TO_EVALUATE = 3, 40, 10
STEP_S = 0.15


def evaluate():
    for _ in tqdm(range(BATCHES_TO_EVALUATE), desc="Evaluating", leave=False):
        time.sleep(STEP_S / 2)


loss = 2.0
for epoch in range(EPOCHS):
    with tqdm(range(BATCHES), desc=f"Epoch {epoch + 1}/{EPOCHS}", unit="batch") as batches:
        for _ in batches:
            time.sleep(STEP_S)
            loss *= 0.99
            batches.set_postfix(loss=loss)
    evaluate()
print("trained", flush=True)
