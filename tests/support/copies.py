"""Copies of autodist run --sync, and the processes that copy. Each host has its own /tmp; SHARED is the same
on all."""

import os
import subprocess
import time
from pathlib import Path

from hosts import SHARED, listening_sshd, on_host, parent
from jobs import processes

OTHERS = range(2, 9)
WORK = Path("/tmp/sync-test")
# What a copy must have in common with the original.
OWN = "-name autodist-runs -prune -o -name .autodist-sync"
LIST = (f"cd {WORK} && find . {OWN} -o -type f -printf '%y %m %s %T@ %p\\n' -o "
        "-type d -printf '%y %m %p\\n' -o -type l -printf '%y %l %p\\n' | LC_ALL=C sort && "
        f"find . {OWN} -o -type f -exec md5sum {{}} + | LC_ALL=C sort")
# Files that have not arrived completely.
PARTS = f"[ ! -e {WORK} ] || find {WORK} -name '.autodist-sync-*'"


def on_chief(command):
    return subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.PIPE, text=True).stdout


def listing(host):
    return on_chief(LIST) if host == 1 else on_host(host, LIST)


def make_tree(folder, files=1000, size=200_000):
    for i in range(files):
        path = folder / f"part{i % 20}" / f"{i}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(size))


def assert_nothing_torn(folder):
    """Checks that every file on a host is complete. Returns the number of files for each host."""
    sums = SHARED / "md5sums"
    sums.write_text(on_chief(f"cd {folder} && find . -name autodist-runs -prune -o -type f -exec md5sum {{}} +"))
    counts = []
    for host in OTHERS:
        checked = on_host(host, f"cd {folder} 2>/dev/null && md5sum -c --ignore-missing {sums} 2>&1 || true")
        assert "FAILED" not in checked
        counts.append(checked.count(": OK\n"))
        assert counts[-1] == int(on_host(host, f"find {folder} -name '*.bin' 2>/dev/null | wc -l"))
    return counts


def agent_on(host):
    """The pids of the agent and its relay."""
    on_node = [pid for pid, command in processes().items()
               if "autodist-agent attach" in command and command.split()[3] == str(host - 1)]
    # The relay started the watchdog, which started the agent.
    [agent] = [pid for pid in on_node if parent(pid) in on_node and parent(parent(pid)) in on_node]
    return agent, parent(parent(agent))


def sshd_of_agent_on(host):
    """The pid of the sshd with the connection to the agent."""
    _, above = agent_on(host)
    while Path(f"/proc/{above}/comm").read_text() != "sshd\n":
        above = parent(above)
    return above


def await_part(host):
    """Waits until a file is being received by the host. Reads /proc: a login would take longer than the
    file."""
    folder = f"/proc/{listening_sshd(host)}/root{WORK}"
    limit = time.monotonic() + 10
    while not any(name.startswith(".autodist-sync-") for _, _, names in os.walk(folder) for name in names):
        assert time.monotonic() < limit, "nothing comes"
        time.sleep(0.001)


def await_no_process():
    limit = time.monotonic() + 10
    while processes() and time.monotonic() < limit:
        time.sleep(0.05)
    assert processes() == {}
