"""Shows whether two processes of a rank ever ran at a time: hold() for ranks in Python, as `witness` for others, and
readers of the files of both."""

import fcntl
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).with_name("witness")
RUN = r"pid (\d+) on (\S+), attempt (\d+), at ([\d.]+)"
_held = []  # until the process ends


def now():
    """Seconds since this machine was started, as in the files."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True)
class Run:
    """A process of a rank; in a container, its pid there."""
    pid: int
    node: str
    attempt: int
    started: float

    @staticmethod
    def of(fields):
        return Run(int(fields[0]), fields[1], int(fields[2]), float(fields[3]))


def hold(folder):
    """Locks the file of this rank until this process and its children end."""
    variables = os.environ
    rank = variables["RANK"]
    own = (f"pid {os.getpid()} on {variables['AUTODIST_NODE_ADDRESS']}, attempt {variables['AUTODIST_RESTART_COUNT']}, "
           f"at {now():.2f}")
    lock = open(Path(folder) / f"lock-{rank}", "a+", encoding="utf-8")
    _held.append(lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        print(own, file=lock, flush=True)
    except BlockingIOError:
        lock.seek(0)
        with open(Path(folder) / f"two-of-{rank}", "a", encoding="utf-8") as two:
            two.write(f"{own}; beside {lock.readline().strip()}\n")
    with open(Path(folder) / f"starts-{rank}", "a", encoding="utf-8") as starts:
        starts.write(own + "\n")


def mounts():
    """Options of `podman run` with which `witness` runs in an image that has only busybox: it needs flock."""
    paths = ("/usr", "/lib", "/lib64", PROGRAM.parent)
    return [word for path in paths for word in ("-v", f"{path}:{path}:ro")]


def starts(folder):
    """{rank: its processes, in the order of their starts}."""
    return {int(path.name.removeprefix("starts-")): [Run.of(match) for match in re.findall(RUN, path.read_text())]
            for path in Path(folder).glob("starts-*")}


def has_started(folder, attempt, ranks):
    """Whether all ranks of an attempt have started."""
    return sum(any(run.attempt == attempt for run in runs) for runs in starts(folder).values()) == ranks


def pairs(folder):
    """(rank, later process, earlier process) of each two that ran at a time. The earlier one is None if it had not
    written its line yet."""
    found = []
    for path in Path(folder).glob("two-of-*"):
        for line in path.read_text().splitlines():
            later, *earlier = [Run.of(match) for match in re.findall(RUN, line)]
            found.append((int(path.name.removeprefix("two-of-")), later, earlier[0] if earlier else None))
    return found


def two_of_a_rank(folder):
    """The lines of all pairs; empty if no rank ever ran twice at a time."""
    return [f"rank {path.name.removeprefix('two-of-')}: {line}"
            for path in sorted(Path(folder).glob("two-of-*")) for line in path.read_text().splitlines()]
