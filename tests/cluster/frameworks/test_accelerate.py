"""Accelerate's programs, started directly and by its launcher, and its own test scripts."""

import re

import pytest
from test_torch import whole_world

pytestmark = pytest.mark.hosts(3, "--ranks 2")

# On nodes without GPUs, Accelerate's ranks do not form a group unless CPUs are selected.
ON_CPUS = ["--env", "ACCELERATE_USE_CPU=true"]
TRAINED = r"rank (\d) of (\d), local rank (\d): 2880 examples, 1 models, the loss fell"
LAUNCH = ["accelerate", "launch", "--multi_gpu", "--num_machines={node_count}", "--machine_rank={node_rank}",
          "--main_process_ip={master_addr}", "--main_process_port={master_port}", "--num_processes={world_size}"]


def check_training(outcome):
    found = re.findall(TRAINED, outcome.out)
    assert sorted(tuple(map(int, ranks)) for ranks in found) == whole_world((2, 2, 2)), outcome.out


def test_a_program(run_program):
    check_training(run_program("accelerate_train.py", ["python", "train.py"], *ON_CPUS))


def test_launch(run_program):
    check_training(run_program("accelerate_train.py", [*LAUNCH, "train.py", "--cpu"], "--per", "node"))


# Its own scripts that need no GPUs.


@pytest.mark.parametrize("script", ["test_ops", "test_sync"])
def test_a_bundled_script(run_program, script):
    run_program("accelerate_train.py", ["python", "-m", f"accelerate.test_utils.scripts.{script}"], *ON_CPUS)


def test_a_bundled_script_for_two_ranks(run_program, one_and_one):
    run_program("accelerate_train.py", ["python", "-m", "accelerate.test_utils.scripts.test_script"], *ON_CPUS,
                changes=one_and_one)
