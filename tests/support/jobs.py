"""Runs autodist in tests, and checks what it left."""

import atexit
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BUILD = Path(os.environ.get("BUILD", Path(__file__).parents[2] / "build" / "bin"))
AUTODIST = str(BUILD / "autodist")
LIMIT_S = 120

TOOLS = Path(__file__).resolve().parents[2] / "build/tools"  # of setup/test_tools.sh
os.environ["PATH"] = f"{TOOLS / 'bin'}:{os.environ['PATH']}"


def _own_record_of_jobs():
    """Separates the records of test jobs from the user's own."""
    folder = tempfile.mkdtemp(prefix="tests-of-autodist-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        path = Path(folder) / name
        path.mkdir(mode=0o700)
        os.environ[name] = str(path)


_own_record_of_jobs()


ONE_REQUEST_S = 1  # signals that come sooner after the first one count as the same request


class Outcome:
    """The exit code and output of an autodist."""

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
    """A running autodist."""

    def __init__(self, arguments, cwd, env, under=()):
        """`under`: a command that runs autodist, such as nohup."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*under, AUTODIST, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, cwd=cwd, env={**os.environ, **(env or {})})
        self.err = b""
        self.reader = threading.Thread(target=self._read_err, daemon=True)
        self.reader.start()

    def _read_err(self):
        for chunk in iter(lambda: self.process.stderr.read1(65536), b""):
            self.err += chunk

    def job_id(self):
        """The name of the job, once autodist has printed it."""
        match = re.search(rb"job (\d{8}-\d{6}-[0-9a-f]+)", self.err)
        return match[1].decode() if match else None

    def await_lines(self, count):
        """Reads this many lines of stdout."""
        lines = [self.process.stdout.readline().decode() for _ in range(count)]
        if not all(lines):
            self.reader.join()
            raise AssertionError(f"{lines} are not {count} lines; {self.err.decode()}")
        return lines

    def await_line(self, text):
        """Reads lines of stdout until one contains the text; returns the time."""
        for line in self.process.stdout:
            if text.encode() in line:
                return time.monotonic()
        raise AssertionError(f"no {text!r}; {self.err.decode()}")

    def await_err(self, text, limit):
        """Waits until stderr contains the text; returns the seconds."""
        start = time.monotonic()
        while text.encode() not in self.err:
            assert time.monotonic() - start < limit, f"no {text!r} within {limit} s in\n{self.err.decode()}"
            time.sleep(0.005)
        return time.monotonic() - start

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def finish(self, limit=LIMIT_S):
        timer = threading.Timer(limit, self.process.kill)
        timer.start()
        out = self.process.stdout.read()
        self.process.wait()
        seconds = time.monotonic() - self.started
        self.reader.join()
        timer.cancel()
        return Outcome(self.process, out.decode(errors="surrogateescape"),
                       self.err.decode(errors="surrogateescape"), seconds)


def processes():
    """{pid: command line} of every process of any job."""
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


def state(pid):
    """The letter in its /proc/PID/stat, such as T if it is stopped; "" if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def seconds_until(holds, limit, why_not=lambda: ""):
    """Waits until it holds; returns the seconds. Fails after the limit, with why_not as the reason."""
    start = time.monotonic()
    while not holds():
        assert time.monotonic() - start < limit, f"not within {limit} s: {why_not()}; there are {processes()}"
        time.sleep(0.005)
    return time.monotonic() - start


def own_name(what):
    """A name that no other test run on this machine uses; pids of a namespace are not unique."""
    return f"autodist-test-{what}-{secrets.token_hex(4)}"


def python(script):
    """The argv of a rank that runs a Python script."""
    return [sys.executable, "-c", script]
