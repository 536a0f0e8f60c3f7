"""The terminal of a rank: input at autodist's terminal goes to it, and the rank's output comes back."""

import hashlib
import os
import re
import signal
import subprocess
import sys

import pytest
from hosts import SPEC, heal
from jobs import AUTODIST, LIMIT_S, python, seconds_until, state
from terminals import Terminal

CTRL_C = b"\x03"
LEAVE = b"\r~."
# Sums in steps, one of which waits for a file; all ranks but one pass alone.
STEPS = """
import os, sys, time
rank = int(os.environ["RANK"])
total = 0

def step(i):
    global total
    total += i + rank
    return total

print("up", rank, flush=True)
if rank == int(sys.argv[2]):
    breakpoint()
for i in range(1, 4):
    step(i)
print("waits", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
print("done", total, flush=True)
"""
# Repeats lines, and prints the size of the terminal whenever it changes.
ECHO = """
import os, signal, sys
def show(*_):
    size = os.get_terminal_size()
    print(f"size {size.columns} x {size.lines}", flush=True)
signal.signal(signal.SIGWINCH, show)
if os.environ["RANK"] == sys.argv[1]:
    show()
    for line in sys.stdin:
        print(f"got <{line.strip()}>", flush=True)
        if line.strip() == "end":
            sys.exit(0)
else:
    print(sys.stdin.read() + "nothing to read", flush=True)
    signal.pause()
"""
DETACHED = r"job (\S+) is running"


@pytest.fixture
def terminals(folder):
    opened = []

    def start(*arguments):
        opened.append(Terminal(folder, *arguments))
        return opened[-1]
    yield start
    for terminal in opened:
        terminal.close()


@pytest.mark.parametrize("rank", [0, 5])
def test_pdb(terminals, folder, rank):
    (folder / "steps.py").write_text(STEPS.lstrip())
    terminal = terminals("run", "--spec", SPEC, "--stdin-rank", rank, "--",
                         sys.executable, "steps.py", folder / "end", rank)
    mode = terminal.mode()
    terminal.await_next(b"(Pdb) ")
    assert terminal.mode() != mode
    terminal.type(b"b step\r")
    assert f"Breakpoint 1 at {folder}/steps.py:5\r\n".encode() in terminal.await_next(b"(Pdb) ")
    terminal.type(b"c\r")
    terminal.await_next(b"(Pdb) ")
    terminal.type(b"p 'of', rank, i, total\r")
    assert f"('of', {rank}, 1, 0)\r\n".encode() in terminal.await_next(b"(Pdb) ")
    terminal.type(b"cl 1\rc\r")
    terminal.await_next(b"Deleted breakpoint 1")
    terminal.await_next(b"waits\r\n")  # only then: a Ctrl-C discards typed input
    terminal.type(CTRL_C)
    terminal.await_next(b"(Pdb) ")  # only pdb's handler was interrupted
    terminal.type(b"p 'at', i\r")
    assert b"('at', 3)" in terminal.await_next(b"(Pdb) ")
    (folder / "end").touch()
    terminal.type(b"c\r")
    said = terminal.read()
    assert terminal.wait() == 0
    assert f"done {6 + 3 * rank}\r\n" in said and said.count("done") == 1
    assert terminal.mode() == mode
    [logs] = (folder / "autodist-runs").glob("2*")
    assert f"done {6 + 3 * 7}" in (logs / "rank-7.out").read_text()
    assert "(Pdb) b step" in (logs / f"rank-{rank}.out").read_text()


def test_a_single_rank_has_no_other_ranks(terminals):
    terminal = terminals("run", "-n", 1, "--stdin-rank", 0, "--", *python(ECHO), 0)
    terminal.await_next(b"belongs to rank 0")
    terminal.type(LEAVE)
    said = terminal.read()
    assert terminal.wait() == 130
    assert "other ranks" not in said and "Enter ~.: the rank has 30 s to exit; repeat to kill it\r\n" in said


def test_the_size_of_the_terminal_is_passed_on(terminals):
    terminal = terminals("run", "--spec", SPEC, "--stdin-rank", 3, "--", *python(ECHO), 3)
    terminal.await_next(b"belongs to rank 3")
    terminal.resize(33, 111)
    terminal.await_next(b"size 111 x 33\r\n")
    terminal.resize(20, 70)
    terminal.await_next(b"size 70 x 20\r\n")
    terminal.type(LEAVE)
    said = terminal.read()
    assert terminal.wait() == 130
    assert "Enter ~.: the ranks have 30 s to exit; repeat to kill them\r\n" in said
    assert "nothing to read" not in said  # of the other ranks, which have /dev/null


@pytest.mark.parametrize("end, code", [
    (lambda terminal: terminal.type(LEAVE), 130), (lambda terminal: os.kill(terminal.pid, signal.SIGTERM), 143),
    (lambda terminal: terminal.type(b"end\r"), 130)])
def test_the_terminal_mode_is_restored(terminals, end, code):
    terminal = terminals("run", "--spec", SPEC, "--stdin-rank", 0, "--", *python(ECHO), 0)
    mode = terminal.mode()
    terminal.await_next(b"size ")
    assert terminal.mode() != mode
    end(terminal)
    if code == 130:
        # The rank has ended, so Ctrl-C applies to the job again.
        seconds_until(lambda: terminal.mode() == mode, 20)
        terminal.type(CTRL_C)
    terminal.read()
    assert terminal.wait() == code
    assert terminal.mode() == mode


def test_the_shell_has_the_terminal_while_autodist_is_stopped(terminals):
    terminal = terminals("run", "--spec", SPEC, "--stdin-rank", 5, "--", *python(ECHO), 5)
    mode = terminal.mode()
    terminal.await_next(b"size ")
    os.kill(terminal.pid, signal.SIGTSTP)
    seconds_until(lambda: state(terminal.pid) == "T", 20)
    assert terminal.mode() == mode
    os.kill(terminal.pid, signal.SIGCONT)
    seconds_until(lambda: terminal.mode() != mode, 20)
    terminal.type(b"again\r")
    terminal.await_next(b"got <again>\r\n")
    terminal.type(LEAVE)
    terminal.read()
    assert terminal.wait() == 130


def test_stdin_is_passed_to_the_rank(folder):
    # More than the buffers on the way hold, and then EOF.
    data = b"".join(b"line %d\n" % i for i in range(200_000))
    script = 'if [ $RANK = 5 ]; then sha256sum; else cat; echo nothing; fi'
    done = subprocess.run([AUTODIST, "run", "--spec", SPEC, "--stdin-rank", "5", "--", "sh", "-c", script], cwd=folder,
                          input=data, capture_output=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert [line for line in lines if ":5] " in line][0].endswith(f"] {hashlib.sha256(data).hexdigest()}  -")
    assert sum(line.endswith("] nothing") for line in lines) == 7


def test_a_rank_that_does_not_read_stdin(folder):
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run([AUTODIST, "run", "--spec", SPEC, "--stdin-rank", "2", "--", "true"], cwd=folder,
                              stdin=zeros, capture_output=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr


def test_input_during_a_disconnection_arrives_once_and_in_order(terminals, cut):
    terminal = terminals("run", "--spec", SPEC, "--stdin-rank", 2, "--", *python(ECHO), 2)
    terminal.await_next(b"size ")
    terminal.type(b"before\r")
    terminal.await_next(b"got <before>\r\n")
    cut(2)
    for i in range(5):
        terminal.type(b"word %d\r" % i)
    terminal.await_next(b"has not answered for")
    terminal.type(b"last\r")
    heal(2)
    said = terminal.await_next(b"got <last>\r\n")
    assert re.findall(rb"got <word (\d)>", said) == [b"0", b"1", b"2", b"3", b"4"]
    terminal.type(LEAVE)
    terminal.read()
    assert terminal.wait() == 130


def test_a_terminal_of_a_missing_rank(autodist):
    outcome = autodist("run", "--spec", SPEC, "--stdin-rank", "8", "--", "true")
    assert outcome.code == 2 and "--stdin-rank 8, but there are ranks 0 to 7" in outcome.err


def test_attach_uses_the_terminal_of_a_detached_job(terminals, autodist):
    outcome = autodist("run", "--detach", "--spec", SPEC, "--stdin-rank", "3", "--", *python(ECHO), "3")
    assert outcome.code == 0, outcome.err
    job = re.search(DETACHED, outcome.err)[1]
    first = terminals("attach", job, "--rank", "3", "-i")
    mode = first.mode()
    first.resize(40, 100)
    first.await_next(b"terminal of rank 3")
    first.type(b"hello\r")
    first.await_next(b"got <hello>\r\n")
    first.resize(41, 101)
    first.await_next(b"size 101 x 41\r\n")

    second = terminals("attach", job, "--rank", "3", "-i")
    said = second.read()
    assert second.wait() == 125
    assert f"`autodist attach`, process {first.pid}, is at the terminal of rank 3 already" in said
    other = terminals("attach", job, "--rank", "4", "-i")
    said = other.read()
    assert other.wait() == 125
    assert "rank 4 was started without a terminal; `autodist run --stdin-rank 4` gives it one" in said

    first.type(LEAVE)
    said = first.read()
    assert first.wait() == 0 and first.mode() == mode
    assert f"job {job} continues" in said

    third = terminals("attach", job, "--rank", "3", "-i")
    third.await_next(b"terminal of rank 3")
    third.type(b"back\r")
    third.await_next(b"got <back>\r\n")
    os.kill(third.pid, signal.SIGTERM)
    said = third.read()
    assert third.wait() == 143 and third.mode() == mode

    fourth = terminals("attach", job, "--rank", "3", "-i")
    fourth.await_next(b"terminal of rank 3")
    fourth.type(b"end\r")
    fourth.await_next(b"rank 3 has exited")
    assert fourth.mode() == mode
    assert autodist("stop", "--now", job).code == 0
    fourth.read()
    assert fourth.wait() in (137, 143)


def test_attach_shows_one_rank(autodist, start, folder):
    script = 'echo of $RANK; while [ ! -e "$0" ]; do sleep 0.1; done; echo end of $RANK'
    outcome = autodist("run", "--detach", "--spec", SPEC, "--", "sh", "-c", script, folder / "end")
    attached = start("attach", re.search(DETACHED, outcome.err)[1], "--rank", "6")
    assert attached.await_lines(1)[0].endswith("] of 6\n")
    (folder / "end").touch()
    outcome = attached.finish()
    assert outcome.code == 0 and outcome.lines() == {6: ["end of 6"]}


def test_autodist_run_uses_the_terminal(terminals, autodist):
    terminal = terminals("run", "--spec", SPEC, "--stdin-rank", 0, "--", *python(ECHO), 0)
    terminal.await_next(b"size ")
    other = terminals("attach", "last", "--rank", "0", "-i")
    said = other.read()
    assert other.wait() == 125
    assert f"its `autodist run`, process {terminal.pid}, is at the terminal of rank 0 already" in said
    assert autodist("stop", "--now", "last").code == 0
    terminal.read()
    assert terminal.wait() in (137, 143)
