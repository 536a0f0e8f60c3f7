"""Rows about restarted jobs; peers have nothing comparable."""

from fault_rows.contestants import RANKS, RANKS_PER_HOST
from fault_rows.losses import CUT_OFF, at_last
from fault_rows.measure import Run
from fault_rows.outputs import VICTIM
from fault_rows.row import Row, Target
from hosts import cut, heal

LEASE_S = 5
MIN_NODES = 3
START_S = 2  # from the decision to restart to the end of the attempt


def fails_twice(contestant, folder, limit):
    attempts = folder / "attempts"
    attempts.mkdir()
    with Run(contestant, "flaky", attempts, folder=folder, max_restarts=3) as run:
        run.fault_at = run.started
        result = run.watch(limit)
        run.await_output()
        if result.code != 0:
            result.wrong.append(run.err.decode(errors="replace")[-300:])
            return result
        [job] = (folder / "logs").iterdir()
        expected = b"attempt of rank %d of %d\n" % (VICTIM, RANKS)
        for name in ("", "restart-1", "restart-2"):
            path = job / name / f"rank-{VICTIM}.out"
            result.expect(path.exists() and path.read_bytes() == expected,
                          f"{name}/rank-{VICTIM}.out is wrong")
        result.expect(not (job / "restart-3").exists(), "there was a fourth attempt")
        return result


def one_host_fewer(contestant, folder, limit):
    with at_last(heal), \
            Run(contestant, "elastic", RANKS, folder=folder, lease=LEASE_S, min_nodes=MIN_NODES,
                max_restarts=3) as run:
        run.await_ready()
        run.fault()
        cut(CUT_OFF)
        result = run.watch(limit)
        run.await_output()
        ranks = RANKS - RANKS_PER_HOST
        said = sorted(contestant.rank_line(line) for line in run.lines() if b"ready" not in line)
        result.expect(said == [b"rank %d of %d\n" % (rank, ranks) for rank in range(ranks)],
                      f"the ranks that were left said {said}")
        return result


ROWS = [
    Row("a rank fails twice, then succeeds", fails_twice, Target(code=0), tools=("autodist",),
        note="--max-restarts 3"),
    Row("a host of four is cut off", one_host_fewer,
        Target(gone=LEASE_S + START_S, returned=LEASE_S + START_S, code=0), tools=("autodist",),
        note=f"--min-nodes {MIN_NODES} --max-restarts 3 --lease {LEASE_S}"),
]
