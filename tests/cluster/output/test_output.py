"""Output of ranks arrives complete, whatever it contains and however it is read."""

import random
import subprocess
import time
from pathlib import Path

import pytest
from hosts import SPEC, in_host
from jobs import AUTODIST, python

RANKS = 8
PEAK_MB = 3 * 64
LINES = """
import os, sys
for number in range(int(sys.argv[1]) // 100):
    os.write(1, b''.join(b'%d ' % (number * 100 + i) + b'x' * 90 + b'\\n' for i in range(100)))
"""


def whole(count):
    return {rank: [f"{i} " + "x" * 90 for i in range(count)] for rank in range(RANKS)}


def log(folder, rank, stream="out"):
    [path] = (folder / "autodist-runs").glob(f"*/rank-{rank}.{stream}")
    return path.read_bytes()


def peak_mb(job):
    [kb] = [line.split()[1] for line in Path(f"/proc/{job.process.pid}/status").read_text().splitlines()
            if line.startswith("VmHWM:")]
    return int(kb) / 1024


def shown(outcome, rank):
    """The bytes of a rank on stdout."""
    marker = f":{rank}] ".encode()
    lines = outcome.out.encode(errors="surrogateescape").split(b"\n")
    assert lines.pop() == b""
    return [line.split(marker, 1)[1] for line in lines if marker in line[:32]]


@pytest.mark.parametrize("count", [40_000])
def test_many_lines_of_all_ranks(autodist, folder, count):
    outcome = autodist("run", "--spec", SPEC, "--", *python(LINES), count)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == whole(count)
    for rank in range(RANKS):
        assert log(folder, rank) == "".join(f"{line}\n" for line in whole(count)[rank]).encode()


@pytest.mark.parametrize("late, pause", [(2, 0), (0, 2)])
def test_a_slow_reader_gets_everything_and_memory_stays_small(start, late, pause):
    job = start("run", "--spec", SPEC, "--", *python(LINES), 60_000)
    time.sleep(late)  # the slowness itself
    begun = job.await_lines(1000)
    time.sleep(pause)
    peak = peak_mb(job)
    outcome = job.finish()
    outcome.out = "".join(begun) + outcome.out
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == whole(60_000)
    assert peak < PEAK_MB


def test_through_gzip(folder):
    subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | gzip -9 > out.gz', "bash", AUTODIST, "run", "--spec", SPEC, "--",
         *python(LINES), "20000"], cwd=folder, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    out = subprocess.run(["gzip", "-dc", folder / "out.gz"], stdout=subprocess.PIPE, check=True).stdout
    lines = {rank: [] for rank in range(RANKS)}
    for line in out.decode().splitlines():
        rank, text = line.split(":", 1)[1].split("] ", 1)
        lines[int(rank)].append(text)
    assert lines == whole(20_000)


def test_one_long_line(autodist, folder):
    size = 16 << 20
    outcome = autodist("run", "--spec", SPEC, "--", *python(
        f"import os, random\nif os.environ['RANK'] == '5': print(random.Random(1).randbytes({size // 2}).hex())"))
    assert outcome.code == 0, outcome.err
    line = random.Random(1).randbytes(size // 2).hex().encode()
    assert log(folder, 5) == line + b"\n"
    assert b"".join(shown(outcome, 5)) == line


def test_binary_output(autodist, folder):
    outcome = autodist("run", "--spec", SPEC, "--", *python(
        "import os, random, sys\n"
        "sys.stdout.buffer.write(random.Random(int(os.environ['RANK'])).randbytes(1 << 20))"))
    assert outcome.code == 0, outcome.err
    for rank in range(RANKS):
        data = random.Random(rank).randbytes(1 << 20)
        assert log(folder, rank) == data


def test_binary_output_on_stdout(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", *python(
        "import os, random, sys\nif os.environ['RANK'] == '5':\n"
        " sys.stdout.buffer.write(random.Random(5).randbytes(1 << 20) + b'\\n')"))
    assert b"\n".join(shown(outcome, 5)) == random.Random(5).randbytes(1 << 20)


def test_output_after_stdout_was_closed(autodist, folder):
    outcome = autodist("run", "--spec", SPEC, "--", *python(
        "import os, time\nos.write(1, b'out\\n'); os.close(1); time.sleep(0.2)\n"
        "for i in range(1000): os.write(2, b'err %d\\n' % i)"))
    assert outcome.code == 0, outcome.err
    for rank in range(RANKS):
        assert log(folder, rank) == b"out\n"
        assert log(folder, rank, "err") == b"".join(b"err %d\n" % i for i in range(1000))


def test_a_closed_stdin(folder):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", AUTODIST, "run", "--spec", SPEC, "--", "sh", "-c", "echo up; cat"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == RANKS


def test_a_full_disk_on_a_node_is_reported(start):
    in_host(3, "mount", "-o", "remount,size=256k", "/tmp")
    in_host(3, "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", "/var/tmp")
    try:
        job = start("run", "--spec", SPEC, "--", *python(LINES), 60_000)
        time.sleep(2)  # the output is not read
        outcome = job.finish()
    finally:
        in_host(3, "umount", "/var/tmp")
        in_host(3, "mount", "-o", "remount,size=50%", "/tmp")
    if outcome.code == 0:
        assert outcome.lines() == whole(60_000)
    else:
        assert "No space left on device" in outcome.err


def test_a_full_log_disk_is_reported_and_stdout_is_complete(start, folder):
    logs = folder / "logs"
    logs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", logs], check=True)
    try:
        outcome = start("run", "--spec", SPEC, "--log-dir", logs, "--", *python(LINES), 10_000).finish()
    finally:
        subprocess.run(["umount", logs], check=True)
    assert "No space left on device" in outcome.err
    if outcome.code == 0:
        assert outcome.lines() == whole(10_000)
