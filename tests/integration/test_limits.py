"""Ranks that ask for too much: they are refused with clear words, and neither autodist nor the agent
takes much memory for it."""

import re
from pathlib import Path

import pytest
from jobs import BUILD, processes

MOST_MEMORY_KIB = 128 << 10
RESOURCE_EXHAUSTED, UNIMPLEMENTED, DEADLINE_EXCEEDED = 8, 12, 4


def peak(pid):
    """Of the process's memory, in KiB."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1])


@pytest.mark.parametrize("mode, told", [
    ("compressed", [f"compressed {UNIMPLEMENTED}"]),
    ("barriers", [f"barriers {RESOURCE_EXHAUSTED}", f"barriers {DEADLINE_EXCEEDED}"]),
    ("gets", ["set 0", "gets 1500"])])
def test_a_greedy_rank(start, tmp_path, mode, told):
    job = start("run", "--", BUILD / "greedy_rank", mode)
    lines = [line.split("] ")[1].strip() for line in job.await_lines(len(told) + 1)]
    peaks = {"autodist": peak(job.process.pid)}
    for pid, command in processes().items():
        if "autodist-agent attach" in command:
            peaks[pid] = peak(pid)
    (tmp_path / "end").touch()
    outcome = job.finish()
    assert (outcome.code, lines) == (0, [*told, "measure"]), outcome.err
    assert len(peaks) >= 2 and max(peaks.values()) < MOST_MEMORY_KIB, peaks


@pytest.mark.parametrize("line", [r"caf\351", r"\377\376", "é" * 199 + "xé"], ids=["latin", "none", "cut"])
def test_last_lines_in_any_encoding(start, tmp_path, line):
    outcome = start("run", "--", "sh", "-c", f"printf '{line}\n'; exit 3").finish()
    assert outcome.code == 3
    assert "libprotobuf" not in outcome.err
    [record] = tmp_path.glob("autodist-runs/*/job.json")
    assert "its last lines" in record.read_text(encoding="utf-8")


def test_a_folder_with_a_name_that_is_no_text_is_refused(start, tmp_path):
    work = bytes(tmp_path) + b"/caf\xe9"
    Path(work.decode(errors="surrogateescape")).mkdir()
    outcome = start("run", "--", "true", cwd=work).finish()
    assert outcome.code == 2 and "is not valid UTF-8" in outcome.err
    assert "libprotobuf" not in outcome.err
