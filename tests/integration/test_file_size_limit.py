"""A file size limit (ulimit -f) acts like a full disk on autodist, and on ranks as without autodist."""

import signal

import pytest
from jobs import processes, python

WRITES = "for i in range(5000): print(i, 'x' * 90)\nprint('end')"


def under(blocks):
    """A command prefix that limits files to this number of 512-byte blocks."""
    return ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh"]


def test_cut_logs_are_reported_and_the_terminal_gets_everything(start):
    outcome = start("run", "--", *python(WRITES), under=under(100)).finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines()[0][-1] == "end" and len(outcome.lines()[0]) == 5001
    said = "log of rank 0 is cut short: write: File too large"
    assert outcome.err.count(f"warning: {said}") == 1, outcome.err  # when it happens
    assert f"warning: the job ended with warnings:\n  {said}\n" in outcome.err, outcome.err


@pytest.mark.parametrize("options", [(), ("--max-restarts", "1")])
def test_a_limit_of_zero_bytes(start, options):
    outcome = start("run", *options, "--", "sh", "-c", "echo up; exit 3", under=under(0)).finish()
    assert outcome.code == 3 and "up" in outcome.out, outcome.err
    assert "events.jsonl cannot be written: write: File too large" in outcome.err
    assert "log of rank 0 cannot be written: write: File too large" in outcome.err, outcome.err
    assert "  none of what it wrote was kept\n" in outcome.err, outcome.err
    warnings = [line for line in outcome.err.splitlines() if "warning: " in line and "log of rank" not in line]
    assert len(warnings) == len(set(warnings)), outcome.err
    assert processes() == {}


def test_a_rank_is_ended_by_its_own_limit(start):
    outcome = start("run", "--", "sh", "-c", "grep SigIgn: /proc/self/status; exec head -c 100000 /dev/zero > mine",
                    under=under(100)).finish()
    [ignored] = outcome.lines()[0]
    assert int(ignored.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1 == 0
    assert outcome.code == 128 + 25 and "SIGXFSZ" in outcome.err, outcome.err
