"""Data parallel training of a small network; for python -m paddle.distributed.launch."""

import hashlib

import paddle
import paddle.distributed as dist

STEPS = 10


def digest(model):
    whole = hashlib.sha256()
    for parameter in model.parameters():
        whole.update(parameter.numpy().tobytes())
    return whole.hexdigest()


def main():
    dist.init_parallel_env()
    rank, world_size = dist.get_rank(), dist.get_world_size()

    paddle.seed(rank)
    network = paddle.nn.Linear(8, 1)
    model = paddle.DataParallel(network)
    optimizer = paddle.optimizer.SGD(learning_rate=0.05, parameters=model.parameters())
    losses = []
    for _ in range(STEPS):
        inputs = paddle.randn([16, 8])  # different on each rank
        loss = paddle.nn.functional.mse_loss(model(inputs), inputs.sum(axis=1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())

    ranks = paddle.to_tensor([float(rank)])
    dist.all_reduce(ranks)
    print(f"rank {rank} of {world_size}: the ranks' sum is {int(ranks.item())}, "
          f"the loss {'fell' if losses[-1] < losses[0] / 2 else 'stayed'}, "
          f"the model is {digest(network)}", flush=True)


if __name__ == "__main__":
    main()
