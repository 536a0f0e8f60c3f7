"""podman on the virtual hosts, with an image that has only busybox."""

import subprocess
import tarfile
from pathlib import Path

from hosts import in_host

BUSYBOX = Path("/bin/busybox")  # Debian's busybox-static
IMAGE = "box"

# Without systemd, and independent of this machine's limits.
STORAGE = """[storage]
driver = "vfs"
graphroot = "/tmp/podman/storage"
runroot = "/tmp/podman/run"
"""
CONTAINERS = """[containers]
default_ulimits = ["nofile=16384:16384", "nproc=10000:10000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
tmp_dir = "/tmp/podman/tmp"
"""


def make_image(path):
    """A root file system for `podman import`."""
    with tarfile.open(path, "w") as tar:
        tar.add(BUSYBOX, "bin/busybox")
        commands = subprocess.run([BUSYBOX, "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout
        for command in set(commands.split()) - {"busybox"}:
            link = tarfile.TarInfo(f"bin/{command}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for folder in ("root", "tmp", "etc", "dev", "proc", "sys"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)


class Podman:
    """podman on one host."""

    name = "podman"

    def __init__(self, host, folder):
        self.host = host
        settings = folder / f"containers{host}"
        settings.mkdir()
        (settings / "storage.conf").write_text(STORAGE)
        (settings / "containers.conf").write_text(CONTAINERS)
        (settings / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        image = folder / "image.tar"
        if not image.exists():
            make_image(image)
        in_host(host, "mkdir", "-p", "/etc/containers")
        in_host(host, "mount", "--bind", settings, "/etc/containers")
        self("import", "-q", image, IMAGE)

    def __call__(self, *arguments):
        return in_host(self.host, "podman", *arguments)

    def run(self, name, *options):
        """Starts an idle container in the host's network."""
        self("run", "-d", "--init=false", "--network", "host", "--name", name, *options, IMAGE, "sh", "-c",
             "trap 'exit 0' TERM; while :; do sleep 1 & wait; done")

    def remove(self):
        self("rm", "-f", "-a", "-t", "0")
        in_host(self.host, "umount", "--lazy", "/etc/containers")
