"""Ranks in containers of apptainer, if that is installed: `via: apptainer` in an ssh group."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hosts import SHARED, address, ranks_on
from jobs import processes, seconds_until

GONE_LIMIT_S = 15
RANKS = 3
pytestmark = pytest.mark.skipif(not shutil.which("apptainer"), reason="no apptainer: no release of Debian has it yet, nor has PyPI")


@pytest.fixture
def job(start, folder):
    """Starts a job with ranks in an image of busybox, except those of the chief."""
    image = SHARED / "image-of-apptainer"
    shutil.rmtree(image, ignore_errors=True)
    for name in ("bin", "dev", "etc", "proc", "root", "sys", "tmp", "var/tmp"):
        (image / name).mkdir(parents=True)
    for name in ("group", "hosts", "passwd", "resolv.conf"):
        (image / "etc" / name).touch()
    shutil.copy("/bin/busybox", image / "bin" / "busybox")
    subprocess.run(["/usr/sbin/chroot", image, "/bin/busybox", "--install", "-s", "/bin"], check=True)
    spec = folder / "spec.yaml"
    spec.write_text(f"""nodes:
  - {{address: {address(1)}, cpus: [], gpus: [], chief: true}}
  - {{address: {address(2)}, cpus: [0, 1], ssh_config: two}}
  - {{address: {address(3)}, cpus: [0], ssh_config: three}}
ssh:
  two: {{key_file: {SHARED}/user_rsa, via: apptainer, image: {image}, run_options: [--env, GIVEN=1]}}
  three: {{key_file: {SHARED}/user_ed25519, via: apptainer, image: {image}}}
""")

    def run(*arguments):
        return start("run", "--spec", spec, *arguments)
    return run


def test_ranks_run_in_the_image(job, folder):
    outcome = job("--env", "ASKED=2", "--", "sh", "-c", "echo $RANK of $WORLD_SIZE $(readlink /bin/ls) $GIVEN $ASKED $PWD; "
                  "[ $RANK != 2 ] || { touch made; sleep 1; exit 7; }").finish()
    assert outcome.code == 7, outcome.err
    assert {line for lines in outcome.lines().values() for line in lines} == {
        f"{rank} of {RANKS} /bin/busybox {given}2 {folder}" for rank, given in ((0, "1 "), (1, "1 "), (2, ""))}
    assert (folder / "made").exists()


def test_ranks_receive_sigterm(job):
    running = job("--", "sh", "-c", "trap 'echo asked; exit 7' TERM; echo up; while :; do sleep 0.1; done")
    running.await_lines(RANKS)
    running.interrupt()
    outcome = running.finish()
    assert outcome.code == 130 and outcome.out.count("asked") == RANKS


@pytest.mark.parametrize("killed", ["rank", "chief"])
def test_no_processes_are_left(job, killed):
    running = job("--lease", "2", "--grace", "1", "--", "sh", "-c", "echo up; sleep 1000 & exec sleep 1000")
    assert all("up" in line for line in running.await_lines(RANKS)), running.err
    if killed == "chief":
        running.interrupt(signal.SIGKILL)
    else:
        os.kill(min(ranks_on(3)), signal.SIGKILL)
    outcome = running.finish()
    assert killed == "chief" or outcome.code == 128 + signal.SIGKILL
    seconds_until(lambda: not processes(), GONE_LIMIT_S)
    sleeping = [path for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists() and b"sleep\x001000" in path.read_bytes()]
    assert not sleeping


def test_a_missing_image(job):
    outcome = job("--", "true")
    assert outcome.finish().code == 0
    spec = outcome.process.args[outcome.process.args.index("--spec") + 1]
    Path(spec).write_text(Path(spec).read_text().replace("/image-of", "/none-of"))
    failed = job("--", "true").finish()
    assert failed.code != 0 and "none" in failed.err
