"""What is done to a job, or to all that run, and the exit codes that this explains."""

import os
import signal
import sys
import time
from pathlib import Path

from hosts import agents_on, cut, heal, ranks_on
from soak_jobs.programs import CODE, RANKS

CANNOT_LAUNCH = NODE_LOST = 125
CUT_S = (0.5, 6)
# A link that was cut for c seconds may need as long again until TCP tries, and the last renewal may
# be a quarter of a lease old: a node may be lost when the cut took more than this part of the lease.
LEASE_SHARE = 0.375
HOSTS = (1, 2, 3, 4)
TWICE = "SIGINT twice"


def of_job(job_id, pids):
    """Those of the processes that belong to the job."""
    if not job_id:
        return []
    wanted, found = f"AUTODIST_JOB_ID={job_id}".encode(), []
    for pid in sorted(pids):
        try:
            folder = Path(f"/proc/{pid}")
            if wanted in (folder / "environ").read_bytes().split(b"\0") or \
                    job_id.encode() in (folder / "cmdline").read_bytes():
                found.append(pid)
        except OSError:
            pass
    return found


def ranks_of(job, host):
    """Without their orphans, whose parent is the agent too."""
    found = []
    for pid in of_job(job.job_id(), ranks_on(host)):
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(sys.executable.encode() + b"\0-c\0"):
                found.append(pid)
        except OSError:
            pass
    return found


def is_launched(job):
    return sum(len(ranks_of(job, host)) for host in HOSTS) == RANKS


def kill(pids):
    for pid in pids[-1:]:
        try:
            os.kill(pid, signal.SIGKILL)
            return True
        except ProcessLookupError:
            pass
    return False


def send(job, number):
    if job.process.poll() is not None:
        return False
    job.process.send_signal(number)
    return True


class Event:
    """Something that is done to a job once, so many seconds after its start."""

    def __init__(self, name, after, act, code):
        self.name, self.after, self.act, self.code = name, after, act, code
        self.done = self.met_launch = False
        self.at = None

    def apply(self, job):
        self.at = time.monotonic()
        self.met_launch = not is_launched(job)
        self.done = self.act(job)

    def codes(self, job):
        """What the job may end with; it cannot have ended by itself before its ranks have."""
        if not self.done:
            return None
        codes = {self.code, CODE} if job.program.fails else {self.code}
        is_ready = job.said_at and self.at >= job.said_at
        if is_ready and not job.program.fails and self.at >= job.said_at + job.program.seconds:
            codes |= {0}
        if self.code == -signal.SIGKILL:
            return codes
        if self.name == TWICE:
            codes |= {-signal.SIGINT}  # while the last output is written, which may take long
        if self.met_launch:
            codes |= {CANNOT_LAUNCH}
        if not is_ready:  # for any signal
            codes |= {-signal.SIGINT, -signal.SIGTERM}
        return codes

    def __str__(self):
        return f"{self.name} {self.after:.2f} s after its start" + (
            "" if self.done else ", not done") + (", during the launch" if self.met_launch else "")


def any_event(chance):
    """For one job; None is to leave it alone."""
    after, host = chance.uniform(0.05, 3), chance.choice(HOSTS)
    kind = chance.choice(["none"] * 6 + ["rank"] * 3 + ["agent", "agent", "chief", "int", "twice", "term"])

    def twice(job):
        first = send(job, signal.SIGINT)
        time.sleep(0.05)
        return send(job, signal.SIGINT) or first
    return {
        "none": None,
        "rank": Event(f"kill -9 of a rank on host {host}", after,
                      lambda job: kill(ranks_of(job, host)), 137),
        "agent": Event(f"kill -9 of the agent on host {host}", after,
                       lambda job: kill(of_job(job.job_id(), agents_on(host))), NODE_LOST),
        "chief": Event("kill -9 of autodist", after, lambda job: send(job, signal.SIGKILL), -signal.SIGKILL),
        "int": Event("SIGINT", after, lambda job: send(job, signal.SIGINT), 130),
        "twice": Event(TWICE, after, twice, 130),
        "term": Event("SIGTERM", after, lambda job: send(job, signal.SIGTERM), 143),
    }[kind]


class Cut:
    """A host's link is cut for some seconds, for all jobs that run then."""

    def __init__(self, chance):
        self.host = chance.choice(HOSTS[1:])
        self.seconds = chance.uniform(*CUT_S)
        self.begun = self.ended = None
        self.launched = []  # the jobs that all ranks of were up when it began

    def apply(self, jobs):
        self.launched = [job for job in jobs if is_launched(job)]
        self.begun = time.monotonic()
        cut(self.host)
        time.sleep(self.seconds)
        heal(self.host)
        self.ended = time.monotonic()

    def codes(self, job):
        """That it may lead to in addition."""
        if self.begun is None or job.ended < self.begun:
            return set()
        if self.ended is not None and job.started > self.ended + self.seconds:
            return set()
        if job not in self.launched or self.seconds > job.lease * LEASE_SHARE:
            return {NODE_LOST}
        return set()

    def __str__(self):
        return f"link of host {self.host} cut for {self.seconds:.2f} s"


def possible_codes(job, cuts):
    codes = job.event.codes(job) if job.event else None
    if codes is None:
        codes = {CODE} if job.program.fails else {0}
    if -signal.SIGKILL in codes:
        return codes
    return codes.union(*(one.codes(job) for one in cuts))
