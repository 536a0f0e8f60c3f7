"""Runs Slurm's daemons on the virtual hosts, for srun."""

import contextlib
import subprocess
import time

from hosts import address, start_in_host

START_LIMIT_S = 30
POLL_S = 0.1


def _config(hosts, folder):
    # proctrack/linuxproc, because the hosts share this machine's cgroups; auth/none, because their
    # network is isolated.
    nodes = "".join(f"NodeName=host{host} NodeAddr={address(host)} CPUs=2\n" for host in hosts)
    return f"""\
ClusterName=virtual
SlurmctldHost=host{hosts[0]}({address(hosts[0])})
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
{nodes}PartitionName=all Nodes=ALL Default=YES
"""


def _await_idle(hosts, config):
    limit = time.monotonic() + START_LIMIT_S
    while True:
        said = subprocess.run(["env", f"SLURM_CONF={config}", "sinfo", "-h", "-o", "%D %T"], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout.strip()
        if said == f"{len(hosts)} idle":
            return
        if time.monotonic() > limit:
            raise RuntimeError(f"Slurm's hosts were not ready after {START_LIMIT_S} s: {said}")
        time.sleep(POLL_S)


@contextlib.contextmanager
def slurm(hosts, folder):
    """Starts a new cluster, because the last one may have lost a host; slurm.conf is in the folder."""
    config = folder / "slurm.conf"
    config.write_text(_config(hosts, folder))
    (folder / "state").mkdir()
    daemons = []
    try:
        for host, name in [(hosts[0], "slurmctld")] + [(host, "slurmd") for host in hosts]:
            daemons.append(start_in_host(host, name, "-D", "-f", config))
        _await_idle(hosts, config)
        yield
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.wait()
