"""Runs commands with time limits, and keeps their output in a folder per row."""

import os
import re
import signal
import subprocess
import time

END_LIMIT_S = 30  # after a signal to end


class Failed(Exception):
    """Why a row failed."""


class NotRun(Exception):
    """Why a row could not be run here."""


class Running:
    """A started command, which `with` ends."""

    def __init__(self, argv, out, err, cwd, env):
        self.argv, self.out_file, self.err_file = argv, out, err
        with open(out, "wb") as to, open(err, "wb") as err_to:
            # In its own session: Ctrl-C does not reach it, and its whole group can be killed.
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=to, stderr=err_to,
                                            cwd=cwd, env=env, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # makes autodist end its ranks
            try:
                self.process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    @property
    def out(self):
        return self.out_file.read_text(errors="replace")

    @property
    def err(self):
        return self.err_file.read_text(errors="replace")

    def finish(self, limit_s):
        """Returns the exit code."""
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"still running after {limit_s} s: {self.failure_excerpt()}") from None

    def failure_excerpt(self):
        """Returns the most informative line about a failed command."""
        lines = (self.err or self.out).strip().splitlines()
        of_rank = [line.strip(" |") for line in lines if line.startswith("    | ")]  # in autodist's report
        errors = [line for line in lines if re.search(r"error|fail|cannot|not found", line, re.IGNORECASE)]
        return " ".join((of_rank[-1:] or errors or lines or ["no output"])[0].split())[:300]


class Commands:
    """Runs commands; their output is in a folder for the current row."""

    def __init__(self, logs):
        self.logs, self.folder, self.count = logs, logs, 0

    def enter(self, row):
        self.folder = self.logs / re.sub(r"[^a-z0-9]+", "-", row.lower()).strip("-")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count = 0

    def start(self, argv, env=None, cwd=None):
        self.count += 1
        name = self.folder / str(self.count)
        argv = [str(word) for word in argv]
        name.with_suffix(".command").write_text(repr(argv) + "\n")
        return Running(argv, name.with_suffix(".out"), name.with_suffix(".err"), cwd or self.folder,
                       {**os.environ, **(env or {}), "PWD": str(cwd or self.folder)})

    def run(self, argv, limit_s, env=None, cwd=None):
        """Returns stdout. Raises Failed if the command fails or exceeds the limit."""
        with self.start(argv, env, cwd) as running:
            code = running.finish(limit_s)
        if code != 0:
            raise Failed(f"exit code {code}: {running.failure_excerpt()}")
        return running.out


def wait_for(what, limit_s, name):
    """Returns the first true value of `what`; raises Failed after the limit."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise Failed(f"no {name} within {limit_s} s")
