"""One run of a contestant: its start, a fault, and the time until everything has ended."""

import contextlib
import io
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from hosts import kill_all, pids, pids_on
from fault_rows.contestants import RANKS

POLL_S = 0.005
READY_LIMIT_S = 30
KEPT = 64 << 20  # bytes of stdout that are kept


def argv_of(pid):
    """Empty for a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


@dataclass
class Result:
    """The result of one round. Times count from the fault; None: not within the limit."""
    gone: float | None = None  # no rank is left on any host
    returned: float | None = None  # the command has ended
    empty: float | None = None  # no process is left on any host
    code: int | None = None
    left: int = 0
    limit: float = 0
    seen: dict = field(default_factory=dict)  # other numbers, such as a peak of memory in MB
    wrong: list = field(default_factory=list)

    def expect(self, condition, otherwise):
        if not condition:
            self.wrong.append(otherwise)


class Slow:
    """A reader of stdout that starts late, and pauses after some bytes."""

    def __init__(self, late=0, pause=0, pause_at=0):
        self.late, self.pause, self.pause_at = late, pause, pause_at


class Run:
    """A started contestant. `arguments` are those of the ranks, `stdout` is a file; without it, the output is
    read and kept."""

    rank_program = (sys.executable, str(Path(__file__).with_name("rank.py")))
    _count = 0

    def __init__(self, contestant, *arguments, folder, stdout=None, reader=Slow(),
                 before=(), kept=KEPT, **options):
        Run._count += 1
        self.contestant, self.folder, self.reader, self.kept = contestant, folder, reader, kept
        self.marker = f"fault-{os.getpid()}-{Run._count}"
        self.out, self.err, self.said = bytearray(), b"", []
        self.peak_kb = 0
        self.fault_at = None
        self.before = pids()
        program = [*self.rank_program, self.marker, *map(str, arguments)]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*before, *contestant.argv(program, folder, **options)], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.threads = [threading.Thread(target=self._read_err, daemon=True)]
        if not stdout:
            self.threads.append(threading.Thread(target=self._read_out, daemon=True))
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Kills its remaining processes on all hosts; the process list has only the virtual hosts'."""
        own = {os.getpid(), os.getppid()}
        while left := self.left() - own:
            kill_all(left)
            time.sleep(POLL_S)
        self.process.wait()
        for thread in self.threads:
            thread.join()

    def _read_out(self):
        time.sleep(self.reader.late)
        paused = not self.reader.pause
        while chunk := self.process.stdout.read1(1 << 16):
            if len(self.out) < self.kept or b"ready" in chunk:
                self.out += chunk
            if not paused and len(self.out) > self.reader.pause_at:
                paused = True
                time.sleep(self.reader.pause)

    def _read_err(self):
        for line in self.process.stderr:
            self.said.append((time.monotonic(), line))
            self.err += line

    def await_ready(self, ranks=RANKS):
        limit = time.monotonic() + READY_LIMIT_S
        while len(self.announced()) < ranks:
            if self.process.poll() is not None:
                raise RuntimeError(f"ended before its ranks were up: {self.err.decode()}")
            if time.monotonic() > limit:
                raise RuntimeError(f"its ranks were not up after {READY_LIMIT_S} s: {self.err.decode()}")
            time.sleep(POLL_S)

    def ranks(self):
        """Returns the pids of all ranks and their children."""
        marker = self.marker.encode()
        return {pid for pid in pids() - self.before
                for argv in [argv_of(pid)] if self.rank_program[1].encode() in argv[1:6] and marker in argv}

    def announced(self):
        """Returns the pids of the ranks that have reported that they are up."""
        return {int(pid) for pid in re.findall(rb"ready \d+ (\d+)\r?\n", self.out)}

    def lines(self):
        """Returns the lines of stdout."""
        return io.BytesIO(self.out)

    def number_of(self, pid):
        return int(re.search(rb"ready (\d+) %d\b" % pid, self.out)[1])

    def ranks_of(self, host):
        return sorted(self.announced() & pids_on(host))

    def left(self):
        """Returns all new processes except those of SSH servers: on a disconnected host, a server
        keeps its end of a session until TCP gives up."""
        return {pid for pid in pids() - self.before
                if (argv := argv_of(pid)) and not argv[0].startswith(b"sshd:")}

    def fault(self):
        """Starts the clock."""
        self.fault_at = time.monotonic()

    def signal(self, number):
        """Signals every process of the command's group, as a terminal does."""
        os.killpg(self.process.pid, number)

    def said_after_fault(self, text):
        """Returns when stderr first had the text, in seconds after the fault."""
        return next((at - self.fault_at for at, line in self.said
                     if at >= self.fault_at and text.encode() in line), None)

    def read_peak(self):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.peak_kb = int(line.split()[1])

    def watch(self, limit, **conditions):
        """Waits until nothing is left, or for the limit in seconds after the fault. Adds to the
        result's `seen` when each condition first holds."""
        result = Result(limit=limit)
        if self.fault_at is None:
            self.fault()
        while result.empty is None or result.returned is None:
            now = time.monotonic() - self.fault_at
            self.read_peak()
            if result.returned is None and self.process.poll() is not None:
                result.returned, result.code = now, self.process.returncode
            # Ranks may still start, at the beginning and after a restart.
            result.gone = (result.gone or now) if not self.ranks() else None
            result.empty = (result.empty or now) if not self.left() - {self.process.pid} else None
            for name, holds in conditions.items():
                if name not in result.seen and holds():
                    result.seen[name] = now
            if now > limit:
                break
            time.sleep(POLL_S)
        result.left = len(self.left())
        result.code = 128 - result.code if result.code is not None and result.code < 0 else result.code
        if result.returned is not None:
            self.threads[0].join(1)
        else:
            result.expect(False, f"said last: {(self.said or [(0, b'nothing')])[-1][1].decode(errors='replace').strip()}")
        return result

    def await_output(self):
        for thread in self.threads:
            thread.join(READY_LIMIT_S)
