"""The virtual hosts that the tests run on."""

import os
import subprocess
from pathlib import Path

SPEC = Path(os.environ["SPEC"])
SHARED = SPEC.parent  # the same folder on all hosts


def address(host):
    return f"fd77::{host}" if "fd77::" in SPEC.read_text() else f"10.77.0.{host}"


def on_host(host, command):
    """Runs a shell command on another host, by OpenSSH's own client."""
    config = (SHARED / f"host{host}" / "sshd_config").read_text().split()
    port = config[config.index("Port") + 1]
    key = config[config.index("AuthorizedKeysFile") + 1].removesuffix(".pub")
    return subprocess.run(["ssh", "-F", "none", "-o", f"UserKnownHostsFile={SHARED}/known_hosts", "-p", port,
                           "-i", key, address(host), command], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


class Sshd:
    """One more SSH server on a host, configured as a test wants it."""

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
        on_host(self.host, f"/usr/sbin/sshd -f {self.folder}/config -E {self.folder}/log")

    def stop(self):
        on_host(self.host, f"kill $(cat {self.folder}/pid)")


def spec_of(path, *nodes, ssh="  {}"):
    """Writes a spec of the chief and these nodes, each given as 'address' or as the YAML of a node;
    all of group g, whose YAML is `ssh`."""
    text = f"nodes:\n  - {{address: {address(1)}, chief: true}}\n"
    for node in nodes:
        text += f"  - {{{node if ': ' in node else f'address: {node!r}'}, ssh_config: g}}\n"
    path.write_text(text + "ssh:\n  g:\n" + "".join(f"    {line}\n" for line in ssh.splitlines()))
    return path
