"""Rows about the ranks' output and its readers."""

import io
import os
import random
import signal
import subprocess

from fault_rows.contestants import RANKS
from fault_rows.lines import check_lines
from fault_rows.measure import Run, Slow
from fault_rows.rank_lines import numbered
from fault_rows.row import Row, Target
from hosts import in_host

PEAK_MB = 64
MANY_LINES = 200_000
SOME_LINES = 20_000
AGAINST_MPIRUN = 0.8  # max share of the time of mpirun
LINE_MB = 64
VICTIM = 5  # as in rank.py
NOT_THROUGH_PDSH = ("autodist", "mpirun", "srun")


def ended(run, limit):
    """Returns the result of a run that ends by itself; times count from the start."""
    run.fault_at = run.started
    result = run.watch(limit)
    result.seen["peak_mb"] = run.peak_kb / 1024
    run.await_output()
    return result


def many_lines(contestant, folder, limit):
    path = folder / "stdout"
    with open(path, "wb") as stdout, \
            Run(contestant, "lines", MANY_LINES, folder=folder, stdout=stdout) as run:
        result = ended(run, limit)
    with open(path, "rb") as lines:
        check_lines(result, contestant, lines, MANY_LINES)
    path.unlink()
    return result


def slow_reader(reader):
    def measure(contestant, folder, limit):
        with Run(contestant, "lines", SOME_LINES, folder=folder, reader=reader) as run:
            result = ended(run, limit)
            check_lines(result, contestant, run.lines(), SOME_LINES)
            return result
    return measure


def through_gzip(contestant, folder, limit):
    path = folder / "stdout.gz"
    with open(path, "wb") as packed, \
            subprocess.Popen(["gzip", "-1"], stdin=subprocess.PIPE, stdout=packed) as gzip:
        with gzip.stdin, Run(contestant, "lines", SOME_LINES, folder=folder, stdout=gzip.stdin) as run:
            result = ended(run, limit)
    lines = subprocess.run(["gzip", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
    check_lines(result, contestant, io.BytesIO(lines), SOME_LINES)
    return result


def log_of(folder, rank, stream="out"):
    """Returns autodist's log of a rank, in the only job of the folder."""
    paths = list((folder / "logs").glob(f"*/rank-{rank}.{stream}"))
    return paths[0].read_bytes() if paths else b""


def check_bytes(result, contestant, run, data, wrapped):
    """Checks the output of the only rank that wrote. `wrapped`: a long line may be split."""
    lines = [contestant.rank_line(line) for line in run.lines()] if not wrapped else \
        [contestant.rank_line(line) for line in bytes(run.out).split(b"\n") if line]
    shown = b"".join(lines)
    result.expect(shown == (data.rstrip(b"\n") if wrapped else data),
                  f"stdout has {len(shown)} other bytes than the {len(data)} written")
    if contestant.name == "autodist":
        result.expect(log_of(run.folder, VICTIM) == data, "the log file has other bytes")


def one_long_line(contestant, folder, limit):
    data = random.Random(1).randbytes(LINE_MB << 19).hex().encode() + b"\n"
    (folder / "data").write_bytes(data)
    with Run(contestant, "victim_writes", folder / "data", folder=folder, kept=2 * len(data)) as run:
        result = ended(run, limit)
        check_bytes(result, contestant, run, data, wrapped=True)
        return result


def binary(contestant, folder, limit):
    data = random.Random(2).randbytes(4 << 20) + b"\n"
    (folder / "data").write_bytes(data)
    with Run(contestant, "victim_writes", folder / "data", folder=folder) as run:
        result = ended(run, limit)
        check_bytes(result, contestant, run, data, wrapped=False)
        return result


def after_stdout_is_closed(contestant, folder, limit):
    with Run(contestant, "closed_stdout", 2000, folder=folder) as run:
        result = ended(run, limit)
        lines = [line for line in run.err.splitlines(True)
                 if contestant.rank_line(line)[:1] == b"r" or contestant.name != "autodist"]
        check_lines(result, contestant, lines, 2000)
        if contestant.name == "autodist":
            for rank in range(RANKS):
                result.expect(log_of(folder, rank, "err") == numbered(rank, 0, 2000),
                              f"rank-{rank}.err is not what the rank wrote")
        return result


def stdin_closed(contestant, folder, limit):
    with Run(contestant, "lines", 1000, folder=folder,
             before=["sh", "-c", 'exec "$@" <&-', "sh"]) as run:
        result = ended(run, limit)
        check_lines(result, contestant, run.lines(), 1000)
        return result


def failure_under_a_flood(contestant, folder, limit):
    with Run(contestant, "flood", folder=folder, kept=1 << 20) as run:
        run.await_ready()
        [victim] = [pid for pid in run.ranks_of(3) if run.number_of(pid) == VICTIM] or run.ranks_of(3)[-1:]
        run.fault()
        os.kill(victim, signal.SIGUSR1)
        return run.watch(limit)


def not_silent(result, contestant, run, lines):
    """Checks that all output arrived, or that the run reports the full disk."""
    reported = b"No space left on device" in run.err
    if result.code == 0:
        check_lines(result, contestant, run.lines(), lines)
    else:
        result.expect(reported, "it failed without naming the disk")
    result.seen["reported"] = int(reported)


def disk_full_on_a_node(contestant, folder, limit):
    """Host 3 has 256 KiB of /tmp and /var/tmp; stdout is not read for three seconds."""
    in_host(3, "mount", "-o", "remount,size=256k", "/tmp")
    in_host(3, "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", "/var/tmp")
    try:
        with Run(contestant, "lines", 60_000, folder=folder, reader=Slow(late=3)) as run:
            result = ended(run, limit)
            not_silent(result, contestant, run, 60_000)
            return result
    finally:
        in_host(3, "umount", "/var/tmp")
        in_host(3, "mount", "-o", "remount,size=50%", "/tmp")


def disk_full_for_the_logs(contestant, folder, limit):
    logs = folder / "logs"
    logs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", logs], check=True)
    try:
        with Run(contestant, "lines", SOME_LINES, folder=folder) as run:
            result = ended(run, limit)
            not_silent(result, contestant, run, SOME_LINES)
            result.expect(result.seen["reported"], "nothing says that the logs are incomplete")
            return result
    finally:
        subprocess.run(["umount", logs], check=True)


WHOLE = Target(code=0, seen={"peak_mb": PEAK_MB})
INTACT = Target(code=0)
PEER_LIMIT_S = 40
ROWS = [
    Row(f"{RANKS} ranks × {MANY_LINES:,} lines × 100 B", many_lines,
        Target(code=0, seen={"peak_mb": PEAK_MB, "of_mpirun": AGAINST_MPIRUN}), peer_limit=PEER_LIMIT_S),
    Row("stdout through gzip", through_gzip, WHOLE),
    Row("reader starts 5 s late", slow_reader(Slow(late=5)), WHOLE),
    Row("reader pauses for 3 s", slow_reader(Slow(pause=3, pause_at=SOME_LINES * 300)), WHOLE),
    Row(f"one line of {LINE_MB} MiB", one_long_line, INTACT, tools=NOT_THROUGH_PDSH),
    Row("binary output", binary, INTACT, tools=NOT_THROUGH_PDSH),
    Row("output after stdout was closed", after_stdout_is_closed, INTACT, tools=NOT_THROUGH_PDSH),
    Row("launcher's stdin closed", stdin_closed, INTACT, tools=NOT_THROUGH_PDSH),
    Row("a rank fails while others flood", failure_under_a_flood, Target(gone=0.5, code=3)),
    Row("disk full on a node", disk_full_on_a_node, Target(), tools=("autodist",)),
    Row("disk full for the logs", disk_full_for_the_logs, Target(), tools=("autodist",)),
]
