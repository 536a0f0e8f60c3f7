"""Ranks in containers that are created for the job: `image` in an ssh group."""

import os
import signal

import pytest
from docker import Docker
from hosts import SHARED, address, argv_of, kill_all, named_on, pids_on
from jobs import processes, seconds_until
from podman import IMAGE, Podman

GONE_LIMIT_S = 15
TOLD_LIMIT_S = 10
HOSTS = (2, 3)
UP = ["sh", "-c", "echo up; exec sleep 1000"]
UNTIL_END = ["sh", "-c", "echo up; while [ ! -e end ]; do sleep 0.1; done; echo end"]


@pytest.fixture(params=[Podman, Docker], ids=["podman", "docker"])
def runtimes(folder, request):
    runtimes = {}
    try:
        for host in HOSTS:
            runtimes[host] = request.param(host, folder)
        yield runtimes
        seconds_until(lambda: not containers(runtimes), GONE_LIMIT_S)
        assert not processes()
    finally:
        for runtime in runtimes.values():
            runtime.remove()


def containers(runtimes):
    return [(host, name) for host, runtime in runtimes.items()
            for name in runtime("ps", "-a", "--format", "{{.Names}}").split()]


@pytest.fixture
def job(start, folder, runtimes):
    """Starts a job in the nodes' image."""
    spec = folder / "spec.yaml"
    spec.write_text(f"""nodes:
  - {{address: {address(1)}, cpus: [0], chief: true}}
  - {{address: {address(2)}, cpus: [0, 1], ssh_config: two}}
  - {{address: {address(3)}, cpus: [0], ssh_config: three}}
ssh:
  two: {{key_file: {SHARED}/user_rsa, via: {runtimes[2].name}, image: {IMAGE}, run_options: [--env, GIVEN=1]}}
  three: {{key_file: {SHARED}/user_ed25519, via: {runtimes[3].name}, image: {IMAGE}}}
""")

    def run(*arguments):
        return start("run", "--spec", spec, *arguments)
    return run


def test_ranks_run_in_the_image(job, folder, runtimes):
    outcome = job("--sync", "--", "sh", "-c", "echo $RANK $(readlink /bin/ls) $GIVEN; "
                  "[ $RANK = 3 ] && touch made; pwd; sleep 1").finish()
    assert outcome.code == 0, outcome.err
    place = [str(folder)]
    assert outcome.lines() == {0: ["0", *place], 1: ["1 busybox 1", *place], 2: ["2 busybox 1", *place],
                               3: ["3 busybox", *place]}
    assert (folder / "made").exists()  # the folder is mounted from the node


def test_exit_codes_and_signals(job):
    outcome = job("--", "sh", "-c", "[ $RANK = 3 ] && exit 7; exec sleep 1000").finish()
    assert outcome.code == 7
    running = job("--", "sh", "-c", "trap 'echo asked; exit 7' TERM; echo up; while :; do sleep 0.1; done")
    running.await_lines(4)
    running.interrupt()
    outcome = running.finish()
    assert outcome.code == 130 and outcome.out.count("asked") == 4


def test_a_killed_chief(job, runtimes):
    running = job("--lease", "4", "--grace", "1", "--", *UP)
    running.await_lines(4)
    assert len(containers(runtimes)) == 2
    running.interrupt(signal.SIGKILL)
    running.finish()
    seconds_until(lambda: not processes(), GONE_LIMIT_S)


def test_a_killed_agent(job):
    running = job("--", *UP)
    running.await_lines(4)
    kill_all(named_on(3, "autodist-guard"))  # watchdog and agent
    outcome = running.finish()
    assert outcome.code == 125 and f"node {address(3)} was lost" in outcome.err, outcome.err


def test_a_killed_client(job, folder, runtimes):
    running = job("--", *UNTIL_END)
    running.await_lines(4)
    for pid in pids_on(2):
        if argv_of(pid)[:2] == [runtimes[2].name, "exec"]:
            os.kill(pid, signal.SIGKILL)
    running.await_err("connected again", 10)
    (folder / "end").touch()
    outcome = running.finish()
    assert outcome.code == 0 and outcome.out.count("end") == 4, outcome.err


def test_a_killed_container(job, runtimes):
    running = job("--", *UP)
    running.await_lines(4)
    [name] = [name for host, name in containers(runtimes) if host == 3]
    runtimes[3]("kill", name)
    running.await_err(f"{address(3)} is lost", TOLD_LIMIT_S)
    assert running.finish().code == 125


def test_a_restart_creates_new_containers(job, runtimes):
    running = job("--max-restarts", "1", "--", "sh", "-c",
                  "echo up; [ $AUTODIST_RESTART_COUNT = 1 ] || exec sleep 1000")
    running.await_lines(4)
    [name] = [name for host, name in containers(runtimes) if host == 3]
    runtimes[3]("kill", name)
    outcome = running.finish()
    assert outcome.code == 0 and outcome.out.count("up") == 4, outcome.err
