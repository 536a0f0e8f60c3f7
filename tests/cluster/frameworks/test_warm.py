"""--warm: the ranks of a restart continue in Pythons that have imported the framework ahead."""

import re
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, PROGRAMS
from hosts import pythons_that_wait

pytestmark = [pytest.mark.hosts(3, "--ranks 2"), pytest.mark.usefixtures("dead_proxy")]

IMPORT_LIMIT_S = 180  # all processes share this machine's cores
# Before the program: one rank of the first attempt fails when the test says so.
STEPS = """
import os, sys, time, {module}
attempt = int(os.environ["AUTODIST_RESTART_COUNT"])
for step in range(100000 if attempt == 0 else 0):
    print(f"step {{step}}/100000", flush=True)
    time.sleep(0.1)
    try:
        os.rename("fail", "failed")
    except OSError:
        continue
    sys.exit(1)
print(f"process {{os.getpid()}} runs attempt {{attempt}}", flush=True)
"""
# The program, options, and processes: MindSpore has a scheduler, too. Not Paddle: its import reads
# PADDLE_TRAINER_ID, so its ranks start in the usual way.
PROGRAM_OF = {
    "torch": ("torch_ddp.py", (), 6),
    "mindspore": ("mindspore_allreduce.py", ("--framework", "mindspore"), 7),
    "jax": ("jax_psum.py", ("--framework", "jax"), 6),
    "tensorflow": ("tensorflow_multiworker.py", ("--framework", "tensorflow", "--per", "node"), 3),
}


def test_a_restart_continues_in_the_pythons_that_waited(start_program, python, folder, tmp_path):
    framework = Path(ENVIRONMENT).name
    program, options, processes = PROGRAM_OF[framework]
    (tmp_path / program).write_text(STEPS.format(module=framework) + (PROGRAMS / program).read_text())
    job = start_program(tmp_path / program, [python, "train.py"], *options, "--max-restarts", "1", "--warm")
    waited = pythons_that_wait(processes, IMPORT_LIMIT_S)
    (folder / "fail").touch()
    outcome = job.finish(limit=2 * IMPORT_LIMIT_S)
    assert outcome.code == 0, outcome.err + outcome.out
    assert "Python starts again" not in outcome.err
    again = {int(pid) for pid in re.findall(r"process (\d+) runs attempt 1$", outcome.out, re.MULTILINE)}
    assert again == waited, outcome.out
