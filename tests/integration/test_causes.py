"""The report of a job names the cause in its first line."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from jobs import BUILD, own_name, python, seconds_until

SLOWER = 3
LIMIT = 192 << 20  # bytes: enough for autodist and its agent

NOISE = """
import os, sys
def noise():
    for i in range(250):
        os.write(2, f'node3:4711:4720 [0] NCCL INFO Channel {i:02}/250 : 0 1 2 3\\n'.encode())
"""
TRAIN = NOISE + """
import atexit
atexit.register(noise)
def step(loss):
    return loss + None
noise()
print('step 3')
step(1)
"""


def report_of(outcome):
    """Lines of the report, which is the second-last message."""
    lines = outcome.err.splitlines()
    [begin] = [i for i, line in enumerate(lines) if line.startswith("autodist: error: ")]
    return [lines[begin].removeprefix("autodist: error: ")] + lines[begin + 1:-1]


def test_a_python_exception_under_noise(autodist, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    outcome = autodist("run", "--", "/usr/bin/python3", "train.py")
    assert outcome.code == 1
    report = report_of(outcome)
    cause = "exited with code 1: TypeError: unsupported operand type(s) for +: 'int' and 'NoneType', train.py:10"
    assert report[0].startswith("rank 0 on localhost (pid ") and report[0].endswith(f") {cause}"), report
    assert report[1] == "    | Traceback (most recent call last):"
    noise = report.index("  its last lines on stderr:")
    assert report[noise - 1] == "    | TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'"
    assert all("NCCL INFO" in line for line in report[noise + 1:noise + 11])
    assert report[noise + 11:noise + 13] == ["  its last line on stdout:", "    | step 3"]

    [folder] = (tmp_path / "autodist-runs").glob("2*")
    [ended] = [event for event in map(json.loads, (folder / "events.jsonl").read_text().splitlines())
               if event.get("job_phase") == "ended"]
    assert ended["what"].splitlines()[0] == report[0]
    status = json.loads(autodist("status", "--json", folder.name).out)
    assert status["report"].splitlines()[0] == report[0]
    assert cause in autodist("status", folder.name).out


# Rank 1 raises but exits late; rank 0 loses its connection to it and fails.
LATE = """
import atexit, os, time
print("up", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
if os.environ["RANK"] == "1":
    atexit.register(time.sleep, 1000)
    {}["labels_v2"]
time.sleep(2)
raise RuntimeError("[pair.cc:598] Connection closed by peer [10.77.0.2]:41187")
"""


def test_the_first_failure_is_named_before_its_process_has_ended(start, autodist, tmp_path):
    (tmp_path / "train.py").write_text(LATE)
    job = start("run", "-n", 2, "--grace", 1, "--name", "late", "--", "/usr/bin/python3", "train.py")
    job.await_lines(2)
    (tmp_path / "go").touch()
    outcome = job.finish()
    assert outcome.code == 1
    report = report_of(outcome)
    assert report[0] == "rank 1 on localhost: KeyError: 'labels_v2', train.py:8", report
    assert any(line.startswith("  because of it, rank 0 on localhost (pid ") and "Connection closed by peer" in line
               for line in report), report
    assert report[0] in autodist("status", "late").out
    [folder] = (tmp_path / "autodist-runs").glob("2*")
    assert report[0] in (folder / "events.jsonl").read_text()


def test_a_rank_that_exited_early_with_0(start, tmp_path):
    (tmp_path / "train.py").write_text("""
import os, time
if os.environ["RANK"] == "0":
    raise SystemExit(0)
time.sleep(1)
raise RuntimeError("Read error [10.77.0.1]:53165: Connection reset by peer")
""")
    report = report_of(start("run", "-n", 2, "--", "/usr/bin/python3", "train.py").finish())
    assert re.fullmatch(r"rank 0 on localhost ended with 0 while the other rank went on, \d.* before", report[0]), report
    assert report[1].startswith("  all it wrote: ") and report[1].endswith("/rank-0.out and .err"), report
    assert report[2].startswith("  because of it, rank 1 on localhost (pid "), report


def test_a_syntax_error(autodist, tmp_path):
    (tmp_path / "train.py").write_text("import os\nprint('x'\n")
    report = report_of(autodist("run", "--", "/usr/bin/python3", "train.py"))
    assert report[0].endswith(" exited with code 1: SyntaxError: '(' was never closed, train.py:2")


def test_python_that_crashes(autodist, tmp_path):
    (tmp_path / "train.py").write_text("import ctypes, faulthandler\nfaulthandler.enable()\nctypes.string_at(0)\n")
    report = report_of(autodist("run", "--", "/usr/bin/python3", "train.py"))
    assert " was ended by SIGSEGV" in report[0]
    assert report[0].endswith(": Fatal Python error: Segmentation fault, train.py:3")


def test_an_abort_under_noise(autodist):
    outcome = autodist("run", "--", BUILD / "thrower")
    assert outcome.code == 128 + signal.SIGABRT
    report = report_of(outcome)
    assert " was ended by SIGABRT" in report[0]
    assert report[0].endswith(": std::runtime_error: CUDA error: an illegal memory access was encountered")


def test_a_restart_says_why(autodist, tmp_path):
    (tmp_path / "train.py").write_text("raise ValueError('no data')\n")
    outcome = autodist("run", "--max-restarts", "1", "--", "/usr/bin/python3", "train.py")
    assert "restarting, because rank 0 on localhost exited with code 1: ValueError: no data, train.py:1\n" in outcome.err


def test_a_restart_has_the_last_line_of_a_rank_without_a_message(autodist, tmp_path):
    (tmp_path / "train.py").write_text("print('no batches left'); raise SystemExit(1)\n")
    outcome = autodist("run", "--max-restarts", "1", "--", "/usr/bin/python3", "train.py")
    assert ("restarting, because rank 0 on localhost exited with code 1; its last line: no batches left\n"
            in outcome.err), outcome.err


def test_a_long_cause_is_shortened_in_one_line(autodist, tmp_path):
    (tmp_path / "train.py").write_text("raise ValueError('x' * 1000)\n")
    outcome = autodist("run", "--max-restarts", "1", "--", "/usr/bin/python3", "train.py")
    [line] = [line for line in outcome.err.splitlines() if "restarting, because " in line]
    assert len(line.partition("because ")[2]) <= 200 and line.endswith("..., train.py:1"), line


@pytest.fixture
def limited():
    """The file that moves a process, and all that it starts, into a cgroup with a memory limit."""
    for place, limits in ((Path("/sys/fs/cgroup/memory"), ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]),
                          (Path("/sys/fs/cgroup"), ["memory.max", "memory.swap.max"])):
        cgroup = place / own_name("causes")
        try:
            cgroup.mkdir()
        except OSError:
            continue
        try:
            (cgroup / limits[0]).write_text(str(LIMIT))
            break
        except OSError:
            cgroup.rmdir()
    else:
        pytest.skip("no cgroup whose memory can be limited")
    if (cgroup / limits[1]).exists():
        (cgroup / limits[1]).write_text("0" if "swap" in limits[1] else str(LIMIT))
    procs = cgroup / "cgroup.procs"
    yield procs
    seconds_until(lambda: procs.read_text() == "", 5 * SLOWER)
    cgroup.rmdir()


@pytest.mark.parametrize("kernel_log", ["with", "without"])
@pytest.mark.parametrize("shell, how", [("exec \"$@\"", "was ended by SIGKILL"),
                                        ("\"$@\"; exit $?", "exited with code 137 (128 + 9: a program that it "
                                                              "started was ended by SIGKILL)")])
def test_the_kernel_kills_for_want_of_memory(autodist, limited, kernel_log, shell, how):
    enter = f"echo $$ > {limited}; exec \"$@\""
    if kernel_log == "without":
        enter = "mount --bind /dev/null /dev/kmsg; " + enter
    under = ["unshare", "--mount", "sh", "-c", enter, "sh"]
    if subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no namespace of the test's own can be made")
    outcome = autodist("run", "--", "sh", "-c", shell, "sh",
                       *python("taken = bytearray(400_000_000)"), under=under)
    assert outcome.code == 137
    report = report_of(outcome)
    assert f"{how}: the kernel's out-of-memory killer, at " in report[0], report
    assert report[0].endswith(" of 192.0 MiB of the cgroup"), report
