"""Fixtures of the tests that run the real programs."""

import time
from pathlib import Path

import pytest
from jobs import Running, processes

pytest_plugins = ["results"]


@pytest.fixture
def start(tmp_path):
    """Starts `autodist ARGUMENTS...` in the test's folder."""
    def run(*arguments, cwd=tmp_path, env=None, under=()):
        return Running(arguments, cwd, env, under)
    return run


@pytest.fixture
def autodist(start):
    """Runs `autodist ARGUMENTS...` until it exits."""
    def run(*arguments, **options):
        return start(*arguments, **options).finish()
    return run


def job_folders():
    return set(Path("/tmp").glob("autodist-[0-9]*/*"))


@pytest.fixture
def end_what_is_left():
    """Cleans up after a test: nothing here, because other users' jobs may run."""
    return lambda: None


@pytest.fixture(autouse=True)
def nothing_left(end_what_is_left):
    """Checks after every test that no process and no folder of a job is left."""
    before = job_folders()
    yield
    limit = time.monotonic() + 3  # the remote end of an aborted launch needs a moment
    while processes() and time.monotonic() < limit:
        time.sleep(0.02)
    left, folders = processes(), job_folders() - before
    end_what_is_left()
    assert left == {}
    assert not folders
