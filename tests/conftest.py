"""What the tests that run the real programs share."""

import time
from pathlib import Path

import pytest
from jobs import Running, processes

pytest_plugins = ["results"]


@pytest.fixture
def start(tmp_path):
    """Starts `autodist ARGUMENTS...` in a folder of the test's own."""
    def run(*arguments, cwd=tmp_path, env=None, under=()):
        return Running(arguments, cwd, env, under)
    return run


@pytest.fixture
def autodist(start):
    """Runs `autodist ARGUMENTS...` to its end."""
    def run(*arguments, **options):
        return start(*arguments, **options).finish()
    return run


def job_folders():
    return set(Path("/tmp").glob("autodist-[0-9]*/*"))


@pytest.fixture
def end_what_is_left():
    """What is done about what a test has left: nothing here, where other people's jobs may run."""
    return lambda: None


@pytest.fixture(autouse=True)
def nothing_left(end_what_is_left):
    """After every test, nothing of any job is left: no process, no folder."""
    before = job_folders()
    yield
    limit = time.monotonic() + 3  # the far end of a launch that was called off takes a moment
    while processes() and time.monotonic() < limit:
        time.sleep(0.02)
    left, folders = processes(), job_folders() - before
    end_what_is_left()
    assert left == {}
    assert not folders
