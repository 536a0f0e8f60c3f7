"""MindSpore's programs."""

import os
import re
import signal
from pathlib import Path

import pytest
from hosts import address
from jobs import processes

pytestmark = pytest.mark.hosts(3, "--ranks 2")

PROGRAM = r"rank (\d) of (\d): (\d) ranks, their sum is (\d+)\n"
FOREVER = "1000000000"


def check_sums(text, world_size):
    found = sorted(tuple(map(int, sums)) for sums in re.findall(PROGRAM, text))
    assert found == [(rank, world_size, world_size, sum(range(world_size)))
                     for rank in range(world_size)], text


def pid_with(variable):
    """The job's only process with this environment variable."""
    [pid] = [pid for pid in processes()
             if variable.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")]
    return pid


def test_a_program(run_program):
    outcome = run_program("mindspore_allreduce.py", ["python", "train.py"], "--framework", "mindspore")
    check_sums(outcome.out, 6)


def test_msrun(run_program, folder):
    run_program("mindspore_allreduce.py", [
        "msrun", "--worker_num={world_size}", "--local_worker_num={local_world_size}",
        "--master_addr={master_addr}", "--master_port={master_port}", "--node_rank={node_rank}", "--join=True",
        "--log_dir=log", "train.py"], "--per", "node")
    check_sums("".join(log.read_text() for log in folder.glob("log/worker_*.log")), 6)


@pytest.mark.parametrize("variable, name", [
    ("MS_ROLE=MS_SCHED", f"the scheduler on {address(1)}"), ("MS_NODE_ID=1", f"rank 1 on {address(2)}")])
def test_a_killed_process(start_program, variable, name):
    job = start_program("mindspore_allreduce.py", ["python", "train.py", FOREVER], "--framework", "mindspore",
                        "--grace", 5, changes=[("cpus: [0, 1]", "cpus: [0]")])
    job.await_lines(1)  # after the first sum
    os.kill(pid_with(variable), signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 128 + signal.SIGKILL
    assert f"error: {name} (pid " in outcome.err and "was ended by SIGKILL" in outcome.err
