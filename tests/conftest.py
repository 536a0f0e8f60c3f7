"""What the tests that run the real programs share."""

import time
from pathlib import Path

import pytest
from jobs import Running, processes


@pytest.fixture
def start(tmp_path):
    """Starts `autodist ARGUMENTS...` in a folder of the test's own."""
    def run(*arguments, cwd=tmp_path, env=None):
        return Running(arguments, cwd, env)
    return run


@pytest.fixture
def autodist(start):
    """Runs `autodist ARGUMENTS...` to its end."""
    def run(*arguments, **options):
        return start(*arguments, **options).finish()
    return run


@pytest.fixture(autouse=True)
def nothing_left():
    """After every test, nothing of any job is left: no process, no folder."""
    yield
    limit = time.monotonic() + 3  # the far end of a launch that was called off takes a moment
    while processes() and time.monotonic() < limit:
        time.sleep(0.02)
    assert processes() == {}
    assert not list(Path("/tmp").glob("autodist-[0-9]*/*"))
