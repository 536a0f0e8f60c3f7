"""The processes of jobs, on all hosts."""

import contextlib
import os
from pathlib import Path

from hosts import parent, pids_on


def of_job(job_id, pids):
    """The job's processes among these."""
    if not job_id:
        return []
    wanted, found = f"AUTODIST_JOB_ID={job_id}".encode(), []
    for pid in sorted(pids):
        try:
            folder = Path(f"/proc/{pid}")
            if wanted in (folder / "environ").read_bytes().split(b"\0") or \
                    job_id.encode() in (folder / "cmdline").read_bytes():
                found.append(pid)
        except OSError:
            pass
    return found


def comm(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def agents_of(job_id, host):
    """The pid of the job's agent on the host, or none; also before ranks run.

    Its name is that of the parent, the watchdog; a rank is its child."""
    return [pid for pid in of_job(job_id, pids_on(host))
            if comm(parent(pid)) == "autodist-guard" != comm(parent(parent(pid)))]


def send(number, pids):
    """Sends a signal; returns whether a process existed."""
    sent = False
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            sent = True
    return sent
