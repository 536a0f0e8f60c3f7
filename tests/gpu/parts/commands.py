"""Commands with a time limit each, whose output is kept in a folder of their row."""

import os
import re
import signal
import subprocess
import time

END_LIMIT_S = 30  # for what was told to end


class Failed(Exception):
    """Why a row failed."""


class NotRun(Exception):
    """Why a row could not be run here."""


class Running:
    """A command that has been started; to be left by `with`, which ends it."""

    def __init__(self, argv, out, err, cwd, env):
        self.argv, self.out_file, self.err_file = argv, out, err
        with open(out, "wb") as to, open(err, "wb") as err_to:
            # A session of its own: Ctrl-C here is not its Ctrl-C, and all of it can be ended.
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=to, stderr=err_to,
                                            cwd=cwd, env=env, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # an autodist ends its ranks then
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
        """The exit code."""
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"not over after {limit_s} s: {self.failure_excerpt()}") from None

    def failure_excerpt(self):
        """What tells most of why a command failed."""
        lines = (self.err or self.out).strip().splitlines()
        of_rank = [line.strip(" |") for line in lines if line.startswith("    | ")]  # in autodist's report
        errors = [line for line in lines if re.search(r"error|fail|cannot|not found", line, re.IGNORECASE)]
        return " ".join((of_rank[-1:] or errors or lines or ["it said nothing"])[0].split())[:300]


class Commands:
    """Runs commands; their output is in a folder for the present row."""

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
        """What it writes to stdout. A command that fails, or takes longer, is a failure."""
        with self.start(argv, env, cwd) as running:
            code = running.finish(limit_s)
        if code != 0:
            raise Failed(f"exit code {code}: {running.failure_excerpt()}")
        return running.out


def wait_for(what, limit_s, name):
    """What `what` gives once that is something; a failure after the limit."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise Failed(f"no {name} within {limit_s} s")
