"""Jobs of three nodes of four hosts, each disturbed by several random disturbances. A witness shows that no rank ever
runs twice at a time. A job must not end as long as enough hosts work, and leave nothing behind."""

import random
import re
import shlex
import time
from collections import Counter

import witness
from hosts import SHARED, address, kill_all, remove_from_tmp
from jobs import Running, processes, seconds_until
from podman import Podman
from soak_jobs.disturbances import (HOSTS, KINDS, KINDS_OF_CONTAINERS, LEASE_S, attempt_of, explained,
                                    hosts_that_work, plan, ranks_of)

NEEDED = 3  # nodes, of four
GRACE_S = 1
START_LIMIT_S = 30
DISTURBANCES = (3, 6)  # of a job
# After the last disturbance: a lease, a restart that waits for nodes, its back-off, and a busy machine.
SETTLE_LIMIT_S = 40
END_LIMIT_S = 20
LEFT_LIMIT_S = LEASE_S + GRACE_S + 5
THAW_LIMIT_S = 3
POLL_S = 0.05
RANK = """
[ "$2" = 0 ] || trap '' TERM
until [ -e "$1/end" ]; do sleep 0.1; done
"""
TOO_FEW = b"can be reached"
LEFT_OUT = "but the job does without it"
CANNOT_END = "did not end, not by SIGKILL either"


def containers_on(found):
    """A new container on each of the hosts; a host that was switched off has lost its own."""
    folder = SHARED / "containers"
    folder.mkdir(exist_ok=True)
    for host in HOSTS:
        if host not in found:
            found[host] = Podman(host, folder)
        found[host]("rm", "-f", "-a", "-t", "0")
        found[host].run("box", "-v", f"{SHARED}:{SHARED}", *witness.mounts())
    return found


class Job(Running):
    def __init__(self, seed, number, containers):
        chance = random.Random(f"{seed} {number}")
        self.folder = SHARED / "faults" / str(number)
        self.folder.mkdir(parents=True)
        in_containers = chance.random() < 0.3
        self.containers = containers_on(containers) if in_containers else {}
        self.spares = chance.random() < 0.7
        stubborn = chance.random() < 0.3
        self.activation = chance.choice([0, chance.uniform(0.3, 3)])
        self.planned = plan(chance, KINDS_OF_CONTAINERS if in_containers else KINDS, chance.randint(*DISTURBANCES))
        self.ended = self.too_few = None
        self.wrong = []
        self.name = (f"job {number}: {'--spares 1' if self.spares else '--min-nodes 3'}"
                     f"{', in containers' if in_containers else ''}{', ranks ignore SIGTERM' if stubborn else ''}"
                     f"{f', activation of {self.activation:.1f} s' if self.activation else ''}")
        super().__init__(["run", "--spec", self.spec(), "--lease", LEASE_S, "--grace", GRACE_S, "--max-restarts", 50,
                          *(("--spares", 1) if self.spares else ("--min-nodes", NEEDED)), "--", "sh", witness.PROGRAM,
                          self.folder, "sh", "-c", RANK, "sh", self.folder, int(stubborn)], self.folder, None)

    def spec(self):
        path = self.folder / "spec.yaml"
        nodes = "".join(f"  - {{address: {address(host)}, cpus: [0], "
                        f"{'chief: true' if host == 1 else 'ssh_config: g'}}}\n" for host in (1, *HOSTS))
        group = f"    key_file: {SHARED}/user_ed25519\n    username: root\n"
        if self.containers:
            group = f"    key_file: {SHARED}/user_ed25519\n    via: podman\n    container: box\n"
        if self.activation:
            group += f"    python_venv: {shlex.quote(f'sleep {self.activation:.1f}')}\n"
        path.write_text(f"nodes:\n{nodes}ssh:\n  g:\n{group}")
        return path

    def latest(self):
        """The latest attempt of which all ranks have started, or None."""
        counts = Counter(run.attempt for runs in witness.starts(self.folder).values() for run in runs)
        return max((attempt for attempt, count in counts.items() if count >= NEEDED), default=None)

    def watch(self):
        if self.too_few is None and TOO_FEW in self.err:
            self.too_few = witness.now()
        if self.ended is None and self.process.poll() is not None:
            self.ended = witness.now()
        return self.ended is None

    def wait_until(self, when):
        while witness.now() < when and self.watch():
            time.sleep(POLL_S)

    def disturb(self):
        """Runs the plan; what has begun is always ended."""
        start = witness.now()
        todo = sorted([(one.after, one) for one in self.planned] +
                      [(one.after + one.lasts, one) for one in self.planned], key=lambda entry: entry[0])
        for after, one in todo:
            self.wait_until(start + after)
            if one.begun is None and self.ended is None:
                one.begin(self)
            elif one.begun is not None and one.ended is None:
                one.end()
                if one.kind.freezes:
                    self.await_end_of_old_ranks(one)

    def await_end_of_old_ranks(self, one):
        """After a freeze of longer than the lease, the ranks that were replaced must end right away."""
        def old():
            latest = self.latest() or 0
            return [pid for pid in ranks_of(self, one.host) if (attempt_of(pid) or latest) < latest]
        limit = one.ended + THAW_LIMIT_S
        while self.watch() and old():
            if witness.now() > limit:
                if not any(other is not one and other.host == one.host and other.ended is None and
                           other.begun is not None for other in self.planned):
                    self.wrong.append(f"host {one.host}: ranks of an earlier attempt still run {THAW_LIMIT_S} s after "
                                      f"they could end: {old()}")
                return
            time.sleep(POLL_S)

    def settles(self):
        """Waits until the job runs on enough hosts that work."""
        limit = witness.now() + SETTLE_LIMIT_S
        while self.watch() and witness.now() < limit:
            if len(self.running(self.latest())) >= NEEDED:
                return
            time.sleep(4 * POLL_S)
        if self.ended is None:
            self.wrong.append(f"no {NEEDED} ranks run {SETTLE_LIMIT_S} s after the last disturbance")

    def running(self, attempt):
        """The hosts on which ranks of the attempt run."""
        return {host for host in (1, *HOSTS) for pid in ranks_of(self, host) if attempt_of(pid) == attempt}

    def judge(self, outcome):
        for rank, later, earlier in witness.pairs(self.folder):
            host = earlier and next(host for host in (1, *HOSTS) if address(host) == earlier.node)
            if not earlier or not explained(self.planned, host, later.started):
                self.wrong.append(f"two of rank {rank}: {later}; beside {earlier}")
        self.wrong += re.findall(f".*(?:{LEFT_OUT}|{CANNOT_END}).*", outcome.err)
        if outcome.code != 0:
            when = self.too_few or self.ended
            work = hosts_that_work(self.planned, when)
            if len(work) >= NEEDED:
                self.wrong.append(f"ended with {outcome.code} at {when:.2f} although hosts {work} worked")

    def report(self, outcome):
        print("\n".join([f"WRONG: {self.name}", *(f"  {text}" for text in self.wrong),
                         *(f"  {one}" for one in self.planned),
                         *(f"  rank {rank}: {run}" for rank, runs in sorted(witness.starts(self.folder).items())
                           for run in runs),
                         *(f"    | {line}" for line in outcome.err.splitlines())]), flush=True)


def run_one(job):
    outcome = None
    try:
        seconds_until(lambda: job.latest() == 0 or not job.watch(), START_LIMIT_S, lambda: job.err.decode())
        job.disturb()
        job.settles()
    except AssertionError as error:
        job.wrong.append(str(error))
    finally:
        for one in job.planned:
            if one.undo and one.ended is None:
                one.end()
        (job.folder / "end").touch()
        outcome = job.finish(END_LIMIT_S)
    job.watch()
    job.judge(outcome)
    try:
        seconds_until(lambda: not processes(), LEFT_LIMIT_S)
    except AssertionError as error:
        job.wrong.append(f"left: {error}")
        clean(job)
    if job.wrong:
        job.report(outcome)
    return outcome


def clean(job):
    """So that the next job is judged by itself."""
    kill_all(processes())
    for host in (1, *HOSTS):
        remove_from_tmp(host, "autodist-[0-9]*")


def faults(seed, number, first, step):
    """Runs the jobs first, first + step and so on, up to number."""
    bad, done, ends, containers = 0, 0, Counter(), {}
    started = time.monotonic()
    for i in range(first, number + 1, step):
        job = Job(seed, i, containers)
        outcome = run_one(job)
        bad += bool(job.wrong)
        done += sum(one.begun is not None for one in job.planned)
        ends["continued" if outcome.code == 0 else "too few hosts" if job.too_few else f"code {outcome.code}"] += 1
        if (i - first) // step % 10 == 9 or i + step > number:
            print(f"jobs {first} to {i} by {step}: {done} disturbances, {dict(ends)}, {bad} wrong, "
                  f"{time.monotonic() - started:.0f} s", flush=True)
    return 1 if bad else 0
