"""The virtual hosts that the tests run on."""

import os
import subprocess
from pathlib import Path

SPEC = Path(os.environ["SPEC"])
SHARED = SPEC.parent  # the same folder on all hosts


def address(host):
    return f"10.77.0.{host}"


def on_host(host, command):
    """Runs a shell command on another host, by OpenSSH's own client."""
    config = (SHARED / f"host{host}" / "sshd_config").read_text().split()
    port = config[config.index("Port") + 1]
    key = config[config.index("AuthorizedKeysFile") + 1].removesuffix(".pub")
    return subprocess.run(["ssh", "-p", port, "-i", key, address(host), command], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
