"""autodist run --sync from host 1, which is no node: it sends the files once, and host 2 passes them on."""

import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from hosts import SPEC, address, heal, in_host, on_host
from jobs import processes, seconds_until
from outside import NODES, inner

OTHERS = (3, 4)
SIZE = 30_000_000
AGENT_S = 90  # more than agent/sync/sync.h waits for a silent chief
WORK = Path("/tmp/outside-sync")  # each host has its own
LIST = (f"cd {WORK} && find . -mindepth 1 -name .autodist-sync -o -type f -printf '%y %m %s %T@ %p\\n' -o "
        "-type d -printf '%y %m %p\\n' -o -type l -printf '%y %l %p\\n' | LC_ALL=C sort && "
        "find . -type f ! -name .autodist-sync -exec md5sum {} + | LC_ALL=C sort")
SUMMARY = re.compile(r"autodist: (synced: .*)\n")


@pytest.fixture
def work():
    WORK.mkdir()
    for i in range(30):
        (WORK / f"part{i % 3}").mkdir(exist_ok=True)
        (WORK / f"part{i % 3}" / f"{i}.bin").write_bytes(os.urandom(SIZE // 30))
    (WORK / "empty").touch(mode=0o600)
    (WORK / "run.sh").write_text("cat part1/1.bin | md5sum\n")
    (WORK / "run.sh").chmod(0o755)
    os.utime(WORK / "run.sh", ns=(1, 1_234_567_890_123_456_789))
    (WORK / "link").symlink_to("part1/1.bin")
    yield WORK
    shutil.rmtree(WORK)
    for host in NODES:
        on_host(host, f"rm -rf {WORK}")


@pytest.fixture
def nearby(folder):
    """A spec of the nodes without a jump host."""
    first, chief, *nodes = SPEC.read_text().partition("ssh:\n")[0].split("  - ")
    assert "chief: true" in chief
    path = folder / "nearby.yaml"
    path.write_text(first + "".join(f"  - {node}" for node in nodes) + "ssh:\n" +
                    SPEC.read_text().partition("ssh:\n")[2])
    return path


@pytest.fixture
def sync(start, folder, work):
    def run(spec, *options, program=("true",)):
        return start("run", "--spec", spec, "--workdir", work, "--log-dir", folder / "logs", "--sync", *options, "--",
                     *program, cwd=work)
    return run


def sent():
    """Bytes that this host has sent."""
    [line] = [line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("eth0:")]
    return int(line.split(":")[1].split()[8])


def listing(host):
    return in_host(host, "sh", "-c", LIST)


def assert_the_same_everywhere():
    for host in NODES:
        assert listing(host) == listing(1), host


def ports(host):
    """Agents with an open port."""
    return [int(pid) for pid in re.findall(r'"autodist-\w+",pid=(\d+)', in_host(host, "ss", "-Hltnp"))]


def test_the_files_are_sent_once(start, sync, outside):
    # Installs the agent on each node.
    assert start("run", "--spec", outside, "--workdir", "/", "--", "true").finish().code == 0
    before = sent()
    outcome = sync(outside, program=("sh", "run.sh")).finish()
    assert outcome.code == 0, outcome.err
    assert len({line for lines in outcome.lines().values() for line in lines}) == 1
    assert SIZE < sent() - before < 1.3 * SIZE
    assert re.fullmatch(r"synced: 32 files, 30 MB sent once, passed on to 2 nodes in [\d.]+ s", SUMMARY.search(outcome.err)[1])
    assert_the_same_everywhere()

    before = sent()
    outcome = sync(outside).finish()
    assert outcome.code == 0 and SUMMARY.search(outcome.err)[1] == "synced: nothing to send"
    assert sent() - before < SIZE / 10

    # A file missing on one node only is not sent from here; a file with only a new time is not sent at all.
    on_host(3, f"rm {WORK}/part1/1.bin")
    os.utime(WORK / "part2" / "2.bin")
    before = sent()
    outcome = sync(outside).finish()
    assert re.match("synced: 1 file, 1.0 MB passed on to 1 node in ", SUMMARY.search(outcome.err)[1])
    assert sent() - before < SIZE / 10
    assert_the_same_everywhere()
    assert not ports(2)


def test_direct_topology(sync, outside):
    before = sent()
    outcome = sync(outside, "--sync-topology", "direct").finish()
    assert outcome.code == 0, outcome.err
    assert 3 * SIZE < sent() - before < 3.6 * SIZE
    assert re.match(r"synced: 32 files, 30 MB sent to 3 nodes in ", SUMMARY.search(outcome.err)[1])
    assert_the_same_everywhere()


@pytest.mark.parametrize("verdict", ["drop", "reject with tcp reset"], ids=["drop", "reject"])
def test_a_node_that_cannot_reach_the_first_gets_files_from_the_chief(sync, outside, verdict):
    on_host(2, "nft add table inet test && nft 'add chain inet test in { type filter hook input priority 0; }' && "
               f"nft 'add rule inet test in ip saddr {inner(4)} tcp flags & (syn | ack) == syn {verdict}'")
    try:
        before = sent()
        outcome = sync(outside).finish()
        assert outcome.code == 0, outcome.err
        assert 2 * SIZE < sent() - before < 2.5 * SIZE
    finally:
        on_host(2, "nft delete table inet test")
    assert re.fullmatch(r"synced: 32 files, 30 MB sent to 2 nodes, passed on to 1 node in [\d.]+ s; "
                        "1 node could not get all files from the first node, and got them from here",
                        SUMMARY.search(outcome.err)[1])
    assert outcome.err.count("could not get") == 1 and "WARN" not in outcome.err
    assert_the_same_everywhere()


def slow(host, rate="20mbit"):
    """Limits the bandwidth of the host's outgoing traffic."""
    in_host(host, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "400ms")


def fast(host):
    in_host(host, "tc", "qdisc", "del", "dev", "eth0", "root")


def await_parts(job, host):
    """Waits until a file is being received by the host."""
    limit = time.monotonic() + 20
    while not in_host(host, "sh", "-c", f"find {WORK} -name '.autodist-sync-*' 2>/dev/null || true"):
        assert time.monotonic() < limit and job.process.poll() is None, job.err
        time.sleep(0.01)


def test_the_first_node_is_disconnected_while_it_passes_files_on(sync, nearby, cut):
    """The others get the files from the chief; without the first node the job fails."""
    slow(2)
    try:
        job = sync(nearby, "--lease", "2")
        await_parts(job, 3)
        cut(2)
        outcome = job.finish()
    finally:
        fast(2)
    assert outcome.code == 125
    assert f"  {address(2)}:\n    copying the working directory: " in outcome.err, outcome.err
    assert f"  {address(3)}:" not in outcome.err
    for host in OTHERS:
        assert listing(host) == listing(1), host
    heal(2)
    seconds_until(lambda: not processes(), AGENT_S)


def test_the_first_agent_is_killed_while_it_passes_files_on(sync, nearby):
    slow(2)
    try:
        job = sync(nearby)
        await_parts(job, 3)
        [agent] = ports(2)
        os.kill(agent, signal.SIGKILL)
        outcome = job.finish()
    finally:
        fast(2)
    assert outcome.code == 125, outcome.err
    for host in OTHERS:
        assert listing(host) == listing(1), host


def test_ctrl_c_while_files_are_passed_on(sync, nearby):
    slow(2)
    try:
        job = sync(nearby)
        await_parts(job, 3)
        job.interrupt()
        outcome = job.finish(limit=10)
    finally:
        fast(2)
    assert outcome.code == 130
    for host in NODES:
        assert "autodist-sync" not in listing(host)
    assert not ports(2)
