"""The soak test; runs on host 1."""

import hashlib
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from hosts import SHARED, SPEC, in_host, listening_sshd, pids, start_sshd, stop_sshd
from jobs import Running
from soak_jobs.events import CUT_S, GRACE_S, HOSTS, Cut, StoppedServer, any_event, possible_codes
from soak_jobs.processes import of_job
from soak_jobs.programs import Program

AT_THE_SAME_TIME = 2
LEASE_S = (3, 8)
SYNCED_BYTES = 8 << 20
REKEYING = 2  # the host with an SSH server that asks for new keys after each MB
BETWEEN_CUTS_S = (8, 20)
SLACK_S = 5  # after lease and grace, until all of a job is gone
LOSS_IS_REPORTED = "their last output may be missing"  # an agent was killed after its ranks had ended
LAST_CHARACTERS = 2000  # of stderr, shown with a wrong outcome


class Job(Running):
    def __init__(self, number, seed):
        chance = random.Random(f"{seed} {number}")
        self.number = number
        self.program = Program.any(chance)
        self.event = any_event(chance)
        self.lease = chance.randint(*LEASE_S)
        self.said_at = self.ended = None
        self.syncs = chance.random() < 0.3
        # Each host has its own /tmp.
        self.folder = (Path("/tmp") if self.syncs else SHARED) / "soak" / str(number)
        self.folder.mkdir(parents=True)
        options = ["--lease", self.lease, "--grace", GRACE_S]
        if self.syncs:
            self.data = chance.randbytes(chance.randint(1, SYNCED_BYTES))
            (self.folder / "data").write_bytes(self.data)
            options += ["--sync"]
        super().__init__(["run", "--spec", SPEC, *options, "--", *self.program.argv()], self.folder,
                         {"PWD": str(self.folder)})

    def watch_start(self):
        while not self.said_at and self.process.poll() is None:
            if self.job_id():
                self.said_at = time.monotonic()
            time.sleep(0.005)

    def run_event(self):
        self.watch_start()
        time.sleep(max(0, self.started + self.event.after - time.monotonic()))
        self.event.apply(self)

    def __str__(self):
        return (f"job {self.number} ({self.job_id()}): --lease {self.lease}{', --sync' if self.syncs else ''}, {self.program}; "
                f"{self.event or 'left alone'}")


def wrong_output(job, outcome):
    """The error in stdout: lines lost, torn or out of order."""
    whole = job.program.whole()
    if outcome.code == 0 and LOSS_IS_REPORTED not in outcome.err:
        return "" if outcome.lines() == whole else "its output is not whole"
    if outcome.code < 0:
        return ""
    for rank, lines in outcome.lines().items():
        expected = whole.get(rank, [])[:len(lines)]
        if lines[:-1] != expected[:-1] or not expected or not expected[-1].startswith(lines[-1]):
            return f"rank {rank}'s output has a hole before its end"
    return ""


def wrong_copies(job):
    """The error if hosts lack the files that a successful job copied."""
    if not job.syncs:
        return ""
    sum_of_it = hashlib.md5(job.data).hexdigest()
    wrong = [host for host in HOSTS
             if sum_of_it not in in_host(host, "sh", "-c", f"md5sum {job.folder}/data 2>&1 || true")]
    return f"its file is not on hosts {wrong}" if wrong else ""


def folders_of(job_id):
    return [name for host in HOSTS for name in in_host(
        host, "sh", "-c", "ls -d /tmp/autodist-*/* 2>/dev/null || true").split() if job_id and job_id in name]


def what_is_left(job, limit):
    while True:
        left = of_job(job.job_id(), pids()) + folders_of(job.job_id())
        if not left or time.monotonic() > limit:
            return left
        time.sleep(0.05)


class Soak:
    def __init__(self, seed):
        self.seed = seed
        self.lock = threading.Lock()
        self.begun = 0  # guarded by lock, as are all below
        self.running, self.cuts, self.verdicts, self.wrong = [], [], Counter(), 0
        self.over = threading.Event()

    def jobs(self, until, most):
        """Runs one job after the other."""
        while time.monotonic() < until:
            with self.lock:
                if most and self.begun >= most:
                    return
                self.begun += 1
                number = self.begun
            job = Job(number, self.seed)
            with self.lock:
                self.running.append(job)
            self.finish(job)

    def finish(self, job):
        follower = threading.Thread(target=job.run_event if job.event else job.watch_start)
        follower.start()
        outcome = job.finish()
        job.ended = time.monotonic()
        follower.join()
        left = what_is_left(job, job.ended + job.lease + GRACE_S + CUT_S[1] + SLACK_S)
        with self.lock:
            self.running.remove(job)
            cuts = list(self.cuts)
        wrong = []
        codes = possible_codes(job, cuts)
        if outcome.code not in codes:
            wrong.append(f"it ended with {outcome.code}, not {' or '.join(map(str, sorted(codes)))}")
        limit = job.event.limit if job.event and job.event.done else None
        if limit and job.ended > job.event.at + limit:
            wrong.append(f"it ended {job.ended - job.event.at:.2f} s later, not within {limit} s")
        try:
            wrong.append(wrong_output(job, outcome))
            wrong.append(wrong_copies(job) if outcome.code == 0 else "")
        except AssertionError as error:
            wrong.append(str(error))
        if left:
            wrong.append(f"left: {left}")
        self.judge(job, outcome, [text for text in wrong if text], cuts)

    def judge(self, job, outcome, wrong, cuts):
        with self.lock:
            self.verdicts[outcome.code] += 1
            if not wrong:
                for host in HOSTS if job.syncs else HOSTS[:1]:
                    in_host(host, "rm", "-rf", job.folder)
                return
            self.wrong += 1
            print(f"WRONG: {job}", *(f"  {text}" for text in wrong),
                  *(f"  {one}, from {one.begun - job.started:+.2f} s" for one in cuts if one.begun
                    and job.started - 2 * CUT_S[1] < one.begun < job.ended),
                  f"  it took {outcome.seconds:.2f} s, and said:",
                  *(f"    | {line}" for line in outcome.err[-LAST_CHARACTERS:].splitlines()),
                  sep="\n", flush=True)

    def cut_links(self):
        chance = random.Random(f"{self.seed} cuts")
        while not self.over.wait(chance.uniform(*BETWEEN_CUTS_S)):
            one = chance.choice([Cut, Cut, StoppedServer])(chance)
            with self.lock:
                self.cuts.append(one)
                running = list(self.running)
            one.apply(running)


def descriptors(servers):
    return {host: len(os.listdir(f"/proc/{pid}/fd")) for host, pid in servers.items()}


def sockets():
    """Unix sockets of autodist on any host."""
    return [line for host in HOSTS for line in in_host(host, "cat", "/proc/net/unix").splitlines()
            if "autodist" in line]


def ask_for_new_keys(host):
    stop_sshd(host)
    with open(SHARED / f"host{host}" / "sshd_config", "a", encoding="utf-8") as config:
        config.write("RekeyLimit 1M\n")
    start_sshd(host)


def soak(seed, seconds, most):
    ask_for_new_keys(REKEYING)
    servers = {host: listening_sshd(host) for host in HOSTS}
    before, open_before = pids(), descriptors(servers)
    test = Soak(seed)
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(AT_THE_SAME_TIME + 1) as pool:
        cutter = pool.submit(test.cut_links)
        workers = [pool.submit(test.jobs, until, most) for _ in range(AT_THE_SAME_TIME)]
        wait(workers)
        test.over.set()
    for thread in [*workers, cutter]:
        thread.result()  # raises its exception

    left = pids() - before
    limit = time.monotonic() + SLACK_S  # until SSH servers have closed sessions
    while (left or descriptors(servers) != open_before) and time.monotonic() < limit:
        time.sleep(0.05)
        left = pids() - before
    for text, wrong in ((f"processes left: {sorted(left)}", left), (f"sockets left: {sockets()}", sockets()),
                        (f"descriptors of the hosts' SSH servers: {open_before} before, "
                         f"{descriptors(servers)} after", descriptors(servers) != open_before)):
        if wrong:
            test.wrong += 1
            print(f"WRONG: {text}")
    ends = ", ".join(f"{count} × {code}" for code, count in sorted(test.verdicts.items()))
    print(f"{sum(test.verdicts.values())} jobs ({ends}), {len(test.cuts)} cuts and stopped servers, {test.wrong} wrong; seed {seed}")
    return 1 if test.wrong else 0
