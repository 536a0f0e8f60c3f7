"""Trivial jobs one after the other on two hosts: nothing that outlives a job may accumulate."""

import os
import subprocess
import time
from pathlib import Path

from hosts import SHARED, SPEC, in_host, listening_sshd, pids
from jobs import AUTODIST

HOSTS = (1, 2)
SAMPLES = 20
SETTLE_S = 5  # until SSH servers have closed sessions, and leftovers of jobs are gone


def entries(*folders):
    return sum(len(os.listdir(folder)) for folder in folders if os.path.isdir(folder))


def things(host):
    """Counts of resources on a host."""
    home = Path.home()
    count = "ls -d /tmp/autodist* /tmp/autodist*/* 2>/dev/null | wc -l; ls /var/tmp | wc -l; " \
            f"ls {home}/.cache/autodist/ended {home}/.cache/autodist/agent 2>/dev/null | wc -l; " \
            "wc -l </proc/net/unix; " \
            "awk '$4 != \"06\"' /proc/net/tcp | wc -l"  # without TIME_WAIT
    names = ("files in /tmp", "files in /var/tmp", "files in ~/.cache", "unix sockets", "TCP sockets")
    counts = map(int, in_host(host, "sh", "-c", count).split())
    sshd = listening_sshd(host)
    return {**dict(zip(names, counts, strict=True)),
            "descriptors of the SSH server": len(os.listdir(f"/proc/{sshd}/fd")),
            "threads of the SSH server": len(os.listdir(f"/proc/{sshd}/task"))}


def sample():
    everything = {f"{name} on host {host}": count for host in HOSTS for name, count in things(host).items()}
    everything["processes"] = len(pids())
    everything["control sockets"] = entries(f"{os.environ['XDG_RUNTIME_DIR']}/autodist")
    everything["records of jobs"] = entries(f"{os.environ['XDG_STATE_HOME']}/autodist/jobs")
    return everything


def settled(like):
    """A sample once its counts are at most those of `like`."""
    limit = time.monotonic() + SETTLE_S
    while True:
        now = sample()
        if time.monotonic() > limit or all(now[name] <= like[name] for name in like):
            return now
        time.sleep(0.1)


def launch(number):
    folder = SHARED / "launches"
    folder.mkdir(exist_ok=True)
    done = subprocess.run([AUTODIST, "run", "--spec", SPEC, "--", "true"], cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0 and done.stdout.count("\n") == 1:  # the line with the job's name
        subprocess.run(["rm", "-rf", folder / "autodist-runs"], check=True)
        return True
    print(f"WRONG: launch {number} ended with {done.returncode}:\n{done.stdout}", flush=True)
    return False


def launches(number):
    right = launch(0)  # installs the agent
    first = settled(sample())
    print(f"after 1: {first}", flush=True)
    started = time.monotonic()
    for i in range(1, number + 1):
        right = launch(i) and right
        if i % max(1, number // SAMPLES) and i != number:
            continue
        now = settled(first)
        more = {name: f"{first[name]} → {now[name]}" for name in first if now[name] > first[name]}
        print(f"after {i + 1}, {time.monotonic() - started:.0f} s: {f'WRONG: more {more}' if more else 'no more'}",
              flush=True)
        right = right and not more
    return 0 if right else 1
