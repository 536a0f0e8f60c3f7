"""A PyTorch program that reads its rank from the environment itself."""

import re

import pytest
from test_torch import whole_world

pytestmark = pytest.mark.hosts(3, "--ranks 2")


def test_ranks_read_by_hand(run_program, folder):
    outcome = run_program("torch_by_hand.py", ["python", "train.py"])
    found = re.findall(r"rank (\d) of (\d), local rank (\d): each example was seen 2 to 2 times", outcome.out)
    assert sorted(tuple(map(int, ranks)) for ranks in found) == whole_world((2, 2, 2))
    assert sorted(path.name for path in folder.glob("*.pth")) == [f"model-host{host}.pth" for host in (1, 2, 3)]
