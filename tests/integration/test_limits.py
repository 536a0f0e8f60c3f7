"""Ranks with excessive requests: they are refused with clear messages, and neither autodist nor the agent
needs much memory for it."""

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest
from jobs import AUTODIST, BUILD, processes

UNPRIVILEGED_ID = 65534
MOST_MEMORY_KIB = 128 << 10
RESOURCE_EXHAUSTED, UNIMPLEMENTED, DEADLINE_EXCEEDED = 8, 12, 4


def peak(pid):
    """Peak memory of the process in KiB."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1])


def run_greedy(start, folder, mode):
    (folder / "spec.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0, 1]\n")
    return start("run", "--spec", "spec.yaml", "--", BUILD / "greedy_rank", mode)


def most_memory(job):
    """The largest peak of autodist and the agent's processes, in KiB."""
    peaks = {"autodist": peak(job.process.pid)}
    peaks |= {pid: peak(pid) for pid, command in processes().items() if "autodist-agent attach" in command}
    assert len(peaks) >= 2
    print("peaks", peaks)
    return max(peaks.values())


@pytest.mark.parametrize("mode, expected", [
    ("compressed", [f"compressed {UNIMPLEMENTED}"]),
    ("barriers", [f"barriers {RESOURCE_EXHAUSTED}", f"barriers {DEADLINE_EXCEEDED}"]),
    ("gets", ["set 0", "gets 1500"])])
def test_a_greedy_rank(start, tmp_path, mode, expected):
    job = run_greedy(start, tmp_path, mode)
    lines = [line.split("] ")[1].strip() for line in job.await_lines(len(expected) + 1)]
    most = most_memory(job)
    (tmp_path / "end").touch()
    outcome = job.finish()
    assert (outcome.code, lines) == (0, [*expected, "measure"]), outcome.err
    assert most < MOST_MEMORY_KIB


def test_a_rank_that_does_not_read_responses(start, tmp_path):
    job = run_greedy(start, tmp_path, "stopped")
    [line] = job.await_lines(1)
    assert line.endswith(":1] measure\n")
    most = most_memory(job)
    (tmp_path / "end").touch()
    outcome = job.finish()
    assert (outcome.code, outcome.lines()) == (0, {0: ["gets 300"]}), outcome.err
    assert most < MOST_MEMORY_KIB


@pytest.mark.parametrize("line", [r"caf\351", r"\377\376", "é" * 199 + "xé"], ids=["latin", "none", "cut"])
def test_last_lines_in_any_encoding(start, tmp_path, line):
    outcome = start("run", "--", "sh", "-c", f"printf '{line}\n'; exit 3").finish()
    assert outcome.code == 3
    assert "libprotobuf" not in outcome.err
    [record] = tmp_path.glob("autodist-runs/*/job.json")
    assert "its last line on stdout" in record.read_text(encoding="utf-8")


def test_a_working_directory_that_is_not_utf8_is_refused(start, tmp_path):
    work = bytes(tmp_path) + b"/caf\xe9"
    Path(work.decode(errors="surrogateescape")).mkdir()
    outcome = start("run", "--", "true", cwd=work).finish()
    assert outcome.code == 2 and "is not valid UTF-8" in outcome.err
    assert "libprotobuf" not in outcome.err


def test_a_thread_limit_is_named():
    # root has no limit
    unprivileged = {"user": UNPRIVILEGED_ID, "group": UNPRIVILEGED_ID, "extra_groups": []} if os.geteuid() == 0 else {}
    with open(AUTODIST, "rb") as program:  # the folder may be closed to other users
        outcome = subprocess.run(
            [f"/proc/self/fd/{program.fileno()}", "web"], check=False,
            pass_fds=[program.fileno()], stderr=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]}, cwd="/",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)), **unprivileged)
    assert outcome.returncode != 0 and "internal error" not in outcome.stderr
    assert "starting a thread: Resource temporarily unavailable\n" in outcome.stderr and "`ulimit -u`" in outcome.stderr
