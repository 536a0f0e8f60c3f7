"""What users of a framework do: activate its environment, go to the program's folder, start it."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hosts import SPEC

PROGRAMS = Path(__file__).parent / "programs"
LIMIT_S = 300  # all ranks share this machine's cores
# The framework's virtual environment; without one, Debian's Python with Debian's framework.
ENVIRONMENT = os.environ.get("ENVIRONMENT")


@pytest.fixture
def python():
    return "python" if ENVIRONMENT else sys.executable


@pytest.fixture
def cluster(spec):
    """The spec whose nodes activate the environment, after changes: cluster((old, new), ...)."""
    def write(*changes):
        if ENVIRONMENT:
            changes += (("    username: root\n", "    username: root\n"
                         f"    python_venv: source '{ENVIRONMENT}/bin/activate'\n"),)
        return spec(*changes)
    return write


@pytest.fixture
def start_program(start, cluster, folder):
    """Starts `autodist run OPTIONS -- COMMAND` where PROGRAM is train.py."""
    def begin(program, command, *options, changes=(), env=None):
        shutil.copy(PROGRAMS / program, folder / "train.py")
        activated = {"PATH": f"{ENVIRONMENT}/bin:{os.environ['PATH']}", "VIRTUAL_ENV": ENVIRONMENT} if ENVIRONMENT else {}
        return start("run", "--spec", cluster(*changes), "--timeout", LIMIT_S, *options, "--", *command,
                     env={"OMP_NUM_THREADS": "1", **activated, **(env or {})})
    return begin


@pytest.fixture
def run_program(start_program):
    """Runs it to its end, which has to be a good one."""
    def run(*arguments, **how):
        outcome = start_program(*arguments, **how).finish(limit=2 * LIMIT_S)
        assert outcome.code == 0, outcome.err + outcome.out
        return outcome
    return run
