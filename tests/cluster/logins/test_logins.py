"""Every way to log in that `ssh` has, and the failures of each."""

import os
import pty
import subprocess
import time
from pathlib import Path

import pytest
from hosts import SHARED, address, on_host, spec_of
from jobs import AUTODIST

WHO = ["sh", "-c", "echo $(whoami) on $(hostname)"]
ED25519 = f"key_file: {SHARED}/user_ed25519"


@pytest.fixture
def run(autodist, folder):
    def run(*nodes, ssh=ED25519, program=WHO, options=(), **kwargs):
        return autodist("run", *options, "--spec", spec_of(folder / "spec.yaml", *nodes, ssh=ssh), "--",
                        *program, **kwargs)
    return run


def on_terminal(arguments, cwd, *answers):
    """Runs autodist on its own terminal, and answers each prompt."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execv(AUTODIST, [AUTODIST, *map(str, arguments)])
    said, answers = b"", list(answers)
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # the other end of the terminal is closed
            break
        said += chunk
        if answers and said.count(b"assphrase for") + said.count(b"try again for") > len(on_terminal.asked):
            on_terminal.asked.append(time.monotonic())
            os.write(terminal, answers.pop(0).encode() + b"\n")
    on_terminal.asked.clear()
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()


on_terminal.asked = []


def assert_ran(outcome, who="root on host3"):
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {0: ["root on host1"], 1: [who]}


# Keys

@pytest.mark.smoke
def test_a_key_in_the_agent(run, sshd, new_key, agent):
    key = new_key("mine")
    server = sshd(3, AuthorizedKeysFile=f"{key}.pub")
    assert_ran(run(f"[{server.address}]:{server.port}", ssh="{}", env={"SSH_AUTH_SOCK": agent(key)}))


def test_an_agent_without_the_key(run, sshd, new_key, agent):
    server = sshd(3, AuthorizedKeysFile=f"{new_key('mine')}.pub")
    outcome = run(f"[{server.address}]:{server.port}", ssh="{}",
                  env={"SSH_AUTH_SOCK": agent(new_key("other"))})
    assert outcome.code == 125
    assert "key refused: the server does not accept for user root:" in outcome.err
    assert "other" in outcome.err and "/root/.ssh/id_ed25519" in outcome.err


@pytest.mark.parametrize("format", [[], ["-m", "PEM", "-t", "rsa"], ["-m", "PKCS8", "-t", "rsa"]])
def test_an_encrypted_key_is_asked_for_once(run, sshd, new_key, folder, format):
    key = new_key("locked", "-N", "open sesame", *format)
    servers = [sshd(host, AuthorizedKeysFile=f"{key}.pub") for host in (2, 3)]
    spec = spec_of(folder / "spec.yaml", *[f"[{s.address}]:{s.port}" for s in servers],
                   ssh=f"key_file: {key}")
    code, said = on_terminal(["run", "--spec", spec, "--", *WHO], folder, "open sesame")
    assert code == 0, said
    assert all(f"root on host{host}" in said for host in (1, 2, 3))
    assert said.lower().count("passphrase for") == 1 and "sesame" not in said


def test_a_wrong_passphrase(run, sshd, new_key, folder):
    key = new_key("locked", "-N", "open sesame")
    spec = spec_of(folder / "spec.yaml", address(3), ssh=f"key_file: {key}")
    code, said = on_terminal(["run", "--spec", spec, "--", *WHO], folder, "a", "b", "")
    assert code == 125
    assert said.count("Bad passphrase, try again") == 2
    assert f"key file {key} is encrypted: no correct passphrase was given" in said and "ssh-add" in said


def test_an_encrypted_key_without_a_terminal(run, new_key):
    outcome = run(address(3), ssh=f"key_file: {new_key('locked', '-N', 'open sesame')}")
    assert outcome.code == 125
    assert "locked is encrypted: there is no terminal to ask for the passphrase\n" in outcome.err, outcome.err
    assert "hint: run ssh-add" in outcome.err and "Enter passphrase" not in outcome.err, outcome.err


def test_an_encrypted_key_without_openssh(autodist, folder, new_key):
    key = new_key("locked", "-N", "open sesame")
    spec = spec_of(folder / "spec.yaml", address(3), ssh=f"key_file: {key}")
    outcome = autodist("run", "--spec", spec, "--", "/bin/true", env={"PATH": "/nowhere"})
    assert outcome.code == 125
    assert f"key file {key} is encrypted: 'ssh-agent' is not in PATH" in outcome.err
    assert "hint: install OpenSSH's client" in outcome.err


def test_an_encrypted_key_that_the_agent_has(run, sshd, new_key, agent):
    key = new_key("locked", "-N", "open sesame")
    server = sshd(3, AuthorizedKeysFile=f"{key}.pub")
    assert_ran(run(f"[{server.address}]:{server.port}", ssh=f"key_file: {key}",
                   env={"SSH_AUTH_SOCK": agent(key, passphrase="open sesame")}))


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate(run, sshd, new_key, kind):
    authority, key = new_key("authority"), new_key("mine", "-t", kind)
    server = sshd(3, TrustedUserCAKeys=f"{authority}.pub", AuthorizedKeysFile="none")
    node = f"[{server.address}]:{server.port}"
    assert "key refused" in run(node, ssh=f"key_file: {key}").err
    certify = ["ssh-keygen", "-q", "-s", authority, "-I", "me", "-V"]
    subprocess.run([*certify, "-2w:-1w", "-n", "root", f"{key}.pub"], check=True)
    outcome = run(node, ssh=f"key_file: {key}")
    assert "key refused" in outcome.err and f"{key}-cert.pub" in outcome.err  # it has expired
    subprocess.run([*certify, "+1h", "-n", "root", f"{key}.pub"], check=True)
    assert_ran(run(node, ssh=f"key_file: {key}"))


def test_two_different_users(autodist, users, sshd, folder):
    users(2, ann="/bin/bash")
    users(3, bob="/bin/sh")
    folder.chmod(0o755)
    (folder / "spec.yaml").write_text(f"""
nodes:
  - {{address: {address(1)}, chief: true}}
  - {{address: {address(2)}, ssh_config: ann}}
  - {{address: {address(3)}, ssh_config: bob}}
ssh:
  ann: {{username: ann, key_file: {SHARED}/user_rsa}}
  bob: {{username: bob, key_file: {SHARED}/user_ed25519}}
""")
    outcome = autodist("run", "--spec", folder / "spec.yaml", "--", *WHO)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {0: ["root on host1"], 1: ["ann on host2"], 2: ["bob on host3"]}


# Host keys

def other_host_key(host):
    return " ".join((SHARED / f"host{host}" / "host_key.pub").read_text().split()[:2])


def test_hashed_names_in_known_hosts(run, known_hosts):
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known_hosts], check=True, stderr=subprocess.DEVNULL)
    assert address(3) not in known_hosts.read_text()
    assert_ran(run(address(3)))
    known_hosts.write_text(f"{address(3)} {other_host_key(4)}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known_hosts], check=True, stderr=subprocess.DEVNULL)
    assert "host key changed" in run(address(3)).err


def test_patterns_in_known_hosts(run, known_hosts):
    known_hosts.write_text(f"10.77.*,!10.77.0.4 {other_host_key(3)}\n")
    assert_ran(run(address(3)))
    known_hosts.write_text(f"10.77.*,!10.77.0.3 {other_host_key(3)}\n")
    assert "host key unknown" in run(address(3)).err


def test_a_revoked_host_key(run, known_hosts):
    known_hosts.write_text(known_hosts.read_text() + f"@revoked * {other_host_key(3)}\n")
    outcome = run(address(3))
    assert outcome.code == 125 and f"host key revoked by {known_hosts}:" in outcome.err


def test_a_host_certificate(run, sshd, known_hosts, new_key, folder):
    authority = new_key("authority")
    key = new_key("host")
    subprocess.run(["ssh-keygen", "-q", "-s", authority, "-I", "host3", "-h", "-n", address(3),
                    f"{key}.pub"], check=True)
    server = sshd(3, HostKey=key, HostCertificate=f"{key}-cert.pub")
    node = f"[{server.address}]:{server.port}"
    known_hosts.write_text(f"@cert-authority [10.77.0.*]:* {(folder / 'authority.pub').read_text()}")
    assert_ran(run(node))
    known_hosts.write_text(f"@cert-authority [10.77.0.*]:* {(SHARED / 'user_ed25519.pub').read_text()}")
    assert "host key unknown" in run(node).err


def test_a_new_host_key_is_accepted_and_written(run, sshd, known_hosts, new_key):
    known_hosts.write_text("# no newline at the end")
    server = sshd(3, HostKey=new_key("host", "-t", "ed25519"))
    node = f"[{server.address}]:{server.port}"
    assert "host key unknown" in run(node).err
    outcome = run(node, ssh=f"{ED25519}\nhost_key_check: accept-new")
    assert_ran(outcome)
    assert "host key added" in outcome.err
    found = subprocess.run(["ssh-keygen", "-F", f"[{server.address}]:{server.port}", "-f", known_hosts],
                           capture_output=True, text=True)
    assert found.returncode == 0 and "ssh-ed25519" in found.stdout
    assert_ran(run(node))  # known from now on
    server.stop()
    server.start(HostKey=new_key("other", "-t", "ed25519"))
    assert "host key changed" in run(node, ssh=f"{ED25519}\nhost_key_check: accept-new").err
    assert_ran(run(node, ssh=f"{ED25519}\nhost_key_check: off"))


def test_known_hosts_has_another_key_type_than_the_server_prefers(run, sshd, known_hosts, new_key):
    keys = [new_key(kind, "-t", kind) for kind in ("ecdsa", "rsa", "ed25519")]
    server = sshd(3, HostKey="\nHostKey ".join(map(str, keys)))
    known = " ".join(Path(f"{keys[1]}.pub").read_text().split()[:2])
    known_hosts.write_text(f"[{server.address}]:{server.port} {known}\n")
    assert_ran(run(f"[{server.address}]:{server.port}"))


# Routes

@pytest.mark.smoke
def test_ssh_config_is_honoured(run, ssh_config, sshd, new_key):
    key = new_key("mine")
    server = sshd(3, AuthorizedKeysFile=f"{key}.pub")
    ssh_config.write_text(f"Host gpu3\n  HostName {server.address}\n  Port {server.port}\n"
                          f"  IdentityFile {key}\n  HostKeyAlias {address(3)}\n  User ann\n  ConnectTimeout 2\n")
    outcome = run("gpu3", ssh="username: root")
    assert_ran(outcome)
    assert "[gpu3:1]" in outcome.out
    assert "for user ann" in run("gpu3", ssh="{}").err  # the spec does not name the user


def test_home_does_not_change_the_folder_of_ssh(run, ssh_config, folder):
    ssh_config.write_text(f"Host another\n  HostName {address(3)}\n  HostKeyAlias {address(3)}\n"
                          f"  IdentityFile {SHARED}/user_ed25519\n")
    assert_ran(run("address: another", ssh="{}", env={"HOME": str(folder)}))


def test_a_jump_host(run, sshd, firewall, ssh_config):
    far, jump, before = sshd(3), sshd(2), sshd(2)
    firewall(3, f"ip saddr {address(1)} tcp dport {far.port}")
    node = f"[{far.address}]:{far.port}"
    ssh_config.write_text("ConnectTimeout 5\n")  # also for each login on the way
    outcome = run(node)
    assert outcome.code == 125 and "connecting timed out after 5 s" in outcome.err
    assert_ran(run(node, ssh=f"{ED25519}\nproxy_jump: root@{jump.address}:{jump.port}"))
    assert_ran(run(node, ssh=f"{ED25519}\nproxy_jump: {before.address}:{before.port},"
                             f"root@{jump.address}:{jump.port}"))
    ssh_config.write_text(f"ConnectTimeout 5\nHost {address(3)}\n  ProxyJump {jump.address}:{jump.port}\n")
    assert_ran(run(node))
    assert "timed out" in run(node, ssh=f"{ED25519}\nproxy_jump: none", options=["--no-preflight"]).err


@pytest.mark.parametrize("way", ["direct", "jump"])
def test_host_keys_in_the_spec(run, sshd, known_hosts, way):
    """Keys in the spec replace known_hosts, also when SSH connects to another address."""
    far, jump = sshd(3), sshd(2)
    keys = {host: " ".join((SHARED / f"host{host}" / "host_key.pub").read_text().split()[:2]) for host in (2, 3)}
    known_hosts.write_text(f"[{jump.address}]:{jump.port} {keys[2]}\n" if way == "jump" else "")
    ssh = ED25519 + (f"\nproxy_jump: {jump.address}:{jump.port}" if way == "jump" else "")

    def node(*trusted):
        return (f"address: '[gpu3]:{far.port}', ssh_address: {far.address}, data_address: {far.address}, "
                f"host_keys: {list(trusted)}")
    assert_ran(run(node(keys[3]), ssh=ssh))
    assert_ran(run(node(keys[2], keys[3]), ssh=ssh))
    outcome = run(node(keys[2]), ssh=ssh + "\nhost_key_check: 'off'")
    assert outcome.code == 125, outcome.err
    assert "does not match 'host_keys' in the spec: " in outcome.err, outcome.err
    assert "correct host_keys in the spec" in outcome.err and "known_hosts" not in outcome.err, outcome.err


def test_a_failing_jump_host(run):
    outcome = run(address(3), ssh=f"{ED25519}\nproxy_jump: root@{address(2)}:1")
    assert outcome.code == 125
    assert "through root@10.77.0.2:1" in outcome.err and "Connection refused" in outcome.err
    outcome = run(address(3), ssh=f"{ED25519}\nproxy_jump: root@{address(2)}")  # accepts only RSA keys
    assert "jump host" in outcome.err and "proxy_jump in the spec" in outcome.err, outcome.err


def test_a_jump_host_is_not_interpreted_by_a_shell(run, folder):
    outcome = run(address(3), ssh=f"{ED25519}\nproxy_jump: 'x;touch${{IFS}}{folder}/pwned;@{address(2)}'")
    assert outcome.code != 0 and not (folder / "pwned").exists()


def test_a_proxy_command(run, ssh_config, sshd):
    ssh_config.write_text(f"Host gpu3\n  HostKeyAlias {address(3)}\n"
                          f"  ProxyCommand ssh -i {SHARED}/user_rsa -W {address(3)}:22 {address(2)}\n")
    assert_ran(run(f"address: gpu3, data_address: {address(3)}"))


def test_a_key_exchange_that_only_openssh_supports(run, sshd):
    server = sshd(3, KexAlgorithms="sntrup761x25519-sha512@openssh.com")
    assert_ran(run(f"[{server.address}]:{server.port}"))


def test_a_busy_server_is_retried(run, sshd):
    server = sshd(3, MaxStartups="1:100:1")
    holder = subprocess.Popen(  # occupies the only slot for a second
        ["python3", "-c", "import socket, sys, time\n"
         f"s = socket.create_connection(('{server.address}', {server.port}))\n"
         "s.recv(1); print(); sys.stdout.flush(); time.sleep(1)"], stdout=subprocess.PIPE)
    holder.stdout.readline()
    outcome = run(f"[{server.address}]:{server.port}")
    holder.wait()
    assert_ran(outcome)
    assert outcome.seconds > 0.5
