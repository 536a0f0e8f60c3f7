"""DeepSpeed's programs. Its CPU and GPU kernels are not needed and not built."""

import re


def test_a_program(run_program):
    outcome = run_program("deepspeed_allreduce.py", ["python", "train.py"], "--dialect", "deepspeed")
    found = re.findall(r"rank (\d) of 6, local rank (\d): the sum is 15\n", outcome.out)
    assert sorted(found) == [(str(rank), str(rank % 2)) for rank in range(6)], outcome.out
