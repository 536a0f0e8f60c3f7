"""One home folder on all hosts, as with NFS."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hosts import SPEC, address, entering, in_host
from jobs import AUTODIST, processes

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


def test_commands_reach_a_chief_for_which_the_spec_has_no_login(start, spec, sshd, folder):
    """Host 2 gets there as its ssh is configured."""
    state = folder / "state"
    state.mkdir(mode=0o700)
    server = sshd(1, SetEnv=f"XDG_STATE_HOME={state} XDG_RUNTIME_DIR={os.environ['XDG_RUNTIME_DIR']}")
    path = spec((f"address: {address(1)}\n", "address: host1\n"))
    job = start("run", "--spec", path, "--grace", "1", "--", "sh", "-c", "echo up; exec sleep 1000", env={"XDG_STATE_HOME": state})
    job.await_lines(8)

    def on_host_2(*words):
        return subprocess.run(entering(2, [
            "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", folder, "env", "-u", "XDG_RUNTIME_DIR", f"XDG_STATE_HOME={state}",
            f"AUTODIST_SPEC={path}", AUTODIST, *words]), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    in_host(2, "sh", "-c", f"printf 'Host host1\n  Port {server.port}\n  HostKeyAlias host1\n' > ~/.ssh/config")
    try:
        for words, expected in ((["status"], r"state +running"), (["logs"], r"\[\S+:\d\] up"), (["status", "--chief-on", "host1"], r"state +running"),
                                (["stop"], "has ended with exit code 143")):
            outcome = on_host_2(*words)
            assert outcome.returncode == 0 and re.search(expected, outcome.stdout + outcome.stderr), (words, outcome)
            assert "is gone" not in outcome.stderr
    finally:
        in_host(2, "rm", Path.home() / ".ssh/config")
    assert job.finish().code == 143
