"""Diagnoses of `autodist why` for jobs on several nodes."""

import contextlib
import json
import os
import re
import subprocess

import pytest
from control_groups import limits
from hosts import SPEC, _at_the_bridge, address, heal, in_host, start_in_host
from jobs import BUILD, seconds_until

RANKS = 8
WRONG = 3
START_LIMIT_S = 60
SHOWS_LIMIT_S = 60  # until slowness shows in the samples
SMALL_DISK = 16 << 20   # bytes; the checkpoint is larger
SMALL_MEMORY = 16 << 20
READ = 24 << 20  # bytes of a file that is larger than the memory limit
SMALL_QUOTA = 0.2  # of a core
SLOW_CARD = "8mbit"
SHOWN = 50  # samples in a row
# Answers once; its host is disconnected before the next answer.
PEER = """
import socket, sys
server = socket.create_server(("", 0))
open(sys.argv[1], "w").write(str(server.getsockname()[1]))
peer, _ = server.accept()
while peer.recv(4):
    peer.send(b"x")
    open(sys.argv[2], "w").close()
"""


def begin(start, folder, *command):
    """Starts a detached job; returns its name once all ranks have written output."""
    err = start("run", "--detach", "--spec", SPEC, "--sample-interval", 0.5, "--", *command, cwd=folder).finish().err
    job = re.search(r"job (\S+) is running", err)[1]
    logs = folder / "autodist-runs" / job
    seconds_until(lambda: all((logs / f"rank-{rank}.out").read_text() for rank in range(RANKS)), START_LIMIT_S)
    return job


def why(autodist, job):
    """(what is wrong, the whole issue)."""
    outcome = autodist("why", job, "--json")
    assert outcome.code == WRONG, outcome.out + outcome.err
    issue = json.loads(outcome.out)["issue"]
    assert all(one["source"] and one["value"] for one in issue["evidence"])
    return issue["what"], issue


def until_named(autodist, job, words):
    """The first diagnosis with these words: slowness takes a while to show in the samples."""
    says = []

    def named():
        says.append(autodist("why", job, "--json"))
        return says[-1].code == WRONG and words in says[-1].out
    seconds_until(named, SHOWS_LIMIT_S, lambda: [one.out[:300] for one in says])
    issue = json.loads(says[-1].out)["issue"]
    return issue["what"], issue


@pytest.fixture
def job(start, autodist, folder):
    """Starts a job with a command, and stops it after the test."""
    jobs = []

    def run(*command, cwd=folder):
        jobs.append(begin(start, cwd, BUILD / "standstill", *command))
        return jobs[-1]
    yield run
    for one in jobs:
        assert autodist("stop", "--now", one).code == 0


@pytest.fixture
def group():
    """Creates a control group that is removed after the job: group(controller, settings...)."""
    groups = []

    def make(*arguments):
        groups.append(limits(*arguments))
        return groups[-1]
    yield make
    for one in groups:
        seconds_until(lambda one=one: (one / "cgroup.procs").read_text() == "", SHOWS_LIMIT_S)
        one.rmdir()


MISSING = rf"rank 2 \({re.escape(address(2))}\) has not entered the all-reduce in which the 7 others wait; it "


def test_a_deadlock_in_cpp_under_gloo(autodist, job):
    what, _ = until_named(autodist, job("deadlock"), "waits for a lock")
    assert re.match(MISSING + "waits for a lock in .*LockBoth", what), what


def test_an_unresponsive_node(autodist, job, cut):
    running = job("deadlock")
    cut(3)
    seconds_until(lambda: "reconnecting" in autodist("status", running).out, 30)
    what, issue = why(autodist, running)
    assert what == f"{address(3)} does not answer, with ranks 4-5"
    assert issue["kind"] == "disconnected" and issue["nodes"] == [2]
    heal(3)


@pytest.fixture
def lose_port():
    """Drops only packets from one TCP port of any host."""
    ports = []

    def lose(port):
        ports.append(port)
        _at_the_bridge("add table bridge whyport",
                       "add chain bridge whyport forward { type filter hook forward priority 0; }",
                       f"add rule bridge whyport forward tcp sport {port} drop",
                       f"add rule bridge whyport forward tcp dport {port} drop")
    yield lose
    if ports:
        _at_the_bridge("delete table bridge whyport")


def test_the_socket_of_a_dead_peer(autodist, job, folder, lose_port):
    port, answered = folder / "port", folder / "answered"
    peer = start_in_host(4, "/usr/bin/python3", "-c", PEER, port, answered)
    try:
        seconds_until(lambda: port.exists() and port.read_text(), START_LIMIT_S)
        running = job("socket", address(4), port.read_text())
        seconds_until(answered.exists, START_LIMIT_S)
        lose_port(port.read_text())
        what, issue = why(autodist, running)
    finally:
        peer.kill()
        peer.wait()
    peer_name = re.escape(f"{address(4)}:{port.read_text()}")
    assert re.match(MISSING + rf"waits at a socket in .*AskPeer.*, for {peer_name}, which does not answer: what it has "
                    r"sent was sent again \d+ times", what), what
    assert issue["ranks"] == [2]


def test_a_full_disk(autodist, job, folder):
    """The working directory of rank 2's host is small; a checkpoint never fits."""
    in_host(2, "mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", folder)
    try:
        running = job("disk", "checkpoint")
        what, _ = until_named(autodist, running, "full")
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            in_host(2, "umount", "-l", folder)
    # It may have been writing at that moment.
    assert re.search(rf"(^|; ){re.escape(address(2))}: the disk of the working directory is full but for \d", what), what


def test_a_rank_at_its_memory_limit(autodist, folder, group, job):
    limited = group("memory", {"memory.limit_in_bytes": SMALL_MEMORY}, {"memory.high": SMALL_MEMORY})
    data = folder / "data"
    data.write_bytes(os.urandom(READ))
    running = job("memory", limited / "cgroup.procs", data)
    what, issue = until_named(autodist, running, "memory limit")
    assert re.search(rf"rank 2 \({re.escape(address(2))}\) is held back at the memory limit of the control group, "
                     "16.0 MiB$", what), what
    assert issue["ranks"] == [2]


def test_a_cpu_that_is_slowed(autodist, group, job):
    quota = int(SMALL_QUOTA * 100_000)
    limited = group("cpu", {"cpu.cfs_quota_us": quota}, {"cpu.max": f"{quota} 100000"})
    running = job("cpu", limited / "cgroup.procs")
    what, issue = until_named(autodist, running, "control group")
    assert what == (f"rank 2 ({address(2)}) is slow: its control group may use 0.2 cores at most, which it uses up")
    assert issue["ranks"] == [2] and issue["kind"] == "slow"


def has_queue(host):
    """Whether data waits to be sent."""
    return re.search(r"backlog (\w+)b", in_host(host, "tc", "-s", "qdisc", "show", "dev", "eth0"))[1] != "0"


def test_a_throttled_network_card(autodist, job):
    # The queue drops part of a large packet, which is lost packets instead.
    in_host(3, "ip", "link", "set", "dev", "eth0", "gso_max_segs", "1")
    running = job("network")
    in_host(3, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", SLOW_CARD, "burst", "32kbit", "limit", "1mb")
    try:
        # Collecting stacks stops the ranks for a moment, which empties the queue.
        seconds_until(lambda: all(has_queue(3) for _ in range(SHOWN)), SHOWS_LIMIT_S)
        what, issue = until_named(autodist, running, "more waits to be sent")
    finally:
        in_host(3, "tc", "qdisc", "del", "dev", "eth0", "root")
        in_host(3, "ip", "link", "set", "dev", "eth0", "gso_max_segs", "65535")
    assert re.fullmatch(rf"{re.escape(address(3))}: its network interface eth0 is slow: it sends \S+ [kM]bit/s, and "
                        "more waits to be sent", what), what
    assert issue["nodes"] == [2]
