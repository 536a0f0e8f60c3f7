"""Jobs of three hosts with a spare one, during each of which a host is lost, or only seems to be. No rank may run
twice at a time: each holds the lock of a file until its last process is gone. A job may start again only if a
host was lost."""

import contextlib
import random
import signal
import statistics
import time

from hosts import SHARED, SPEC, cut, cut_replies, heal, kill_all, power_off, power_on, sshd_sessions
from jobs import Running, processes, seconds_until
from soak_jobs.processes import agents_of, send

HOSTS, SPARE = (2, 3, 4), 4  # host 1 has the chief
RANKS = 6
LEASE_S = 5
GRACE_S = 1
SHORT_S = (0.1, 1.5)  # a disturbance that no lease expires in
START_LIMIT_S = 30
RECOVERY_LIMIT_S = LEASE_S + GRACE_S + 4  # on a loaded machine
END_LIMIT_S = LEASE_S + GRACE_S + 5
DURING_START = 0.2  # share of the jobs
SCRIPT = """
exec 9>"$1/lock-$RANK"; flock -n 9 || touch "$1/twice-$RANK"
[ $2 = 0 ] || trap '' TERM
touch "$1/up-$AUTODIST_RESTART_COUNT-$RANK"
while ! [ -e "$1/end" ]; do sleep 0.05; done
"""


def to_agent(number):
    return lambda job: send(number, agents_of(job.job_id(), job.host))


def to_host(act):
    return lambda job: act(job.host)


def nothing(job):
    pass


# Of each disturbance: how it begins, and how it ends.
LOSSES = {
    "agent killed": (to_agent(signal.SIGKILL), nothing),
    "agent stopped": (to_agent(signal.SIGSTOP), to_agent(signal.SIGCONT)),
    "cut off": (to_host(cut), to_host(heal)),
    "replies cut off": (to_host(cut_replies), to_host(heal)),
    "switched off": (to_host(power_off), to_host(power_on)),
}
GLITCHES = {
    "connections killed": (lambda job: kill_all(sshd_sessions(job.host)), nothing),
    "agent stopped for a moment": LOSSES["agent stopped"],
    "cut off for a moment": LOSSES["cut off"],
    "replies cut off for a moment": LOSSES["replies cut off"],
}


class Job(Running):
    def __init__(self, seed, number):
        chance = random.Random(f"{seed} {number}")
        self.is_loss = chance.random() < 0.6
        self.event = chance.choice(sorted(LOSSES if self.is_loss else GLITCHES))
        self.host = chance.choice(HOSTS)
        self.stubborn = chance.random() < 0.3
        self.delay = chance.uniform(0, 2) if chance.random() < DURING_START else None
        self.short = chance.uniform(*SHORT_S)
        self.name = (f"job {number}: host {self.host}: {self.event}"
                     + (", stubborn ranks" if self.stubborn else "")
                     + (f", {self.delay:.2f} s after its start" if self.delay is not None else ""))
        self.folder = SHARED / "losses" / str(number)
        self.folder.mkdir(parents=True)
        super().__init__(["run", "--spec", SPEC, "--lease", LEASE_S, "--grace", GRACE_S, "--spares", "1", "--",
                          "sh", "-c", SCRIPT, "sh", self.folder, int(self.stubborn)], self.folder, None)

    def up(self, attempt):
        return len(list(self.folder.glob(f"up-{attempt}-*"))) == RANKS

    def again(self):
        return bool(list(self.folder.glob("up-1-*")))

    def await_start(self):
        if self.delay is None:
            seconds_until(lambda: self.up(0), START_LIMIT_S, lambda: self.err.decode())
        else:
            time.sleep(self.delay)

    def disturb(self):
        """Returns the seconds until the ranks ran again, or None."""
        begin, end = (LOSSES if self.is_loss else GLITCHES)[self.event]
        recovers = self.is_loss and self.host != SPARE and self.delay is None
        started = time.monotonic()
        begin(self)
        try:
            if recovers:
                seconds_until(lambda: self.up(1), RECOVERY_LIMIT_S, lambda: self.err.decode())
                return time.monotonic() - started
            if not self.is_loss:
                time.sleep(self.short)
                end(self)
            # What takes a lease at most has happened then.
            with contextlib.suppress(AssertionError):
                seconds_until(lambda: self.process.poll() is not None, LEASE_S + 0.5)
            return None
        finally:
            end(self)

    def wrong(self, outcome):
        """What the job did that it must not do."""
        twice = sorted(self.folder.glob("twice-*"))
        if twice:
            yield f"ran twice at a time: {[path.name for path in twice]}"
        if self.again() and not self.is_loss:
            yield "started again although no host was lost"
        if self.again() and self.host == SPARE:
            yield "started again although only the spare was lost"
        if outcome.code not in ({0} if self.delay is None else {0, 125}):
            yield f"ended with {outcome.code}"


def run_one(job):
    """Returns what was wrong, and the seconds that a recovery took."""
    wrong, took = [], None
    try:
        job.await_start()
        took = job.disturb()
    except AssertionError as error:
        wrong.append(str(error))
    (job.folder / "end").touch()
    outcome = job.finish()
    wrong += job.wrong(outcome)
    try:
        seconds_until(lambda: not processes(), END_LIMIT_S)
    except AssertionError as error:
        wrong.append(f"left: {error}")
    if wrong:
        print(f"WRONG: {job.name}", *(f"  {text}" for text in wrong), "  it said:",
              *(f"    | {line}" for line in outcome.err.splitlines()), sep="\n", flush=True)
    return wrong, took


def losses(seed, number):
    took, bad = {}, 0
    for i in range(1, number + 1):
        job = Job(seed, i)
        wrong, seconds = run_one(job)
        bad += bool(wrong)
        if seconds is not None:
            took.setdefault(job.event, []).append(seconds)
        if i % 50 == 0 or i == number:
            print(f"{i} jobs, {bad} wrong; recovery: " + "; ".join(
                f"{event} {len(all_)} × {statistics.median(all_):.2f} s, {max(all_):.2f} s at most"
                for event, all_ in sorted(took.items())), flush=True)
    return 1 if bad else 0
