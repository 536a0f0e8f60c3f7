"""The virtual hosts of the tests."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

SPEC = Path(os.environ["SPEC"])
SHARED = SPEC.parent  # the same folder on all hosts


def address(host):
    return f"fd77::{host}" if "fd77::" in SPEC.read_text() else f"10.77.{(host - 1) // 250}.{(host - 1) % 250 + 1}"


def on_host(host, command):
    """Runs a shell command on another host with OpenSSH's client."""
    config = (SHARED / f"host{host}" / "sshd_config").read_text().split()
    port = config[config.index("Port") + 1]
    key = config[config.index("AuthorizedKeysFile") + 1].removesuffix(".pub")
    return subprocess.run(["ssh", "-F", "none", "-o", f"UserKnownHostsFile={SHARED}/known_hosts", "-p", port,
                           "-i", key, address(host), command], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def argv_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def pids():
    """Pids of all hosts, which share one process list."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def listening_sshd(host):
    """The pid of the host's SSH server."""
    config = str(SHARED / f"host{host}" / "sshd_config")
    found = [pid for pid in pids() for argv in [" ".join(argv_of(pid))]
             if argv.startswith("sshd:") and config in argv.split()]
    # a process that it has just forked looks the same
    [pid] = [pid for pid in found if parent(pid) not in found]
    return pid


_namespaces_opened = {}  # kept open, so that the namespaces outlive the host's last process


def _namespaces(host):
    """{kind: path} of the host's namespaces."""
    if host not in _namespaces_opened:
        sshd = listening_sshd(host)
        _namespaces_opened[host] = {kind: os.open(f"/proc/{sshd}/ns/{kind}", os.O_RDONLY)
                                    for kind in ("net", "uts", "mnt")}
    return {kind: f"/proc/{os.getpid()}/fd/{fd}" for kind, fd in _namespaces_opened[host].items()}


def entering(host, command):
    """The argv that runs a command on the host without using the network."""
    path = _namespaces(host)
    return ["nsenter", f"--net={path['net']}", f"--uts={path['uts']}", f"--mount={path['mnt']}",
            *map(str, command)]


def in_host(host, *command):
    """Runs a command on a host without using the network."""
    return subprocess.run(entering(host, command), check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def start_in_host(host, *command, output=subprocess.DEVNULL):
    """Starts a command on a host."""
    return subprocess.Popen(entering(host, command), stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def pids_on(host):
    network = os.stat(_namespaces(host)["net"]).st_ino
    found = set()
    for pid in pids():
        try:
            if os.stat(f"/proc/{pid}/ns/net").st_ino == network:
                found.add(pid)
        except OSError:
            pass
    return found


def named_on(host, name):
    """Pids on the host with this process name."""
    found = set()
    for pid in pids_on(host):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == f"{name}\n":
                found.add(pid)
    return found


def _at_the_bridge(*commands):
    # Process 1 is virtual_cluster, which has the bridge of the hosts' cables.
    subprocess.run(["nsenter", "--target", "1", "--net", "nft", "; ".join(commands)], check=True,
                   stderr=subprocess.PIPE)


def cut(host):
    """Drops every frame from and to the host in the middle: neither end gets an error."""
    _namespaces(host)
    _at_the_bridge(
        f"add table bridge cut{host}",
        f"add chain bridge cut{host} forward {{ type filter hook forward priority 0; }}",
        f"add rule bridge cut{host} forward iifname veth{host} drop",
        f"add rule bridge cut{host} forward oifname veth{host} drop")


def cut_replies(host):
    """Drops only what the host sends."""
    _namespaces(host)
    _at_the_bridge(
        f"add table bridge cut{host}",
        f"add chain bridge cut{host} forward {{ type filter hook forward priority 0; }}",
        f"add rule bridge cut{host} forward iifname veth{host} drop")


def heal(host):
    """Undoes a cut, if there is one."""
    _at_the_bridge(f"add table bridge cut{host}", f"delete table bridge cut{host}")


def unplug(host):
    """Pulls the host's cable, which the host sees."""
    subprocess.run(["nsenter", "--target", "1", "--net", "ip", "link", "set", f"veth{host}", "down"], check=True)


def plug(host):
    subprocess.run(["nsenter", "--target", "1", "--net", "ip", "link", "set", f"veth{host}", "up"], check=True)


def _await_end(pid):
    """Waits until the process has released its ports."""
    with contextlib.suppress(OSError):
        while Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX":
            time.sleep(0.002)


def kill_all(found):
    """Kills processes, some of which may end when others do."""
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def power_off(host):
    """Kills all processes on the host; no other host is notified."""
    cut(host)
    found = pids_on(host)
    kill_all(found)
    for pid in found:
        _await_end(pid)


def remove_from_tmp(host, pattern):
    """Spares mounts: the repository under test may have such a name."""
    in_host(host, "sh", "-c", f'for path in /tmp/{pattern}; do mountpoint -q "$path" || rm -rf --one-file-system "$path"; done; true')


def power_on(host):
    remove_from_tmp(host, "autodist-*")  # a new start finds an empty /tmp
    start_sshd(host)
    heal(host)


SSHD_START_LIMIT_S = 10


def stop_sshd(host):
    """Kills the listening server; its sessions continue."""
    _namespaces(host)
    pid = listening_sshd(host)
    os.kill(pid, signal.SIGKILL)
    _await_end(pid)


def start_sshd(host):
    folder = SHARED / f"host{host}"
    log = folder / f"sshd-{time.monotonic_ns()}.log"
    in_host(host, "/usr/sbin/sshd", "-f", folder / "sshd_config", "-E", log)
    _await_listening(host, log)


def _await_listening(host, log):
    """sshd goes into the background before it listens."""
    limit = time.monotonic() + SSHD_START_LIMIT_S
    while "Server listening" not in (log.read_text() if log.exists() else ""):
        assert time.monotonic() < limit, f"the sshd of host {host} did not start: {log.read_text()}"
        time.sleep(0.01)


def sshd_sessions(host):
    """Pids of the SSH server's processes that serve connections."""
    return {pid for pid in pids_on(host) - {listening_sshd(host)} if argv_of(pid)[0].startswith("sshd:")}


def _is_agent(pid):
    return "attach" in argv_of(pid)[1:2] and argv_of(pid)[0].endswith("autodist-agent")


def parent(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def ranks_on(host):
    """The pids of the processes that agents started on the host."""
    return {pid for pid in pids_on(host)
            if argv_of(pid) != [""] and not _is_agent(pid) and _is_agent(parent(pid))}


def agents_on(host):
    """The pids of the agents that own ranks on the host."""
    return {parent(pid) for pid in ranks_on(host)}


class Sshd:
    """An additional SSH server on a host, configured by a test."""

    def __init__(self, host, folder, **directives):
        self.host, self.address = host, address(host)
        self.port = int(on_host(host, "python3 -c 'import socket; s = socket.create_server((\"\", 0)); "
                                      "print(s.getsockname()[1])'"))
        self.folder = folder / f"sshd-{host}-{self.port}"
        self.folder.mkdir()
        self.settings = {
            "Port": self.port, "HostKey": SHARED / f"host{host}" / "host_key",
            "AuthorizedKeysFile": SHARED / "user_ed25519.pub", "StrictModes": "no", "UsePAM": "no",
            "UseDNS": "no", "PasswordAuthentication": "no", "PidFile": self.folder / "pid", **directives}
        self.start()

    def start(self, **directives):
        self.settings.update(directives)
        (self.folder / "config").write_text(
            "".join(f"{name} {value}\n" for name, value in self.settings.items()))
        log = self.folder / f"log-{time.monotonic_ns()}"
        on_host(self.host, f"/usr/sbin/sshd -f {self.folder}/config -E {log}")
        _await_listening(self.host, log)

    def stop(self):
        on_host(self.host, f"kill $(cat {self.folder}/pid)")


def spec_of(path, *nodes, ssh="  {}"):
    """Writes a spec of the chief and these nodes, each given as 'address' or as the YAML of a node. All are
    in group g, with `ssh` as its YAML."""
    text = f"nodes:\n  - {{address: {address(1)}, chief: true}}\n"
    for node in nodes:
        text += f"  - {{{node if ': ' in node else f'address: {node!r}'}, ssh_config: g}}\n"
    path.write_text(text + "ssh:\n  g:\n" + "".join(f"    {line}\n" for line in ssh.splitlines()))
    return path
