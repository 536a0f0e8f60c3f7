"""Events that disturb one or all running jobs, and the exit codes that they explain."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from hosts import cut, heal, listening_sshd, ranks_on
from jobs import AUTODIST
from soak_jobs.processes import agents_of, of_job, send
from soak_jobs.programs import CODE, RANKS

CANNOT_LAUNCH = NODE_LOST = 125
CUT_S = (0.5, 6)
# A link that was cut for c seconds may need as long again until TCP retransmits, and the last renewal may be
# a quarter of a lease old: a node may be lost if the cut took more than this part of the lease.
LEASE_SHARE = 0.375
HOSTS = (1, 2, 3, 4)
TWICE, THRICE = "SIGINT twice", "SIGINT three times"
GRACE_S = 2
LOADED_S = 2  # delays on a loaded machine
STOP_LIMIT_S = GRACE_S + 10 + LOADED_S  # after the request to end
THIRD_LIMIT_S = 2.15 + 1 + LOADED_S  # from the first of three


def ranks_of(job, host):
    """Without their orphans, which also have the agent as parent."""
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


def signal_to(job, number):
    if job.process.poll() is not None:
        return False
    job.process.send_signal(number)
    return True


class Event:
    """Disturbs a job once, this number of seconds after its start."""

    def __init__(self, name, after, act, code, limit=None):
        """`limit`: seconds until the job must have ended."""
        self.name, self.after, self.act, self.code, self.limit = name, after, act, code, limit
        self.done = self.met_launch = False
        self.at = None

    def apply(self, job):
        self.met_launch = not is_launched(job)  # which takes long on a busy machine
        self.at = time.monotonic()
        self.done = self.act(job)

    def codes(self, job):
        """Exit codes that the event explains; the job cannot have ended by itself before its ranks."""
        if not self.done:
            return None
        codes = {self.code, CODE} if job.program.fails else {self.code}
        is_ready = job.said_at and self.at >= job.said_at
        if is_ready and not job.program.fails and self.at >= job.said_at + job.program.seconds:
            codes |= {0}
        if self.code == -signal.SIGKILL:
            return codes
        if self.name in (TWICE, THRICE):
            codes |= {-signal.SIGINT}  # while the last output is written, which may take long
        if self.met_launch:
            codes |= {CANNOT_LAUNCH}
        if not is_ready:  # for any signal
            codes |= {-signal.SIGINT, -signal.SIGTERM}
        return codes

    def __str__(self):
        return f"{self.name} {self.after:.2f} s after its start" + (
            "" if self.done else ", not done") + (", during the launch" if self.met_launch else "")


class Pause(Event):
    """Stops the agent on a host for some seconds: the same as a cut, but for one job."""

    def __init__(self, chance, after, host):
        self.seconds = chance.uniform(*CUT_S)

        def pause(job):
            agents = agents_of(job.job_id(), host)
            stopped = send(signal.SIGSTOP, agents)
            time.sleep(self.seconds if stopped else 0)
            send(signal.SIGCONT, agents)
            return stopped
        super().__init__(f"the agent on host {host} stopped for {self.seconds:.2f} s", after, pause, NODE_LOST)

    def codes(self, job):
        codes = super().codes(job)
        if not codes or self.seconds > job.lease * LEASE_SHARE:
            return codes and codes | {0}
        return {CODE} if job.program.fails else {0}


def interrupt(job, *waits):
    """Sends SIGINT after each of the waits."""
    sent = False
    for wait in waits:
        time.sleep(wait)
        sent = signal_to(job, signal.SIGINT) or sent
    return sent


def stop(job):
    if not job.job_id() or job.process.poll() is not None:
        return False
    subprocess.run([AUTODIST, "stop", job.job_id()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=STOP_LIMIT_S, check=False)
    return True


def any_event(chance):
    """A random event for one job, or None."""
    after, host = chance.uniform(0.05, 3), chance.choice(HOSTS)
    kind = chance.choice(["none"] * 6 + ["rank"] * 3 + [
        "agent", "agent", "stopped agent", "pause", "pause", "chief", "int", "twice", "thrice", "term", "stop"])
    return {
        "none": None,
        "rank": Event(f"kill -9 of a rank on host {host}", after,
                      lambda job: send(signal.SIGKILL, ranks_of(job, host)[-1:]), 137),
        "agent": Event(f"kill -9 of the agent on host {host}", after,
                       lambda job: send(signal.SIGKILL, agents_of(job.job_id(), host)), NODE_LOST),
        "stopped agent": Event(f"kill -STOP of the agent on host {host}", after,
                               lambda job: send(signal.SIGSTOP, agents_of(job.job_id(), host)), NODE_LOST),
        "pause": Pause(chance, after, host),
        "chief": Event("kill -9 of autodist", after, lambda job: signal_to(job, signal.SIGKILL), -signal.SIGKILL),
        "int": Event("SIGINT", after, lambda job: interrupt(job, 0), 130, STOP_LIMIT_S),
        "twice": Event(TWICE, after, lambda job: interrupt(job, 0, 0.05), 130, STOP_LIMIT_S),
        "thrice": Event(THRICE, after, lambda job: interrupt(job, 0, 0.05, 2.1), 130, THIRD_LIMIT_S),
        "term": Event("SIGTERM", after, lambda job: signal_to(job, signal.SIGTERM), 143, STOP_LIMIT_S),
        "stop": Event("autodist stop", after, stop, 143, STOP_LIMIT_S),
    }[kind]


class Cut:
    """Cuts a host's link for some seconds, for all jobs that run then."""

    def __init__(self, chance):
        self.host = chance.choice(HOSTS[1:])
        self.seconds = chance.uniform(*CUT_S)
        self.begun = self.ended = None
        self.launched = []  # jobs with all ranks running when it began

    def apply(self, jobs):
        self.launched = [job for job in jobs if is_launched(job)]
        self.begun = time.monotonic()
        cut(self.host)
        time.sleep(self.seconds)
        heal(self.host)
        self.ended = time.monotonic()

    def codes(self, job):
        """Further exit codes that the cut explains."""
        if self.begun is None or job.ended < self.begun:
            return set()
        if self.ended is not None and job.started > self.ended + self.seconds:
            return set()
        if job not in self.launched or self.seconds > job.lease * LEASE_SHARE:
            return {NODE_LOST}
        return set()

    def __str__(self):
        return f"link of host {self.host} cut for {self.seconds:.2f} s"


class StoppedServer:
    """Stops a host's SSH server for some seconds, which only delays logins."""

    def __init__(self, chance):
        self.host = chance.choice(HOSTS[1:])
        self.seconds = chance.uniform(*CUT_S)
        self.begun = self.ended = None

    def apply(self, _):
        server = [listening_sshd(self.host)]
        self.begun = time.monotonic()
        send(signal.SIGSTOP, server)
        time.sleep(self.seconds)
        send(signal.SIGCONT, server)
        self.ended = time.monotonic()

    def codes(self, _):
        return set()

    def __str__(self):
        return f"the SSH server of host {self.host} stopped for {self.seconds:.2f} s"


def possible_codes(job, cuts):
    codes = job.event.codes(job) if job.event else None
    if codes is None:
        codes = {CODE} if job.program.fails else {0}
    if -signal.SIGKILL in codes:
        return codes
    return codes.union(*(one.codes(job) for one in cuts))
