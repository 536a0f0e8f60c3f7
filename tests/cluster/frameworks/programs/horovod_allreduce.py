"""A sum over all ranks, and an object from rank 0; for horovodrun."""

import horovod.torch as hvd
import torch

hvd.init()
total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum)
word = hvd.broadcast_object("hello" if hvd.rank() == 0 else None, root_rank=0, name="word")
print(f"rank {hvd.rank()} of {hvd.size()}, local rank {hvd.local_rank()} of {hvd.local_size()}, "
      f"cross rank {hvd.cross_rank()} of {hvd.cross_size()}: the sum is {int(total)}, {word}", flush=True)
hvd.shutdown()
