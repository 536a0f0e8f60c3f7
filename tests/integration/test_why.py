"""`autodist why` names the causes of provoked hangs, and reports no issue for healthy trainings."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from jobs import BUILD, TOOLS, seconds_until

RANKS = 3
PROGRAM = Path(__file__).parents[1] / "programs" / "standstill.py"
STANDS = ("asleep", "data", "stopped", "file", "lock", "broadcast", "barrier", "ddp")
WRONG, CANNOT_TELL = 3, 4
START_LIMIT_S = 300  # all of them import PyTorch at the same time
SEEN_LIMIT_S = 300  # until each healthy job was seen doing its work
PATH_WITH_PY_SPY = f"{TOOLS / 'py-spy/bin'}:{os.environ['PATH']}"

pytestmark = pytest.mark.skipif(not shutil.which("py-spy", path=PATH_WITH_PY_SPY),
                                reason="no py-spy; setup/test_tools.sh brings it")


class Trainings:
    """Detached jobs, started together because each needs long to import PyTorch."""

    def __init__(self, start, folder, causes, *options):
        self.pipe = folder / "pipe"
        os.mkfifo(self.pipe)
        environment = {"PATH": PATH_WITH_PY_SPY, "OMP_NUM_THREADS": "1"}
        outcomes = {cause: start("run", "--detach", "-n", RANKS, *options, "--", "/usr/bin/python3", PROGRAM, cause, self.pipe,
                                 cwd=folder, env=environment) for cause in causes}
        self.jobs = {}
        for cause, started in outcomes.items():
            err = started.finish().err
            self.jobs[cause] = re.search(r"job (\S+) is running", err)[1], folder / "autodist-runs"
        self.await_start()

    def await_start(self):
        def has_begun(job, logs):
            return all((logs / job / f"rank-{rank}.out").read_text() for rank in range(RANKS))
        seconds_until(lambda: all(has_begun(*job) for job in self.jobs.values()), START_LIMIT_S)


@contextmanager
def trainings(start, tmp_path, causes, *options):
    """{cause: job}; ends the jobs."""
    jobs = {cause: job for cause, (job, _) in Trainings(start, tmp_path, causes, *options).jobs.items()}
    try:
        yield jobs
    finally:
        for stop in [start("stop", "--now", job) for job in jobs.values()]:
            stop.finish()


def diagnoses(start, jobs):
    """{cause: outcome of `why --json`}."""
    asked = {cause: start("why", job, "--json") for cause, job in jobs.items()}
    return {cause: one.finish() for cause, one in asked.items()}


def test_each_cause_is_named(start, tmp_path):
    with trainings(start, tmp_path, STANDS) as jobs:
        says = diagnoses(start, jobs)
    issues = {}
    for cause, outcome in says.items():
        assert outcome.code == WRONG, (cause, outcome.out, outcome.err)
        diagnosis = json.loads(outcome.out)
        assert diagnosis["diagnosis"] == "issue"
        issues[cause] = diagnosis["issue"]
        assert diagnosis["issue"]["ranks"] == [2], diagnosis
        assert all(one["source"] and one["value"] for one in diagnosis["issue"]["evidence"])
        assert diagnosis["issue"]["kind"] == "stalled"
    what = {cause: issue["what"] for cause, issue in issues.items()}
    missing = r"rank 2 \(localhost\) has not entered the all-reduce in which the 2 others wait; it "
    assert re.fullmatch(missing + r"sleeps in odd \(\S*standstill.py:\d+\)", what["asleep"])
    assert re.fullmatch(missing + r"is in its data loader: .*, whose worker is in "
                        r"(Examples\.)?__getitem__ \(\S*standstill.py:\d+\)", what["data"])
    assert re.fullmatch(missing + rf"opens {tmp_path}/pipe in odd \(\S*standstill.py:\d+\)", what["file"])
    assert re.fullmatch(missing + r"waits for a lock, another thread or another process in odd "
                        r"\(\S*standstill.py:\d+\)", what["lock"])
    assert re.fullmatch(r"rank 2 \(localhost\) has not entered the collective in which the 2 others wait; it sleeps in "
                        r"odd \(\S*standstill.py:\d+\)", what["ddp"]), what["ddp"]
    assert what["stopped"] == ("rank 2 (localhost) is stopped by a signal (state T); the 2 others wait in an "
                               "all-reduce")
    places = (r"rank 2 \(localhost\) waits in {} \(\S*standstill.py:\d+\), the 2 others in {} \(\S*standstill.py:\d+\): "
              "they do not execute the same collectives")
    assert re.fullmatch(places.format("broadcast", "all_reduce"), what["broadcast"]), what["broadcast"]
    assert re.fullmatch(places.format("all_reduce", "barrier"), what["barrier"]), what["barrier"]


def test_a_deadlock_in_cpp_under_gloo(start, autodist, tmp_path):
    """Needs gdb; the kernel's data alone does not distinguish it from other waits."""
    err = start("run", "--detach", "-n", RANKS, "--", BUILD / "standstill", "deadlock").finish().err
    job = re.search(r"job (\S+) is running", err)[1]
    logs = tmp_path / "autodist-runs" / job
    seconds_until(lambda: all((logs / f"rank-{rank}.out").read_text() for rank in range(RANKS)), START_LIMIT_S)
    outcome = autodist("why")
    autodist("stop", "--now", job)
    assert outcome.code == WRONG, outcome.out
    assert re.match(r"rank 2 \(localhost\) has not entered the all-reduce in which the 2 others wait; it waits for a "
                    r"lock in .*LockBoth", outcome.out), outcome.out
    assert "[gdb, /proc]" in outcome.out and "ranks 0-1: an all-reduce: gloo::" in outcome.out


def test_a_node_whose_cores_another_program_takes(start, tmp_path):
    run = start("run", "-n", RANKS, "--sample-interval", 0.5, "--", BUILD / "standstill", "compute")
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        run.await_lines(RANKS)
        says = start("why", "--json").finish()
    finally:
        for other in others:
            other.kill()
            other.wait()
        run.interrupt()
        run.finish()
    issue = json.loads(says.out)["issue"]
    cores = os.cpu_count()
    assert says.code == WRONG and issue["kind"] == "slow", says.out
    assert re.fullmatch(rf"localhost: other programs use \d+\.\d cores of {cores}", issue["what"]), says.out


IN_COLLECTIVE = "; 2 ranks wait for that in a collective"
AS_SEEN = r"nothing is wrong as far as autodist sees: rank 2 \(localhost\) "
WELL = {  # by cause: what `why` says
    "output": "nothing is wrong: ranks write",
    "uneven": ".*",  # a silent job with ranks at another place in each sample has no diagnosis
    "epoch": r"nothing is wrong: all 3 ranks are at work; rank \d \(localhost\) is in its data loader.*",
    "compile": r"nothing is wrong: all 3 ranks are at work; rank \d \(localhost\) compiles in compile_model.*",
    "evaluate": AS_SEEN + "computes in compute.*; 2 ranks wait for that.*",
    "checkpoint": "nothing is wrong.*writes a checkpoint.*",
    "pool": AS_SEEN + r"waits .*, while its other processes use \d\.\d cores" + IN_COLLECTIVE,
    "thread": AS_SEEN + r"waits .*, while its other threads use \d\.\d cores" + IN_COLLECTIVE,
    # Data has arrived, and the rank has not got a core yet.
    "download": AS_SEEN + r"(waits .*, while \d+ kB/s of data move|computes in download.*)" + IN_COLLECTIVE,
}


def test_no_issue_is_reported_for_healthy_jobs(start, tmp_path):
    """If the work of a rank gets little of the cores, `why` may name no cause; it never reports an issue."""
    # Without samples: side by side the jobs take each other's cores, which a diagnosis would report.
    with trainings(start, tmp_path, WELL, "--sample-interval", 0) as jobs:
        left, said = dict(jobs), {}

        def all_are_seen_at_work():
            for cause, outcome in diagnoses(start, left).items():
                assert outcome.code in (0, CANNOT_TELL), (cause, outcome.out, outcome.err)
                said[cause] = json.loads(outcome.out)["issue"]["what"]
                if re.fullmatch(WELL[cause], said[cause]):
                    del left[cause]
            return not left

        seconds_until(all_are_seen_at_work, SEEN_LIMIT_S, lambda: {cause: said[cause] for cause in left})


def test_why_of_an_ended_job(autodist, tmp_path):
    failed = autodist("run", "--", "sh", "-c", "echo bad data >&2; exit 9")
    assert failed.code == 9
    outcome = autodist("why", "last")
    assert outcome.code == WRONG
    assert re.match(r"rank 0 on localhost \(pid \d+\) .*exited with code 9", outcome.out), outcome.out
    assert "exit code 9 [job record]" in outcome.out
    assert autodist("run", "--", "true").code == 0
    outcome = autodist("why")
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "nothing is wrong: the job has ended well")


# Rank 1 raises and hangs while it exits, or exits with 0; the other rank waits.
ENDS = """
import atexit, os, sys, threading
print("up", flush=True)
if os.environ["RANK"] == "1":
    if sys.argv[1] == "well":
        sys.exit(0)
    atexit.register(threading.Event().wait)
    raise ValueError("NaN in the gradients of layer 3")
threading.Event().wait()
"""


@pytest.mark.parametrize("how, says", [
    ("raised", r"rank 1 \(localhost\) wrote an error [\d.]+ s ago and has not ended: ValueError: NaN in the gradients of "
               r"layer 3, train.py:8; the other rank waits"),
    ("well", r"rank 0 \(localhost\) has not ended: it .*; the other one ended with 0 [\d.]+ s ago")])
def test_a_rank_that_is_exiting(start, autodist, tmp_path, how, says):
    (tmp_path / "train.py").write_text(ENDS)
    run = start("run", "-n", 2, "--name", how, "--grace", 1, "--hang-timeout", 20, "--", "/usr/bin/python3", "train.py", how)
    run.await_lines(2)
    outcome = autodist("why", how)
    if outcome.code != WRONG:  # the record was completed in the meantime
        outcome = autodist("why", how)
    assert outcome.code == WRONG and re.match(says + "\n", outcome.out), outcome.out
    ended = run.finish()
    assert ended.code == 124 and re.search("^autodist: " + says, ended.err, re.M), ended.err


def test_a_hang_is_reported_with_its_cause(start, tmp_path):
    environment = {"PATH": PATH_WITH_PY_SPY, "OMP_NUM_THREADS": "1"}
    # Ranks are also silent while they import PyTorch; issues of that time are ignored here.
    run = start("run", "-n", RANKS, "--hang-timeout", 5, "--on-hang", "warn", "--", "/usr/bin/python3", PROGRAM,
                "asleep", env=environment)
    diagnosis = (r"^autodist: rank 2 \(localhost\) has not entered the all-reduce in which the 2 others wait; it "
               r"sleeps in odd .*\nwhat all ranks are doing is in ")
    seconds_until(lambda: re.search(diagnosis, run.err.decode(), re.M), START_LIMIT_S)
    run.interrupt()
    assert run.finish().code == 130
