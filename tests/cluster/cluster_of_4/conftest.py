"""What the tests on these hosts share, and what is true after each of them."""

import os
import time

import pytest
from hosts import SHARED, SPEC, address, in_host
from outside import NODES, inner

LIMIT_S = 10  # the far end of a launch that was called off takes a moment, longer on a busy machine
RANKS = 8


@pytest.fixture
def up(start):
    """Starts a program whose ranks print 'up PID'; gives the job and {rank: pid}."""
    def run(*options, program, **how):
        job = start("run", "--spec", SPEC, *options, "--", *program, **how)
        lines = job.await_lines(RANKS)
        assert all("] up " in line for line in lines), job.err
        return job, {int(line.split(":")[1].split("]")[0]): int(line.split()[-1]) for line in lines}
    return run


@pytest.fixture
def outside(behind_a_jump_host):
    return behind_a_jump_host[0]


@pytest.fixture
def behind_a_jump_host(folder, sshd, known_hosts):
    """The spec, of nodes on a network of their own behind a jump host, and the first one's SSH server."""
    jump, servers = sshd(2), {host: sshd(host) for host in NODES}
    for host in NODES:
        in_host(host, "ip", "address", "add", f"{inner(host)}/24", "dev", "eth0")
    keys = {host: (SHARED / f"host{host}" / "host_key.pub").read_text().split()[:2] for host in NODES}
    known_hosts.write_text(known_hosts.read_text() + "".join(
        f"[{inner(host)}]:{servers[host].port} {' '.join(keys[host])}\n" for host in NODES) +
        f"[{address(2)}]:{jump.port} {' '.join(keys[2])}\n")
    path = folder / "outside.yaml"
    path.write_text("nodes:\n" + "".join(
        f"  - {{address: '[{inner(host)}]:{servers[host].port}', cpus: [0, 1], ssh_config: far}}\n"
        for host in NODES) +
        f"ssh:\n  far:\n    key_file: {SHARED}/user_ed25519\n"
        f"    proxy_jump: {address(2)}:{jump.port}\n")
    yield path, servers[2]
    for host in NODES:
        in_host(host, "ip", "address", "del", f"{inner(host)}/24", "dev", "eth0")


def folders():
    return [in_host(host, "sh", "-c", "ls -d /tmp/autodist-*/* 2>/dev/null || true") for host in (2, 3, 4)]


@pytest.fixture(autouse=True)
def nothing_left_on_any_host():
    yield
    limit = time.monotonic() + LIMIT_S
    while any(folders()) and time.monotonic() < limit:
        time.sleep(0.05)
    assert folders() == ["", "", ""], (
        in_host(1, "ps", "ax", "-o", "pid,ppid,stat,etime,wchan:20,args"),
        [in_host(host, "sh", "-c", "ls -l /tmp/autodist-*/*; cat /tmp/autodist-*/*/agent.log; true") for host in (2, 3, 4)])


@pytest.fixture(scope="session", autouse=True)
def no_report_of_a_sanitizer():
    """Those of agents, whose stderr goes with them, and of others; where programs are sanitized."""
    if "SANITIZED" not in os.environ:
        yield
        return
    reports = SHARED / "reports"
    reports.mkdir()
    for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        options = [os.environ[name]] if name in os.environ else []
        os.environ[name] = ":".join([*options, f"log_path={reports}/{name[:4]}"])
        for host in (1, 2, 3, 4):
            with open(SHARED / f"host{host}" / "bashrc", "a", encoding="utf-8") as bashrc:
                bashrc.write(f"export {name}='{os.environ[name]}'\n")
    yield
    assert [report.read_text() for report in reports.iterdir()] == []
