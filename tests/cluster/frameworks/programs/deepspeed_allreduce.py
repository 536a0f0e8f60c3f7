"""A sum over all ranks; for the deepspeed launcher."""

import deepspeed
import torch
from deepspeed import comm

deepspeed.init_distributed("gloo")
total = torch.tensor([float(comm.get_rank())])
comm.all_reduce(total)
print(f"rank {comm.get_rank()} of {comm.get_world_size()}, local rank {comm.get_local_rank()}: "
      f"the sum is {int(total)}", flush=True)
comm.destroy_process_group()
