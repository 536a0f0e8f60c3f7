"""One home folder on all hosts, as with NFS."""

from pathlib import Path

import pytest
from hosts import SPEC, in_host
from jobs import processes

pytestmark = pytest.mark.hosts(8)

HOSTS = range(1, 9)


@pytest.fixture
def shared_home(folder):
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    for host in HOSTS:
        in_host(host, "mount", "--bind", cache, Path.home() / ".cache")
    yield cache
    for host in HOSTS:
        in_host(host, "umount", Path.home() / ".cache")


def test_first_contact(start, shared_home):
    """No host has an agent, and all install one at the same time."""
    outcome = start("run", "--spec", SPEC, "--", "sh", "-c", "echo rank $RANK").finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"rank {rank}"] for rank in range(8)}
    [place] = (shared_home / "autodist" / "agent").iterdir()
    assert [file.name for file in place.iterdir()] == ["autodist-agent"]
    assert not processes()
    assert start("run", "--spec", SPEC, "--", "true").finish().code == 0
    assert start("clean", "--spec", SPEC).finish().out == "cleaned 8 nodes\n"
