"""PyTorch's programs, on IPv4 and on IPv6 hosts."""

import re

import pytest

pytestmark = pytest.mark.hosts(3, "--ranks 2")

TRAINED = r"rank (\d) of (\d), local rank (\d): (\d) models became 1, the loss fell"


def whole_world(ranks_of_hosts):
    """(rank, world size, local rank) of all ranks."""
    ranks = [local for count in ranks_of_hosts for local in range(count)]
    return [(rank, len(ranks), local) for rank, local in enumerate(ranks)]


def check_training(outcome, folder, ranks_of_hosts=(2, 2, 2)):
    found = sorted(tuple(map(int, ranks)) for ranks in re.findall(TRAINED, outcome.out))
    assert found == [(*place, sum(ranks_of_hosts)) for place in whole_world(ranks_of_hosts)], outcome.out
    assert [path.name for path in folder.glob("*.pt")] == ["checkpoint.pt"]


@pytest.fixture
def torchrun(python):
    """The command that starts the ranks of a node."""
    if python == "python":
        return ["torchrun"]
    # Debian's default of --redirects fails with Python 3.11; naming a rank that does not exist avoids it.
    return [python, "-m", "torch.distributed.run", "--redirects=9:1", "--tee=9:1"]


@pytest.mark.smoke
def test_a_program(run_program, folder, python):
    check_training(run_program("torch_ddp.py", [python, "train.py"]), folder)


def test_torchrun(run_program, folder, torchrun):
    check_training(run_program("torch_ddp.py", [*torchrun, "train.py"], "--per", "node"), folder)


def test_host_names_of_loopback(run_program, folder, python, names_of_loopback):
    check_training(run_program("torch_ddp.py", [python, "train.py"]), folder)


def test_torchrun_with_host_names_of_loopback(run_program, folder, torchrun, names_of_loopback):
    check_training(run_program("torch_ddp.py", [*torchrun, "train.py"], "--per", "node"), folder)


def test_two_ranks_and_one(run_program, folder, python, two_and_one):
    outcome = run_program("torch_ddp.py", [python, "train.py"], changes=two_and_one)
    check_training(outcome, folder, ranks_of_hosts=(2, 1))


def test_torchrun_with_two_ranks_and_one(run_program, folder, torchrun, two_and_one):
    outcome = run_program("torch_ddp.py", [*torchrun, "train.py"], "--per", "node", changes=two_and_one)
    check_training(outcome, folder, ranks_of_hosts=(2, 1))
