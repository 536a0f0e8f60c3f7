"""Disturbances of one host while a job runs, their plan, and what they explain."""

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import hosts
import witness
from hosts import kill_all, parent, pids_on
from soak_jobs.processes import agents_of, of_job, send

HOSTS = (2, 3, 4)  # host 1 has the chief and is never disturbed
LEASE_S = 5
# How long a disturbance lasts: the share of the cases, and the range.
DURATIONS_S = ((0.35, 0.1, 1.5), (0.25, 1.5, LEASE_S - 1), (0.2, LEASE_S - 1, LEASE_S + 1), (0.2, LEASE_S + 1, 12))
SAME_HOST = 0.5  # share of the disturbances that hit the same host as the one before
GAP_S = 4
QUIET = 0.3  # share of the disturbances before which all has settled
# Until a host that works again is found: logins, a new agent. TCP repeats what was lost in a cut for as long again.
RETURN_S = 4
MOST_REPEATED_S = LEASE_S
REPEATED = {"network"}
GAP_IN_CONTACT_S = 2  # too short for a new connection, on a busy machine
LAST_RENEWAL_S = LEASE_S / 8
PAUSE_TRIES = 5  # on a busy machine, runc gives up freezing a container


def watchdogs_of(job, host):
    return [parent(pid) for pid in agents_of(job.job_id(), host)]


def attempt_of(pid):
    """The attempt of a process of a rank, or None."""
    try:
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"AUTODIST_RESTART_COUNT="):
                return int(variable.split(b"=")[1])
    except (OSError, ValueError):
        pass
    return None


def ranks_of(job, host):
    return [pid for pid in of_job(job.job_id(), pids_on(host)) if attempt_of(pid) is not None]


def agents(job, host):
    return agents_of(job.job_id(), host)


def agents_and_watchdogs(job, host):
    return watchdogs_of(job, host) + agents(job, host)


def everything(job, host):
    return agents_and_watchdogs(job, host) + ranks_of(job, host)


def kill(find):
    return lambda job, host: kill_all(find(job, host))


def stop(find):
    """Stops processes; returns how to let them continue."""
    def begin(job, host):
        found = find(job, host)
        send(signal.SIGSTOP, found)
        return lambda: send(signal.SIGCONT, found)
    return begin


def on_host(begin, end=None):
    def act(_, host):
        begin(host)
        return end and (lambda: end(host))
    return act


def sessions(_, host):
    return hosts.sshd_sessions(host)


def refuse_logins(host):
    hosts.stop_sshd(host)
    kill_all(pid for pid in pids_on(host) if hosts.argv_of(pid)[0].startswith("sshd:"))


def podman(command, undo=None, tries=1):
    def act(job, host):
        for left in reversed(range(tries)):
            try:
                job.containers[host](*command)
                break
            except subprocess.CalledProcessError as error:
                if left == 0:
                    raise AssertionError(f"podman {' '.join(command)}: {error.stdout}") from error
        return undo and (lambda: job.containers[host](*undo))
    return act


def end_clients(_, host):
    kill_all(pid for pid in pids_on(host) if hosts.argv_of(pid)[:2] == ["podman", "exec"])


@dataclass(frozen=True)
class Kind:
    name: str
    area: str  # disturbances of a host in the same area do not overlap
    begin: Callable  # of a job and a host; returns how to end it, unless it has ended
    harms: bool = True  # the host may be lost
    freezes: bool = False  # neither the agent nor its watchdog can end the ranks
    returns_in: float = RETURN_S  # until the host can be used again


POWER = "power"  # overlaps with no other area
ALWAYS = (
    Kind("cut off", "network", on_host(hosts.cut, hosts.heal)),
    Kind("replies cut off", "network", on_host(hosts.cut_replies, hosts.heal)),
    Kind("unplugged", "network", on_host(hosts.unplug, hosts.plug)),
    Kind("connections killed", "server", kill(sessions), harms=False),
    Kind("no logins", "server", on_host(refuse_logins, hosts.start_sshd)),
    Kind("agent stopped", "processes", stop(agents)),
    Kind("watchdog stopped", "processes", stop(watchdogs_of)),
    Kind("agent and watchdog stopped", "processes", stop(agents_and_watchdogs), freezes=True),
    Kind("agent, watchdog and ranks stopped", "processes", stop(everything), freezes=True),
    Kind("ranks stopped", "processes", stop(ranks_of), harms=False),
    Kind("agent killed", "processes", kill(agents)),
    # The agent ends the ranks, and then waits for the chief until its lease expires.
    Kind("watchdog killed", "processes", kill(watchdogs_of), returns_in=RETURN_S + LEASE_S),
    Kind("agent and watchdog killed", "processes", kill(agents_and_watchdogs)),
    Kind("ranks killed", "processes", kill(ranks_of), harms=False))
KINDS = (*ALWAYS, Kind("switched off", POWER, on_host(hosts.power_off, hosts.power_on)))
KINDS_OF_CONTAINERS = (
    *ALWAYS,
    Kind("paused", "processes", podman(("pause", "box"), ("unpause", "box"), PAUSE_TRIES), freezes=True),
    Kind("container killed", POWER, podman(("kill", "box"), ("start", "box"))),
    Kind("clients killed", "server", end_clients, harms=False))


@dataclass
class Disturbance:
    kind: Kind
    host: int
    after: float  # seconds after the ranks' start
    lasts: float  # 0: it ends right away
    begun: float | None = None  # as of witness.now()
    ended: float | None = None
    undo: Callable | None = field(default=None, repr=False)

    def begin(self, job):
        self.begun = witness.now()
        self.undo = self.kind.begin(job, self.host)
        if not self.undo:
            self.ended = witness.now()

    def end(self):
        self.undo()
        self.ended = witness.now()

    def conflicts(self, other):
        areas = {self.kind.area, other.kind.area}
        return self.host == other.host and (len(areas) == 1 or POWER in areas) and \
            self.after <= other.after + other.lasts + 0.5 and other.after <= self.after + self.lasts + 0.5

    def __str__(self):
        when = "not done" if self.begun is None else f"at {self.begun:.2f}" + (
            "" if not self.lasts else f" until {self.ended:.2f}" if self.ended else ", not ended")
        return f"host {self.host}: {self.kind.name} {when}"


def plan(chance, kinds, count):
    planned, after, host = [], 0.0, chance.choice(HOSTS)
    while len(planned) < count:
        if chance.random() < QUIET and planned:
            after = max(one.after + one.lasts for one in planned) + LEASE_S + 2 * RETURN_S
            host = chance.choice(HOSTS)
        else:
            after += chance.uniform(0, GAP_S)
            if chance.random() > SAME_HOST:
                host = chance.choice(HOSTS)
        kind = chance.choice(kinds)
        [(_, least, most)] = chance.choices(DURATIONS_S, [share for share, _, _ in DURATIONS_S])
        lasts = chance.uniform(least, most)
        one = Disturbance(kind, host, after, lasts)
        while any(one.conflicts(other) for other in planned):
            one.after += 0.5
        planned.append(one)
    return sorted(planned, key=lambda one: one.after)


def works_since(planned, host, when):
    """The time from which the host could be used, or None if it could not at `when`."""
    since = 0.0
    for one in planned:
        if one.host != host or one.begun is None or one.begun > when or not one.kind.harms:
            continue
        if one.ended is None or one.ended > when:
            return None
        repeated = min(one.ended - one.begun, MOST_REPEATED_S) if one.kind.area in REPEATED else 0
        since = max(since, one.ended + one.kind.returns_in + repeated)
    return since


def hosts_that_work(planned, when):
    """Those that could be used for some time: the chief must have found them."""
    return [1] + [host for host in HOSTS if (since := works_since(planned, host, when)) is not None and since <= when]


def explained(planned, host, when):
    """Whether a rank may have run elsewhere at `when` beside one on this host: nothing there could end it, and the
    lease had expired."""
    frozen = any(one.host == host and one.kind.freezes and one.begun is not None and one.begun <= when
                 and (one.ended is None or when <= one.ended + 0.5) for one in planned)
    since = when
    for one in sorted((one for one in planned if one.host == host and one.begun is not None),
                      key=lambda one: -one.begun):
        if one.begun <= when and (one.ended is None or one.ended + GAP_IN_CONTACT_S >= since):
            since = min(since, one.begun)
    return frozen and when - since >= LEASE_S - LAST_RENEWAL_S
