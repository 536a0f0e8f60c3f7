"""Ctrl-C at random moments of jobs on hosts that do not answer; runs on host 1."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait

from hosts import SHARED, SPEC, cut, heal, in_host, listening_sshd, parent, pids, pids_on, sshd_sessions
from jobs import AUTODIST, BUILD, Running, python
from soak_jobs.processes import agents_of, comm, of_job, send

STOPPED, CUT, FAILING, LYING = 3, 5, 7, 8
HOSTS = range(1, 9)
GRACE_S, LEASE_S = 1, 6
ONCE, THRICE, STOP, KILL = "Ctrl-C", "three times Ctrl-C", "autodist stop", "kill -9"
LIMITS_S = {ONCE: GRACE_S + 10, THRICE: 1, STOP: GRACE_S + 10, KILL: 1}
THIRD_AFTER_S = 2.5  # more than 2 s after the second one, which a busy machine may deliver late
LOADED_S = 1  # delays on a loaded machine
AT_ONCE_S = 3
SLACK_S = 12  # after the lease: of the watchdog, and of a busy machine
TCP_S = 60  # until the other end notices a connection that was closed during a cut
MOMENTS_S = 9
TOGETHER = SHARED / "interrupts" / "together"  # jobs that copy no files start here
SYNCED_BYTES = 4 << 20
ABORTED = 1  # by the lie that a rank has called MPI_Abort
CODES = {130, 143, 125, 7, 0, ABORTED, -signal.SIGINT, -signal.SIGKILL}
LAST_CHARACTERS = 3000

# Rank 1 fails after this number of seconds in each attempt, if given.
SCRIPT = """
import os, sys, time
seconds, fails = float(sys.argv[1]), float(sys.argv[2])
if os.environ['RANK'] == '1' and fails:
    time.sleep(fails)
    sys.exit(7)
time.sleep(seconds)
"""
AGENTS = {FAILING: """#!/bin/sh
case $6 in
  resume) printf '\\nAUTODIST-READY %s\\n' "$4"; head -c 64 > /dev/null;;
  *) exec "$0.whole" "$@";;
esac
""", LYING: f"""#!/bin/sh
read lie < {SHARED}/lie && exec {BUILD}/liar $lie "$@"
exec "$0.whole" "$@"
"""}
# Lies with which a job may run for a while.
LIES = ["never_renews", "vanishes", "output_with_gaps", "gets_for_ever", "many_barriers", "much_lost", "skips_numbers",
        "no_way_to_end", "unasked_answers", "many_warnings_later", "aborts_for_ever"]


class Job(Running):
    def __init__(self, number, seed):
        self.chance = random.Random(f"{seed} {number}")
        self.number = number
        self.folder = SHARED / "interrupts" / str(number)
        self.folder.mkdir(parents=True)
        TOGETHER.mkdir(exist_ok=True)
        self.how = self.chance.choice(list(LIMITS_S))
        self.after = self.chance.uniform(0, MOMENTS_S)
        self.fault = self.chance.choice(["agent", "sessions", "both", "nothing"])
        self.fault_after = self.chance.uniform(0, MOMENTS_S)
        self.fails = self.chance.choice([0, 0, self.chance.uniform(0.1, 4)])
        options = ["--lease", LEASE_S, "--grace", GRACE_S]
        if self.fails:
            options += ["--max-restarts", 5]
        self.syncs = self.chance.random() < 0.3
        if self.syncs:
            (self.folder / "data").write_bytes(self.chance.randbytes(SYNCED_BYTES))
            options += ["--sync"]
        self.wrong = []
        self.held = set()
        super().__init__(["run", "--spec", SPEC, *options, "--", *python(SCRIPT),
                          self.chance.choice([2, 30]), self.fails], self.folder if self.syncs else TOGETHER, None)

    def make_fault(self):
        """Stops the job's processes on one host."""
        time.sleep(max(0, self.started + self.fault_after - time.monotonic()))
        ours = of_job(self.job_id(), pids_on(STOPPED))
        sessions = sshd_sessions(STOPPED)
        self.held = {parent(pid) for pid in ours} & sessions
        if self.fault in ("agent", "both"):
            send(signal.SIGSTOP, agents_of(self.job_id(), STOPPED))
        if self.fault in ("sessions", "both"):
            send(signal.SIGSTOP, self.held)

    def interrupt_it(self):
        time.sleep(max(0, self.started + self.after - time.monotonic()))
        if self.how == STOP and self.job_id():
            began = time.monotonic()
            subprocess.run([AUTODIST, "stop", self.job_id()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           check=False)
            return began
        for wait_s in (0, self.chance.uniform(0.05, 1), THIRD_AFTER_S)[:3 if self.how == THRICE else 1]:
            time.sleep(wait_s)
            if self.process.poll() is not None:
                return None
            self.interrupt(signal.SIGKILL if self.how == KILL else signal.SIGINT)
        return time.monotonic()

    def run(self):
        fault = threading.Thread(target=self.make_fault)
        fault.start()
        ended = []
        waiter = threading.Thread(target=lambda: ended.append((self.finish(), time.monotonic())))
        waiter.start()
        last = self.interrupt_it()
        waiter.join()
        fault.join()
        self.outcome, at = ended[0]
        self.took = at - last if last else 0
        limit = LIMITS_S[self.how]
        if self.took > limit + LOADED_S:
            self.wrong.append(f"it took {self.took:.2f} s after it, not {limit}")
        if self.outcome.code not in CODES:
            self.wrong.append(f"it ended with {self.outcome.code}")
        self.expect_nothing([host for host in HOSTS if host not in (STOPPED, CUT, FAILING, LYING)], at + self.at_once())

    def at_once(self):
        """The third Ctrl-C and SIGKILL do not wait for nodes, where agents then exit by themselves."""
        return LEASE_S + GRACE_S + SLACK_S if self.how in (THRICE, KILL) else AT_ONCE_S

    def expect_nothing(self, hosts, limit):
        if not self.job_id():
            return
        while True:
            left = [f"{comm(pid)} ({pid}) on host {host}" for host in hosts
                    for pid in of_job(self.job_id(), pids_on(host))]
            left += [name for host in hosts for name in in_host(
                host, "sh", "-c", "ls -d /tmp/autodist-*/* 2>/dev/null || true").split() if self.job_id() in name]
            if not left:
                return
            if time.monotonic() > limit:
                self.wrong.append(f"left: {left}")
                return
            time.sleep(0.2)

    def __str__(self):
        return (f"job {self.number} ({self.job_id()}): {self.how} after {self.after:.2f} s; "
                f"{self.fault} of host {STOPPED} stopped after {self.fault_after:.2f} s"
                + (f"; rank 1 fails after {self.fails:.2f} s" if self.fails else "") + ("; --sync" if self.syncs else ""))


class Interrupts:
    def __init__(self, seed, side_by_side):
        self.seed, self.side_by_side = seed, side_by_side
        self.chance = random.Random(f"{seed} rounds")
        self.verdicts, self.took, self.wrong = Counter(), {how: [] for how in LIMITS_S}, 0
        self.checks = []

    def round(self, numbers, pool, checkers):
        """Jobs side by side, while links and sessions of all break."""
        stop_server = self.chance.random() < 0.2
        server = listening_sshd(STOPPED)
        if stop_server:
            os.kill(server, signal.SIGSTOP)
        lie = self.chance.choice([*LIES, *[""] * len(LIES)])
        (SHARED / "lie").write_text(lie and lie + "\n")
        cut_after, break_after = self.chance.uniform(0, MOMENTS_S), self.chance.uniform(0, MOMENTS_S)
        runs = []
        jobs = []

        def one(number):
            job = Job(number, self.seed)
            jobs.append(job)
            job.run()
        runs = [pool.submit(one, number) for number in numbers]

        def breaker():
            begun = time.monotonic()
            for after, act in sorted([(cut_after, lambda: cut(CUT)),
                                      (break_after, lambda: send(signal.SIGKILL, sshd_sessions(FAILING)))],
                                     key=lambda step: step[0]):
                time.sleep(max(0, begun + after - time.monotonic()))
                act()
        broken = pool.submit(breaker)
        wait([*runs, broken])
        heal(CUT)
        if stop_server:
            os.kill(server, signal.SIGCONT)
        for done in [*runs, broken]:
            done.result()
        for job in jobs:
            send(signal.SIGCONT, job.held)
            self.checks.append(checkers.submit(self.judge, job, [host for host in HOSTS if host != LYING or not lie]))
        print(f"{numbers[-1] + 1} jobs; cut after {cut_after:.1f} s, sessions of host {FAILING} ended after "
              f"{break_after:.1f} s{f', the SSH server of host {STOPPED} stopped' if stop_server else ''}"
              f"{f', host {LYING} lies: {lie}' if lie else ''}; {self.wrong} wrong",
              flush=True)

    def judge(self, job, hosts):
        job.expect_nothing(hosts, time.monotonic() + LEASE_S + GRACE_S + SLACK_S)
        self.verdicts[job.outcome.code] += 1
        self.took[job.how].append(job.took)
        if not job.wrong:
            shutil.rmtree(job.folder)
            return
        self.wrong += 1
        print(f"WRONG: {job}", *(f"  {text}" for text in job.wrong),
              *(f"    | {line}" for line in job.outcome.err[-LAST_CHARACTERS:].splitlines()), sep="\n", flush=True)


def replace_agents():
    """Replaces the agent's program that a first job has installed."""
    first = Running(["run", "--spec", SPEC, "--", "true"], SHARED, None).finish()
    assert first.code == 0, first.err
    for host, text in AGENTS.items():
        (SHARED / "agent").write_text(text)
        in_host(host, "sh", "-c", "for a in ~/.cache/autodist/agent/*/autodist-agent; do mv $a $a.whole && "
                f"cp {SHARED}/agent $a && chmod 700 $a; done")


def deaf_logins():
    """Logins without children that missed the disconnection because the link was cut; only the server's
    keepalive (TCPKeepAlive, after two hours) would end them."""
    ours = pids_on(CUT)
    return sshd_sessions(CUT) - {parent(pid) for pid in ours if comm(pid) != "sshd"}


def interrupts(seed, count, side_by_side):
    before = pids()
    replace_agents()
    test = Interrupts(seed, side_by_side)
    with ThreadPoolExecutor(side_by_side + 1) as pool, ThreadPoolExecutor(4 * side_by_side) as checkers:
        for first in range(0, count, side_by_side):
            test.round(range(first, min(first + side_by_side, count)), pool, checkers)
        for check in test.checks:
            check.result()
    send(signal.SIGKILL, {pid for pid in pids_on(LYING) if comm(pid) == "liar"})
    limit = time.monotonic() + TCP_S
    while (left := pids() - before - deaf_logins()) and time.monotonic() < limit:
        time.sleep(0.1)
    if left:
        test.wrong += 1
        where = [f"{comm(pid)} ({pid}) on host {host}" for host in HOSTS for pid in sorted(left & pids_on(host))]
        print(f"WRONG: processes left: {where}")
    ends = ", ".join(f"{number} × {code}" for code, number in sorted(test.verdicts.items()))
    longest = ", ".join(f"{max(took):.2f} s after {how}" for how, took in test.took.items() if took)
    print(f"{sum(test.verdicts.values())} jobs ({ends}); at most {longest}; {test.wrong} wrong; seed {seed}")
    return 1 if test.wrong else 0
