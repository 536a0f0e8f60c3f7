"""`autodist clean`, and the nodes' own cleanup when the chief is gone.

Time limits are three times the specified ones, because machines that run tests are slow.
"""

import os
import re
import signal
from pathlib import Path

import pytest
from hosts import SPEC, address, agents_on, in_host, kill_all, listening_sshd, parent, pids_on, sshd_sessions
from jobs import own_name, processes, seconds_until, state

SLOWER = 3
CLEAN_S = 1 * SLOWER
RANKS = 8
HOSTS = (1, 2, 3, 4)
WAIT = ["sh", "-c", "echo up $$; exec sleep 1000"]
UNTIL = ["sh", "-c", 'echo up $$; while [ ! -e "$0" ]; do sleep 0.1; done']
DAEMONS = ["sh", "-c", "setsid sleep 1000 & setsid setsid sh -c 'sleep 1000 & sleep 1000' & echo up $$; wait"]


@pytest.fixture
def clean(autodist):
    def run():
        return autodist("clean", "--spec", SPEC)
    return run


def job_id(job):
    job.await_err("logs in ", 20)
    return re.search(r"job (\d{8}-\d{6}-[0-9a-f]+)", job.err.decode())[1]


def environment(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def of_job(job):
    """Pids of the job's processes on any host."""
    return {pid for pid, command in processes().items()
            if job in command or f"AUTODIST_JOB_ID={job}\0".encode() in environment(pid)}


def await_none(found):
    """Waits for the relays of a killed autodist, which end a moment after the job."""
    seconds_until(lambda: not found(), CLEAN_S)


def folders(host):
    return in_host(host, "sh", "-c", "ls /tmp/autodist-0 2>/dev/null || true").split()


def connected(job):
    """Pids of the job's processes that show others, by a shared lock, that a chief is connected."""
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return {int(lock[4]) for lock in locks if (lock[1], lock[3]) == ("POSIX", "READ")} & of_job(job)


def kill_chief(job):
    """Returns when the nodes have noticed it."""
    assert connected(job_id(job))
    job.interrupt(signal.SIGKILL)
    assert job.finish().code == -signal.SIGKILL
    await_none(lambda: connected(job_id(job)))


def kill_watchdog_and_agent(host):
    """Stops the watchdog first, so that it does not react to the agent's end."""
    [agent] = agents_on(host)
    watchdog = parent(agent)
    os.kill(watchdog, signal.SIGSTOP)
    seconds_until(lambda: state(watchdog) == "T", 5 * SLOWER)
    os.kill(agent, signal.SIGKILL)
    os.kill(watchdog, signal.SIGKILL)


@pytest.mark.smoke
def test_clean_ends_the_processes_of_a_killed_autodist_at_once(up, clean):
    job, _ = up("--lease", "60", "--grace", "1", program=DAEMONS)
    kill_chief(job)
    assert processes()
    outcome = clean()
    await_none(processes)
    assert [folders(host) for host in HOSTS] == [[]] * 4
    assert outcome.code == 0, outcome.err
    assert sorted(outcome.out.splitlines()) == sorted(
        [f"{address(host)}: ended job {job_id(job)}" for host in HOSTS] +
        ["cleaned 4 nodes"])
    assert outcome.seconds < 1 + CLEAN_S


def test_ranks_have_the_grace_period_when_they_are_cleaned_up(up, clean, folder):
    job, _ = up("--lease", "60", "--grace", "20", program=[
        "sh", "-c", 'trap "sleep 0.5; touch $0/saved-$RANK; exit" TERM; echo up $$; while :; do sleep 0.1; done',
        folder])
    kill_chief(job)
    assert clean().code == 0
    assert len(list(folder.glob("saved-*"))) == RANKS
    await_none(processes)


def test_a_job_with_a_running_chief_is_left_alone(up, clean, folder):
    crashed, _ = up("--lease", "60", "--grace", "1", program=WAIT)
    (folder / "other").mkdir()
    running, ranks = up(program=[*UNTIL, folder / "end"], cwd=folder / "other")
    kill_chief(crashed)
    outcome = clean()
    assert outcome.code == 0, outcome.err
    name = job_id(running)
    await_none(lambda: of_job(job_id(crashed)))
    assert of_job(name) >= set(ranks.values())
    for host in HOSTS:
        assert f"{address(host)}: ended job {job_id(crashed)}\n" in outcome.out
        assert (f"{address(host)}: left job {name} alone: its chief is running; "
                f"`autodist stop {name}` ends it\n") in outcome.out
    assert "cleaned" not in outcome.out
    (folder / "end").touch()
    assert running.finish().code == 0


def test_a_job_during_its_launch_is_left_alone(start, clean, spec, folder):
    slow = spec(("    username: root\n", "    username: root\n    python_venv: "
                 f"'touch {folder}/preparing-$HOSTNAME; while [ ! -e {folder}/go ]; do sleep 0.05; done'\n"))
    job = start("run", "--spec", slow, "--", "true")
    seconds_until(lambda: len(list(folder.glob("preparing-*"))) == 3, 20)
    outcome = clean()
    for host in HOSTS[1:]:
        assert f"{address(host)}: left job " in outcome.out
    (folder / "go").touch()
    assert job.finish().code == 0, job.err


def test_orphaned_daemons_are_found(up, clean):
    job, _ = up("--lease", "60", "--grace", "1", program=DAEMONS)
    name = job_id(job)
    kill_chief(job)
    kill_watchdog_and_agent(3)
    [left] = folders(3)
    mark = f"AUTODIST_AGENT_SOCKET=/tmp/autodist-0/{left}/".encode()
    # The daemons of both ranks; the ranks themselves end with the agent.
    seconds_until(lambda: len([pid for pid in processes() if mark in environment(pid)]) == 2 * 4, 1 * SLOWER)
    outcome = clean()
    await_none(processes)
    assert [folders(host) for host in HOSTS] == [[]] * 4
    assert outcome.code == 0, outcome.err
    assert f"{address(3)}: removed the folder of job {name}\n" in outcome.out
    assert f"{address(2)}: ended job {name}\n" in outcome.out
    assert "cleaned 4 nodes\n" in outcome.out


@pytest.fixture
def given_cgroup():
    """A delegated cgroup of host 3's user, which contains its SSH server and so all sessions."""
    mounts = [path for path in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
              if (path / "cgroup.procs").exists()]
    try:
        cgroup = mounts[0] / own_name("clean")
        cgroup.mkdir()
        os.setxattr(cgroup, "user.delegate", b"1")
    except (IndexError, OSError):
        pytest.skip("no cgroup v2 that may be written")
    sshd = str(listening_sshd(3))
    (cgroup / "cgroup.procs").write_text(sshd)
    yield cgroup
    (mounts[0] / "cgroup.procs").write_text(sshd)
    seconds_until(lambda: (cgroup / "cgroup.procs").read_text() == "", 5 * SLOWER)
    cgroup.rmdir()


def test_a_cgroup_that_is_given_to_us_holds_daemons_without_any_mark(up, clean, given_cgroup):
    job, _ = up("--lease", "60", "--grace", "1", program=[
        "sh", "-c", "setsid env -i sleep 1000 & echo up $$; wait"])
    name = job_id(job)
    [ours] = [path for path in given_cgroup.iterdir() if path.is_dir()]
    assert re.fullmatch(rf"autodist-{name}\.\d", ours.name)

    def daemons_of_3():
        return [pid for pid in pids_on(3) if environment(pid) == b"" and
                Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\0001000\0"]

    seconds_until(lambda: len(daemons_of_3()) == 2, 5 * SLOWER)
    daemons = daemons_of_3()
    kill_chief(job)
    kill_watchdog_and_agent(3)
    seconds_until(lambda: sorted(map(int, (ours / "cgroup.procs").read_text().split())) == sorted(daemons),
                  1 * SLOWER)
    outcome = clean()
    assert outcome.code == 0, outcome.err
    assert not ours.exists() and not set(daemons) & pids_on(3)


@pytest.mark.parametrize("killed", ["nobody", "agent", "watchdog"])
def test_the_cgroup_goes_with_the_job(up, given_cgroup, killed):
    job, _ = up("--grace", "1", program=DAEMONS)
    [agent] = agents_on(3)
    if killed == "nobody":
        job.interrupt()
    else:
        os.kill(agent if killed == "agent" else parent(agent), signal.SIGKILL)
    assert job.finish().code == (130 if killed == "nobody" else 125)
    seconds_until(lambda: not processes(), 2 * SLOWER)
    seconds_until(lambda: not [path for path in given_cgroup.iterdir() if path.is_dir()], 2 * SLOWER)


def test_nothing_to_clean(clean):
    outcome = clean()
    assert (outcome.code, outcome.out) == (0, "cleaned 4 nodes\n")


def test_clean_of_a_node_without_an_agent(clean):
    in_host(3, "sh", "-c", "mv ~/.cache/autodist ~/.cache/put-aside 2>/dev/null || true")
    try:
        outcome = clean()
    finally:
        in_host(3, "sh", "-c", "mv ~/.cache/put-aside ~/.cache/autodist 2>/dev/null || true")
    assert outcome.code == 0
    assert outcome.out == (f"{address(3)}: no agent there: nothing to clean\n"
                           "cleaned 4 nodes\n")


def test_an_unreachable_node_is_reported_and_the_others_are_cleaned(up, autodist, spec):
    job, _ = up("--lease", "60", "--grace", "1", program=WAIT)
    kill_chief(job)
    changed = spec((f"address: {address(3)}\n", "address: no.such.host\n"))
    outcome = autodist("clean", "--spec", changed)
    assert outcome.code == 125
    assert "no.such.host: name does not resolve" in outcome.err
    assert "cleaned 3 nodes\n" in outcome.out
    assert folders(3) and not folders(2) and not folders(4)
    assert autodist("clean", "--spec", SPEC).out == (
        f"{address(3)}: ended job {job_id(job)}\ncleaned 4 nodes\n")


def test_an_agent_whose_watchdog_is_killed_ends_the_job(up, clean):
    job, _ = up("--grace", "1", program=DAEMONS)
    [agent] = agents_on(3)
    os.kill(parent(agent), signal.SIGKILL)
    job.await_err(address(3), 1 * SLOWER)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"node {address(3)} was lost" in outcome.err
    seconds_until(lambda: not processes(), 2 * SLOWER)
    left = folders(3)
    clean()
    assert left == [] and "received nothing from here for 60 s" not in outcome.err


def test_a_watchdog_whose_agent_is_killed_ends_its_daemons_and_reports_why(up):
    job, ranks = up("--grace", "1", program=DAEMONS)
    [agent] = agents_on(3)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 125
    assert re.search(rf"{address(3)} is lost: its agent was killed by SIGKILL, and all that it had started ended "
                     r"with it, at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d by its clock", outcome.err), outcome.err
    assert processes() == {}


def test_a_node_that_was_cleaned_reports_it(up, clean):
    job, _ = up("--lease", "30", "--grace", "1", program=WAIT)
    # Stopped, its autodist cannot replace the broken connection.
    job.interrupt(signal.SIGSTOP)
    kill_all(sshd_sessions(3))
    outcome = clean()
    assert f"{address(3)}: ended job {job_id(job)}\n" in outcome.out
    assert f"{address(2)}: left job {job_id(job)} alone" in outcome.out
    job.interrupt(signal.SIGCONT)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"{address(3)} is lost: its agent was ended by `autodist clean`" in outcome.err, outcome.err
