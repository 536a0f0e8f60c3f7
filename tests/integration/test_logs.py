"""`autodist logs` sorted by time: everything, the last lines, and the lines since a time."""

import os
import re
import time
from datetime import datetime, timedelta, timezone

import pytest
from jobs import python
from test_jobs import ask, begin, new_job  # noqa: F401

# Times are exact to 0.1 s; the pause is a little longer.
STEP_S = 0.12
# Draws a progress bar repeatedly, and then prints a line.
BAR = """
import time
for done in range(0, 101, 20):
    print(end=f"\\rtrain: {done}%", flush=True)
    time.sleep(0.12)
print("\\nover", flush=True)
"""


def say(job, rank, text, fd=1):
    """Writes late enough that the order relative to earlier text is known."""
    job.write(rank, text, fd)
    job.await_log(f"rank-{rank}.{'out' if fd == 1 else 'err'}", text)
    time.sleep(STEP_S)


def forget_times(job, of="rank-*"):
    for path in job.logs.glob(f"{of}.times"):
        path.unlink()


@pytest.fixture
def said(new_job):
    """A job in which two ranks wrote alternately, and the third wrote one line."""
    job = new_job()
    for i in range(4):
        say(job, 1, f"{2 * i}\n")
        say(job, 0, f"{2 * i + 1}\n")
    say(job, 2, "bad\n", fd=2)
    say(job, 1, "8\n")
    return job


def test_all_ranks_in_the_order_of_time(said, ask):
    lines = [f"[localhost:{(i + 1) % 2}] {i}\n" for i in range(9)]
    outcome = ask("logs", said.id)
    assert (outcome.out, outcome.err) == ("".join(lines), "[localhost:2] bad\n")
    assert ask("logs", said.id, "--rank", "1").out == "0\n2\n4\n6\n8\n"
    said.end()
    assert ask("logs", said.id).out == ask("logs", "-f", said.id).out == "".join(lines)
    assert ask("logs", said.id, "--prefix", "time").out.count(":") == 3 * 9
    files = [path for path in said.logs.iterdir() if path.name.endswith(".times")]
    assert sorted(path.name for path in files) == ["rank-0.out.times", "rank-1.out.times", "rank-2.err.times"]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}


def test_tail_of_all_ranks(said, ask, begin):
    assert ask("logs", said.id, "--tail", "2").out == "[localhost:1] 8\n"
    assert ask("logs", said.id, "--tail", "2").err == "[localhost:2] bad\n"
    assert ask("logs", said.id, "--tail", "3").out == "[localhost:0] 7\n[localhost:1] 8\n"
    assert ask("logs", said.id, "--tail", "2", "--rank", "1").out == "6\n8\n"
    assert ask("logs", said.id, "--tail", "2", "--show", "0-1").out == "[localhost:0] 7\n[localhost:1] 8\n"
    assert ask("logs", said.id, "--tail", "1", "--stderr").out == "[localhost:2] bad\n"
    assert ask("logs", said.id, "--tail", "0").out == ""
    following = begin("logs", "-f", said.id, "--tail", "1")
    assert following.await_lines(1) == ["[localhost:1] 8\n"]
    said.write(0, "9\n")
    assert following.await_lines(1) == ["[localhost:0] 9\n"]
    said.end()
    assert following.finish().out == ""


def test_since_limits_the_lines(new_job, ask):
    job = new_job()
    say(job, 0, "old\n")
    say(job, 1, "old, too\nbeg")
    then = datetime.now().isoformat(timespec="milliseconds")
    time.sleep(STEP_S)
    say(job, 1, "un\n")
    say(job, 0, "new\n")
    new = "[localhost:1] begun\n[localhost:0] new\n"
    in_utc = datetime.fromisoformat(then).astimezone(timezone.utc).strftime("%FT%T.%f") + "Z"
    for since in (then, in_utc):
        assert ask("logs", job.id, "--since", since).out == new
    assert ask("logs", job.id, "--since", then, "--rank", "1").out == "begun\n"
    assert ask("logs", job.id, "--since", then, "--tail", "1").out == "[localhost:0] new\n"
    assert ask("logs", job.id, "--since", "1h", "--tail", "3").out == "[localhost:1] old, too\n" + new
    job.end()
    assert ask("logs", "-f", job.id, "--since", then).out == new
    assert ask("logs", job.id, "--since", "1d").out == "[localhost:0] old\n[localhost:1] old, too\n" + new
    assert ask("logs", job.id, "--since", "0s").out == ""


@pytest.mark.parametrize("options, said", [
    (["--since", "5 moons"], "--since: '5 moons' is not a time in the past: 30s, 5m, 2h, 1d, or 2026-11-23T14:03"),
    (["--since", "2999-01-01"], "--since: '2999-01-01' is not a time in the past"),
    (["--tail", "-3"], "--tail: '-3' is not a whole number from 0 to "),
    (["--tail", "all"], "--tail: 'all' is not a whole number from 0 to ")])
def test_invalid_values_are_reported(ask, options, said):
    outcome = ask("logs", "last", *options)
    assert outcome.code == 2 and said in outcome.err


def test_time_stamps(new_job, ask, begin):
    before = datetime.now(timezone.utc) - timedelta(milliseconds=1)
    job = new_job()
    say(job, 0, "one\n")
    say(job, 1, "two\n")
    following = begin("logs", "-f", "--timestamps", job.id, TZ="XXX-5:30")
    [one, two] = following.await_lines(2)
    job.write(0, "three\n")
    [three] = following.await_lines(1)
    after = datetime.now(timezone.utc)
    times = []
    for line, rank, text in ((one, 0, "one"), (two, 1, "two"), (three, 0, "three")):
        stamp, rest = line.split(" ", 1)
        assert re.fullmatch(r"....-..-..T..:..:..\.\d{3}\+05:30", stamp) and rest == f"[localhost:{rank}] {text}\n"
        times.append(datetime.fromisoformat(stamp))
    assert before < times[0] < times[1] < times[2] < after
    job.end()
    assert following.finish().out == ""
    [stamp, text] = ask("logs", "--timestamps", "--rank", "1", job.id).out.split(" ")
    assert datetime.fromisoformat(stamp) == times[1] and text == "two\n"  # to the millisecond


def test_a_job_of_an_older_autodist_has_no_times(said, ask):
    forget_times(said)
    everything = "".join(f"[localhost:0] {i}\n" for i in (1, 3, 5, 7)) + "".join(
        f"[localhost:1] {i}\n" for i in (0, 2, 4, 6, 8))
    assert ask("logs", said.id).out == everything
    assert ask("logs", said.id, "--tail", "3").out == "[localhost:1] 6\n[localhost:1] 8\n"
    for options in (("--timestamps",), ("--since", "1h")):
        outcome = ask("logs", said.id, *options)
        assert outcome.out == everything
        assert "some output has no times" in outcome.err
    two_hours_ago = time.time() - 7200
    os.utime(said.logs / "rank-0.out", (two_hours_ago, two_hours_ago))
    assert "localhost:0" not in ask("logs", said.id, "--since", "1h").out


def test_times_cut_short_by_a_crash(said, ask):
    said.crash()
    path = said.logs / "rank-1.out.times"
    os.truncate(path, 3 * 16 - 1)
    lines = ask("logs", said.id).out.splitlines()
    # The bytes after the last whole entry have its time.
    assert [int(line.split()[1]) for line in lines] == [0, 1, 2, 4, 6, 8, 3, 5, 7]
    os.truncate(path, 0)
    lines = ask("logs", said.id).out.splitlines()
    assert [int(line.split()[1]) for line in lines] == [0, 2, 4, 6, 8, 1, 3, 5, 7]


def test_a_bar_is_printed_when_it_has_ended(autodist):
    first = "print('before', flush=True)\n    open('before', 'w')"
    script = (f"import os, time\nif os.environ['RANK'] == '0':\n    {first}\nelse:\n"
              f"    while not os.path.exists('before'): time.sleep(0.05)\n    time.sleep(0.3)\n    exec({BAR!r})")
    autodist("run", "-n", "2", "--", *python(script))
    outcome = autodist("logs", "last")
    assert outcome.out == "[localhost:0] before\n[localhost:1] train: 100%\n[localhost:1] over\n"
    stamped = [line.split(" ", 1) for line in autodist("logs", "last", "--timestamps").out.splitlines()]
    assert [text for _, text in stamped] == outcome.out.splitlines()
    assert autodist("logs", "last", "--tail", "2").out == "[localhost:1] train: 100%\n[localhost:1] over\n"
    assert autodist("logs", "last", "--rank", "1", "--since", "1h").out == "train: 100%\nover\n"
    raw = "".join(f"\rtrain: {done}%" for done in range(0, 101, 20)) + "\nover\n"
    assert autodist("logs", "last", "--rank", "1").out == raw


def test_empty_logs_are_reported(autodist):
    autodist("run", "-n", "1", "--", "true")
    outcome = autodist("logs", "last")
    assert outcome.out == "" and outcome.err.endswith(": no such output\n"), outcome.err
