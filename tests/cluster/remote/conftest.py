"""Nodes on another network, behind a jump host."""

import pytest
from hosts import SHARED, address, in_host
from outside import NODES, inner


@pytest.fixture
def outside(behind_a_jump_host):
    return behind_a_jump_host[0]


@pytest.fixture
def behind_a_jump_host(folder, sshd, known_hosts):
    """The spec of nodes on their own network behind a jump host, and the first node's SSH server."""
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
