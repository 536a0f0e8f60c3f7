"""Nodes that are lost, come back or cannot be prepared while a job restarts. Two processes of a rank never run at a
time (support/witness), a job continues as long as enough nodes work, and a node that works can be used again."""

import contextlib
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import hosts
import pytest
import witness
from conftest import undone_at_last
from hosts import SHARED, address, argv_of, kill_all, named_on, parent, pids_on
from jobs import Running, processes, seconds_until
from podman import Podman

pytestmark = pytest.mark.hosts(8, "--ranks 1")
LOST, OTHER = 2, 3  # host 1 has the chief, and is a node too
START_LIMIT_S = 30
RESTART_LIMIT_S = 8  # without a lease that has to expire, with grace 1
RETURN_LIMIT_S = 20
LEFT_LIMIT_S = 10
SLACK_S = 3
# Runs until the file "end" exists; fails if the file fail-RANK-ATTEMPT does, and ignores SIGTERM if ignore-RANK-ATTEMPT
# exists.
RANK = """
[ ! -e "$1/ignore-$RANK-$AUTODIST_RESTART_COUNT" ] || trap '' TERM
until [ -e "$1/end" ]; do
  [ ! -e "$1/fail-$RANK-$AUTODIST_RESTART_COUNT" ] || exit 7
  sleep 0.05
done
"""


class Job(Running):
    """A job of the first `count` hosts, one rank each; the options decide which are spares."""

    def __init__(self, folder, ranks, spec, *options, grace):
        self.folder, self.ranks = folder, ranks
        super().__init__(["run", "--spec", spec, "--grace", grace, *options, "--", "sh", witness.PROGRAM, folder,
                          "sh", "-c", RANK, "sh", folder], folder, None)

    def attempt_runs(self, number, limit, ranks=None):
        """Waits until all ranks of the attempt have started."""
        def runs():
            return witness.has_started(self.folder, number, ranks or self.ranks)
        seconds_until(lambda: runs() or self.process.poll() is not None, limit, lambda: self.err.decode())
        assert runs(), self.err.decode()

    def fail(self, rank, attempt):
        (self.folder / f"fail-{rank}-{attempt}").touch()

    def ends_well(self):
        (self.folder / "end").touch()
        outcome = self.finish()
        seconds_until(lambda: not processes(), LEFT_LIMIT_S)
        assert outcome.code == 0, outcome.err
        assert witness.two_of_a_rank(self.folder) == [], outcome.err
        return outcome

    def nodes_of(self, attempt):
        """{rank: the node on which it ran}."""
        return {rank: run.node for rank, runs in witness.starts(self.folder).items()
                for run in runs if run.attempt == attempt}


@pytest.fixture
def begin(folder, end_what_is_left):
    """Starts a job on hosts 1 to `count`: begin(count, ranks, *options, activation=shell code)."""
    jobs = []

    def begin(count, ranks, *options, activation="", spec=None, folder=folder, grace=1):
        if not spec:
            spec = folder / "spec.yaml"
            spec.write_text("nodes:\n" + "".join(
                f"  - {{address: {address(host)}, cpus: [0], {'chief: true' if host == 1 else 'ssh_config: g'}}}\n"
                for host in range(1, count + 1)) +
                f"ssh:\n  g:\n    key_file: {SHARED}/user_ed25519\n    username: root\n" +
                (f"    python_venv: {shlex.quote(activation)}\n" if activation else ""))
        jobs.append(Job(folder, ranks, spec, *options, grace=grace))
        jobs[-1].attempt_runs(0, START_LIMIT_S)
        return jobs[-1]
    yield begin
    if any(job.process.poll() is None for job in jobs):  # the test has failed
        for job in jobs:
            job.process.kill()
        end_what_is_left()


def agent_on(host):
    """The pid of the only agent, which may have no ranks. Its watchdog is its parent and has the same name."""
    found = named_on(host, "autodist-guard")
    [agent] = [pid for pid in found if parent(pid) in found]
    return agent


def kill_agent(host):
    os.kill(agent_on(host), signal.SIGKILL)


def activation_that_waits(folder):
    """Statements that wait on a host HOST while the file hold-HOST exists, and report it by the file waits-HOST."""
    return (f"if [ -e {folder}/hold-$HOSTNAME ]; then touch {folder}/waits-$HOSTNAME; "
            f"while [ -e {folder}/hold-$HOSTNAME ]; do sleep 0.05; done; fi")


def prepare_slowly(folder, *hosts):
    """Lets the agents end that these hosts have; they return and are prepared until `finish_preparing`."""
    for host in hosts:
        (folder / f"hold-host{host}").touch()
    for host in hosts:
        kill_agent(host)
    seconds_until(lambda: all((folder / f"waits-host{host}").exists() for host in hosts), RETURN_LIMIT_S,
                  lambda: f"only {sorted(path.name for path in folder.glob('waits-*'))} are prepared again")


def finish_preparing(folder, *hosts):
    for host in hosts:
        (folder / f"hold-host{host}").unlink()


# Connections.

@pytest.fixture
def no_logins():
    """Ends the connections to a host and refuses new ones: no_logins(host); until the end of the test."""
    def begin(host):
        hosts.stop_sshd(host)
        kill_all(pid for pid in pids_on(host) if argv_of(pid)[0].startswith("sshd:"))
    yield from undone_at_last(begin, hosts.start_sshd)


def test_a_node_that_disconnects_again_while_a_restart_waits_for_its_lease(begin, cut, no_logins, folder):
    lease = 12
    (folder / "ignore-1-0").touch()
    job = begin(3, 3, "--min-nodes", "2", "--lease", lease, "--max-restarts", "3", grace=60)
    cut(LOST)
    job.fail(0, 0)
    job.await_err("restarting", lease)
    hosts.heal(LOST)
    job.await_err("connected again", lease)
    no_logins(LOST)
    job.attempt_runs(1, 2 * lease + RESTART_LIMIT_S, ranks=2)
    job.ends_well()


def test_an_agent_that_stops_shortly_before_its_lease_expires(begin):
    """Its watchdog ends the ranks in time."""
    lease = 5
    job = begin(3, 2, "--spares", "1", "--lease", lease)
    agent = agent_on(LOST)
    hosts.cut_replies(LOST)
    try:
        time.sleep(lease - 2)
        os.kill(agent, signal.SIGSTOP)
        job.attempt_runs(1, lease + RESTART_LIMIT_S)
    finally:
        hosts.heal(LOST)
    job.ends_well()


def test_a_second_node_that_is_lost_while_a_restart_waits_for_the_first(begin):
    """The restart could do without the first one; now it needs one of them. It may have begun before."""
    lease = 20
    job = begin(4, 4, "--min-nodes", "3", "--lease", lease, "--max-restarts", "3")
    os.kill(parent(agent_on(LOST)), signal.SIGKILL)  # the watchdog; the agent ends the ranks
    job.await_err("restarting", RESTART_LIMIT_S)
    kill_agent(OTHER)
    job.await_err("is lost: its agent was killed", RESTART_LIMIT_S)
    def continues():
        return any(witness.has_started(job.folder, attempt, ranks) for attempt in (1, 2) for ranks in (3, 4))
    seconds_until(continues, lease + RESTART_LIMIT_S, lambda: job.err.decode())
    job.ends_well()


def test_a_node_that_returns_before_its_ranks_must_have_ended(begin, cut):
    """The grace period is longer than the time for which a node is awaited."""
    lease, grace = 5, 20
    job = begin(2, 2, "--lease", lease, "--max-restarts", "1", grace=grace)
    cut(LOST)
    job.await_err(f"{address(LOST)} is lost", lease + SLACK_S)
    hosts.heal(LOST)
    job.attempt_runs(1, lease + grace + RESTART_LIMIT_S)
    job.ends_well()


# A chief that is stopped.

def stop_for(job, time_s, number=signal.SIGSTOP):
    job.process.send_signal(number)
    time.sleep(time_s)
    job.process.send_signal(signal.SIGCONT)


def test_a_job_that_is_suspended_while_a_node_is_cut_off(begin, cut):
    """The node does not get the order that lets its ranks run for as long."""
    lease = 5
    job = begin(3, 2, "--spares", "1", "--lease", lease)
    cut(LOST)
    job.await_err("has not answered for", lease)
    stop_for(job, lease + SLACK_S, signal.SIGTSTP)
    job.attempt_runs(1, lease + RESTART_LIMIT_S)
    job.ends_well()


def test_a_chief_that_is_stopped_while_ranks_end_blames_no_node(begin, folder):
    (folder / "ignore-1-0").touch()
    job = begin(3, 2, "--spares", "1", "--lease", 30, "--max-restarts", "3")
    job.fail(0, 0)
    job.await_err("stopping rank 1", RESTART_LIMIT_S)
    stop_for(job, 15)  # longer than the time for ranks to end
    job.attempt_runs(1, RESTART_LIMIT_S)
    outcome = job.ends_well()
    assert "is lost" not in outcome.err, outcome.err


# Preparing.

def test_a_node_that_is_prepared_when_another_is_lost(begin, folder, power_off):
    lease = 5
    job = begin(3, 2, "--spares", "1", "--lease", lease, activation=activation_that_waits(folder))
    prepare_slowly(folder, LOST)
    job.attempt_runs(1, RESTART_LIMIT_S)
    power_off(OTHER)
    job.await_err(f"{address(OTHER)} is lost", lease + SLACK_S)
    finish_preparing(folder, LOST)
    job.attempt_runs(2, lease + RESTART_LIMIT_S)
    assert job.nodes_of(2) == {0: address(1), 1: address(LOST)}
    job.ends_well()


@pytest.mark.smoke
def test_a_node_that_is_prepared_when_a_rank_fails_can_be_used_afterwards(begin, folder):
    job = begin(3, 2, "--spares", "1", "--max-restarts", "3", activation=activation_that_waits(folder))
    prepare_slowly(folder, LOST)
    job.attempt_runs(1, RESTART_LIMIT_S)
    job.fail(0, 1)
    job.attempt_runs(2, RESTART_LIMIT_S)
    finish_preparing(folder, LOST)
    job.await_err(f"{address(LOST)} is back; a restart can use it", RETURN_LIMIT_S)
    kill_agent(OTHER)
    job.attempt_runs(3, RESTART_LIMIT_S)
    assert job.nodes_of(3) == {0: address(1), 1: address(LOST)}
    job.ends_well()


WORK = "/tmp/work-of-two-of-a-rank"


@pytest.fixture
def folder_on_each_host():
    """A working directory on hosts 1 to 4, each with its own /tmp."""
    for host in (1, 2, 3, 4):
        hosts.in_host(host, "mkdir", "-p", WORK)
    yield Path(WORK)
    for host in (1, 2, 3, 4):
        hosts.in_host(host, "rm", "-rf", WORK)


@pytest.mark.smoke
def test_a_spare_replaces_a_node_that_cannot_be_prepared_again(begin, folder_on_each_host):
    job = begin(3, 2, "--spares", "1", "--max-restarts", "3", "--workdir", folder_on_each_host)
    hosts.in_host(LOST, "rm", "-r", folder_on_each_host)
    job.fail(1, 0)
    job.attempt_runs(1, RESTART_LIMIT_S)
    assert job.nodes_of(1) == {0: address(1), 1: address(OTHER)}
    outcome = job.ends_well()
    assert f"{address(LOST)}" in outcome.err and "no rank was started" not in outcome.err


def test_two_nodes_that_cannot_be_prepared_again_and_one_spare_end_the_job(begin, folder_on_each_host):
    job = begin(4, 3, "--spares", "1", "--max-restarts", "3", "--workdir", folder_on_each_host)
    for host in (LOST, OTHER):
        hosts.in_host(host, "rm", "-r", folder_on_each_host)
    job.fail(1, 0)
    outcome = job.finish()
    assert outcome.code != 0
    for host in (LOST, OTHER):
        assert address(host) in outcome.err, outcome.err
    assert f"{folder_on_each_host}" in outcome.err, outcome.err
    assert witness.two_of_a_rank(job.folder) == []


# The end of ranks beside a preparation: a race in the agent, which is likely for slow agents on a busy machine.

TRIES = 8
SPARES = (3, 4, 5, 6, 7, 8)
LOWEST_PRIORITY = 19
BUSY_LIMIT_S = 2


@contextlib.contextmanager
def busy():
    burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def slow_down(host):
    for thread in os.listdir(f"/proc/{agent_on(host)}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread), LOWEST_PRIORITY)


def test_the_end_of_an_attempt_beside_preparations_is_always_reported(begin, folder):
    for number in range(TRIES):
        own = folder / str(number)
        own.mkdir()
        job = begin(8, 2, "--spares", len(SPARES), "--max-restarts", "1", activation=activation_that_waits(own),
                    folder=own)
        prepare_slowly(own, *SPARES)
        for host in SPARES:
            slow_down(host)
        with busy(), contextlib.suppress(AssertionError):
            job.fail(0, 0)
            job.attempt_runs(1, BUSY_LIMIT_S)
        job.attempt_runs(1, RESTART_LIMIT_S)
        finish_preparing(own, *SPARES)
        job.ends_well()


# Containers.

@pytest.fixture
def containers(folder):
    """A container on each of hosts 2 and 3, and the spec: host 1, and the containers."""
    runtimes = {}
    spec = folder / "containers.yaml"
    spec.write_text(f"""nodes:
  - {{address: {address(1)}, cpus: [0], chief: true}}
  - {{address: {address(LOST)}, cpus: [0], ssh_config: boxes}}
  - {{address: {address(OTHER)}, cpus: [0], ssh_config: boxes}}
ssh: {{boxes: {{key_file: {SHARED}/user_ed25519, via: podman, container: box}}}}
""")
    try:
        for host in (LOST, OTHER):
            runtimes[host] = Podman(host, folder)
            runtimes[host].run("box", "-v", f"{folder}:{folder}", *witness.mounts())
        yield spec, runtimes[LOST]
    finally:
        for runtime in runtimes.values():
            with contextlib.suppress(subprocess.CalledProcessError):
                runtime("unpause", "-a")
            runtime.remove()


def end_clients(host):
    """Ends the connections to the container; ranks continue."""
    kill_all(pid for pid in pids_on(host) if argv_of(pid)[:2] == ["podman", "exec"])


def test_a_container_that_is_paused_for_less_than_the_lease_keeps_its_ranks(begin, containers):
    lease = 20
    spec, podman = containers
    job = begin(3, 2, "--spares", "1", "--lease", lease, "--max-restarts", "3", spec=spec)
    podman("pause", "box")
    paused = time.monotonic()
    # Half a lease: the chief connects again, and podman refuses.
    seconds_until(lambda: time.monotonic() > paused + 0.75 * lease or witness.has_started(job.folder, 1, 2), lease)
    podman("unpause", "box")
    job.await_err("connected again", lease)
    outcome = job.ends_well()
    assert job.nodes_of(1) == {}, outcome.err


def test_the_ranks_of_a_container_that_is_paused_for_longer_end_when_it_continues(begin, containers):
    lease = 8
    spec, podman = containers
    job = begin(3, 2, "--spares", "1", "--lease", lease, "--max-restarts", "3", spec=spec)
    podman("pause", "box")
    paused = witness.now()
    try:
        job.attempt_runs(1, lease + RESTART_LIMIT_S)
    finally:
        podman("unpause", "box")
    # The last contact may have been an eighth of a lease before the pause.
    assert min(run.started for runs in witness.starts(job.folder).values() for run in runs if run.attempt == 1) \
        > paused + 7 / 8 * lease
    seconds_until(lambda: not runs_on(LOST), SLACK_S)
    job.await_err(f"{address(LOST)} is back; a restart can use it", RETURN_LIMIT_S)
    (job.folder / "end").touch()
    assert job.finish().code == 0


def test_a_container_that_was_taken_for_removed_ends_its_ranks_when_it_returns(begin, containers):
    """While it has another name, podman says that it does not exist."""
    spec, podman = containers
    job = begin(3, 2, "--spares", "1", "--max-restarts", "3", spec=spec)
    podman("rename", "box", "other")
    end_clients(LOST)
    job.attempt_runs(1, RESTART_LIMIT_S)
    podman("rename", "other", "box")
    seconds_until(lambda: not runs_on(LOST), RETURN_LIMIT_S)
    job.await_err(f"{address(LOST)} is back; a restart can use it", RETURN_LIMIT_S)
    (job.folder / "end").touch()
    assert job.finish().code == 0


def runs_on(host):
    """Processes of ranks."""
    return {pid for pid in pids_on(host) if argv_of(pid)[:2] == ["sh", "-c"] and argv_of(pid)[2:3] == [RANK]}
