"""The parts of a job's wall time, and the report that shows them."""

import json
import re
import time

from hosts import SPEC, address, heal
from jobs import python, seconds_until

RESTARTS = 2
STEP_S = 0.1
CUT_S = 18  # a node is away when it has not answered for ten seconds
# Max. delay until the chief knows of a first step in each attempt.
FIRST_STEP_S = 0.3
# Rank 0 prints steps and saves every thirtieth; rank 5 fails in the first attempt and rank 2 in the second.
PROGRAM = """
import os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
attempt, rank = int(os.environ["AUTODIST_RESTART_COUNT"]), int(os.environ["RANK"])
step = 0
while not (folder / "done").exists():
    step += 1
    if rank == 0:
        print(f"step {step}", flush=True)
        if step == 1:
            (folder / f"trains-{attempt}").touch()
        if step % 30 == 0:
            (folder / "ckpt" / f"{attempt}-{step}.pt").write_text("weights")
    if (attempt, rank) in ((0, 5), (1, 2)) and step == 55:
        print("KeyError: <b>'label'</b>", file=sys.stderr, flush=True)
        (folder / f"failed-{attempt}").touch()
        sys.exit(9)
    time.sleep(float(sys.argv[2]))
"""


def written(path):
    return path.stat().st_mtime


def stalled(events):
    """How long a node was away, computed from the events."""
    away = None
    seconds = 0
    for event in events:
        if event.get("node_phase") == "reconnecting":
            away = int(event["time_ms"])
        elif away is not None and event.get("node_phase") == "running":
            seconds, away = seconds + (int(event["time_ms"]) - away) / 1000, None
    return seconds


def test_the_parts_add_up_for_a_job_with_two_failures_and_a_disconnection(start, autodist, folder, cut):
    (folder / "ckpt").mkdir()
    job = start("run", "--spec", SPEC, "--max-restarts", RESTARTS, "--checkpoint-dir", "ckpt",
                "--progress-regex", r"step (?P<step>\d+)", "--lease", "60", "--", *python(PROGRAM), folder, STEP_S)
    seconds_until((folder / "trains-2").exists, 60)
    cut_at = time.monotonic()
    cut(3)
    time.sleep(CUT_S)  # the fault itself
    heal(3)
    [logs] = (folder / "autodist-runs").glob("2*")
    seconds_until(lambda: "away" not in states(autodist), 30)
    healed_after = time.monotonic() - cut_at
    trained_on = time.time()
    (folder / "done").touch()
    outcome = job.finish()
    assert outcome.code == 0, outcome.err

    snapshot = json.loads((logs / "snapshot.json").read_text())
    spent = {part: int(time_ms) / 1000 for part, time_ms in snapshot["goodput_parts"].items()}
    events = [json.loads(line) for line in (logs / "events.jsonl").read_text().splitlines()]
    print(spent, outcome.seconds)
    assert abs(sum(spent.values()) - outcome.seconds) < 0.01 * outcome.seconds, (spent, outcome.seconds)

    lost = sum(written(folder / f"failed-{attempt}") - written(folder / "ckpt" / f"{attempt}-30.pt")
               for attempt in range(RESTARTS))
    assert lost > 3
    assert abs(spent["lost_steps"] - lost) < 0.5, (spent, lost)
    away = stalled(events)
    assert 2 < away < healed_after
    assert abs(spent["stalled"] - away) < 0.5, (spent, away)
    begins = [written(folder / f"trains-{attempt}") for attempt in range(RESTARTS + 1)]
    ends = [*(written(folder / f"failed-{attempt}") for attempt in range(RESTARTS)), trained_on]
    trained = sum(end - begin for begin, end in zip(begins, ends, strict=True)) - lost - away
    assert abs(spent["training"] - trained) < FIRST_STEP_S * len(begins), (spent, trained)
    assert 0.1 < spent["restarting"] < 2
    goodput = float(re.search(r"goodput ([\d.]+) %", outcome.err)[1]) if "goodput" in outcome.err else None
    assert goodput is None or abs(goodput - 100 * spent["training"] / sum(spent.values())) < 0.1

    check_report(autodist, folder)


def states(autodist):
    outcome = autodist("status", "last")
    return "away" if "reconnecting" in outcome.out else outcome.out


def check_report(autodist, folder):
    outcome = autodist("report", "last", "--markdown")
    assert outcome.code == 0, outcome.err
    assert re.search(r"\| lost steps \| \d+(\.\d)? s \|", outcome.out), outcome.out
    assert f"rank 5 on {address(3)} exited with code 9" in outcome.out
    assert outcome.out.count("| ✕ job | restarting") == RESTARTS
    page = folder / "report.html"
    assert autodist("report", "last", "--output", page).code == 0
    html = page.read_text()
    assert "<script" not in html and "<b>'label'" not in html and "lost steps" in html
    assert autodist("report", "last", "--output", page).code == 2  # it exists
    assert page.read_text() == html
    assert autodist("report", "last", "--output", page, "--force").code == 0
