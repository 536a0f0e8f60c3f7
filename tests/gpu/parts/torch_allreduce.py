"""Measures all-reduce of torch.distributed as `autodist bench` does: queued calls, one wait per size.

  torch_allreduce.py nccl|gloo ITERATIONS BYTES...
"""

import os
import sys
import time

import torch
import torch.distributed as dist

WARMUP = 3


def main():
    backend, iterations, sizes = sys.argv[1], int(sys.argv[2]), [int(word) for word in sys.argv[3:]]
    device = torch.device("cpu")
    if backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(backend)

    def seconds_of(data, times):
        dist.all_reduce(torch.zeros(1, device=device))
        wait()
        start = time.perf_counter()
        for _ in range(times):
            dist.all_reduce(data)
        wait()
        slowest = torch.tensor([(time.perf_counter() - start) / times], device=device)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        return slowest.item()

    def wait():
        if backend == "nccl":
            torch.cuda.synchronize()

    for size in sizes:
        ones = torch.ones(max(size // 4, 1), device=device)
        dist.all_reduce(ones)
        assert bool((ones == dist.get_world_size()).all()), "a wrong sum"
        data = torch.zeros(max(size // 4, 1), device=device)
        seconds_of(data, WARMUP)
        seconds = seconds_of(data, iterations)
        if dist.get_rank() == 0:
            print(f"{size} bytes: {seconds * 1e6:.1f} us", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
