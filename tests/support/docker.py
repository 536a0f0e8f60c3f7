"""docker on the virtual hosts, each of which has its own daemon."""

import subprocess
import time

from hosts import SHARED, in_host, start_in_host
from podman import IMAGE, make_image

FOLDER = "/tmp/docker"  # each host has its own
START_LIMIT_S = 60


class Docker:
    """docker on one host."""

    name = "docker"

    def __init__(self, host, folder):
        self.host = host
        self.bashrc = SHARED / f"host{host}" / "bashrc"
        self.before = self.bashrc.read_text()
        self.bashrc.write_text(self.before + f"export DOCKER_HOST=unix://{FOLDER}/sock\n")
        image = folder / "image.tar"
        if not image.exists():
            make_image(image)
        self.log = folder / f"dockerd-{host}.log"
        with self.log.open("w") as log:
            self.daemon = start_in_host(
                host, "env", "-u", "XDG_RUNTIME_DIR", "dockerd", "--data-root", f"{FOLDER}/root", "--exec-root",
                f"{FOLDER}/exec", "--pidfile", f"{FOLDER}/pid", "-H", f"unix://{FOLDER}/sock", "--storage-driver", "vfs",
                "--bridge", "none", "--iptables=false", "--ip6tables=false", "--default-ulimit", "nofile=16384:16384",
                output=log)
        limit = time.monotonic() + START_LIMIT_S
        while True:
            try:
                self("version")
                break
            except subprocess.CalledProcessError:
                assert time.monotonic() < limit and self.daemon.poll() is None, "dockerd does not start"
                time.sleep(0.1)
        self("import", image, IMAGE)

    def __call__(self, *arguments):
        return in_host(self.host, "docker", "-H", f"unix://{FOLDER}/sock", *arguments)

    def run(self, name, *options):
        """Starts an idle container in the host's network."""
        self("run", "-d", "--network", "host", "--name", name, *options, IMAGE, "sh", "-c",
             "trap 'exit 0' TERM; while :; do sleep 1 & wait; done")

    def remove(self):
        # pytest shows the log if the test failed.
        print(f"dockerd on host {self.host}:", *self.log.read_text().splitlines()[-30:], sep="\n")
        for container in self("ps", "-aq").split():
            self("rm", "-f", container)
        self.daemon.terminate()
        self.daemon.wait()
        self.bashrc.write_text(self.before)
