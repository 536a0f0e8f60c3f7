"""Progress of unmodified programs in the snapshot, at half of their steps."""

import re
import time

import pytest
from hosts import in_host
from jobs import BUILD
from web import Web

pytestmark = pytest.mark.hosts(3, "--ranks 2")

LOOK_S = 0.1
START_LIMIT_S = 180  # other processes use the same disk
TRAIN_LIMIT_S = 120
ETA_TOLERANCE = 0.2
MOST_TRIES = 3  # load from other processes may change during one


class Snapshot:
    """Reads the progress of a running job."""

    def __init__(self, job):
        self.job = job
        job.await_err("logs in ", START_LIMIT_S)
        self.id = re.search(r"job (\S+): ", job.err.decode())[1]
        self.web = Web(self.id).enter()

    def progress(self):
        return self.web.json(f"/api/jobs/{self.id}/snapshot")["progress"] or {}

    def await_step(self, step, limit):
        """The progress once this many steps are done, and the time then."""
        begin = time.monotonic()
        while True:
            shown = self.progress()
            if int(shown.get("step") or 0) >= step:
                return shown, time.monotonic()
            assert self.job.process.poll() is None, f"it ended at {shown}: {self.job.err.decode()}"
            assert time.monotonic() - begin < limit, f"no step {step} within {limit} s: {shown}"
            time.sleep(LOOK_S)


@pytest.fixture
def watch(start_program, one_and_one):
    """Runs a program on two hosts with a rank each, and checks the progress at half of the steps; returns the
    metrics at that time."""
    snapshots = []

    def half_time(program, command, *options, steps, source, last_word):
        snapshot = Snapshot(start_program(program, command, *options, changes=one_and_one))
        snapshots.append(snapshot)
        snapshot.await_step(1, START_LIMIT_S)
        half, at = snapshot.await_step(steps // 2, TRAIN_LIMIT_S)
        took = snapshot.job.await_line(last_word) - at
        outcome = snapshot.job.finish()
        assert outcome.code == 0, outcome.err + outcome.out
        assert half["source"] == source, half
        assert int(half["step"]) < steps * 0.6, half
        assert int(half.get("total", 0)) == steps, half
        print(f"{program}: {half['eta']:.1f} s to go at step {half['step']} of {steps}; it took {took:.1f} s")
        return half, took

    def run(program, command, *options, steps, source="bar", last_word="trained"):
        for left in reversed(range(MOST_TRIES)):
            half, took = half_time(program, command, *options, steps=steps, source=source, last_word=last_word)
            if half["eta"] == pytest.approx(took, rel=ETA_TOLERANCE) or left == 0:
                break
        assert half["eta"] == pytest.approx(took, rel=ETA_TOLERANCE), half
        assert half["rate"] == pytest.approx((steps - int(half["step"])) / took, rel=0.5), half
        return {metric["name"]: metric.get("value", 0.0) for metric in half.get("metrics", [])}
    yield run
    for snapshot in snapshots:
        snapshot.web.end()


def test_bars_of_tqdm(watch, python):
    assert 0 < watch("progress_bar.py", [python, "train.py"], steps=120)["loss"] < 2


def test_lines_by_a_pattern(watch, python):
    pattern = r"at (?P<step>\d+) out of (?P<total>\d+); the loss is (?P<loss>\S+)"
    assert 0 < watch("progress_lines.py", [python, "train.py"], "--progress-regex", pattern, steps=120,
                     source="pattern")["loss"] < 2


@pytest.fixture
def slow_network():
    """Makes the network, and not other load, decide how long an all-reduce of 10 KB takes."""
    for host in (1, 2):
        in_host(host, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "8mbit", "burst", "4kb",
                "latency", "1s")
    yield
    for host in (1, 2):
        in_host(host, "tc", "qdisc", "del", "dev", "eth0", "root")


def test_train_digits(watch, slow_network):
    epochs, batches = 140, 15
    command = [BUILD / "train_digits", "--epochs", epochs]
    assert "loss" in watch("progress_lines.py", command, steps=epochs * batches, source="file", last_word="rank 0 of 2")


def test_the_trainer_of_hugging_face(watch, python):
    metrics = watch("progress_trainer.py", [python, "train.py"], steps=120)
    assert metrics["loss"] > 0 and metrics["eval_loss"] > 0 and 1 <= metrics["epoch"] <= 2


def test_lightnings_bar_of_rich(watch, python):
    # To a pipe, rich prints only at the end by default.
    metrics = watch("progress_lightning.py", [python, "train.py", "--max_epochs", "3", "--rich"],
                    "--env", "TTY_COMPATIBLE=1", steps=120)
    assert metrics["train_loss"] >= 0


def test_lightnings_bar_of_tqdm(watch, python):
    # The bar does not show the number of epochs.
    metrics = watch("progress_lightning.py", [python, "train.py", "--max_epochs", "3"], steps=120)
    assert metrics["train_loss"] >= 0 and metrics["val_loss"] >= 0
