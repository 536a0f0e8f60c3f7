"""A plugin of pytest for tests/check: records the outcome of each test, and runs failed tests again.

RESULTS names a file, to which each test adds a line of JSON: {"test": …, "outcome": "passed", "failed" or
"skipped", "reason": …}. With RERUN set, only tests that have not passed are run.
"""

import json
import os
from pathlib import Path

FILE = Path(os.environ["RESULTS"]) if "RESULTS" in os.environ else None
NO_TEST_IS_LEFT = 5  # pytest's exit code


def read(file):
    """The lines of the file, as a list of dicts."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _add(test, outcome, reason=""):
    if FILE:
        line = json.dumps({"test": test, "outcome": outcome, "reason": reason}) + "\n"
        descriptor = os.open(FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(descriptor, line.encode())  # in one piece, because others write at the same time
        os.close(descriptor)


def _reason(report):
    return str(report.longrepr[2]).removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""


def pytest_runtest_logreport(report):
    if report.failed:
        _add(report.nodeid, "failed")
    elif report.skipped:
        _add(report.nodeid, "skipped", _reason(report))
    elif report.when == "call":
        _add(report.nodeid, "passed")


def pytest_collectreport(report):
    if report.skipped:  # a whole file
        _add(report.nodeid, "skipped", _reason(report))


def outcomes(results):
    """{test: its last outcome}; a test that failed in its teardown has failed."""
    last = {}
    for result in results:
        last[result["test"]] = result["outcome"]
    return last


def pytest_collection_modifyitems(config, items):
    if FILE and "RERUN" in os.environ:
        ended = outcomes(read(FILE))
        done = [item for item in items if ended.get(item.nodeid) in ("passed", "skipped")]
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if item not in done]


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == NO_TEST_IS_LEFT and "RERUN" in os.environ:
        session.exitstatus = 0
