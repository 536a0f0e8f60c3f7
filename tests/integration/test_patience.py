"""Terminals and disks that block for longer than a lease do not end the job."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import subprocess
import time

import pytest
from jobs import AUTODIST, LIMIT_S, Running, seconds_until

LEASE_S = 2
SLOWER = 3  # machines that run tests exceed time limits by this factor
PIPE_BYTES = 4096
# The second attempt succeeds.
FAIL_ONCE = """
[ -e "$1" ] && exit 0
touch "$1"
sleep 2
exit 3
"""


def fill(pipe):
    """Fills the pipe, so that the next writer blocks until there is a reader."""
    own = os.open(f"/proc/self/fd/{pipe}", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(own, b"\n")
    os.close(own)


def test_a_terminal_paused_for_longer_than_the_lease_keeps_a_restarted_job(tmp_path):
    failed = tmp_path / "failed"
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    job = subprocess.Popen([AUTODIST, "run", "--lease", str(LEASE_S), "--max-restarts", "1", "--", "sh", "-c",
                            FAIL_ONCE, "sh", failed], cwd=tmp_path, stderr=writer)
    until = time.monotonic() + LIMIT_S
    while not failed.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    fill(writer)
    os.close(writer)
    time.sleep(4 * LEASE_S)  # the pause itself
    with open(reader) as stderr:
        text = stderr.read().strip()
    assert job.wait(LIMIT_S) == 0, text
    assert "restarting" in text and "is lost" not in text


def test_a_third_ctrl_c_ends_the_wait_for_a_paused_terminal(tmp_path):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(AUTODIST, [AUTODIST, "run", "--grace", "1", "--lease", "2", "--", "sh", "-c", "touch up; yes $(seq 100)"])
    seconds_until((tmp_path / "up").exists, 20)
    time.sleep(0.5)  # the terminal fills
    for _ in range(2):
        os.kill(pid, signal.SIGINT)
        time.sleep(2.2)  # signals closer together count as one
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    os.kill(pid, signal.SIGINT)
    began, ended = time.monotonic(), (0, 0)
    while ended[0] == 0 and time.monotonic() - began < 20:
        time.sleep(0.01)
        ended = os.waitpid(pid, os.WNOHANG)
    if ended[0] == 0:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    assert ended[0] == pid and os.waitstatus_to_exitcode(ended[1]) == 130
    assert time.monotonic() - began < 1 * SLOWER
    [record] = tmp_path.glob("autodist-runs/*/job.json")
    assert json.loads(record.read_text())["exit_code"] == 130


@pytest.fixture
def frozen_disk(tmp_path):
    """A folder on its own file system, which `fsfreeze` can stop."""
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True).returncode != 0:
        pytest.skip("no loop devices here")
    yield folder
    subprocess.run(["fsfreeze", "-u", folder], capture_output=True)
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_log_disk_that_hangs_for_longer_than_the_lease_keeps_the_job(tmp_path, frozen_disk):
    job = Running(["run", "--lease", LEASE_S, "--log-dir", frozen_disk / "logs", "--", "sh", "-c",
                   "echo up; sleep 8; echo down"], cwd=tmp_path, env=None)
    job.await_lines(1)
    subprocess.run(["fsfreeze", "-f", frozen_disk], check=True)
    job.interrupt(3)  # SIGQUIT: writes a file of stacks, and events
    time.sleep(3 * LEASE_S)  # the hang itself
    subprocess.run(["fsfreeze", "-u", frozen_disk], check=True)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert "is lost" not in outcome.err and "broken" not in outcome.err
    assert "down" in outcome.out
