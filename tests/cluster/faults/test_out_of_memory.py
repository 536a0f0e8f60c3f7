"""Processes that the kernel kills because memory runs out."""

from pathlib import Path

import pytest
from hosts import address, agents_on
from jobs import own_name, python, seconds_until

SLOWER = 3
LITTLE = 256 << 10  # bytes: too little for any process
# Rank 5 enters the cgroup when the file exists, and exceeds the limit.
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
# Writes more than its agent can keep without allocating memory.
FLOOD = ["sh", "-c", "echo up $$; while [ ! -e \"$0\" ]; do sleep 0.1; done; exec cat /dev/zero"]


@pytest.fixture
def little_memory():
    """The file that puts a process into a cgroup with little memory."""
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


def test_an_oom_kill_of_a_rank_is_distinguished_from_other_kills(up, little_memory, folder):
    job, _ = up("--grace", "1", program=[*python(GREEDY), little_memory, folder / "greed"])
    (folder / "greed").touch()
    outcome = job.finish(limit=30)
    assert outcome.code == 137
    assert f"rank 5 on {address(3)}" in outcome.err
    # The agent does not know the cgroup that the rank entered, and the kernel's log has pids of another
    # namespace.
    assert ("was ended by SIGKILL, not by autodist; the kernel's out-of-memory killer was active on the node"
            in outcome.err), outcome.err


def test_an_oom_kill_of_an_agent_is_distinguished_from_other_kills(up, little_memory, folder):
    job, _ = up("--grace", "1", program=[*FLOOD, folder / "flood"])
    [agent] = agents_on(3)
    little_memory.write_text(str(agent))
    (folder / "flood").touch()
    outcome = job.finish(limit=30)
    assert outcome.code == 125
    assert (f"{address(3)} is lost: its agent was killed by SIGKILL while the kernel's out-of-memory killer "
            "was active, and all that it had started ended with it") in outcome.err, outcome.err[-2000:]
