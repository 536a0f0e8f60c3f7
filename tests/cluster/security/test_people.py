"""Unprivileged users, and what they may do to their own jobs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hosts import SHARED, SPEC, address, in_host, kill_all, power_off, power_on, sshd_sessions
from jobs import Running, processes

UP = ["sh", "-c", "echo up $$; exec sleep 1000"]
HOME = Path("/tmp/home-ann")
SLOWER = 3


@pytest.fixture
def ann(users):
    """An unprivileged user of hosts 1 and 3: ann(*arguments) runs autodist as her on host 1."""
    for host in (1, 3):
        users(host, ann="/bin/bash")
    (HOME / ".ssh").mkdir(mode=0o700)
    shutil.copy(Path.home() / ".ssh" / "known_hosts", HOME / ".ssh")
    shutil.copy(SHARED / "user_ed25519", HOME / ".ssh" / "id_ed25519")
    work = HOME / "work"
    work.mkdir()
    (work / "spec.yaml").write_text(
        f"nodes:\n  - {{address: {address(1)}, cpus: [0, 1], chief: true}}\n"
        f"  - {{address: {address(3)}, cpus: [0, 1], ssh_config: g}}\nssh:\n  g: {{username: ann}}\n")
    subprocess.run(["chown", "-R", "ann:", HOME], check=True)
    running = []

    def run(*arguments):
        running.append(Running(arguments, work, {
            "HOME": str(HOME), "USER": "ann", "XDG_STATE_HOME": str(HOME / "state"), "XDG_RUNTIME_DIR": "",
            "SSH_AUTH_SOCK": ""}, under=["setpriv", "--reuid", "ann", "--regid", "100", "--clear-groups"]))
        return running[-1].finish()
    yield run
    for job in running:
        job.process.kill()


def test_an_ordinary_user(ann):
    spec = ("--spec", "spec.yaml")
    outcome = ann("run", *spec, "--sync", "--", "sh", "-c", "id -un; ls spec.yaml")
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: ["ann", "spec.yaml"] for rank in range(4)}
    outcome = ann("doctor", *spec)
    assert outcome.code == 0, outcome.err + outcome.out
    outcome = ann("run", *spec, "--detach", "--grace", "1", "--", *UP)
    assert outcome.code == 0, outcome.err
    assert "running" in ann("ps").out
    outcome = ann("stop", "last")
    assert outcome.code == 0, outcome.err
    outcome = ann("clean", *spec)
    assert outcome.out == "cleaned 2 nodes\n", outcome.err
    assert processes() == {}


@pytest.mark.parametrize("what, said", [
    ("rm -rf /tmp/home-ann; chmod 755 /tmp", ": cannot be made (Permission denied)\n"),
    ("install -d -o ann -m 777 /tmp/home-ann/.cache; ln -s /etc /tmp/autodist-agent-$(id -u ann)",
     "/.cache: not used: another user owns or can write to it\n"),
], ids=["missing", "open"])
def test_an_unsuitable_home(ann, what, said):
    in_host(3, "sh", "-c", what)
    try:
        outcome = ann("run", "--spec", "spec.yaml", "--", "true")
    finally:
        in_host(3, "sh", "-c", "chmod 1777 /tmp; install -d -o ann /tmp/home-ann; rm -f /tmp/autodist-agent-*; "
                "chmod -f 755 /tmp/home-ann/.cache || true")
    assert outcome.code == 125
    assert f"{address(3)}:\n    no place for the agent on the node:\n" in outcome.err
    assert said in outcome.err, outcome.err


@pytest.mark.parametrize("what, undone", [
    ("echo unset HOME > /tmp/home-ann/.bashrc", "rm /tmp/home-ann/.bashrc"),
    ("mount -t tmpfs -o ro none /tmp/home-ann", "umount --lazy /tmp/home-ann"),
    ("mount -t tmpfs -o noexec none /tmp/home-ann", "umount --lazy /tmp/home-ann"),
    ("install -d -o ann -m 775 /tmp/home-ann/.cache", "chmod 755 /tmp/home-ann/.cache"),
], ids=["unset", "read-only", "noexec", "open"])
def test_an_invalid_home(ann, what, undone):
    """The agent is stored in /tmp then, and found there again."""
    in_host(3, "sh", "-c", f"{what}; chown ann /tmp/home-ann || true")
    try:
        for _ in range(2):
            outcome = ann("run", "--spec", "spec.yaml", "--workdir", "/", "--log-dir", "/tmp/home-ann/logs", "--",
                          "id", "-un")
            assert outcome.code == 0, outcome.err
        [agent] = in_host(3, "sh", "-c", "ls -d /tmp/autodist-agent-*/*").split()
        assert in_host(3, "stat", "-c", "%U %a", agent).split() == ["ann", "700"]
        assert ann("clean", "--spec", "spec.yaml").out == "cleaned 2 nodes\n"
    finally:
        in_host(3, "sh", "-c", f"{undone}; rm -rf /tmp/autodist-agent-*")


def test_logs_follow_restarts(start):
    job = start("run", "--spec", SPEC, "--max-restarts", "2", "--grace", "1", "--", "sh", "-c",
                'echo "attempt $AUTODIST_RESTART_COUNT"; sleep 1; [ "$RANK" != 5 ]')
    job.await_err("logs in ", 20)
    logs = start("logs", "-f", "last")
    outcome, followed = job.finish(), logs.finish()
    assert outcome.code == 1 and followed.code == 0, followed.err
    assert followed.lines() == outcome.lines() == {rank: [f"attempt {i}" for i in range(3)] for rank in range(8)}


def test_a_detached_job_when_a_node_is_restarted(start):
    assert start("run", "--spec", SPEC, "--detach", "--grace", "1", "--", *UP).finish().code == 0
    power_off(3)
    power_on(3)
    outcome = start("attach", "last").finish()
    assert outcome.code == 125 and outcome.seconds < 10 * SLOWER
    # Of agent and watchdog, the one that was killed later may have noticed the other's end.
    assert re.search(f"{re.escape(address(3))} was lost: its agent('s watchdog was killed| was killed by SIGKILL"
                     "| and the agent's watchdog have ended for an unknown reason)", outcome.err), outcome.err


def test_a_rank_removes_the_agents_folder_on_its_node(start, folder):
    job = start("run", "--spec", SPEC, "--grace", "1", "--lease", "4", "--", "sh", "-c",
                '[ $RANK != 5 ] || rm -rf /tmp/autodist-0; echo up; while [ ! -e end ]; do sleep 0.1; done; echo end')
    job.await_lines(8)
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0 and outcome.lines() == {rank: ["end"] for rank in range(8)}, outcome.err


def test_a_rank_removes_the_agents_folder_and_the_connection_breaks(start, folder):
    job = start("run", "--spec", SPEC, "--grace", "1", "--lease", "4", "--", "sh", "-c",
                '[ $RANK != 5 ] || rm -rf /tmp/autodist-0; echo up; while [ ! -e end ]; do sleep 0.1; done; echo end')
    job.await_lines(8)
    kill_all(sshd_sessions(3))
    job.await_err("connected again", 4 * SLOWER)  # through a socket without a file
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0 and outcome.lines() == {rank: ["end"] for rank in range(8)}, outcome.err


def test_a_rank_removes_the_log_folder(start):
    outcome = start("run", "--spec", SPEC, "--grace", "1", "--max-restarts", "1", "--", "sh", "-c",
                    "[ $RANK != 0 ] || rm -rf autodist-runs; sleep 0.5; echo done; sleep 0.5; exit 4").finish()
    assert outcome.code == 4 and outcome.lines()[0] == ["done"] * 2, outcome.err
    # Of the record or of the logs, depending on which is written in the meantime.
    assert re.search(r"(rank-\d\.out: No such file or directory|job\.json: No such file)", outcome.err), outcome.err


def test_several_jobs_at_once_from_one_folder(start):
    jobs = [start("run", "--spec", SPEC, "--", "sh", "-c", "echo $AUTODIST_JOB_ID; sleep 1") for _ in range(4)]
    names = set()
    for job in jobs:
        outcome = job.finish()
        assert outcome.code == 0, outcome.err
        [name] = {line for lines in outcome.lines().values() for line in lines}
        names.add(name)
    assert len(names) == len(jobs)
