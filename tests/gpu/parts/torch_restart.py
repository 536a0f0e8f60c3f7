"""Makes steps; the first attempt ends itself by SIGKILL. Prints when that was, and when the first step was made.

  torch_restart.py nccl|gloo SECONDS
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist

STEP_S = 0.1


def main():
    backend, seconds = sys.argv[1], float(sys.argv[2])
    device = "cuda:0" if backend == "nccl" else "cpu"
    dist.init_process_group(backend)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).to(device))
    first_attempt = os.environ["AUTODIST_RESTART_COUNT"] == "0"
    for step in range(1 + int(seconds / STEP_S) if first_attempt else 1):
        model(torch.ones(8, 64, device=device)).sum().backward()
        dist.barrier()
        if step == 0:
            print(f"first step at {time.time()}", flush=True)
        print(f"step {step}", flush=True)
        time.sleep(STEP_S)
    if first_attempt:
        print(f"ends at {time.time()}", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
