"""A sum over all ranks; for msrun."""

import sys

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.communication import get_group_size, get_rank, init


class Sum(nn.Cell):
    def __init__(self):
        super().__init__()
        self.all_reduce = ops.AllReduce(ops.ReduceOp.SUM)

    def construct(self, x):
        return self.all_reduce(x)


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("CPU")
    init()
    rank, world_size = get_rank(), get_group_size()
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    total = Sum()
    for step in range(steps):
        ones = total(Tensor([1.0, float(rank)], ms.float32)).asnumpy()
        if step == 0:
            print(f"rank {rank} of {world_size}: {int(ones[0])} ranks, their sum is {int(ones[1])}", flush=True)


if __name__ == "__main__":
    main()
