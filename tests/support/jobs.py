"""Running autodist in tests, and looking for what it left."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

BUILD = Path(os.environ.get("BUILD", Path(__file__).parents[2] / "build" / "bin"))
AUTODIST = str(BUILD / "autodist")
LIMIT_S = 120


class Outcome:
    """How an autodist ended, and what it said."""

    def __init__(self, process, out, err, seconds):
        self.code, self.out, self.err, self.seconds = process.returncode, out, err, seconds

    def lines(self):
        """What each rank wrote: {rank: [line, ...]}."""
        lines = {}
        for line in self.out.splitlines():
            match = re.fullmatch(r"\[(\S+):(\d+)\] (.*)", line)
            assert match, f"not a rank's line: {line!r}"
            lines.setdefault(int(match[2]), []).append(match[3])
        return lines


class Running:
    """An autodist that has been started."""

    def __init__(self, arguments, cwd, env):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [AUTODIST, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, cwd=cwd, env={**os.environ, **(env or {})})
        self.err = b""
        self.reader = threading.Thread(target=self._read_err, daemon=True)
        self.reader.start()

    def _read_err(self):
        for chunk in iter(lambda: self.process.stderr.read1(65536), b""):
            self.err += chunk

    def await_lines(self, count):
        """Reads this many lines of stdout."""
        return [self.process.stdout.readline().decode() for _ in range(count)]

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def finish(self):
        timer = threading.Timer(LIMIT_S, self.process.kill)
        timer.start()
        out = self.process.stdout.read()
        self.process.wait()
        seconds = time.monotonic() - self.started
        self.reader.join()
        timer.cancel()
        return Outcome(self.process, out.decode(errors="surrogateescape"),
                       self.err.decode(errors="surrogateescape"), seconds)


def processes():
    """{pid: command line} of every process that belongs to some job."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"AUTODIST_JOB_ID=" in environment or "autodist-agent attach" in command:
            found[int(folder.name)] = command
    return found


def python(script):
    """argv of a rank that runs a Python script."""
    return [sys.executable, "-c", script]
