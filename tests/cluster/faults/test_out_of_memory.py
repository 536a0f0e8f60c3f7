"""Processes that the kernel kills for want of memory."""

from pathlib import Path

import pytest
from hosts import address, agents_on
from jobs import own_name, python, seconds_until

SLOWER = 3
LITTLE = 256 << 10  # bytes: too little for anything
# Rank 5 goes into the cgroup once it is told to, and takes more than it may.
GREEDY = """
import os, sys, time
os.write(1, f'up {os.getpid()}\\n'.encode())
if os.environ['RANK'] == '5':
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.1)
    open(sys.argv[1], 'w').write(str(os.getpid()))
    taken = bytearray(100_000_000)
time.sleep(1000)
"""
# Writes more than its agent can keep without taking memory.
FLOOD = ["sh", "-c", "echo up $$; while [ ! -e \"$0\" ]; do sleep 0.1; done; exec cat /dev/zero"]


@pytest.fixture
def little_memory():
    """The file that puts a process into a cgroup that has little."""
    for place, limit in ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (Path("/sys/fs/cgroup"), "memory.max")):
        cgroup = place / own_name("memory")
        try:
            cgroup.mkdir()
        except OSError:
            continue
        try:
            (cgroup / limit).write_text(str(LITTLE))
            break
        except OSError:
            cgroup.rmdir()
    else:
        pytest.skip("no cgroup whose memory can be limited")
    if (cgroup / "memory.swap.max").exists():
        (cgroup / "memory.swap.max").write_text("0")
    procs = cgroup / "cgroup.procs"
    yield procs
    seconds_until(lambda: procs.read_text() == "", 5 * SLOWER)
    cgroup.rmdir()


def test_a_rank_is_told_from_one_that_somebody_killed(up, little_memory, folder):
    job, _ = up("--grace", "1", program=[*python(GREEDY), little_memory, folder / "greed"])
    (folder / "greed").touch()
    outcome = job.finish(limit=30)
    assert outcome.code == 137
    assert f"rank 5 on {address(3)}" in outcome.err
    # It has gone to a cgroup of which its agent knows nothing; the kernel's log has other pids than its host.
    assert "was ended by SIGKILL (since its start the kernel has killed there for want of memory)" in outcome.err, outcome.err


def test_an_agent_is_told_from_one_that_somebody_killed(up, little_memory, folder):
    job, _ = up("--grace", "1", program=[*FLOOD, folder / "flood"])
    [agent] = agents_on(3)
    little_memory.write_text(str(agent))
    (folder / "flood").touch()
    outcome = job.finish(limit=30)
    assert outcome.code == 125
    assert (f"node {address(3)} was lost: its agent was killed by SIGKILL, at a time at which the kernel killed for "
            "want of memory, and with it its ranks") in outcome.err, outcome.err[-2000:]
