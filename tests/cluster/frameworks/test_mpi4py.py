"""MPI programs in Python."""

import re

import pytest

pytestmark = pytest.mark.hosts(3, "--ranks 2")


def test_a_program(run_program):
    outcome = run_program("mpi4py_allreduce.py", ["python", "train.py"], "--framework", "mpi")
    found = sorted(re.findall(r"rank (\d) of 6: the sum is 15\n", outcome.out))
    assert found == list("012345"), outcome.out
