"""One rank on each of 64 hosts."""

import pytest
from hosts import SPEC, address

pytestmark = pytest.mark.hosts(64)


def test_every_ranks_line_arrives(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE")
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"rank {rank} of 64"] for rank in range(64)}


def test_one_failure_ends_all_64(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c",
                       "[ $RANK = 63 ] && exit 3; exec sleep 1000")
    assert outcome.code == 3
    assert f"rank 63 on {address(64)}" in outcome.err
    assert "all others ended on SIGTERM" in outcome.err


def test_doctor_checks_64_hosts_within_seconds(autodist):
    assert autodist("run", "--spec", SPEC, "--", "true").code == 0  # installs the agent on all hosts
    outcome = autodist("doctor", "--spec", SPEC)
    assert outcome.code == 0, outcome.out
    assert outcome.out.count("✗") == 0 and "a run would start" in outcome.out
    assert outcome.seconds <= 15  # two to three on an idle machine
