"""`autodist top` at a terminal: with simulated nodes, and with the log of a real job."""

import os
import re
import select
import signal
import subprocess
import termios
import time

import pytest
from jobs import AUTODIST, BUILD
from terminal import LIMIT_S, Terminal

JOB = "20261123-091422-3fa9c1"


class Job:
    """A chief with simulated nodes."""

    def __init__(self, *arguments, name=JOB):
        self.process = subprocess.Popen([BUILD / "snapshot_server", name, *map(str, arguments)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        assert self.says() == "ready"

    def says(self):
        assert select.select([self.process.stdout], [], [], LIMIT_S)[0], "the server says nothing"
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.write("end\n")

    def kill(self):
        self.process.stdin.close()
        self.process.wait(LIMIT_S)


@pytest.fixture
def job():
    started = []

    def start(*arguments, **options):
        started.append(Job(*arguments, **options))
        return started[-1]
    yield start
    for one in started:
        one.kill()


@pytest.fixture
def top(tmp_path):
    opened = []

    def run(*arguments, **options):
        env = {"TZ": "UTC", "NO_COLOR": "", "COLORTERM": "", **options.pop("env", {})}
        opened.append(Terminal([AUTODIST, "top", *map(str, arguments)], tmp_path, env=env, **options))
        return opened[-1]
    yield run
    for one in opened:
        one.kill()


def shows(*words):
    return lambda lines: all(word in "\n".join(lines) for word in words)


def leave(seen):
    """Quits, and checks that the terminal is restored."""
    seen.type("q")
    seen.finish()
    assert seen.code == 0
    assert seen.written.endswith(b"\x1b[?1049l")
    for on, off in ((b"\x1b[?25h", b"\x1b[?25l"), (b"\x1b[?7h", b"\x1b[?7l")):
        assert seen.written.rfind(on) > seen.written.rfind(off)


def row_of(lines, pattern):
    return next(line for line in lines if re.search(pattern, line))


@pytest.mark.parametrize("columns, rows", [(80, 24), (120, 40), (200, 60)])
def test_a_slow_rank_is_seen_at_every_size(job, top, columns, rows):
    job(4, 8, "slow")
    seen = top(JOB, columns=columns, rows=rows)
    seen.until(shows("running, slow", "Rank 25 (node4, GPU 1)"))
    lines = seen.until(lambda lines: len(lines) == rows and "? keys" in lines[-1])
    assert lines[0].startswith(" ▲ running, slow")
    assert "throttled: HW power brake" in row_of(lines, r"^ +25 ▲ node4:1")
    leave(seen)


def test_the_window_may_be_resized(job, top):
    job(4, 8, "slow")
    seen = top(JOB, columns=80, rows=24)
    seen.until(shows("q  ? keys"))
    seen.resize(200, 60)
    seen.until(lambda lines: len(lines) == 60 and "Nodes" in "\n".join(lines) and "q quit" in lines[-1])
    seen.resize(50, 10)
    seen.until(shows("the window is too small"))
    seen.resize(80, 24)
    seen.until(lambda lines: len(lines) == 24 and "q  ? keys" in lines[-1] and lines[0].startswith(" ▲"))
    leave(seen)


def test_keys_select_the_view(job, top):
    job(4, 8, "slow")
    seen = top(JOB, columns=160, rows=50)
    seen.until(shows("sort: worst", "cells: use"))
    seen.type("m")
    seen.until(shows("cells: memory", "mem %"))
    seen.type("sss")
    seen.until(shows("sort: use", "by use"))
    seen.type("e")
    seen.until(shows("1,005 MHz of 1,980"))
    seen.type("w")
    seen.until(shows("rank 2 (node1) sleeps in load (train.py:12)", "  rank 2: load (train.py:12) [py-spy]"))
    seen.type("\x1b")
    seen.type("/node2:3\r")
    lines = seen.until(shows("1 rank with node2:3"))
    assert not any(re.search(r"^ +25 ", line) for line in lines)
    seen.type("\x1b")
    seen.until(lambda lines: "rank with" not in "\n".join(lines))
    seen.type("1")
    seen.until(lambda lines: "GPU power" not in "\n".join(lines))
    seen.type("1?")
    seen.until(shows("Keys", "stop the job, as Ctrl-C would"))
    seen.type("j")
    seen.until(shows("GPU power"))
    leave(seen)


def test_a_log_is_opened_followed_and_searched(job, top, tmp_path):
    (tmp_path / "rank-25.out").write_text("".join(f"line {i}\n" for i in range(8000)) + "\x1b]0;title\x07bad\n")
    (tmp_path / "rank-25.err").write_text("a warning\n")
    job(4, 8, "slow", tmp_path)
    seen = top(JOB)
    seen.until(shows("25 ▲"))
    seen.type("\r")
    lines = seen.until(shows("Log of rank 25", "line 7999", "a warning", "follows"))
    assert any(r"\x1b]0;title\x07bad" in line for line in lines)
    with open(tmp_path / "rank-25.out", "a", encoding="ascii") as log:
        log.write("something new\n")
    seen.until(shows("something new"))
    seen.type("/line 7500\r")
    seen.until(shows("line 7500", "lines below"))
    seen.type("f")
    seen.until(shows("something new", "follows"))
    seen.type("\x1b")
    seen.until(shows("×median"))
    leave(seen)


def test_stopping_needs_a_confirmation(job, top):
    served = job(4, 8)
    seen = top(JOB)
    seen.until(shows("running"))
    seen.type("S")
    seen.until(shows("Stop job 3fa9c1"))
    seen.type("n")
    seen.until(shows("the job is not stopped"))
    seen.type("Sy")
    seen.until(shows("asked the job to stop"))
    assert served.says() == f"signal {int(signal.SIGINT)}"
    leave(seen)


def test_stacks_are_taken(job, top):
    job(2, 2, "plain")
    seen = top(JOB)
    seen.until(shows("running"))
    seen.type("x")
    seen.until(shows("What each rank is doing", "2 ranks in all_reduce"))
    leave(seen)


def test_an_ended_job_stays_visible(job, top):
    served = job(4, 8)
    seen = top(JOB)
    seen.until(shows("● running"))
    served.end()
    seen.until(shows("· ended well", "100 %"))
    served.kill()
    seen.type("j")
    seen.until(lambda lines: "node1:0" in "\n".join(lines))
    leave(seen)


def test_a_killed_chief_is_reported(job, top, tmp_path):
    served = job(4, 8, "healthy", tmp_path / "logs", name="20261123-091422-dead00")
    seen = top("dead00")
    seen.until(shows("● running"))
    served.process.kill()
    seen.until(shows("✕ crashed: its autodist is gone", "node4"))
    leave(seen)


def test_values_stay_when_the_chief_does_not_answer(job, top):
    served = job(4, 8)
    seen = top(JOB)
    seen.until(shows("● running", "node4"))
    served.process.send_signal(signal.SIGSTOP)
    try:
        seen.until(shows("no answer for", "as of 14:3", "node4", "does not answer"))
    finally:
        served.process.send_signal(signal.SIGCONT)
    seen.until(lambda lines: "no answer for" not in "\n".join(lines))
    leave(seen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminal_is_restored_after_a_signal(job, top, number):
    job(4, 8)
    seen = top(JOB)
    seen.until(shows("running"))
    assert not termios.tcgetattr(seen.fd)[3] & termios.ICANON
    os.kill(seen.pid, number)
    deadline = time.monotonic() + LIMIT_S
    while not termios.tcgetattr(seen.fd)[3] & termios.ICANON and time.monotonic() < deadline:
        seen.read(0.05)
    assert termios.tcgetattr(seen.fd)[3] & termios.ICANON
    seen.finish()
    assert seen.code == 128 + number
    assert seen.written.endswith(b"\x1b[?1049l")


def test_ctrl_z_and_fg(job, top):
    job(4, 8)
    seen = top(JOB)
    seen.until(shows("running"))
    seen.type("\x1a")
    deadline = time.monotonic() + LIMIT_S
    while not seen.written.endswith(b"\x1b[?1049l") and time.monotonic() < deadline:
        seen.read(0.05)
    assert os.waitpid(seen.pid, os.WUNTRACED)[1] & 0xFF == 0x7F  # stopped
    assert termios.tcgetattr(seen.fd)[3] & termios.ICANON
    written = len(seen.written)
    os.kill(seen.pid, signal.SIGCONT)
    seen.until(lambda lines: len(seen.written) > written and "q  ? keys" in lines[-1])
    leave(seen)


def test_a_blocked_terminal_gets_only_the_newest_frame(job, top):
    job(125, 8, "large")
    seen = top(JOB, "--interval", 0.1, columns=200, rows=60, emulated=False)
    deadline = time.monotonic() + LIMIT_S
    while b"\x1b[?2026l" not in seen.written:
        assert time.monotonic() < deadline and seen.read(1)
    seen.resize(199, 60)  # a complete frame is more than the terminal buffers
    time.sleep(6)  # several snapshots arrive while there is no reader
    before = len(seen.written)
    enough = time.monotonic() + 0.6
    while time.monotonic() < enough:
        seen.read(0.1)
    # the current one, the newest, and the next two
    assert 0 < seen.written[before:].count(b"\x1b[?2026h") <= 4
    leave(seen)


def test_once_is_plain_text(job, tmp_path):
    job(4, 8, "slow")
    run = subprocess.run([AUTODIST, "top", JOB, "--once", "--cells", "power"], capture_output=True, check=True,
                         cwd=tmp_path, env={**os.environ, "COLUMNS": "100"})
    text = run.stdout.decode()
    assert "\x1b" not in text and "312▲" in text and max(map(len, text.splitlines())) <= 100
    assert len(re.findall(r"^ +\d+ [ ▲] node\d:\d ", text, re.M)) == 32


def test_a_dumb_terminal_gets_one_plain_view(job, top):
    job(4, 8, "slow")
    seen = top(env={"TERM": "dumb"}, columns=120, rows=100)
    seen.finish()
    assert seen.code == 0
    assert b"cannot place a cursor" in seen.written and b"\x1b[?1049h" not in seen.written
    assert "running, slow" in "\n".join(seen.all_lines())


def test_everything_is_readable_without_colours(job, top):
    job(4, 8, "slow")
    seen = top(JOB, env={"NO_COLOR": "1"})
    seen.until(shows("▲99"))
    assert not re.search(rb"\x1b\[[0-9;]*;(3|4)[0-9][;m]", seen.written)
    leave(seen)


def test_wrong_words(tmp_path):
    for words in (["nosuchjob"], ["--sort", "beauty"], ["--interval", "0"]):
        run = subprocess.run([AUTODIST, "top", *words], capture_output=True, cwd=tmp_path, check=False)
        assert run.returncode == 2, words
