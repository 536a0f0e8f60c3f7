"""Jobs that continue on other hosts after one is lost. No rank may ever run twice at a time: each locks a file,
and the lock is free when no process of the rank is left."""

import os
import re
import signal

import hosts
import pytest
from hosts import SPEC, address, agents_on
from jobs import processes, seconds_until

LOST = 3
SPARE = 4
LEASE_S = 4
RETURN_LIMIT_S = 30
RANKS = 6  # two on each of three hosts; the fourth is the spare
# Attempts before number $2, from 0, run until they are ended; on the host that is lost, the first ignores SIGTERM.
SCRIPT = """
exec 9>"$1/$RANK"; flock -n 9 || echo twice
[ $AUTODIST_RESTART_COUNT -lt $2 ] || { echo $RANK of $WORLD_SIZE again; exit; }
[ $NODE_RANK != 2 ] || [ $AUTODIST_RESTART_COUNT != 0 ] || trap '' TERM
echo up
while ! [ -e "$1/fail-$RANK" ]; do sleep 0.05; done
exit 7
"""


@pytest.fixture
def begin(start, folder):
    def begin(*options, lease=LEASE_S, last=1, spec=SPEC):
        (folder / "locks").mkdir()
        return start("run", "--spec", spec, "--lease", lease, *options, "--",
                     "sh", "-c", SCRIPT, "sh", folder / "locks", last)
    return begin


def moved_to_the_spare(job):
    outcome = job.finish()
    seconds_until(lambda: not processes(), 5)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} of {RANKS} again"] for rank in range(RANKS)}
    assert f"[{address(SPARE)}:4]" in outcome.out and f"[{address(LOST)}:" not in outcome.out
    assert f"[{address(2)}:2]" in outcome.out
    return outcome


@pytest.mark.smoke
def test_a_spare_takes_the_place_of_a_host_whose_agent_is_killed(begin):
    job = begin("--spares", "1")
    job.await_lines(RANKS)
    [agent] = agents_on(LOST)
    os.kill(agent, signal.SIGKILL)
    moved_to_the_spare(job)


@pytest.mark.parametrize("cut", [hosts.cut, hosts.cut_replies])
def test_a_spare_waits_until_the_ranks_of_a_host_that_is_cut_off_have_ended(begin, cut):
    job = begin("--spares", "1")
    job.await_lines(RANKS)
    try:
        cut(LOST)
        moved_to_the_spare(job)
    finally:
        hosts.heal(LOST)


def test_a_spare_waits_for_a_host_whose_agent_is_stopped(begin):
    job = begin("--spares", "1", lease=8)
    job.await_lines(RANKS)
    [agent] = agents_on(LOST)
    os.kill(agent, signal.SIGSTOP)
    moved_to_the_spare(job)


def test_a_failure_elsewhere_while_a_host_is_cut_off(begin, cut, folder):
    job = begin("--spares", "1")
    job.await_lines(RANKS)
    cut(LOST)
    (folder / "locks" / "fail-0").touch()
    moved_to_the_spare(job)


def test_fewer_hosts_wait_for_the_one_that_is_cut_off(begin, cut):
    job = begin("--min-nodes", "3")
    job.await_lines(RANKS + 2)
    cut(LOST)
    outcome = job.finish()
    seconds_until(lambda: not processes(), 5)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} of {RANKS} again"] for rank in range(RANKS)}


@pytest.fixture
def kernel_log(folder):
    """The kernel log of LOST, which has one GPU of NVIDIA."""
    log = folder / "kmsg"
    log.touch()
    hosts.on_host(LOST, f"mount --bind {log} /dev/kmsg; mount -t tmpfs none /proc/driver; "
                        "mkdir -p /proc/driver/nvidia/gpus/0000:3b:00.0")
    yield log
    hosts.on_host(LOST, "umount /dev/kmsg /proc/driver")


FELL_OFF = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."


def test_a_spare_takes_the_place_of_a_host_with_a_faulty_gpu(begin, start, folder, spec, kernel_log):
    on_gpus = spec(*[(f"{address(host)}\n    cpus: [0, 1]", f"{address(host)}\n    gpus: [0, 1]") for host in (2, 3, 4)])
    try:
        job = begin("--spares", "1", "--grace", "1", "--no-preflight", spec=on_gpus)
        job.await_lines(RANKS)
        kernel_log.write_text(f"6,1,1,-;{FELL_OFF}\n")
        (folder / "locks" / "fail-4").touch()
        outcome = moved_to_the_spare(job)
        remembered = start("nodes").finish().out
    finally:
        start("nodes", "--forget", address(LOST)).finish()
    assert remembered.startswith(f"{address(LOST)}  ") and "fell off the bus (XID 79)" in remembered
    assert (f"restarting, because GPU 0 of rank 4 on {address(LOST)} fell off the bus (XID 79): restart the node"
            in outcome.err)
    assert f"{address(LOST)} has a faulty GPU; the job goes on without it" in outcome.err


@pytest.mark.parametrize("uses_gpus, record", [
    # A job on CPUs.
    (False, f"6,1,1,-;{FELL_OFF}"),
    # What any user can write: a name of a file, and a text for the system's log.
    (True, f"6,1,1,-;NVRM: Demo (PCI[27810]: segfault at 8 ip 0 sp 0 error 6 in {FELL_OFF}[161e,401000+78000]"),
    (True, f"14,1,1,-;{FELL_OFF}"),
    # Not a GPU of the host.
    (True, f"6,1,1,-;{FELL_OFF.replace('3b', '3c')}"),
], ids=["other-gpu", "file-name", "logger", "no-gpu"])
def test_a_host_is_not_blamed_for_a_fault_that_is_none_of_the_job(begin, start, folder, spec, kernel_log, uses_gpus, record):
    gpus = [(f"{address(host)}\n    cpus: [0, 1]", f"{address(host)}\n    gpus: [0, 1]") for host in (2, 3, 4)]
    job = begin("--spares", "1", "--grace", "1", "--no-preflight", spec=spec(*(gpus if uses_gpus else [])))
    job.await_lines(RANKS)
    kernel_log.write_text(record + "\n")
    (folder / "locks" / "fail-4").touch()
    outcome = job.finish()
    assert outcome.code == 7 and "XID" not in outcome.err
    assert address(LOST) not in start("nodes").finish().out


def test_a_host_that_is_switched_on_again_becomes_a_spare(begin):
    job = begin("--spares", "1", last=2)
    job.await_lines(RANKS)
    hosts.power_off(LOST)
    try:
        job.await_lines(RANKS)
    finally:
        hosts.power_on(LOST)
    job.await_err(f"{address(LOST)} is back; a restart can use it", RETURN_LIMIT_S)
    [agent] = agents_on(SPARE)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    seconds_until(lambda: not processes(), 5)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} of {RANKS} again"] for rank in range(RANKS)}
    assert f"[{address(LOST)}:4]" in outcome.out and f"[{address(SPARE)}:" not in outcome.out


def test_without_a_spare_a_job_may_shrink(begin, power_off):
    job = begin("--on-node-loss", "shrink")
    job.await_lines(RANKS + 2)
    power_off(LOST)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} of {RANKS} again"] for rank in range(RANKS)}


def test_a_lost_host_may_end_the_job(begin):
    job = begin("--on-node-loss", "stop", "--max-restarts", "3")
    job.await_lines(RANKS + 2)
    [agent] = agents_on(LOST)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 125, outcome.err
    assert outcome.out == "" and "restarting" not in outcome.err


def test_a_job_with_spares_does_not_end_with_a_lost_host(start):
    outcome = start("run", "--spec", SPEC, "--on-node-loss", "stop", "--spares", "1", "--", "true").finish()
    assert outcome.code == 2 and "--on-node-loss stop cannot be used with --spares or --min-nodes" in outcome.err


def test_a_spare_that_is_off_does_not_prevent_the_start(start, power_off):
    power_off(SPARE)
    outcome = start("run", "--spec", SPEC, "--spares", "1", "--", "true").finish(90)
    assert outcome.code == 0, outcome.err
    assert re.search(rf"warning: {re.escape(address(SPARE))} cannot be reached: .*; the job starts without this spare",
                     outcome.err), outcome.err


def test_the_hint_names_a_host_that_is_off(start, power_off):
    power_off(LOST)
    outcome = start("run", "--spec", SPEC, "--", "true").finish(90)
    assert outcome.code == 125, outcome.err
    assert f"hint: to start without this node: --exclude {address(LOST)}; " in outcome.err, outcome.err
