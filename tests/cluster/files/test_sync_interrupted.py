"""autodist run --sync on eight hosts, interrupted half way."""

import os
import signal
import time
from pathlib import Path

import pytest
from copies import (OTHERS, PARTS, WORK, agent_on, assert_nothing_torn, await_no_process,
                    await_part, listing, make_tree, on_chief, sshd_of_agent_on)
from hosts import address, in_host, on_host

pytestmark = pytest.mark.hosts(8)


def test_ctrl_c_half_way(start_sync, sync, work):
    make_tree(work)
    before = listing(1)
    job = start_sync()
    job.interrupt()
    outcome = job.finish(limit=10)
    assert outcome.code == 130 and outcome.out == ""
    assert listing(1) == before
    counts = assert_nothing_torn(work)
    assert min(counts) < 1000 and max(counts) > 0
    assert "".join(on_host(host, PARTS) for host in OTHERS) == ""
    assert sync().code == 0
    for host in OTHERS:
        assert listing(host) == before


def test_a_killed_agent_half_way(start_sync, sync, work):
    make_tree(work, files=1, size=80_000_000)
    before = listing(1)
    job = start_sync()
    await_part(5)
    agent, _ = agent_on(5)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 125 and outcome.out == ""
    assert f"  {address(5)}:\n    copying the working directory: " in outcome.err
    assert "hint: run it again: files that are complete there are not sent again" in outcome.err
    assert assert_nothing_torn(work) == [1, 1, 1, 0, 1, 1, 1]
    assert on_host(5, PARTS) != ""
    assert sync().code == 0
    for host in OTHERS:
        assert listing(host) == before


@pytest.fixture
def small_buffers():
    """Small buffers from this host to host 5, so that packets are sent in parts."""
    sizes = {1: "tcp_wmem", 5: "tcp_rmem"}
    before = {host: in_host(host, "cat", f"/proc/sys/net/ipv4/{name}") for host, name in sizes.items()}

    def write(values):
        for host, name in sizes.items():
            in_host(host, "sh", "-c", f"echo {values[host]} >/proc/sys/net/ipv4/{name}")
    write(dict.fromkeys(sizes, "4096 4096 4096"))
    yield
    write(before)


def unsent(host):
    """Bytes for a host that connections on this host hold back."""
    peer = "".join(f"{int(part):02X}" for part in reversed(address(host).split(".")))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(line[4].split(":")[0], 16) for line in lines if line[2].startswith(f"{peer}:"))


def stop_while_something_is_on_its_way(sshd, host):
    """Stops an sshd that reads from here at a moment when bytes are held back."""
    for _ in range(50):
        os.kill(sshd, signal.SIGSTOP)
        time.sleep(0.3)
        if unsent(host):
            return
        # All bytes that the window allowed had arrived.
        os.kill(sshd, signal.SIGCONT)
        time.sleep(0.01)
    raise AssertionError("nothing is ever held back")


def test_a_partly_sent_packet_delays_no_other_node(start_sync, work, small_buffers):
    make_tree(work, files=1, size=80_000_000)
    job = start_sync("--lease", "5", "--grace", "1")
    await_part(5)
    sshd = sshd_of_agent_on(5)
    stop_while_something_is_on_its_way(sshd, 5)
    held = seconds = 0
    while not held or held != unsent(5):
        held, seconds = unsent(5), seconds + 0.2
        assert seconds < 20
        time.sleep(0.2)
    job.interrupt()
    outcome = job.finish(limit=30)
    os.kill(sshd, signal.SIGCONT)
    assert outcome.code == 130
    await_no_process()


def test_a_connection_that_breaks_half_way(start_sync, sync, work):
    make_tree(work, files=1, size=80_000_000)
    before = listing(1)
    job = start_sync("--lease", "1")
    await_part(6)
    os.kill(sshd_of_agent_on(6), signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"  {address(6)}:\n    copying the working directory: " in outcome.err
    await_no_process()
    assert on_host(6, f"cd {WORK} && find . -type f") == ""
    assert sync().code == 0
    for host in OTHERS:
        assert listing(host) == before


def test_a_killed_chief_half_way(start_sync, sync, work):
    make_tree(work, files=1, size=80_000_000)
    job = start_sync("--lease", "1", "--grace", "1")
    job.interrupt(signal.SIGKILL)
    job.finish()
    await_no_process()
    assert "".join(on_host(host, PARTS) for host in OTHERS) == ""
    assert on_chief(PARTS) != ""  # the nodes have partial files of the folder
    assert sync().code == 0
    assert on_chief(PARTS) == ""
    for host in OTHERS:
        assert listing(host) == listing(1)
