"""Programs of other users on a node are not run, and created files have the expected modes."""

import hashlib

import pytest
from hosts import SHARED, SPEC, address, in_host, on_host
from jobs import AUTODIST, BUILD

UNPRIVILEGED_ID = 65534
IN_TMP = "/tmp/autodist-agent-0"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def trap(folder):
    """A folder of another user on host 3 with the agent's name and a program in it. Returns the file that
    exists if the program was run."""
    ran = folder / "ran"
    agent = folder / "agent"
    agent.write_text(f"#!/bin/sh\nid -u > {ran}\n")
    agent.chmod(0o755)

    def lay(*versions):
        on_host(3, f"mkdir -p {IN_TMP}; chown {UNPRIVILEGED_ID} {IN_TMP}")
        for version in versions:
            on_host(3, f"mkdir {IN_TMP}/{version}; ln -s {agent} {IN_TMP}/{version}/autodist-agent")
        return ran
    on_host(3, "mv ~/.cache/autodist ~/.cache/put-aside || true")
    yield lay
    on_host(3, f"rm -rf {IN_TMP} ~/.cache/autodist; mv ~/.cache/put-aside ~/.cache/autodist || true")


def test_clean_runs_nothing_of_another_user(autodist, trap):
    ran = trap("aaa", "bbb", sha256(BUILD / "autodist-agent"))
    outcome = autodist("clean", "--spec", SPEC)
    assert outcome.code == 0 and f"{address(3)}: no agent there" in outcome.out, outcome.out + outcome.err
    assert not ran.exists()


def test_run_installs_an_agent_and_does_not_run_that_of_another_user(autodist, trap):
    ran = trap(sha256(BUILD / "autodist-agent"))
    outcome = autodist("run", "--spec", SPEC, "--", "true")
    assert outcome.code == 0, outcome.err
    assert not ran.exists()
    assert on_host(3, "ls ~/.cache/autodist/agent/*/autodist-agent").strip()


def test_clean_uses_an_agent_of_another_version(autodist, trap):
    ran = trap("aaa")
    assert autodist("run", "--spec", SPEC, "--", "true").code == 0
    on_host(3, "cd ~/.cache/autodist/agent && mv * of-another-version")
    outcome = autodist("clean", "--spec", SPEC)
    assert outcome.code == 0 and "no agent there" not in outcome.out, outcome.out + outcome.err
    assert not ran.exists()


def test_ranks_have_the_umask_of_a_login(autodist, trap, folder):
    """Host 3 has no agent in the first run, and has one in the second."""
    bashrc = SHARED / "host3" / "bashrc"
    for mask in ("0022", "0027", "0002"):
        on_host(3, "rm -rf ~/.cache/autodist")
        bashrc.write_text(f"umask {mask}\n")
        try:
            assert on_host(3, "umask").strip() == mask
            for _ in range(2):
                outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c", "umask")
                assert outcome.code == 0, outcome.err
                assert outcome.lines()[4] == outcome.lines()[5] == [mask]
            state = on_host(3, "find ~/.cache/autodist -perm /077 | wc -l").strip()
            assert state == "0"
        finally:
            bashrc.write_text("")


def test_the_state_of_a_running_agent_is_private(up, folder):
    job, _ = up(program=["sh", "-c", "echo up $$; while [ ! -e \"$0\" ]; do sleep 0.1; done", folder / "end"])
    open_to_others = in_host(3, "find", "/tmp/autodist-0", "-perm", "/077")
    (folder / "end").touch()
    assert job.finish().code == 0
    assert open_to_others == ""
