"""A limit on the size of files (ulimit -f) is as a full disk, and the ranks' own affair as ever."""

import signal

import pytest
from jobs import processes, python

WRITES = "for i in range(5000): print(i, 'x' * 90)\nprint('end')"


def under(blocks):
    """Of 512 bytes each."""
    return ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh"]


def test_logs_are_cut_short_and_told_and_the_terminal_has_all(start):
    outcome = start("run", "--", *python(WRITES), under=under(100)).finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines()[0][-1] == "end" and len(outcome.lines()[0]) == 5001
    said = "log of rank 0 is cut short: write: File too large"
    assert outcome.err.count(said) == 2, outcome.err  # at once and at the end


@pytest.mark.parametrize("options", [(), ("--max-restarts", "1")])
def test_no_file_can_have_anything(start, options):
    outcome = start("run", *options, "--", "sh", "-c", "echo up; exit 3", under=under(0)).finish()
    assert outcome.code == 3 and "up" in outcome.out, outcome.err
    assert "events.jsonl is cut short: write: File too large" in outcome.err
    assert processes() == {}


def test_a_rank_is_ended_by_its_limit_as_without_autodist(start):
    outcome = start("run", "--", "sh", "-c", "grep SigIgn: /proc/self/status; exec head -c 100000 /dev/zero > mine",
                    under=under(100)).finish()
    [ignored] = outcome.lines()[0]
    assert int(ignored.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1 == 0
    assert outcome.code == 128 + 25 and "SIGXFSZ" in outcome.err, outcome.err
