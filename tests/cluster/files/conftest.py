"""Fixtures for the tests of copying."""

import shutil

import pytest
from copies import OTHERS, WORK
from hosts import SPEC, on_host


@pytest.fixture
def work():
    """The folder to copy, which exists only on host 1."""
    WORK.mkdir()
    yield WORK
    shutil.rmtree(WORK)
    for host in OTHERS:
        on_host(host, f"rm -rf {WORK}")


@pytest.fixture
def sync(autodist, work):
    def run(*options, program=("true",), cwd=work):
        return autodist("run", "--sync", "--spec", SPEC, *options, "--", *program, cwd=cwd,
                        env={"PWD": str(cwd)})
    return run


@pytest.fixture
def start_sync(start, work):
    """Starts a run, and waits until the copying has begun."""
    def run(*options):
        job = start("run", "--sync", "--spec", SPEC, *options, "--", "sh", "-c", "echo ran", cwd=work)
        while b" %" not in job.err:
            assert job.process.poll() is None, job.err
        return job
    return run
