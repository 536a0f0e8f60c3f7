"""--warm: on a spare, too, a Python has imported the modules of the program and becomes a rank."""

import os
import re
import signal

from hosts import SPEC, address, agents_on, pids_on, waits_for_restart
from jobs import processes, seconds_until

LOST = 3
SPARE = 4
LIMIT_S = 30
TRAIN = """
import os, time, xml.sax
attempt = int(os.environ["AUTODIST_RESTART_COUNT"])
print(f"{attempt}: rank {os.environ['RANK']} is process {os.getpid()}", flush=True)
for step in range(1, 1000 if attempt == 0 else 2):
    print(f"step {step}/1000", flush=True)
    time.sleep(0.1)
"""


def waiting_on(host):
    return {pid for pid in pids_on(host) if waits_for_restart(pid)}


def test_all_ranks_continue_in_pythons_that_waited(start, folder):
    (folder / "train.py").write_text(TRAIN)
    job = start("run", "--spec", SPEC, "--spares", "1", "--max-restarts", "2", "--warm", "--", "/usr/bin/python3",
                folder / "train.py")
    hosts = (1, 2, SPARE)
    seconds_until(lambda: all(len(waiting_on(host)) == 2 for host in (*hosts, LOST)), LIMIT_S)
    waiting = {host: waiting_on(host) for host in hosts}
    [agent] = agents_on(LOST)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    again = {}
    for node, pid in re.findall(r"^\[(\S+):\d+\] 1: rank \d+ is process (\d+)$", outcome.out, re.MULTILINE):
        again.setdefault(node, set()).add(int(pid))
    assert again == {address(host): pids for host, pids in waiting.items()}
    seconds_until(lambda: not processes(), 5)
