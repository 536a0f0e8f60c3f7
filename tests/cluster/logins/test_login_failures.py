"""Each kind of failure has its own message, with a hint."""

import subprocess
import sys
import time

import pytest
from hosts import SHARED, address, on_host, spec_of

ED25519 = f"key_file: {SHARED}/user_ed25519"


@pytest.fixture
def failure(autodist, folder):
    """The message about a node that cannot be reached."""
    def run(node, ssh=ED25519, **kwargs):
        outcome = autodist("run", "--spec", spec_of(folder / "spec.yaml", node, ssh=ssh), "--", "true",
                           **kwargs)
        assert outcome.code == 125, outcome.err
        assert "1 of 2 nodes cannot run the job" in outcome.err and "hint: " in outcome.err
        # it also has the reason
        assert not outcome.err.split("\n    hint: ")[0].endswith("failed"), outcome.err
        return outcome.err
    return run


@pytest.fixture
def listener():
    """A server on host 1 that sends data and closes: listener(b'data')."""
    running = []

    def start(says):
        server = subprocess.Popen(
            [sys.executable, "-c", "import socket\n"
             "s = socket.create_server(('10.77.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
             f"while True:\n  c = s.accept()[0]; c.sendall({says!r}); c.close()"], stdout=subprocess.PIPE)
        running.append(server)
        return int(server.stdout.readline())
    yield start
    for server in running:
        server.kill()
        server.wait()


def test_a_name_that_does_not_resolve(failure):
    assert "name does not resolve: 'no.such.host'" in failure("no.such.host")


def test_no_route(failure):
    assert "no route: connecting to 10.99.0.1: Network is unreachable" in failure("10.99.0.1")


def test_an_address_without_a_host(failure):
    assert "no answer: connecting to 10.77.0.99: No route to host" in failure("10.77.0.99")


def test_refused(failure):
    said = failure(f"[{address(3)}]:1")
    assert "connecting to 10.77.0.3: Connection refused" in said and "start sshd on the node" in said


def test_timed_out(failure, sshd, firewall, ssh_config):
    server = sshd(3)
    firewall(3, f"tcp dport {server.port}")
    ssh_config.write_text("ConnectTimeout 1\n")
    said = failure(f"[{server.address}]:{server.port}")
    assert f"root@10.77.0.3 port {server.port}: connecting timed out after 1 s" in said and "firewall" in said


def test_not_an_ssh_server(failure, listener):
    port = listener(b"HTTP/1.1 400 Bad\x1b[31m Request\r\n\r\n")
    said = failure(f"[host1]:{port}")
    assert "not an SSH server: it says 'HTTP/1.1 400 Bad?[31m Request'" in said


def test_a_server_that_closes_the_connection(failure, listener):
    said = failure(f"[host1]:{listener(b'')}")
    assert "the server closed the connection before it said anything" in said and "MaxStartups" in said


def test_a_silent_server(failure, ssh_config, listener):
    ssh_config.write_text("ConnectTimeout 1\n")
    silent = subprocess.Popen([sys.executable, "-c", "import socket\n"
                               "s = socket.create_server(('10.77.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
                               "c = s.accept()[0]; c.recv(1)"], stdout=subprocess.PIPE)
    said = failure(f"[host1]:{int(silent.stdout.readline())}")
    silent.wait()
    assert "waiting for the banner of an SSH server timed out" in said


def test_no_common_algorithm(failure, sshd):
    server = sshd(3, Ciphers="3des-cbc")
    said = failure(f"[{server.address}]:{server.port}")
    assert "no common cipher: ssh says:" in said and "Their offer: 3des-cbc" in said
    assert "Ciphers in its sshd_config" in said and "KexAlgorithms" not in said


def test_host_key_unknown(failure, known_hosts):
    known_hosts.write_text("")
    said = failure(address(3))
    fingerprint = subprocess.run(["ssh-keygen", "-lf", SHARED / "host3" / "host_key.pub"], check=True,
                                 capture_output=True, text=True).stdout.split()[1]
    assert f"host key unknown: the server has ssh-ed25519 {fingerprint}" in said
    assert "10.77.0.3 ssh-ed25519 AAAA" in said


def test_host_key_changed(failure, known_hosts):
    other = (SHARED / "host4" / "host_key.pub").read_text()
    known_hosts.write_text(f"\n{address(3)} {other}")
    assert f"which is not the key on {known_hosts}:2" in failure(address(3))


def test_a_refused_key_names_the_keys_tried(failure, new_key):
    key = new_key("stranger")
    said = failure(address(3), ssh=f"key_file: {key}")
    assert f"key refused: the server does not accept for user root:\n      {key}\n" in said


def test_no_key_at_all(failure):
    said = failure(address(3), ssh="{}", env={"SSH_AUTH_SOCK": ""}, under=[
        "unshare", "--mount", "sh", "-c", 'mount -t tmpfs none ~/.ssh && exec "$@"', "sh"])
    assert "no key to log in with: there is no key file, and no ssh-agent" in said


def test_a_missing_key_file(failure, folder):
    assert f"{folder}/none: No such file or directory" in failure(address(3), ssh=f"key_file: {folder}/none")


def test_a_key_file_that_others_may_read(failure, new_key):
    key = new_key("open")
    key.chmod(0o644)
    said = failure(address(3), ssh=f"key_file: {key}")
    assert f"{key}" in said and "too open" in said and "0644" in said and "chmod 600" in said


def test_an_invalid_key_file(failure, new_key):
    public = f"{new_key('pair')}.pub"
    said = failure(address(3), ssh=f"key_file: {public}")
    assert f"key file {public} is a public key, not a private key" in said


def test_channel_refused(failure, sshd):
    server = sshd(3, MaxSessions=0)
    assert "channel refused: the login succeeds" in failure(f"[{server.address}]:{server.port}")


@pytest.mark.parametrize("shell, says, hint", [
    ("/usr/sbin/nologin", "the server says: This account is currently not available", "getent passwd ann"),
    ("/bin/false", "no command runs: the login succeeds", "getent passwd ann")], ids=["nologin", "false"])
def test_a_login_shell_that_runs_nothing(failure, users, shell, says, hint):
    users(3, ann=shell)
    said = failure(address(3), ssh=f"{ED25519}\nusername: ann")
    assert says in said and hint in said


def test_no_ssh_program(autodist, folder):
    spec = spec_of(folder / "spec.yaml", address(3), ssh=f"{ED25519}\nproxy_jump: {address(2)}")
    said = autodist("run", "--spec", spec, "--", "/bin/true", env={"PATH": "/nowhere"}).err
    assert "only the ssh program can log in there, and 'ssh' is not in PATH (/nowhere)" in said


def test_a_forced_command(failure, sshd):
    server = sshd(3, ForceCommand="echo only backups here >&2; exit 3")
    said = failure(f"[{server.address}]:{server.port}")
    assert "the server says: only backups here; the login succeeds, but runs no command" in said


def test_a_cloud_image_that_names_another_user(failure, sshd, autodist, folder):
    text = 'Please login as the user \\"ubuntu\\" rather than the user \\"root\\".'
    server = sshd(3, ForceCommand=f'echo "{text}"; echo; sleep 30; exit 142')
    node = f"[{server.address}]:{server.port}"
    began = time.monotonic()
    said = failure(node)
    assert time.monotonic() - began < 10
    assert 'the server says: Please login as the user "ubuntu" rather than the user "root".' in said
    assert "hint: set `username: ubuntu` in the spec" in said and "bashrc" not in said
    init = autodist("init", "--hosts", f"host1:1,{server.address}:1", "--port", server.port, "--key-file",
                    SHARED / "user_ed25519", "--output", folder / "made.yaml")
    assert 'Please login as the user "ubuntu"' in init.err and init.seconds < 10
    assert "`--user ubuntu`" in init.err and "Please login as" in (folder / "made.yaml").read_text()


def test_a_banner_about_maintenance(failure, sshd, new_key, folder):
    (folder / "banner").write_text("*******\n* The cluster is down for maintenance. *\n*******\n")
    server = sshd(3, Banner=folder / "banner")
    said = failure(f"[{server.address}]:{server.port}", ssh=f"key_file: {new_key('stranger')}")
    assert "the server says: The cluster is down for maintenance.\n" in said and "key refused" in said
    assert "wait for the end of the maintenance\n" in said and said.count("--exclude") == 1
    assert "authorized_keys" not in said


def test_a_certificate_of_another_user(failure, sshd, new_key):
    authority, key = new_key("authority"), new_key("mine")
    server = sshd(3, TrustedUserCAKeys=f"{authority}.pub", AuthorizedKeysFile="none")
    node = f"[{server.address}]:{server.port}"
    certify = ["ssh-keygen", "-q", "-s", authority, "-I", "me", "-V"]
    subprocess.run([*certify, "+1h", "-n", "ann,bob", f"{key}.pub"], check=True)
    said = failure(node, ssh=f"key_file: {key}")
    assert f"key refused: certificate {key}-cert.pub is for ann, bob, not for root" in said
    subprocess.run([*certify, "-2w:-1w", "-n", "root", f"{key}.pub"], check=True)
    said = failure(node, ssh=f"key_file: {key}")
    assert f"key refused: certificate {key}-cert.pub has expired on " in said and "valid now" in said


@pytest.fixture
def slow_sshd(sshd):
    """A server that needs two seconds to find the user's keys."""
    program = "/root/slow-keys"  # sshd runs it only if others can write in none of the folders above
    on_host(3, f"printf '#!/bin/sh\\nsleep 1\\ncat {SHARED}/user_ed25519.pub\\n' > {program}; chmod 755 {program}")
    yield sshd(3, AuthorizedKeysFile="none", AuthorizedKeysCommand=program, AuthorizedKeysCommandUser="root")
    on_host(3, f"rm {program}")


def test_a_slow_login(autodist, folder, slow_sshd):
    spec = spec_of(folder / "spec.yaml", f"[{slow_sshd.address}]:{slow_sshd.port}", ssh=ED25519)
    outcome = autodist("run", "--spec", spec, "--start-timeout", "1", "--", "true")
    assert outcome.code == 125 and "logging in timed out after 1 s: the server was reached" in outcome.err
    assert "--start-timeout" in outcome.err and "firewall" not in outcome.err
    outcome = autodist("run", "--spec", spec, "--start-timeout", "30", "--", "true")
    assert outcome.code == 0, outcome.err


def test_an_unknown_host_key_is_accepted_with_a_spec(autodist, folder, known_hosts):
    known_hosts.write_text("")
    spec = spec_of(folder / "spec.yaml", address(3), ssh=ED25519)
    outcome = autodist("run", "--spec", spec, "--host-key-check", "accept-new", "--", "true")
    assert outcome.code == 0, outcome.err
    assert known_hosts.read_text() != ""


def test_an_unreachable_host_is_reported_once(autodist):
    outcome = autodist("run", "--hosts", "host1:1,10.77.0.99:1", "--", "true")
    assert outcome.code == 125
    assert outcome.err.count("No route to host") == 1, outcome.err


@pytest.fixture
def with_npus(autodist, spec):
    """Plans a job on NPUs whose addresses have to be queried from the nodes, one of which is unreachable."""
    def run(npus, *options):
        changed = spec(("cpus: [0, 1]", f"gpus: {npus}"), (f"address: {address(3)}", f"address: '[{address(3)}]:1'"))
        return autodist("run", "--dry-run", "--spec", changed, "--framework", "ranktable", *options, "--", "true")
    return run


def test_querying_device_addresses(with_npus):
    said = with_npus([0, 1, 2, 3, 4, 5, 6, 7]).err
    assert "asking for the addresses of the nodes' devices:\n" in said
    assert "Connection refused" in said and "hint: start sshd on the node" in said
    assert "device_ips" not in said  # the job would query them, too


@pytest.mark.parametrize("options, wrong", [
    ([], "of several nodes, all 8 are needed"),
    (["--per", "node"], "framework 'ranktable' is for --per device, not for --per node"),
], ids=["devices", "kind"])
def test_nodes_are_not_queried_for_an_invalid_request(with_npus, options, wrong):
    outcome = with_npus([0, 1], *options)
    assert outcome.code == 2
    assert wrong in outcome.err and "asking" not in outcome.err
