"""What is wrong with a job on several nodes, as `autodist why` tells it."""

import json
import re

from hosts import SPEC, address, heal
from jobs import BUILD, seconds_until

RANKS = 8
WRONG = 3


def detached(autodist, folder, *command):
    outcome = autodist("run", "--detach", "--spec", SPEC, "--", *command)
    assert outcome.code == 0, outcome.err
    job = re.search(r"job (\S+) is running", outcome.err)[1]
    logs = folder / "autodist-runs" / job
    seconds_until(lambda: all((logs / f"rank-{rank}.out").read_text() for rank in range(RANKS)), 40)
    return job


def test_a_deadlock_in_cpp_under_gloo(autodist, folder):
    job = detached(autodist, folder, BUILD / "deadlock")
    outcome = autodist("why", job)
    assert outcome.code == WRONG, outcome.out
    assert outcome.out.startswith(f"rank 2 ({address(2)}) has not entered the all-reduce in which the 7 others wait; "
                                  "it waits for a lock in "), outcome.out
    assert autodist("stop", "--now", job).code == 0


def test_a_node_that_does_not_answer(autodist, folder, cut):
    job = detached(autodist, folder, BUILD / "deadlock")
    cut(3)
    seconds_until(lambda: "reconnecting" in autodist("status", job).out, 30)
    outcome = autodist("why", job, "--json")
    assert outcome.code == WRONG, outcome.out
    verdict = json.loads(outcome.out)
    assert verdict["trouble"]["what"] == f"{address(3)} does not answer, with ranks 4-5"
    assert verdict["trouble"]["kind"] == "KIND_AWAY" and verdict["trouble"]["nodes"] == [2]
    heal(3)
    assert autodist("stop", "--now", job).code == 0
