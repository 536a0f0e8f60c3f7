"""Collective operations of the worker library when peers die or vanish during them.

Time limits are three times the specified ones, because machines that run tests are slow.
"""

import os
import re
import signal

import pytest
from hosts import address
from jobs import BUILD, seconds_until

SLOWER = 3
ERROR_LIMIT_S = 5 * SLOWER  # until a rank with a dead peer has its error
LEASE_S = 5
VICTIM = 5


@pytest.mark.smoke
def test_every_rank_gets_an_error_when_a_peer_is_killed(up):
    job, ranks = up("--grace", 20, program=[BUILD / "endless_ring", "stubborn"])
    os.kill(ranks[VICTIM], signal.SIGKILL)
    seconds_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()), ERROR_LIMIT_S)
    outcome = job.finish()
    assert outcome.code == 128 + signal.SIGKILL
    lines = outcome.lines()
    assert sorted(lines) == [rank for rank in sorted(ranks) if rank != VICTIM], (lines, outcome.err)
    for said in lines.values():
        [line] = said
        assert re.match(r"failed: all-reduce: (Connection closed by peer|Read error|writev) .*10\.77\.0\.\d", line), line
    report = outcome.err[outcome.err.index("autodist: error"):]
    assert re.search(r"rank (\d+) on", report)[1] == str(VICTIM), report
    assert f"rank {VICTIM} on {address(VICTIM // 2 + 1)}" in report
    assert "SIGKILL" in report and "needed SIGKILL" not in report and "ended on SIGTERM" not in report, report


def test_ranks_wait_at_most_a_lease_for_a_lost_host(up, cut):
    job, ranks = up("--lease", LEASE_S, program=[BUILD / "endless_ring"])
    cut(3)
    seconds_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()),
                  LEASE_S + ERROR_LIMIT_S)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"node {address(3)}" in outcome.err


