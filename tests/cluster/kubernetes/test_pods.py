"""Pods, reached by the real kubectl through a simulated API server. They are containers on host 1 with only a
loopback network each, so each pod is a job of one node."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import argv_of, kill_all, pids_on
from jobs import processes, seconds_until
from podman import Podman

API = Path(__file__).parents[2] / "support" / "kubernetes_api.py"
TOLD_LIMIT_S = 2

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl; setup/test_tools.sh brings it")


@pytest.fixture
def runtime(folder):
    podman = Podman(1, folder)
    try:
        podman.run("pod-0", "-v", f"{folder}:{folder}")
        yield podman
    finally:
        podman.remove()


@pytest.fixture
def api(folder, runtime, monkeypatch):
    """The address of the API server, set for kubectl."""
    server = subprocess.Popen([sys.executable, API, "podman", "exec", "-i", "--detach-keys=", "{pod}"],
                              stdout=subprocess.PIPE, text=True)
    config = folder / "kubeconfig"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.stdout.readline().strip()}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}]}))
    monkeypatch.setenv("KUBECONFIG", str(config))
    yield server
    server.kill()
    server.wait()


@pytest.fixture
def pod(start, folder, api):
    """Starts a job in the pod."""
    def run(*arguments, node="pod-0"):
        spec = folder / "pods.yaml"
        spec.write_text(f"nodes: [{{address: {node}, cpus: [0, 1], ssh_config: pods}}]\n"
                        "ssh: {pods: {via: kubectl}}\n")
        return start("run", "--spec", spec, "--workdir", folder, *arguments)
    return run


def clients():
    return [pid for pid in pids_on(1) if argv_of(pid)[:2] == ["kubectl", "exec"]]


def test_ranks_run_in_a_pod(pod, folder):
    outcome = pod("--sync", "--", "sh", "-c", "echo $RANK $(readlink /bin/ls) $PWD").finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} busybox {folder}"] for rank in range(2)}
    assert not processes() and not clients()


def test_every_byte_is_passed_on(pod, folder):
    data = bytes(range(256)) * 4000
    (folder / "data").write_bytes(data)
    outcome = pod("--", "cat", "data").finish()
    assert outcome.code == 0, outcome.err
    [job] = (folder / "autodist-runs").glob("2*")
    assert all((job / f"rank-{rank}.out").read_bytes() == data for rank in range(2))


def test_a_killed_container(pod, runtime):
    """The API server cannot prove the end of the agent, so its lease is waited for."""
    lease_s = 5
    job = pod("--lease", lease_s, "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(2)
    runtime("kill", "pod-0")
    job.await_err("pod-0 was lost", lease_s + TOLD_LIMIT_S)
    outcome = job.finish()
    assert outcome.code == 125
    seconds_until(lambda: not processes(), 10)


def test_a_killed_kubectl(pod, folder):
    job = pod("--", "sh", "-c", "echo up; while [ ! -e end ]; do sleep 0.1; done; echo end")
    job.await_lines(2)
    assert clients()
    kill_all(clients())
    job.await_err("connected again", 10)
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0 and outcome.out.count("end") == 2, outcome.err


def test_the_api_server_is_temporarily_unavailable(pod, api, folder):
    job = pod("--", "sh", "-c", "echo up; while [ ! -e end ]; do sleep 0.1; done; echo end")
    job.await_lines(2)
    api.send_signal(signal.SIGSTOP)
    kill_all(clients())
    (folder / "end").touch()
    job.await_err("the connection is broken", 10)
    api.send_signal(signal.SIGCONT)
    outcome = job.finish()
    assert outcome.code == 0 and outcome.out.count("end") == 2, outcome.err


def test_a_missing_pod(pod):
    outcome = pod("--", "true", node="pod-9").finish()
    assert outcome.code == 125
    assert 'pods "pod-9" not found' in outcome.err and "start the pod" in outcome.err


@pytest.mark.parametrize("said, complaint", [("Client Version: v1.28.1", "kubectl is 1.28"),
                                             ("nothing", "reports no version")], ids=["old", "unknown"])
def test_an_old_kubectl(pod, folder, monkeypatch, said, complaint):
    programs = folder / "bin"
    programs.mkdir()
    (programs / "kubectl").write_text(f"#!/bin/sh\necho '{said}'\n")
    (programs / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    outcome = pod("--", "true").finish()
    assert outcome.code == 125 and complaint in outcome.err and "1.31 or newer" in outcome.err


def test_no_files_are_left_in_the_pod(pod, runtime):
    assert pod("--", "true").finish().code == 0
    assert not processes()
    assert "autodist" not in runtime("exec", "pod-0", "find", "/tmp", "-maxdepth", "1")
