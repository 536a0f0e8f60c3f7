"""Lightning: its Trainer uses the ranks that autodist starts, or starts its machine's ranks itself."""

import re

import pytest
from test_torch import whole_world

pytestmark = pytest.mark.hosts(3, "--ranks 2")

# 960 examples are 60 batches, 15 for each rank.
FITTED = r"rank (\d) of (\d), local rank (\d): 180 steps, the loss fell"


def check_fit(outcome):
    found = re.findall(FITTED, outcome.out)
    assert sorted(tuple(map(int, ranks)) for ranks in found) == whole_world((2, 2)), outcome.out


def test_a_program(run_program, two_hosts):
    check_fit(run_program("lightning_fit.py", ["python", "train.py"], changes=two_hosts))


def test_a_program_per_node(run_program, two_hosts):
    check_fit(run_program("lightning_fit.py", ["python", "train.py"], "--per", "node", changes=two_hosts))
