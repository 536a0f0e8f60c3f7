"""Nodes that are containers: `via` in an ssh group."""

import re

import pytest
from docker import Docker
from hosts import SHARED, address, argv_of, kill_all, pids_on
from jobs import processes, seconds_until
from podman import Podman

TOLD_LIMIT_S = 10
HOSTS = (2, 3)
UP = "echo up; exec sleep 1000"


@pytest.fixture(params=[Podman, Docker], ids=["podman", "docker"])
def runtimes(folder, request):
    runtimes = {}
    try:
        for host in HOSTS:
            runtimes[host] = request.param(host, folder)
            runtimes[host].run("train", "-v", f"{folder}:{folder}", "--env", "OF_THE_IMAGE=yes")
        yield runtimes
    finally:
        for runtime in runtimes.values():
            runtime.remove()


@pytest.fixture
def spec(folder, runtimes):
    """Host 1, and a container on each of hosts 2 and 3."""
    runtime = runtimes[2].name
    words = {"podman": "podman, exec, -i, --detach-keys=", "docker": "docker, exec, -i"}
    path = folder / "spec.yaml"
    path.write_text(f"""nodes:
  - {{address: {address(1)}, cpus: [0, 1], chief: true}}
  - {{address: {address(2)}, cpus: [0, 1], ssh_config: word}}
  - {{address: {address(3)}, cpus: [0, 1], ssh_config: words}}
ssh:
  word: {{key_file: {SHARED}/user_rsa, via: {runtime}, container: train}}
  words:
    key_file: {SHARED}/user_ed25519
    via: [{words[runtime]}, '{{container}}']
    container: train
""")
    return path


@pytest.mark.smoke
def test_ranks_run_in_containers(start, spec):
    outcome = start("run", "--spec", spec, "--", "sh", "-c",
                    "echo $RANK: $(readlink /bin/ls), $OF_THE_IMAGE, $AUTODIST_NODE_ADDRESS").finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {
        rank: [f"{rank}: " + (f"busybox, yes, {address(host)}" if host > 1 else f", , {address(1)}")]
        for rank, host in enumerate((1, 1, 2, 2, 3, 3))}
    assert not processes()
    outcome = start("doctor", "--spec", spec).finish()
    assert outcome.code == 0, outcome.out + outcome.err
    outcome = start("clean", "--spec", spec).finish()
    assert outcome.out == "cleaned 3 nodes\n"


def test_every_byte_is_passed_on(start, spec, folder):
    """Including the bytes that detach from a terminal in podman."""
    data = bytes(range(256)) * 4000
    (folder / "data").write_bytes(data)
    outcome = start("run", "--spec", spec, "--sync", "--", "sh", "-c", "cat data").finish()
    assert outcome.code == 0, outcome.err
    [job] = (folder / "autodist-runs").glob("2*")
    assert all((job / f"rank-{rank}.out").read_bytes() == data for rank in range(6))


def test_signals_and_exit_codes(start, spec):
    job = start("run", "--spec", spec, "--", "sh", "-c", "trap 'echo asked; exit 7' TERM; echo up; "
                "while :; do sleep 0.1; done")
    job.await_lines(6)
    job.interrupt()
    outcome = job.finish()
    assert outcome.code == 130 and outcome.out.count("asked") == 6
    outcome = start("run", "--spec", spec, "--", "sh", "-c", "[ $RANK = 4 ] && exit 7; exec sleep 1000").finish()
    assert outcome.code == 7
    assert not processes()


def test_a_killed_container(start, spec, runtimes):
    """podman's error does not distinguish it from a paused one, so its lease is waited for."""
    proof = runtimes[3].name == "docker"
    lease_s = 60 if proof else 5
    job = start("run", "--spec", spec, "--lease", lease_s, "--", "sh", "-c", UP)
    job.await_lines(6)
    runtimes[3]("kill", "train")
    job.await_err(f"{address(3)} is lost", TOLD_LIMIT_S + (0 if proof else lease_s))
    outcome = job.finish()
    assert outcome.code == 125
    assert not proof or "the container cannot be entered" in outcome.err
    seconds_until(lambda: not processes(), 10)


def test_a_removed_container(start, spec, runtimes):
    job = start("run", "--spec", spec, "--", "sh", "-c", UP)
    job.await_lines(6)
    runtimes[3]("rm", "-f", "train")
    job.await_err(f"{address(3)} is lost", TOLD_LIMIT_S)
    outcome = job.finish()
    assert outcome.code == 125 and "the container cannot be entered" in outcome.err
    seconds_until(lambda: not processes(), 10)


def test_a_killed_client(start, spec, folder, runtimes):
    job = start("run", "--spec", spec, "--", "sh", "-c", "echo up; while [ ! -e end ]; do sleep 0.1; done; echo end")
    job.await_lines(6)
    clients = [pid for pid in pids_on(2) if argv_of(pid)[:2] == [runtimes[2].name, "exec"]]
    assert clients
    kill_all(clients)
    job.await_err("connected again", 10)
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0 and outcome.out.count("end") == 6, outcome.err


def test_a_missing_container(start, spec, runtimes):
    runtimes[2]("rename", "train", "other")
    runtimes[3]("kill", "train")
    outcome = start("run", "--spec", spec, "--", "true").finish()
    assert outcome.code == 125
    assert "o such container" in outcome.err
    assert re.search("container state improper|is not running", outcome.err)
    assert "create and start the container, or correct its name" in outcome.err
    assert "start or unpause the container, or correct its name" in outcome.err
    assert not processes()


def test_a_container_of_this_machine(start, folder):
    spec = folder / "own.yaml"
    spec.write_text("nodes: [{address: train, cpus: [0, 1], ssh_config: box}]\nssh: {box: {via: podman}}\n")
    runtime = Podman(1, folder)
    try:
        runtime.run("train", "-v", f"{folder}:{folder}")
        outcome = start("run", "--spec", spec, "--workdir", folder, "--", "sh", "-c", "echo $RANK $PWD").finish()
        assert outcome.code == 0, outcome.err
        assert outcome.lines() == {rank: [f"{rank} {folder}"] for rank in range(2)}
    finally:
        runtime.remove()
