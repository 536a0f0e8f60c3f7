"""Three hosts that have only IPv6 addresses."""

import pytest
from hosts import SHARED, SPEC, address, on_host
from jobs import BUILD

pytestmark = pytest.mark.hosts(3, "--ipv6")


def test_a_run(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c", "echo $RANK $MASTER_ADDR $GLOO_SOCKET_IFNAME")
    assert outcome.code == 0, outcome.err
    assert sorted(outcome.out.splitlines()) == [
        f"[{address(n)}:{n - 1}] {n - 1} fd77::1 eth0" for n in (1, 2, 3)]


def test_a_ring(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", BUILD / "train_digits", "--epochs", "2")
    assert outcome.code == 0, outcome.err


def test_doctor(autodist):
    outcome = autodist("doctor", "--spec", SPEC)
    assert outcome.code == 0, outcome.out


def test_brackets_ports_and_jumps(autodist, sshd, folder):
    server, jump = sshd(2), sshd(3)
    (folder / "spec.yaml").write_text(f"""
nodes:
  - {{address: {address(1)}, chief: true}}
  - {{address: '[{address(2)}]:{server.port}', ssh_config: direct}}
  - {{address: {address(3)}, ssh_config: through}}
ssh:
  direct: {{key_file: {SHARED}/user_ed25519}}
  through: {{key_file: {SHARED}/user_ed25519, proxy_jump: 'root@[{address(3)}]:{jump.port}'}}
""")
    outcome = autodist("run", "--spec", folder / "spec.yaml", "--", "true")
    assert outcome.code == 0, outcome.err


def test_a_link_local_address_with_its_interface(autodist, folder, known_hosts):
    link_local = on_host(2, "ip -6 -o address show dev eth0 scope link").split()[3].split("/")[0]
    key = (SHARED / "host2" / "host_key.pub").read_text().split()
    known_hosts.write_text(known_hosts.read_text() + f"{link_local}%eth0 {key[0]} {key[1]}\n")
    (folder / "spec.yaml").write_text(f"""
nodes:
  - {{address: {address(1)}, chief: true}}
  - {{address: '{link_local}%eth0', data_address: {address(2)}, ssh_config: g}}
ssh:
  g: {{key_file: {SHARED}/user_ed25519}}
""")
    outcome = autodist("run", "--spec", folder / "spec.yaml", "--", "hostname")
    assert outcome.code == 0, outcome.err
    assert "host2" in outcome.out


def test_a_missing_interface(autodist, folder):
    (folder / "spec.yaml").write_text(f"""
nodes:
  - {{address: {address(1)}, chief: true}}
  - {{address: 'fe80::2%eth9', data_address: {address(2)}, ssh_config: g}}
ssh:
  g: {{key_file: {SHARED}/user_ed25519}}
""")
    outcome = autodist("run", "--spec", folder / "spec.yaml", "--", "true")
    assert outcome.code == 125 and "one of this machine's interfaces (`ip link`)" in outcome.err, outcome.err


def test_an_unknown_host_key(autodist, known_hosts):
    known_hosts.write_text("")
    outcome = autodist("run", "--spec", SPEC, "--", "true")
    assert outcome.code == 125 and f"{address(2)} ssh-ed25519 AAAA" in outcome.err
