"""PaddlePaddle's programs."""

import re

PROGRAM = r"rank (\d) of 6: the ranks' sum is 15, the loss fell, the model is (\w{64})\n"


def check_training(outcome):
    found = sorted(re.findall(PROGRAM, outcome.out))
    assert [int(rank) for rank, _ in found] == list(range(6)), outcome.out
    assert len({model for _, model in found}) == 1


def test_a_program(run_program):
    check_training(run_program("paddle_parallel.py", ["python", "train.py"], "--dialect", "paddle"))


def test_the_launcher(run_program):
    check_training(run_program("paddle_parallel.py", ["python", "-m", "paddle.distributed.launch", "train.py"],
                               "--per", "node"))
