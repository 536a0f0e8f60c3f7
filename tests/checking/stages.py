"""Stages of tests/check: commands that depend on each other, some of which are tests."""

import os
import re
import shlex
import shutil
import subprocess
import threading
import time

from checking.skips import LIST, read_list, skipped_in, why_skipped
from results import outcomes, read

FAILED = re.compile(r"^\s*\d+ - (\S+) \((.*)\)", re.MULTILINE)  # at the end of ctest's output
LISTED = re.compile(r"^\s*Test +#\d+: (\S+)", re.MULTILINE)
MAY_RUN_AGAIN = "cluster|integration|smoke"  # labels of tests that depend on the machine's load


class Stage:
    """One line of the table: a command that starts when the stages it needs have succeeded."""

    def __init__(self, name, command, logs, needs=()):
        self.name, self.command, self.logs, self.needs = name, command, logs, needs
        self.seconds, self.issue, self.ended = 0.0, "not run", threading.Event()
        self.flaky, self.skipped = [], {}

    def run(self):
        for stage in self.needs:
            stage.ended.wait()
        failed = [stage.name for stage in self.needs if stage.issue]
        start = time.monotonic()
        try:
            if failed:
                self.issue = f"not run, for {', '.join(failed)}"
            else:
                self._run()
        except Exception as error:  # such as truncated results: the failed tests are unknown
            self.issue = repr(error)
        self.seconds = time.monotonic() - start
        print(f"{self.name}: {self.issue or 'ok'}, {self.seconds:.0f} s", flush=True)
        self.ended.set()

    def _run(self):
        code, _ = self._execute(self.command)
        self.issue = f"exit code {code}" if code else ""

    def _execute(self, command, environment=None):
        """Runs a command; returns its exit code and output, which is also added to the stage's log."""
        with open(self.logs / f"{self.name.replace(' ', '_')}.log", "a+b") as log:
            begin = log.tell()
            code = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=log, check=False,
                                  stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})}).returncode
            log.seek(begin)
            text = log.read().decode(errors="replace")
        if code:
            print(text, flush=True)
        return code, text

    def outcome(self):
        flaky = f"FLAKY: {', '.join(self.flaky)}" if self.flaky else ""
        return "; ".join(filter(None, (self.issue, flaky))) or "ok"


class Tests(Stage):
    """A call of ctest. Failed tests that may depend on the load are run again when no other stage runs."""

    def __init__(self, name, command, logs, needs=(), again=MAY_RUN_AGAIN):
        super().__init__(name, command, logs, needs)
        self.again = again  # labels; "": with sanitizers, one report is a failure
        self.results = logs / f"{name.replace(' ', '_')}.results"
        self.failed = {}  # {test of ctest: how it failed}

    def _run(self):
        shutil.rmtree(self.results, ignore_errors=True)
        self.results.mkdir(parents=True)
        code, text = self._execute(self.command, self._environment())
        self.failed = dict(FAILED.findall(text.rpartition("The following tests FAILED:")[2]))
        if code and not self.failed:
            self.failed = {"ctest": f"exit code {code}"}
        self._conclude()

    def _environment(self):
        return {"RESULTS": str(self._file()), "GTEST_OUTPUT": f"xml:{self.results}/"}

    def _file(self):
        return self.results / "pytest.jsonl"

    def _conclude(self):
        failed = [f"{name} ({how})" for name, how in self.failed.items()]
        listed = read_list(LIST.read_text())
        for test, reason in skipped_in(self.results).items():
            self.skipped[test] = why_skipped(test, listed)
            if not self.skipped[test]:
                failed.append(f"{test} (skipped: {reason}; not in tests/may_skip)")
        self.issue = ", ".join(failed)

    def run_again(self):
        """Runs failed tests again, one at a time, if their labels allow that."""
        if not self.failed or not self.again:
            return
        listed = self._execute(f"{self.command} -N -L '{self.again}'")[1]
        for name in LISTED.findall(listed):
            if name in self.failed and self._passes_alone(name):
                del self.failed[name]
        self._conclude()

    def _passes_alone(self, name):
        before = outcomes(read(self._file()))
        print(f"{self.name}: {name} failed; once more, alone", flush=True)
        start = time.monotonic()
        code, _ = self._execute(f"{self.command} -j1 -R {shlex.quote(f'^{re.escape(name)}$')}",
                                {**self._environment(), "RERUN": "1"})
        self.seconds += time.monotonic() - start
        if code:
            return False
        after = outcomes(read(self._file()))
        tests = [test for test, outcome in before.items() if outcome == "failed" and after[test] == "passed"]
        self.flaky += tests or [name]
        return True
