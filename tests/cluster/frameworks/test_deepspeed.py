"""DeepSpeed's programs. Its CPU and GPU kernels are not needed and not built."""

import re

import pytest
from hosts import address

pytestmark = pytest.mark.hosts(3, "--ranks 2")


def check_sum(outcome):
    found = re.findall(r"rank (\d) of 6, local rank (\d): the sum is 15\n", outcome.out)
    assert sorted(found) == [(str(rank), str(rank % 2)) for rank in range(6)], outcome.out


def test_a_program(run_program):
    check_sum(run_program("deepspeed_allreduce.py", ["python", "train.py"], "--framework", "deepspeed"))


def test_the_launcher_on_each_node(run_program, folder):
    (folder / "hosts").write_text("".join(f"{address(host)} slots=2\n" for host in (1, 2, 3)))
    check_sum(run_program("deepspeed_allreduce.py", [
        "deepspeed", "--hostfile=hosts", "--no_ssh", "--node_rank={node_rank}", "--master_addr={master_addr}",
        "--master_port={master_port}", "train.py"], "--per", "node"))
