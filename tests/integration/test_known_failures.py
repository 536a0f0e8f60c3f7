"""What a report says beside the failure: a hint, what autodist did itself, and what did not succeed."""

import contextlib
import random
import re
import signal
import socket
import subprocess

import pytest
from test_causes import report_of

WANTS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, required=True)
parser.parse_args()
"""
HELPER = """
import subprocess, sys
stubborn = "import os, signal, time; signal.signal(15, signal.SIG_IGN); os.write(1, b'up\\\\n'); time.sleep(1000)"
helper = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True, stdout=subprocess.PIPE)
helper.stdout.readline()
print("trained", helper.pid, flush=True)
"""
CAUGHT = """
import sys, traceback
try:
    raise RuntimeError("CUDA out of memory")
except RuntimeError:
    traceback.print_exc()
steps = int(sys.argv[1])
for step in range(1, steps):
    print(f"step {step}/{steps} loss 0.5", flush=True)
print("training is done")
"""
# As a decorator that logs exceptions does it; nothing pauses between the two streams.
LOGGED = """
import traceback
for step in range(5):
    print(f"step {step}/100", flush=True)
try:
    raise RuntimeError("CUDA out of memory")
except RuntimeError:
    traceback.print_exc()
print("training is done")
"""


def run(autodist, tmp_path, program, *arguments, options=()):
    (tmp_path / "t.py").write_text(program)
    return autodist("run", *options, "--", "/usr/bin/python3", "t.py", *arguments)


@pytest.mark.parametrize("program, arguments, advice", [
    ("breakpoint()\nx = 1\n", [],
     ["  the stdin of rank 0 is empty", "  hint: run with --stdin-rank 0 to debug this rank"]),
    ("input('Continue? ')\n", [],
     ["  the stdin of rank 0 is empty", "  hint: run with --stdin-rank 0 to answer in this terminal or from a pipe"]),
    (WANTS, [], ["  hint: add --local_rank={local_rank} to the program's arguments"]),
    (WANTS.replace(", required=True", "").replace("--local_rank", "--lr"), ["--local-rank={local_rank}"],
     ["  hint: remove it from the program's arguments; the number is in LOCAL_RANK"]),
    ("raise AssertionError('invalid device ordinal')\n", [],
     ["  hint: use LOCAL_RANK as the number of the device; a script with the argument --local_rank needs "
      "--local_rank={local_rank}"]),
    ("import sys\nprint(\"p: /lib/libc.so.6: version `GLIBC_2.99' not found (required by p)\", file=sys.stderr)\n"
     "sys.exit(1)\n", [],
     ["  the C library of localhost is too old for it",
      "  hint: install a build for the system of localhost, or run it in a container"]),
    ("raise KeyError('label')\n", [], []),
])
def test_a_known_failure_has_its_hint(autodist, tmp_path, program, arguments, advice):
    report = report_of(run(autodist, tmp_path, program, *arguments))
    wrote = [i for i, line in enumerate(report) if line.startswith("  all it wrote: ")]
    assert report[wrote[0] + 1:] == advice, report


@contextlib.contextmanager
def a_port():
    """A listening socket at a port that programs could use as a fixed one."""
    with socket.socket() as listener:
        for _ in range(100):
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", random.randrange(20_000, 30_000)))
                break
        listener.listen()
        yield listener


@pytest.mark.parametrize("closed", [False, True])
def test_a_port_that_cannot_be_opened(autodist, tmp_path, closed):
    with a_port() as listener:
        port = listener.getsockname()[1]
        program = f"import socket\ns = socket.socket()\ns.bind(('', {port}))\n"
        if closed:
            with socket.create_connection(listener.getsockname()) as client:
                listener.accept()[0].close()  # this side waits
                assert client.recv(1) == b""
            listener.close()
        report = report_of(run(autodist, tmp_path, program))
    assert report[0].endswith("OSError: [Errno 98] Address already in use, t.py:3"), report
    advice = report[-2:]
    if closed:
        assert advice == [
            f"  port {port} on localhost is still closing after an earlier connection (TIME_WAIT, 60 s)",
            "  hint: set SO_REUSEADDR in the program, or use another port"]
    else:
        assert advice == [f"  another process listens at port {port} on localhost",
                          "  hint: use MASTER_PORT or another free port"], report


def in_a_namespace_with(command):
    """A command prefix that runs a shell command in a mount namespace first."""
    if subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no namespace of the test's own can be made")
    return ["unshare", "--mount", "sh", "-c", f"{command}; exec \"$@\"", "sh"]


def small_disk_at(folder):
    folder.mkdir()
    return in_a_namespace_with(f"mount -t tmpfs -o size=256k tmpfs {folder}")


def test_a_full_shared_memory(autodist, tmp_path):
    (tmp_path / "t.py").write_text("""
import mmap
f = open("/dev/shm/x", "w+b")
f.truncate(8 << 20)
m = mmap.mmap(f.fileno(), 8 << 20)
for at in range(0, 8 << 20, 4096):
    m[at] = 1
""")
    report = report_of(autodist("run", "--", "/usr/bin/python3", "t.py",
                                under=in_a_namespace_with("mount -t tmpfs -o size=2m tmpfs /dev/shm")))
    assert "was ended by SIGBUS" in report[0], report
    assert report[0].endswith(": /dev/shm on the node is full (2.0 MiB)"), report
    assert report[-1].startswith("  hint: enlarge /dev/shm"), report


@pytest.mark.parametrize("name, number", [("KILL", 9), ("SEGV", 11)])
def test_the_exit_code_of_a_shell_is_explained(autodist, name, number):
    outcome = autodist("run", "--", "bash", "-c", f"bash -c 'kill -{name} $$'; exit $?")
    assert outcome.code == 128 + number
    assert f"exited with code {128 + number} (128 + {number}: a program that it started was ended by SIG{name}" \
        in report_of(outcome)[0]
    assert ("not by autodist" in report_of(outcome)[0]) == (name == "KILL"), outcome.err


def test_success_after_a_traceback_is_a_warning(autodist, tmp_path):
    outcome = run(autodist, tmp_path, CAUGHT, "1")
    assert outcome.code == 0
    assert ("autodist: warning: rank 0 on localhost ended with 0 after RuntimeError: CUDA out of memory, t.py:4\n"
            in outcome.err), outcome.err


def test_success_after_a_few_of_all_steps_and_a_traceback_is_a_warning(autodist, tmp_path):
    outcome = run(autodist, tmp_path, LOGGED)
    assert outcome.code == 0
    assert ("autodist: warning: rank 0 on localhost ended with 0 after RuntimeError: CUDA out of memory, t.py:6\n"
            in outcome.err), outcome.err


def test_a_traceback_before_further_steps_was_survived(autodist, tmp_path):
    outcome = run(autodist, tmp_path, CAUGHT, "5")
    assert outcome.code == 0 and "ended with 0" not in outcome.err, outcome.err


@pytest.mark.parametrize("shell, wrote", [
    ("bash", r"bash: line 1: \d+ Killed bash -c 'kill -9 \$\$'"),
    ("dash", "Killed"),
])
def test_a_script_that_goes_on_after_its_program_was_killed(autodist, shell, wrote):
    outcome = autodist("run", "--", shell, "-c", "bash -c 'kill -9 $$'; echo end")
    assert outcome.code == 0
    assert re.search(f"^autodist: warning: rank 0 on localhost ended with 0 after its shell wrote: {wrote}$",
                     outcome.err, re.M), outcome.err


def test_a_full_disk_is_named(autodist, tmp_path):
    (tmp_path / "t.py").write_text("with open('data/x', 'wb') as f:\n    f.write(bytes(1 << 20))\n")
    report = report_of(autodist("run", "--", "/usr/bin/python3", "t.py", under=small_disk_at(tmp_path / "data")))
    assert "OSError: [Errno 28] No space left on device" in report[0], report
    assert report[-2:] == [f"  {tmp_path}/data of localhost is full",
                           "  hint: make room there, or write elsewhere (TMPDIR names the folder of temporary files)"]


def test_a_full_disk_of_the_logs_is_reported_once(autodist, tmp_path):
    outcome = autodist("run", "-n", 4, "--log-dir", tmp_path / "logs", "--", "head", "-c", "1000000", "/dev/zero",
                       under=small_disk_at(tmp_path / "logs"))
    assert outcome.code == 0
    said = [line for line in outcome.err.splitlines() if "cut short" in line]
    assert len(said) == 2, outcome.err
    assert re.search(r"^autodist: warning: log of rank \d is cut short: write: No space left on device\n"
                     r" +hint: make room on the disk of \S+, or keep logs elsewhere with --log-dir$",
                     outcome.err, re.M), outcome.err
    assert "logs of 4 ranks are cut short: write: No space left on device" in said[-1]


def test_doctor_names_a_small_disk_for_the_logs(autodist, tmp_path):
    outcome = autodist("doctor", "--log-dir", tmp_path / "logs", "--", "true", under=small_disk_at(tmp_path / "logs"))
    assert outcome.code == 1, outcome.out
    assert re.search(rf"the disk for the job's logs, with {tmp_path}/logs, has little room: 2\d\d KiB free\n"
                     r"    hint: --log-dir FOLDER puts them elsewhere\n", outcome.out), outcome.out


def test_a_start_script_that_leaves_its_training_behind(autodist):
    outcome = autodist("run", "--", "sh", "-c", "sleep 1000 & sleep 0.3")
    assert outcome.code == 0
    assert re.search(r"^autodist: warning: rank 0 on localhost ended with 0 and left sleep \(pid \d+\) behind, which "
                     r"autodist ended$", outcome.err, re.M), outcome.err


def test_a_helper_that_does_not_end_is_named(autodist, tmp_path):
    outcome = run(autodist, tmp_path, HELPER, options=["--grace", "5"])
    assert outcome.code == 0
    [line] = outcome.lines()[0]
    which = f"python3 (pid {line.split()[1]}) on localhost, which rank 0 left"
    waiting = outcome.err.index(f"autodist: no rank runs any more; waiting for {which}\n")
    assert outcome.err.index(f"autodist: {which}, did not end in time and was killed\n") > waiting, outcome.err
    assert "behind" not in outcome.err and outcome.err.count("waiting for") == 1, outcome.err


def test_a_helper_that_is_killed_after_a_short_grace_is_named(autodist, tmp_path):
    outcome = run(autodist, tmp_path, HELPER, options=["--grace", "1"])
    assert outcome.code == 0
    [line] = outcome.lines()[0]
    assert (f"autodist: python3 (pid {line.split()[1]}) on localhost, which rank 0 left, did not end in time and was "
            "killed\n" in outcome.err), outcome.err


def test_a_signal_that_was_passed_on_is_named(start):
    job = start("run", "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(1)
    job.interrupt(signal.SIGUSR1)
    outcome = job.finish()
    assert outcome.code == 128 + signal.SIGUSR1
    assert "autodist: SIGUSR1 is passed on to the rank\n" in outcome.err
    assert report_of(outcome)[0].endswith("was ended by SIGUSR1, which autodist passed on")


def test_a_rank_that_was_stopped_did_not_end_by_itself(start):
    job = start("run", "--", "sh", "-c", "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done")
    job.await_lines(1)
    job.interrupt()
    outcome = job.finish()
    assert outcome.code == 130
    assert "the rank exited after SIGTERM" in outcome.err and "before it was" not in outcome.err, outcome.err
