"""Rows for autodist with nodes in containers, created for the job or before it, and their final checks."""

import contextlib
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from docker import Docker
from fault_rows import losses
from fault_rows.contestants import AUTODIST_GRACE_S, AUTODIST_LEASE_S, Autodist
from fault_rows.endings import ended_by, interrupted, launcher_killed, parent_of, rank_gets
from fault_rows.measure import Run, argv_of
from fault_rows.row import Row, Target
from hosts import SHARED, SPEC, address, cut, heal, kill_all, pids_on
from podman import IMAGE, Podman

RUNTIMES = {"podman": Podman, "docker": Docker}
HOSTS = (2, 3, 4)  # nodes in containers; host 1 is the chief
HARMED = losses.CUT_OFF
PLAYED_OUT_S = 30  # within which containers end by themselves if the chief does not remove them
# Folders of the host that a rank needs, because the image has only busybox.
HERE = Path(__file__).parent
FOLDERS = ["/usr:/usr:ro", "/lib:/lib:ro", "/lib64:/lib64:ro", f"{HERE}:{HERE}:ro"]


class InContainers(Autodist):
    """`kind`: created by autodist ("image") or before it ("container")."""

    def __init__(self, program, runtime, kind):
        super().__init__(program)
        self.label = f"{runtime}, {kind}"
        self.kind, self.runtime, self.runtimes = kind, runtime, {}

    def missing(self):
        return super().missing() or (None if shutil.which(self.runtime) else f"{self.runtime} is not installed")

    @contextlib.contextmanager
    def there(self):
        """Starts the runtimes for all rows."""
        folder = SHARED / f"{self.runtime}-{self.kind}"
        folder.mkdir()
        try:
            for host in HOSTS:
                self.runtimes[host] = RUNTIMES[self.runtime](host, folder)
            yield
        finally:
            for runtime in self.runtimes.values():
                runtime.remove()

    @contextlib.contextmanager
    def ready(self, folder):
        if self.kind == "container":
            for runtime in self.runtimes.values():
                volumes = [word for where in [*FOLDERS, f"{folder}:{folder}"] for word in ("--volume", where)]
                runtime("run", "-d", "--network", "host", "--name", "train", *volumes, IMAGE, "sh", "-c",
                       "trap 'exit 0' TERM; sleep 1000000 & wait")
        try:
            yield
        finally:
            for runtime in self.runtimes.values():
                for container in runtime("ps", "-aq").split():
                    with contextlib.suppress(subprocess.CalledProcessError):  # it ends by itself
                        runtime("rm", "-f", container)

    def argv(self, program, folder, **options):
        text = SPEC.read_text()
        volumes = ", ".join(f"--volume, '{where}'" for where in FOLDERS)
        where = f"image: {IMAGE}, run_options: [{volumes}]" if self.kind == "image" else "container: train"
        nodes = "".join(f"  - {{address: {address(host)}, cpus: [0, 1], {'chief: true' if host == 1 else 'ssh_config: boxes'}}}\n"
                        for host in (1, *HOSTS))
        key = re.search(r"key_file: (\S+)", text)[1]
        spec = folder / "boxes.yaml"
        spec.write_text(f"nodes:\n{nodes}ssh:\n  boxes: {{key_file: {key}, via: {self.runtime}, {where}}}\n")
        words = super().argv(program, folder, **{"grace": AUTODIST_GRACE_S, "lease": AUTODIST_LEASE_S, **options})
        words[words.index("--spec") + 1] = str(spec)
        return words

    def containers(self):
        """Returns all containers, running or not, except the one created before the job."""
        lists = [(host, runtime("ps", "-a", "--format", "{{.Names}} {{.Status}}").splitlines())
                 for host, runtime in self.runtimes.items()]
        return [f"{host}: {line}" for host, lines in lists for line in lines if not line.startswith("train ")]

    def check(self, result):
        """Checks that no container of autodist is left."""
        limit = time.monotonic() + PLAYED_OUT_S
        while (left := self.containers()) and time.monotonic() < limit:
            time.sleep(0.1)
        result.seen["containers_gone"] = time.monotonic() - (limit - PLAYED_OUT_S)
        result.expect(not left, f"left: {', '.join(left)}")


class RunInContainers(Run):
    """A run whose ranks report pids of their containers' pid namespaces."""

    def announced(self):
        reported = dict(re.findall(rb"ready (\d+) (\d+)\r?\n", self.out))
        found = set()
        for pid in self.ranks():
            with contextlib.suppress(OSError):
                environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                own = re.search(r"NSpid:.*\t(\d+)\n", Path(f"/proc/{pid}/status").read_text())[1]
                rank = next((word[14:] for word in environment if word.startswith(b"AUTODIST_RANK=")), b"")
                if reported.get(rank) == own.encode():
                    found.add(pid)
        return found


def with_check(measure):
    def measured(contestant, folder, limit):
        result = measure(contestant, folder, limit)
        contestant.check(result)
        return result
    return measured


def node_daemon_killed(run):
    ranks = run.ranks_of(HARMED)
    daemons = {parent_of(pid) for pid in ranks}
    run.fault()
    kill_all(daemons)


def container_killed(run):
    runtime = run.contestant.runtimes[HARMED]
    [name] = runtime("ps", "--format", "{{.Names}}").split()
    run.fault()
    runtime("kill", name)


def client_killed(run):
    """Kills the runtime's client that connects the chief and the agent."""
    clients = [pid for pid in pids_on(HARMED)
               if argv_of(pid)[:2] in ([run.contestant.runtime.encode(), verb] for verb in (b"exec", b"run"))]
    run.fault()
    kill_all(clients)
    if not clients:
        raise RuntimeError("no client found")


def row(name, measure, target, note=""):
    return Row(name, with_check(measure), target, note=note)


REMOVED_S = 3  # max time in which a runtime removes a container on a busy machine
ROWS = [
    row("rank killed -9", ended_by("wait", rank_gets(signal.SIGKILL), run=RunInContainers),
        Target(gone=1, returned=REMOVED_S, code=137)),
    row("agent killed -9", ended_by("wait", node_daemon_killed, run=RunInContainers),
        Target(gone=2, returned=REMOVED_S, code=125)),
    row("client killed -9", losses.going_on(8, client_killed, run=RunInContainers), Target(code=0)),
    row("chief killed -9", ended_by("wait", launcher_killed, run=RunInContainers, lease=5), Target(gone=6, empty=10),
        note="--lease 5"),
    row("container killed", ended_by("wait", container_killed, run=RunInContainers),
        Target(gone=REMOVED_S, returned=REMOVED_S, code=125)),
    row("Ctrl-C", ended_by("wait", interrupted, run=RunInContainers), Target(gone=1, returned=REMOVED_S, code=130)),
    row("link cut for 5 s", losses.going_on(8, losses.cut_for(5), run=RunInContainers), Target(code=0)),
    row("link cut, lease over", losses.lost_by(cut, heal, run=RunInContainers),
        Target(gone=losses.LEASE_S + 1, returned=losses.LEASE_S + REMOVED_S, code=125, seen={"named": losses.NAMED_S}),
        note=f"--lease {losses.LEASE_S}"),
]
