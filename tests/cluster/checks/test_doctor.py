"""Checks that need several hosts: networks, shared folders, names, and the checks before a run."""

import json
import socket
from pathlib import Path

import pytest
from hosts import SHARED, SPEC, address, on_host
from jobs import processes, seconds_until


@pytest.fixture
def doctor(autodist):
    def run(*arguments, spec=SPEC, **kwargs):
        outcome = autodist("doctor", "--spec", spec, "--json", *arguments, **kwargs)
        assert outcome.code in (0, 1), outcome.err
        assert not processes()
        return outcome, json.loads(outcome.out).get("issues", [])
    return run


def of_check(issues, check):
    return [issue for issue in issues if issue["check"] == check]


@pytest.mark.smoke
def test_a_healthy_cluster(autodist):
    outcome = autodist("doctor", "--spec", SPEC)
    assert outcome.code == 0, outcome.out
    assert "a run would start" in outcome.out and "to connect from node to node takes" in outcome.out
    assert "✗" not in outcome.out


def test_a_blocked_pair_is_named(doctor, firewall):
    firewall(3, f"ip saddr {address(2)} tcp dport != 22 tcp flags & (syn | ack) == syn")
    outcome, issues = doctor()
    assert outcome.code == 1
    network = of_check(issues, "network")
    assert network and all(issue["nodes"] == [1, 2] for issue in network)
    assert all(f"{address(2)} cannot connect to {address(3)}" in issue["what"] for issue in network)
    assert any("on all ports" in issue["what"] for issue in network)
    assert len(issues) == len(network)


def test_a_taken_rendezvous_port(doctor):
    with socket.create_server((address(1), 0)) as taken:
        port = taken.getsockname()[1]
        outcome, issues = doctor("--master-port", str(port))
    assert outcome.code == 1
    assert any(f"the rendezvous port {port} is in use there" in issue["what"] for issue in issues)


def test_a_shared_folder_is_distinguished_from_an_equal_copy(doctor, spec, folder):
    shared = folder / "shared"
    shared.mkdir()
    copied = Path("/tmp/copied")
    for host in (2, 3, 4):
        on_host(host, f"mkdir -p {copied}; echo same > {copied}/data")
    copied.mkdir(exist_ok=True)
    (copied / "data").write_text("same\n")
    outcome, issues = doctor(spec=spec(append=f"shared_paths: [{shared}]\n"))
    assert outcome.code == 0, issues
    outcome, issues = doctor(spec=spec(append=f"shared_paths: [{shared}, {copied}]\n"))
    assert outcome.code == 1
    [issue] = of_check(issues, "shared")
    assert issue["nodes"] == [1, 2, 3] and f"{copied} is not the chief's folder" in issue["what"]
    assert sorted(path.name for path in copied.iterdir()) == ["data"] and not list(shared.iterdir())


def test_host_names(doctor, folder):
    on_host(3, "hostname host2")
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.1.1 host4\n")
    on_host(4, f"mount --bind {hosts} /etc/hosts")
    try:
        outcome, issues = doctor()
    finally:
        on_host(3, "hostname host3")
        on_host(4, "umount /etc/hosts")
    assert outcome.code == 0  # they are warnings
    names = of_check(issues, "name")
    assert any(f"like that of {address(2)}" in f["what"] and f["nodes"] == [2] for f in names)
    assert any("resolves to 127.0.1.1" in f["what"] and f["nodes"] == [3] for f in names)


def test_a_misspelt_variable(doctor, spec):
    _, issues = doctor(spec=spec(("    port: 2222\n", "    port: 2222\n    shared_envs: "
                                    "{NCCL_SOCKET_IFRAME: eth0, NCCL_DEBUG: INFO}\n")))
    [issue] = of_check(issues, "variables")
    assert issue["nodes"] == [3] and "did you mean NCCL_SOCKET_IFNAME?" in issue["what"]


def test_pythons_that_differ(doctor, spec, folder):
    site = folder / "site"
    package = site / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('not to be imported')")
    (package / "version.py").write_text("__version__ = '9.9.9'\ncuda = '13.0'\n")
    (folder / "train.py").write_text("import os, torch\n")
    _, issues = doctor("--", "/usr/bin/python3", "train.py", cwd=folder, spec=spec(
        ("    port: 2222\n", f"    port: 2222\n    shared_envs: {{PYTHONPATH: {site}}}\n")))
    python = of_check(issues, "python")
    assert any("torch" in issue["what"] for issue in python), issues


def test_gpus_of_a_node(doctor, spec, folder):
    """Uses a fake nvidia-smi, as there is no GPU here."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text("""#!/bin/sh
case "$*" in
  *query-gpu*) echo '0, NVIDIA H200, GPU-aaaa, 1234, 550.54.15';;
  *query-compute-apps*) echo 'GPU-aaaa, 4711, 1000, python';;
  *) echo '| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |';;
esac
""")
    (tools / "nvidia-smi").chmod(0o755)
    _, issues = doctor(spec=spec(
        (f"{address(4)}\n    cpus: [0, 1]", f"{address(4)}\n    gpus: [0, 1]"),
        ("    port: 2222\n", f"    port: 2222\n    shared_envs: {{PATH: '{tools}:$PATH'}}\n")))
    gpus = of_check(issues, "devices")
    assert any("GPU 1 of the spec is not there: found 1 GPU" in f["what"] for f in gpus)
    assert any("GPU 0 is in use: python (pid 4711, " in f["what"] for f in gpus)


# Checks that `run` makes by default

def test_a_run_does_not_start_with_different_files(autodist, folder):
    work = Path("/tmp/unlike")
    for host in (2, 3, 4):
        on_host(host, f"mkdir -p {work}; echo 'print(1)' > {work}/train.py")
    work.mkdir(exist_ok=True)
    (work / "train.py").write_text("print(1)\n")
    on_host(3, f"echo 'print(2)' > {work}/train.py")
    arguments = ("run", "--spec", SPEC, "--log-dir", folder / "logs")
    outcome = autodist(*arguments, "--", "/usr/bin/python3", "train.py", cwd=work)
    assert outcome.code == 125 and outcome.out == ""
    assert f"{address(3)}: files\n" in outcome.err and "train.py differs from the chief's" in outcome.err
    assert f"hint: run `autodist doctor --spec {SPEC}` for more checks\n" in outcome.err
    outcome = autodist(*arguments, "--no-preflight", "--", "/usr/bin/python3", "train.py", cwd=work)
    assert outcome.code == 0 and outcome.lines()[4] == ["2"]
    assert autodist(*arguments, "--sync", "--", "/usr/bin/python3", "train.py", cwd=work).code == 0


def test_ctrl_c_leaves_no_processes(start, spec):
    job = start("doctor", "--spec", spec((f"address: {address(3)}\n", "address: 10.77.0.99\n"),
                                         append=f"shared_paths: [{SHARED}]\n"))
    while not list(SHARED.glob(".autodist-*")):
        assert job.process.poll() is None
    job.interrupt()
    assert job.finish().code == 130
    assert not list(SHARED.glob(".autodist-*"))
    seconds_until(lambda: not processes(), 3)  # the remote end of an aborted login needs a moment

