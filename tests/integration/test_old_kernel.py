"""Runs without system calls newer than Linux 4.18, the kernel of RHEL 8."""

import re
import signal

from jobs import BUILD, processes, python

OLD_KERNEL = [BUILD / "old_kernel"]


def test_a_job(start, tmp_path):
    outcome = start("run", "-n", "3", "--on-exit", f"echo $AUTODIST_OUTCOME > {tmp_path}/outcome", "--",
                    *python("import os; print(os.environ['RANK'])"), under=OLD_KERNEL).finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [str(rank)] for rank in range(3)}
    assert (tmp_path / "outcome").read_text()


def test_a_failure_ends_the_others(start):
    outcome = start("run", "-n", "3", "--grace", "20", "--", "sh", "-c", "[ $RANK != 1 ] || exit 3; sleep 600 & wait",
                    under=OLD_KERNEL).finish()
    assert outcome.code == 3, outcome.err


def test_clean_ends_the_processes_of_a_killed_autodist(start):
    job = start("run", "-n", "2", "--lease", "600", "--", "sh", "-c", "echo up; exec sleep 600", under=OLD_KERNEL)
    job.await_lines(2)
    job.interrupt(signal.SIGKILL)
    job.finish()
    assert processes()
    cleaned = start("clean", under=OLD_KERNEL).finish()
    assert cleaned.code == 0 and re.search("ended job", cleaned.out), cleaned
    assert not processes()
