"""A loop that prints its progress in its own format."""

import time

STEPS = 120
STEP_S = 0.15

loss = 2.0
for step in range(1, STEPS + 1):
    time.sleep(STEP_S)
    loss *= 0.99
    if step % 4 == 0:
        print(f"now at {step} out of {STEPS}; the loss is {loss:.4f}")
print("trained")
