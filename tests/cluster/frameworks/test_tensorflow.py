"""TensorFlow's programs."""

import re

import pytest

# gRPC would use the proxy to reach the other workers.
pytestmark = [pytest.mark.hosts(3, "--ranks 2"), pytest.mark.usefixtures("dead_proxy")]

PROGRAM = r"worker (\d) of 3: the loss fell, the weights are (\w{64})\n"


def test_a_worker_per_node(run_program):
    outcome = run_program("tensorflow_multiworker.py", ["python", "train.py"], "--framework", "tensorflow",
                          "--per", "node")
    found = sorted(re.findall(PROGRAM, outcome.out))
    assert [int(worker) for worker, _ in found] == [0, 1, 2], outcome.out
    assert len({weights for _, weights in found}) == 1
