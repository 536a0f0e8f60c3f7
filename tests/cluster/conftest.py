"""Fixtures of the tests on host 1 of a virtual cluster, with the spec that SPEC names."""

import os
import subprocess
import time
from pathlib import Path

import hosts
import pytest
from hosts import SHARED, SPEC, Sshd, kill_all, on_host
from jobs import Running, processes

HOSTS = range(1, SPEC.read_text().count("address:") + 1)
OTHERS = HOSTS[1:]
JOB_FOLDERS = "/tmp/autodist-*/*-*-*.[0-9]*"  # of agents: JOB.NODE
RANKS = 8  # on four hosts
LIMIT_S = 10  # the remote end of an aborted launch needs a moment, longer on a busy machine


@pytest.fixture
def folder(request):
    """A folder that is shared by all hosts."""
    path = SHARED / "tests" / request.path.stem / request.node.name.replace("/", "_")
    path.mkdir(parents=True)
    return path


@pytest.fixture
def start(folder):
    jobs = []

    def run(*arguments, cwd=folder, env=None, under=()):
        jobs.append(Running(arguments, cwd, env, under))
        return jobs[-1]
    yield run
    for job in jobs:  # jobs of a test that failed
        job.process.kill()


@pytest.fixture
def end_what_is_left():
    """Ends leftover processes and fails the test that left them, so that later tests do not fail."""
    def end():
        kill_all(processes())  # only processes on the virtual hosts
        for host in HOSTS:
            hosts.remove_from_tmp(host, "autodist-[0-9]*")
    return end


@pytest.fixture
def up(start):
    """Starts a program whose ranks print 'up PID'; gives the job and {rank: pid}."""
    def run(*options, program, **how):
        job = start("run", "--spec", SPEC, *options, "--", *program, **how)
        lines = job.await_lines(RANKS)
        assert all("] up " in line for line in lines), job.err
        return job, {int(line.split(":")[1].split("]")[0]): int(line.split()[-1]) for line in lines}
    return run


def folders():
    return [hosts.in_host(host, "sh", "-c", f"ls -d {JOB_FOLDERS} 2>/dev/null || true") for host in OTHERS]


@pytest.fixture(autouse=True)
def nothing_left_on_any_host():
    yield
    limit = time.monotonic() + LIMIT_S
    while any(folders()) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not any(folders()), (
        hosts.in_host(1, "ps", "ax", "-o", "pid,ppid,stat,etime,wchan:20,args"),
        [hosts.in_host(host, "sh", "-c", "ls -l /tmp/autodist-*/*; cat /tmp/autodist-*/*/agent.log; true") for host in OTHERS])


@pytest.fixture(scope="session", autouse=True)
def no_report_of_a_sanitizer():
    """Fails on sanitizer reports of agents, which go to their stderr, and of other programs."""
    if "SANITIZED" not in os.environ:
        yield
        return
    reports = SHARED / "reports"
    reports.mkdir()
    for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        options = [os.environ[name]] if name in os.environ else []
        os.environ[name] = ":".join([*options, f"log_path={reports}/{name[:4]}"])
        for host in HOSTS:
            with open(SHARED / f"host{host}" / "bashrc", "a", encoding="utf-8") as bashrc:
                bashrc.write(f"export {name}='{os.environ[name]}'\n")
    yield
    assert [report.read_text() for report in reports.iterdir()] == []


@pytest.fixture
def known_hosts():
    """~/.ssh/known_hosts, restored after the test."""
    path = Path.home() / ".ssh" / "known_hosts"
    text = path.read_text()
    yield path
    path.write_text(text)


@pytest.fixture
def spec(folder):
    """Writes a changed copy of the spec: spec(old=new, ...) by pairs of texts."""
    def write(*changes, append=""):
        text = SPEC.read_text()
        for old, new in changes:
            assert old in text, f"{old!r} is not in\n{text}"
            text = text.replace(old, new)
        path = folder / "spec.yaml"
        path.write_text(text + append)
        return path
    return write


@pytest.fixture
def sshd(folder):
    """Starts SSH servers: sshd(host, Directive=value, ...)."""
    servers = []

    def start(host, **directives):
        servers.append(Sshd(host, folder, **directives))
        return servers[-1]
    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def ssh_config():
    """~/.ssh/config, removed after the test."""
    path = Path.home() / ".ssh" / "config"
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def new_key(folder):
    """Makes key pairs: new_key(name, *arguments of ssh-keygen)."""
    def make(name, *arguments):
        path = folder / name
        if "-N" not in arguments:
            arguments += ("-N", "")
        subprocess.run(["ssh-keygen", "-q", "-C", name, "-f", path, *arguments], check=True)
        return path
    return make


@pytest.fixture
def firewall():
    """Drops packets: firewall(host, 'ip saddr 10.77.0.1 tcp dport 22')."""
    closed = []

    def drop(host, rule):
        if host not in closed:
            on_host(host, "nft add table inet test && nft 'add chain inet test in "
                          "{ type filter hook input priority 0; }'")
            closed.append(host)
        on_host(host, f"nft 'add rule inet test in {rule} drop'")
    yield drop
    for host in closed:
        on_host(host, "nft delete table inet test")


def undone_at_last(do, undo):
    """The body of a fixture with do(host); undoes after the test what the test has not undone."""
    done = []

    def act(host):
        done.append(host)
        do(host)
    yield act
    for host in done:
        undo(host)


@pytest.fixture
def cut():
    """Disconnects hosts: cut(host); reconnects those that the test has not."""
    yield from undone_at_last(hosts.cut, hosts.heal)


@pytest.fixture
def power_off():
    """Switches hosts off: power_off(host); on again after the test."""
    yield from undone_at_last(hosts.power_off, hosts.power_on)


@pytest.fixture
def users(folder):
    """Makes users on a host: users(host, name=shell, ...)."""
    changed = []
    SHARED.chmod(0o755)  # their sshd reads the keys as these users

    def add(host, **shells):
        passwd, shadow = folder / f"passwd-{host}", folder / f"shadow-{host}"
        passwd.write_text(Path("/etc/passwd").read_text() + "".join(
            f"{name}:x:{30000 + i}:100::/tmp/home-{name}:{shell}\n"
            for i, (name, shell) in enumerate(shells.items())))
        shadow.write_text(Path("/etc/shadow").read_text() + "".join(
            f"{name}:*:19000::::::\n" for name in shells))
        on_host(host, f"mount --bind {passwd} /etc/passwd && mount --bind {shadow} /etc/shadow")
        changed.append(host)
        for name in shells:
            on_host(host, f"mkdir -p /tmp/home-{name} && chown {name}: /tmp/home-{name}")
    yield add
    for host in changed:
        on_host(host, "umount /etc/passwd /etc/shadow; rm -rf /tmp/home-*")


@pytest.fixture
def agent(folder):
    """Starts an ssh-agent with these keys; gives its socket."""
    running = []

    def start(*keys, passphrase=""):
        socket = folder / f"agent-{len(running)}"
        process = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE)
        process.stdout.readline()  # it listens
        running.append(process)
        askpass = folder / "askpass"
        askpass.write_text(f"#!/bin/sh\necho '{passphrase}'\n")
        askpass.chmod(0o700)
        subprocess.run(["ssh-add", "-q", *keys], check=True, stdin=subprocess.DEVNULL, env={
            **os.environ, "SSH_AUTH_SOCK": str(socket), "SSH_ASKPASS": str(askpass),
            "SSH_ASKPASS_REQUIRE": "force"})
        return str(socket)
    yield start
    for process in running:
        process.terminate()
        process.wait()
