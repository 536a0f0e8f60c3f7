"""Slurm on the virtual hosts: slurmctld on host 1, slurmd on each."""

import os
import shutil
import subprocess
import time

from hosts import SHARED, kill_all, named_on, start_in_host

UP_LIMIT_S = 60
PROGRAMS = ("slurmctld", "slurmd", "srun", "munged")
PORTS = (61000, 61999)  # of the hosts' network, above the ephemeral ones
CONTROLLERS = ("freezer", "memory", "cpuset", "devices", "cpuacct", "cpu")

# sources: slurm.conf(5), cgroup.conf(5), gres.conf(5)
CONFIG = """\
ClusterName=virtual
SlurmctldHost=host1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/{proctrack}
TaskPlugin=task/{task}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
SrunPortRange={ports[0]}-{ports[1]}
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait={kill_wait}
GresTypes=gpu
NodeName=host[1-{hosts}] CPUs=8 RealMemory=4000 State=UNKNOWN Gres=gpu:{gpus}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""

# Puts slurmd into separate cgroups (version 1), because those of all hosts would share one tree: first the
# path to them, then the root that the host sees.
START = """\
set -e
mounts() {{
  mount -t tmpfs cgroups /sys/fs/cgroup
  for c in {controllers}; do mkdir /sys/fs/cgroup/$c; mount -t cgroup -o $c cgroup /sys/fs/cgroup/$c; done
}}
if [ "$1" = outside ]; then
  mounts
  for c in {controllers}; do
    g=/sys/fs/cgroup/$c/{name}
    mkdir -p $g
    [ $c != cpuset ] || for f in cpuset.cpus cpuset.mems; do cat /sys/fs/cgroup/cpuset/$f > $g/$f; done
    echo $$ > $g/cgroup.procs
  done
  exec unshare --cgroup sh "$0" inside
fi
[ "$1" = none ] || mounts
exec slurmd -D -N host{host}
"""


class Slurm:
    """A running Slurm."""

    def __init__(self, hosts, proctrack="linuxproc", gpus=0, kill_wait_s=30):
        self.hosts, self.proctrack, self.gpus, self.kill_wait_s = hosts, proctrack, gpus, kill_wait_s
        self.folder = SHARED / "slurm"
        self.daemons = []

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self._configure()
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _configure(self):
        cgroup = self.proctrack == "cgroup"
        (self.folder / "slurm.conf").write_text(CONFIG.format(
            folder=self.folder, proctrack=self.proctrack, task="cgroup" if cgroup else "none",
            kill_wait=self.kill_wait_s, hosts=self.hosts, gpus=self.gpus, ports=PORTS))
        (self.folder / "cgroup.conf").write_text(
            f"CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainDevices={'yes' if cgroup and self.gpus else 'no'}\n")
        if self.gpus:
            # Devices without a driver: opening one fails with ENXIO, or with EPERM if Slurm does not allow
            # it.
            for gpu in range(self.gpus):
                os.mknod(self.folder / f"gpu{gpu}", 0o020666, os.makedev(240, gpu))
            (self.folder / "gres.conf").write_text(
                f"NodeName=host[1-{self.hosts}] Name=gpu File={self.folder}/gpu[0-{self.gpus - 1}]\n")

    def _start(self):
        (self.folder / "key").write_bytes(os.urandom(128))
        (self.folder / "key").chmod(0o600)
        self.daemons.append(start_in_host(
            1, "munged", "--foreground", "--force", f"--key-file={self.folder}/key", f"--socket={self.folder}/munge.sock",
            f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
            f"--seed-file={self.folder}/munged.seed"))
        self.await_true("munged", lambda: (self.folder / "munge.sock").exists())
        self.daemons.append(start_in_host(1, "slurmctld", "-D"))
        for host in range(1, self.hosts + 1):
            self.start_slurmd(host)
        self.await_true("all nodes idle", lambda: self.idle() == self.hosts)

    def start_slurmd(self, host):
        script = self.folder / f"start{host}"
        script.write_text(START.format(controllers=" ".join(CONTROLLERS), name=self._cgroup(host), host=host))
        how = "outside" if self.proctrack == "cgroup" else "none"
        self.daemons.append(start_in_host(host, "unshare", "--mount", "sh", script, how))

    def _cgroup(self, host):
        return f"slurm.{self.folder.parent.name}.host{host}"

    def idle(self):
        states = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %t"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True, check=False).stdout
        return sum(line.endswith(" idle") for line in states.splitlines())

    def await_true(self, what, condition):
        limit = time.monotonic() + UP_LIMIT_S
        while not condition():
            if time.monotonic() > limit:
                seen = [subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
                        for command in (["sinfo", "-N"], ["squeue"], ["squeue", "-s"])]
                raise AssertionError(f"Slurm: {what}: not within {UP_LIMIT_S} s\n" + "\n".join(seen))
            time.sleep(0.05)

    def jobs(self):
        return subprocess.run(["squeue", "-h", "-o", "%i %T"], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()

    def steps(self):
        """Steps of all jobs, without those that Slurm creates itself."""
        return [line for line in subprocess.run(["squeue", "-h", "-s", "-o", "%i %j"], check=True, text=True,
                                                stdout=subprocess.PIPE).stdout.splitlines()
                if ".batch" not in line and ".extern" not in line]

    def cancel_all(self):
        subprocess.run(["scancel", "-u", "root"], check=False)
        self.await_true("no job", lambda: self.idle() == self.hosts)

    def __exit__(self, *_):
        subprocess.run(["scontrol", "shutdown"], check=False, stderr=subprocess.DEVNULL)
        for daemon in reversed(self.daemons):
            if daemon is self.daemons[0]:
                daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for host in range(1, self.hosts + 1):
            kill_all(named_on(host, "slurmstepd"))
        if self.proctrack == "cgroup":
            self._remove_cgroups()

    def _remove_cgroups(self):
        limit = time.monotonic() + UP_LIMIT_S
        for host in range(1, self.hosts + 1):
            for controller in CONTROLLERS:
                for folder, _, _ in os.walk(f"/sys/fs/cgroup/{controller}/{self._cgroup(host)}", topdown=False):
                    while time.monotonic() < limit:
                        try:
                            os.rmdir(folder)
                            break
                        except OSError:
                            time.sleep(0.05)
