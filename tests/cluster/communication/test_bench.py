"""autodist bench on four hosts with two ranks each; none has the program before."""

import csv
import os
import re
import signal

import pytest
from hosts import SPEC, in_host, ranks_on
from jobs import seconds_until

COLLECTIVES = ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-recv"]
RANKS = 8
SMALL = ["--to", "64K", "--factor", "64", "--iterations", "5"]
START_LIMIT_S = 30


def folders_on(host):
    return in_host(host, "sh", "-c", "ls ~/.cache/autodist/bench 2>/dev/null; true").split()


def test_all_operations_on_hosts_without_the_program(start, folder):
    for host in (1, 2, 3, 4):
        in_host(host, "sh", "-c", "rm -rf ~/.cache/autodist/bench")
    outcome = start("bench", "--spec", SPEC, *SMALL, "--csv", "table.csv").finish()
    assert outcome.code == 0, outcome.err
    assert len({tuple(folders_on(host)) for host in (1, 2, 3, 4)}) == 1
    with open(folder / "table.csv", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    # Each of eight ranks has at least one float of the parts.
    whole, parts = ["8", "512", "32768"], ["32", "512", "32768"]
    assert [row["bytes"] for row in rows] == whole + parts + parts + whole + parts + whole
    assert list(dict.fromkeys(row["collective"] for row in rows)) == COLLECTIVES
    for row in rows:
        assert row["wrong"] == "0" and float(row["time_us"]) > 0
        if row["collective"] in ("all-to-all", "send-recv"):
            assert row["in_place_time_us"] == row["in_place_wrong"] == ""
        else:
            assert row["in_place_wrong"] == "0" and float(row["in_place_time_us"]) > 0
    first = rows[2]
    assert float(first["algbw_GBps"]) == pytest.approx(32768 / float(first["time_us"]) / 1e3, rel=0.01)
    assert float(first["busbw_GBps"]) == pytest.approx(float(first["algbw_GBps"]) * 14 / 8, rel=0.01)
    # Only the table is on stdout.
    assert "[" not in outcome.out and len(outcome.out.split("\n\n")) == len(COLLECTIVES)
    assert len(re.findall(r"^ +\d+ .*\n", outcome.out, re.MULTILINE)) == len(rows)


def test_a_second_run_sends_nothing(start):
    start("bench", "--spec", SPEC, "--collective", "broadcast", "--to", "8").finish()
    outcome = start("bench", "--spec", SPEC, "--collective", "broadcast", "--to", "8").finish()
    assert outcome.code == 0, outcome.err
    assert "nothing to send" in outcome.err
    assert outcome.out.split()[0] == "broadcast"


def test_a_rank_that_dies_ends_the_bench(start):
    job = start("bench", "--spec", SPEC, "--collective", "all-reduce", "--to", "1M", "--factor", "2",
                "--iterations", "100000", "--budget", "60")
    seconds_until(lambda: len(ranks_on(3)) == 2 and b"all-reduce" in job.process.stdout.peek(), START_LIMIT_S)
    os.kill(max(ranks_on(3)), signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 128 + signal.SIGKILL
    assert "SIGKILL" in outcome.err


def test_invalid_measurements_are_refused_before_anything_starts(start, folder):
    for options, words in ((["--from", "1M", "--to", "1K"], "no size to measure"),
                           (["--backend", "nccl"], "no GPU on node"),
                           (["--csv", folder / "no" / "table.csv"], "No such file or directory"),
                           (["--collective", "reduce"], "--collective"),
                           (["--factor", "1"], "--factor")):
        outcome = start("bench", "--spec", SPEC, *options).finish()
        assert outcome.code == 2 and words in outcome.err, outcome.err
        assert outcome.out == ""
    assert not (folder / "autodist-runs").exists()


def test_an_unwritable_result_file_is_reported(start):
    outcome = start("bench", "--to", "8", "--collective", "broadcast", "--csv", "/dev/full").finish()
    assert outcome.code == 1
    assert "writing the results: No space left on device" in outcome.err
