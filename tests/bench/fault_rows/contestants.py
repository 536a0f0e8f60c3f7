"""The compared launchers: how each starts a program on all hosts."""

import contextlib
import importlib.util
import os
import re
import shutil
import sys

from fault_rows.slurm import slurm
from hosts import SPEC, address

HOSTS = tuple(range(1, 1 + int(os.environ.get("AUTODIST_BENCH_HOSTS", "4"))))
RANKS_PER_HOST = 2
RANKS = len(HOSTS) * RANKS_PER_HOST
AUTODIST_GRACE_S = 30
AUTODIST_LEASE_S = 60


class Contestant:
    name = ""

    def missing(self):
        """Returns why it cannot take part, or None."""
        return None

    def ready(self, folder):
        """Returns a context in which it can be started."""
        return contextlib.nullcontext()

    def argv(self, program, folder, **options):
        """Returns the command that runs the program; all hosts share the folder."""
        raise NotImplementedError

    def rank_line(self, line):
        """Returns the rank's part of a line of the launcher's stdout."""
        return line


class Autodist(Contestant):
    name = "autodist"
    prefix = re.compile(rb"\[[^ \]]+:\d+\] ")

    def __init__(self, program):
        self.program = program

    def missing(self):
        return None if os.access(self.program, os.X_OK) else f"{self.program} is not built"

    def argv(self, program, folder, **options):
        options = {"grace": AUTODIST_GRACE_S, "lease": AUTODIST_LEASE_S, "log_dir": folder / "logs", **options}
        words = [str(word) for name, value in options.items()
                 for word in ("--" + name.replace("_", "-"), value) if word != ""]
        return [self.program, "run", "--spec", str(SPEC), *words, "--", *program]

    def rank_line(self, line):
        match = self.prefix.match(line)
        return line[match.end():] if match else b"no prefix: " + line


class Mpirun(Contestant):
    name = "mpirun"

    def missing(self):
        return None if shutil.which("mpirun") else "it is not installed"

    def argv(self, program, folder, **options):
        hostfile = folder / "hostfile"
        hostfile.write_text("".join(f"{address(host)} slots={RANKS_PER_HOST}\n" for host in HOSTS))
        return ["mpirun", "--allow-run-as-root", "--hostfile", str(hostfile), "--map-by",
                f"ppr:{RANKS_PER_HOST}:node", "-n", str(RANKS), *program]


class Torchrun(Contestant):
    name = "torchrun"
    port = 29500  # no other program uses the hosts' network

    def missing(self):
        if not shutil.which("pdsh"):
            return "pdsh, which starts it on each host, is not installed"
        return None if importlib.util.find_spec("torch") else f"{sys.executable} has no torch"

    def argv(self, program, folder, **options):
        launcher = folder / "torchrun"  # keeps the arguments separate through pdsh and ssh
        # --redirects and --tee for a rank that does not exist: the default fails with Python 3.11.
        words = [sys.executable, "-m", "torch.distributed.run", "--no_python", f"--nnodes={len(HOSTS)}",
                 f"--redirects={RANKS}:1", f"--tee={RANKS}:1",
                 f"--nproc_per_node={RANKS_PER_HOST}", "--rdzv_backend=c10d", "--rdzv_id=faults",
                 f"--rdzv_endpoint={address(1)}:{self.port}",
                 f"--max_restarts={options.get('max_restarts', 0)}", *program]
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        launcher.write_text(f"cd '{folder}' && exec {quoted}\n")
        return ["pdsh", "-N", "-R", "ssh", "-f", str(len(HOSTS)), "-w",
                ",".join(address(host) for host in HOSTS), "sh", str(launcher)]


class Srun(Contestant):
    name = "srun"

    def missing(self):
        return None if all(map(shutil.which, ("srun", "slurmctld", "slurmd"))) else "Slurm is not installed"

    def ready(self, folder):
        return slurm(HOSTS, folder)

    def argv(self, program, folder, **options):
        return ["env", f"SLURM_CONF={folder}/slurm.conf", "srun", "--kill-on-bad-exit", f"--nodes={len(HOSTS)}",
                f"--ntasks={RANKS}", f"--ntasks-per-node={RANKS_PER_HOST}", *program]
