"""--warm: on a spare, too, a Python has imported modules and becomes a rank, and also on a node that returns."""

import os
import re
import signal

from hosts import SPEC, address, agents_on, pids_on, pythons_that_wait, waits_for_restart
from jobs import processes, seconds_until

LOST = 3
SPARE = 4
LIMIT_S = 30
TRAIN = """
import os, time, xml.sax
attempt = int(os.environ["AUTODIST_RESTART_COUNT"])
print(f"{attempt}: rank {os.environ['RANK']} is process {os.getpid()}", flush=True)
for step in range(1, 1000):
    if attempt == 1 and os.path.exists("end"):
        break
    print(f"step {step}/1000", flush=True)
    time.sleep(0.1)
"""


def waiting_on(host):
    return {pid for pid in pids_on(host) if waits_for_restart(pid)}


def test_all_ranks_continue_in_pythons_that_waited(start, folder):
    (folder / "train.py").write_text(TRAIN)
    job = start("run", "--spec", SPEC, "--spares", "1", "--max-restarts", "2", "--warm=xml", "--", "/usr/bin/python3",
                folder / "train.py", cwd=folder)
    hosts = (1, 2, SPARE)
    pythons_that_wait(2 * (len(hosts) + 1), LIMIT_S)
    waiting = {host: waiting_on(host) for host in hosts}
    before = waiting_on(LOST)
    [agent] = agents_on(LOST)
    os.kill(agent, signal.SIGKILL)
    seconds_until(lambda: len(waiting_on(LOST) - before) == 2, LIMIT_S)  # it is a spare now
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    again = {}
    for node, pid in re.findall(r"^\[(\S+):\d+\] 1: rank \d+ is process (\d+)$", outcome.out, re.MULTILINE):
        again.setdefault(node, set()).add(int(pid))
    assert again == {address(host): pids for host, pids in waiting.items()}
    seconds_until(lambda: not processes(), 5)
