"""Another user has created the folder in /tmp in which a user's agents have their sockets."""

import os
import signal

import pytest
from hosts import SPEC, address, in_host, kill_all, sshd_sessions
from jobs import processes, seconds_until

HOSTS = (1, 2, 3, 4)
IN_HOME = "ls -d ~/.cache/autodist/on-*/* 2>/dev/null || true"
OTHERS = {
    "folder": "install -d -o nobody -m 755 /tmp/autodist-0 /tmp/autodist-0/20261120-173000-3fa9c1.1",
    "link": "install -d -o nobody -m 700 /tmp/others && ln -s /tmp/others /tmp/autodist-0",
    "file": "touch /tmp/autodist-0",
}


@pytest.fixture(params=OTHERS)
def taken(request):
    for host in HOSTS:
        in_host(host, "sh", "-c", OTHERS[request.param])
    yield
    for host in HOSTS:
        in_host(host, "sh", "-c", "rm -rf /tmp/autodist-0 /tmp/others")


def folders(host):
    return in_host(host, "sh", "-c", IN_HOME).split()


def test_a_job_uses_the_home_folders(taken, up, autodist):
    job, _ = up("--grace", "1", program=["sh", "-c", "echo up $$; exec sleep 1000"])
    for host in HOSTS:
        assert len(folders(host)) >= 1
    os.kill(job.process.pid, signal.SIGKILL)
    job.finish()
    outcome = autodist("clean", "--spec", SPEC)
    assert outcome.code == 0, outcome.err
    assert [f"{address(host)}: ended job" in outcome.out for host in HOSTS] == [True] * 4, outcome.out
    assert [folders(host) for host in HOSTS] == [[]] * 4
    seconds_until(lambda: not processes(), 5)  # a relay ends after its agent


def test_a_job_reconnects_after_a_disconnection(taken, up, cut):
    job, _ = up("--grace", "1", "--lease", "30", program=["sh", "-c", "echo up $$; exec sleep 1000"])
    kill_all(sshd_sessions(3))
    job.await_err(f"{address(3)}: connected again", 20)
    job.interrupt()
    assert job.finish().code == 130
    seconds_until(lambda: not folders(3), 5)


def test_both_folders_are_taken(autodist):
    in_host(3, "sh", "-c", OTHERS["folder"])
    in_host(3, "sh", "-c", "mv ~/.cache/autodist ~/.cache/put-aside; mkdir -p ~/.cache/autodist; "
                           "touch ~/.cache/autodist/on-$(uname -n | cut -d. -f1)")
    try:
        outcome = autodist("run", "--spec", SPEC, "--", "true")
    finally:
        in_host(3, "sh", "-c", "rm -rf /tmp/autodist-0 ~/.cache/autodist; mv ~/.cache/put-aside ~/.cache/autodist")
    assert outcome.code == 125
    assert "exists but is not a private folder of this user\n    hint: remove it" in outcome.err, outcome.err
