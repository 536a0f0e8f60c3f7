"""Jobs that are restarted after a failure."""

import contextlib
import os
import signal

import pytest
from hosts import SPEC, address, agents_on, parent, pids_on
from jobs import processes, seconds_until

RANKS = 8
HOSTS = (1, 2, 3, 4)
CLOSED_LIMIT_S = 60  # gRPC ends threads that it added under load only after many idle seconds
# Rank 5 fails in the attempts before the given one, for which the others wait.
FLAKY = """
[ $RANK = 5 ] && mktemp -p "$1" attempt.XXXXXX >/dev/null
echo attempt of $RANK
[ $RANK = 5 ] && [ $(ls "$1" | wc -l) -lt $2 ] && exit 9
while [ $(ls "$1" | wc -l) -lt $2 ]; do sleep 0.02; done
"""


def flaky(start, folder, restarts, attempts):
    (folder / "attempts").mkdir()
    return start("run", "--spec", SPEC, "--max-restarts", restarts, "--", "sh", "-c", FLAKY, "sh",
                 folder / "attempts", attempts).finish()


def job_folder(folder):
    [job] = (folder / "autodist-runs").glob("2*")
    return job


def test_a_rank_that_fails_twice_and_then_succeeds(start, folder):
    outcome = flaky(start, folder, 3, 3)
    assert outcome.code == 0, outcome.err
    job = job_folder(folder)
    for attempt in (job, job / "restart-1", job / "restart-2"):
        for rank in (0, 5):
            text = (attempt / f"rank-{rank}.out").read_text()
            assert text == f"attempt of {rank}\n" or (rank == 0 and text == "" and attempt.name != "restart-2")
    assert not (job / "restart-3").exists()
    assert f"rank 5 on {address(3)}" in outcome.err  # the reason for the restart


def test_no_more_restarts_than_allowed(start, folder):
    outcome = flaky(start, folder, 1, 10)
    assert outcome.code == 9
    assert len(list((folder / "attempts").iterdir())) == 2
    assert f"rank 5 on {address(3)}" in outcome.err and "exited with code 9" in outcome.err


def test_no_restart_without_the_option(start, folder):
    (folder / "attempts").mkdir()
    outcome = start("run", "--spec", SPEC, "--", "sh", "-c", FLAKY, "sh", folder / "attempts", 10).finish()
    assert outcome.code == 9
    assert len(list((folder / "attempts").iterdir())) == 1


def test_ctrl_c_is_not_followed_by_a_restart(start):
    job = start("run", "--spec", SPEC, "--max-restarts", "3", "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(RANKS)
    job.interrupt(signal.SIGINT)
    outcome = job.finish()
    assert outcome.code == 130 and outcome.out == ""


def test_a_killed_agent_causes_a_restart_on_all_nodes(start, folder):
    script = 'if mkdir "$1" 2>/dev/null || [ ! -e "$1/again" ]; then echo up; exec sleep 1000; fi; echo done'
    job = start("run", "--spec", SPEC, "--max-restarts", "1", "--", "sh", "-c", script, "sh", folder / "first")
    job.await_lines(RANKS)
    (folder / "first" / "again").touch()
    [agent] = agents_on(3)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: ["done"] for rank in range(RANKS)}


def test_a_job_goes_on_with_fewer_nodes(start, cut):
    script = ('[ $WORLD_SIZE = 8 ] && { echo up; exec sleep 1000; }; '
              'echo $RANK of $WORLD_SIZE, $NODE_RANK of $AUTODIST_NODE_COUNT')
    job = start("run", "--spec", SPEC, "--lease", "4", "--min-nodes", "3", "--max-restarts", "2", "--",
                "sh", "-c", script)
    job.await_lines(RANKS)
    cut(3)
    outcome = job.finish()
    seconds_until(lambda: not processes(), 5)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} of 6, {rank // 2} of 3"] for rank in range(6)}
    assert address(3) in outcome.err
    assert f"[{address(4)}:4]" in outcome.out and f"[{address(3)}:" not in outcome.out


def test_too_few_nodes_end_the_job(start, cut):
    job = start("run", "--spec", SPEC, "--lease", "4", "--min-nodes", "4", "--max-restarts", "2", "--",
                "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(RANKS)
    cut(3)
    outcome = job.finish()
    seconds_until(lambda: not processes(), 5)
    assert outcome.code == 125
    assert address(3) in outcome.err


def resources(pid):
    """Numbers of a process's descriptors and threads."""
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def samples(agent):
    """Whether the agent has begun sampling: it keeps the files open from then on."""
    for fd in os.listdir(f"/proc/{agent}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            if os.readlink(f"/proc/{agent}/fd/{fd}") == "/proc/diskstats":
                return True
    return False


def test_restarts_leak_no_descriptors_or_threads(start, folder):
    restarts = 4
    script = ('echo up; while [ ! -e "$0/go-$AUTODIST_RESTART_COUNT" ]; do sleep 0.05; done; '
              '[ $RANK = 5 ] && exit 9; exec sleep 1000')
    job = start("run", "--spec", SPEC, "--max-restarts", restarts, "--", "sh", "-c", script, folder)
    for attempt in range(restarts + 1):
        job.await_lines(RANKS)
        agents = [pid for host in HOSTS for pid in agents_on(host)]
        pids = [job.process.pid, *agents]
        if attempt in (1, restarts):
            seconds_until(lambda: all(map(samples, agents)), CLOSED_LIMIT_S)
        # The first restart may add permanent ones; a leak of one per restart would add three.
        if attempt == 1:
            before = [resources(pid) for pid in pids]
        if attempt == restarts:  # the previous attempt's logs are closed in the background
            seconds_until(lambda: all(now[i] < then[i] + 3 for i in (0, 1) for then, now
                                      in zip(before, map(resources, pids), strict=True)), CLOSED_LIMIT_S,
                          lambda: f"held then {before}, now {list(map(resources, pids))}")
        (folder / f"go-{attempt}").touch()
    assert job.finish().code == 9


def test_a_killed_agent_with_peers_that_fail_at_once(start, folder):
    """The new agent must not get orders that were meant for the dead one."""
    script = ('[ -e "$0/again" ] && { echo done; exit; }; echo up; while [ ! -e "$0/again" ]; do sleep 0.01; done; '
              'exit 7')
    job = start("run", "--spec", SPEC, "--max-restarts", "1", "--", "sh", "-c", script, folder)
    job.await_lines(RANKS)
    [agent] = agents_on(3)
    os.kill(agent, signal.SIGKILL)
    (folder / "again").touch()
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: ["done"] for rank in range(RANKS)}


def test_a_crash_is_not_retried_forever_after_a_node_was_lost(start, cut, folder):
    script = '[ $WORLD_SIZE = 8 ] || exit 6; echo up; exec sleep 1000'
    job = start("run", "--spec", SPEC, "--lease", "4", "--min-nodes", "3", "--max-restarts", "1", "--",
                "sh", "-c", script)
    job.await_lines(RANKS)
    cut(3)
    outcome = job.finish()
    seconds_until(lambda: not processes(), 5)
    assert outcome.code == 6, outcome.err
    # Once after the lost node, and once after the crash.
    assert sorted(path.name for path in job_folder(folder).glob("restart-*")) == ["restart-1", "restart-2"]


def slow_restart(start, folder, *options):
    """A job that has lost the agent of host 3, whose environment is not activated again before the file 'go'
    exists."""
    spec = folder / "slow.yaml"
    wait = f"touch {folder}/preparing; while [ ! -e {folder}/go ]; do sleep 0.05; done"
    spec.write_text(SPEC.read_text().replace(
        "    username: root\n",
        f"    username: root\n    python_venv: 'if [ -e {folder}/failed ]; then {wait}; fi'\n"))
    job = start("run", "--spec", spec, "--max-restarts", "3", *options, "--", "sh", "-c",
                'echo attempt $AUTODIST_RESTART_COUNT; [ $AUTODIST_RESTART_COUNT = 0 ] || exit 0; exec sleep 1000')
    job.await_lines(RANKS)
    (folder / "failed").touch()
    [agent] = agents_on(3)
    os.kill(agent, signal.SIGKILL)
    seconds_until((folder / "preparing").exists, 20)
    return job


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_while_nodes_are_prepared_again(start, folder, signals):
    job = slow_restart(start, folder)
    for _ in range(signals):
        job.interrupt(signal.SIGINT)
    outcome = job.finish(limit=10)
    assert outcome.code == 125, outcome.err
    seconds_until(lambda: not processes(), 10)


def test_timeout_while_nodes_are_prepared_again(start, folder):
    outcome = slow_restart(start, folder, "--timeout", "4").finish()
    assert outcome.code == 125, outcome.err
    assert outcome.seconds < 20


def test_an_agent_killed_while_nodes_are_prepared_again(start, folder):
    job = slow_restart(start, folder)
    on_2 = pids_on(2)
    [agent] = [pid for pid in on_2 & set(processes()) if "autodist-agent" in processes()[pid]
               and {parent(pid), parent(parent(pid))} <= on_2 & set(processes())]
    os.kill(agent, signal.SIGKILL)
    job.await_err(f"{address(2)}: the connection is broken", 20)
    (folder / "go").touch()
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: ["attempt 1"] for rank in range(RANKS)}


def test_a_restart_without_a_folder_for_its_logs(start, folder):
    script = 'touch "$1"/autodist-runs/*/restart-1; exit 9'
    outcome = start("run", "--spec", SPEC, "--max-restarts", "3", "--", "sh", "-c", script, "sh", folder).finish()
    assert outcome.code == 9
    assert "restart-1" in outcome.err and outcome.err.rstrip().count("exited with code 9") >= 1
