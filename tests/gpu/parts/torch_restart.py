"""Makes a step; the first attempt ends itself by SIGKILL. Prints when that was, and when the step was made.

  torch_restart.py nccl|gloo
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist


def main():
    backend = sys.argv[1]
    device = "cuda:0" if backend == "nccl" else "cpu"
    dist.init_process_group(backend)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).to(device))
    model(torch.ones(8, 64, device=device)).sum().backward()
    dist.barrier()
    print(f"first step at {time.time()}", flush=True)
    if os.environ["AUTODIST_RESTART_COUNT"] == "0":
        print(f"ends at {time.time()}", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
