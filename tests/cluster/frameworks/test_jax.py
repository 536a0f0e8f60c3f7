"""JAX's programs."""

import re

import pytest

# gRPC would use the proxy to reach the other processes.
pytestmark = [pytest.mark.hosts(3, "--ranks 2"), pytest.mark.usefixtures("dead_proxy")]

PROGRAM = r"process (\d) of (\d): (\d) devices, the sum is (\d+)\n"


def found_in(outcome):
    return sorted(tuple(map(int, found)) for found in re.findall(PROGRAM, outcome.out))


def test_a_process_per_device(run_program):
    outcome = run_program("jax_psum.py", ["python", "train.py"], "--framework", "jax")
    assert found_in(outcome) == [(process, 6, 6, 15) for process in range(6)], outcome.out


def test_a_process_per_node(run_program):
    outcome = run_program("jax_psum.py", ["python", "train.py"], "--framework", "jax", "--per", "node")
    assert found_in(outcome) == [(process, 3, 3, 3) for process in range(3)], outcome.out
