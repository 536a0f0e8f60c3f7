"""Which attempts follow a failure, with real programs."""

import re

KEY_ERROR = "batch = {}\nbatch['label']\n"
STEPS = """
import os, sys, time
attempt = int(os.environ["AUTODIST_RESTART_COUNT"])
for step in range(1, {steps}):
    print(f"step {{step}}/100 loss 0.5", flush=True)
time.sleep(0.2)
raise RuntimeError(f"loss is nan at {{time.time()}}")
"""
CHECKPOINT = """
import os, time
os.makedirs("ckpt", exist_ok=True)
open(f"ckpt/{time.time()}.pt", "w").write("weights")
time.sleep(0.2)
raise RuntimeError("lost")
"""
MISTAKE = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the others fail, too, before they are asked to end
open(f"started-{os.environ['RANK']}", "w")
while not all(os.path.exists(f"started-{rank}") for rank in range(3)):
    time.sleep(0.01)
import no_such_module
"""


def run(autodist, tmp_path, program, *options):
    (tmp_path / "train.py").write_text(program)
    return autodist("run", *options, "--", "/usr/bin/python3", "train.py")


def attempts(outcome):
    return 1 + len(re.findall(r"^autodist: attempt \d+:", outcome.err, re.MULTILINE))


def test_the_same_failure_twice_ends_the_job_with_both_causes(autodist, tmp_path):
    outcome = run(autodist, tmp_path, KEY_ERROR, "--max-restarts", "5", "--restart-policy", "act")
    assert outcome.code == 123
    assert attempts(outcome) == 2
    assert "the last two attempts failed in the same way, and the second made no progress; no other attempt" in outcome.err
    assert ("  attempt 1: rank 0 on localhost exited with code 1: KeyError: 'label', train.py:2\n"
            "  attempt 2: the same\n" in outcome.err)


def test_by_default_it_only_warns(autodist, tmp_path):
    outcome = run(autodist, tmp_path, KEY_ERROR, "--max-restarts", "2")
    assert outcome.code == 1
    assert attempts(outcome) == 3
    assert "another attempt follows, as --restart-policy is warn" in outcome.err
    # The warning has the cause.
    assert re.search(r"\n  attempt 2: the same\nautodist: restarting in \S+ s\n", outcome.err), outcome.err


def test_the_same_failure_is_warned_of_once(autodist, tmp_path):
    outcome = run(autodist, tmp_path, KEY_ERROR, "--max-restarts", "4")
    assert attempts(outcome) == 5
    assert outcome.err.count("the last two attempts failed in the same way") == 1, outcome.err
    assert outcome.err.count("because rank 0 on localhost exited with code 1: KeyError") == 1, outcome.err
    assert "restarting in 1 s, because attempt 3 ended as attempt 2 did\n" in outcome.err, outcome.err


def test_the_same_failure_at_a_later_step_is_progress(autodist, tmp_path):
    program = STEPS.format(steps="3 + 10 * attempt")
    outcome = run(autodist, tmp_path, program, "--max-restarts", "3", "--restart-policy", "act")
    assert outcome.code == 1
    assert attempts(outcome) == 4


def test_the_same_failure_at_the_same_step_is_none(autodist, tmp_path):
    outcome = run(autodist, tmp_path, STEPS.format(steps="5"), "--max-restarts", "3", "--restart-policy", "act")
    assert outcome.code == 123
    assert attempts(outcome) == 2


def test_a_checkpoint_is_progress(autodist, tmp_path):
    outcome = run(autodist, tmp_path, CHECKPOINT, "--max-restarts", "3", "--restart-policy", "act",
                  "--checkpoint-dir", "ckpt")
    assert outcome.code == 1
    assert attempts(outcome) == 4


def test_a_mistake_of_all_ranks_is_not_tried_again(autodist, tmp_path):
    outcome = run(autodist, tmp_path, MISTAKE, "-n", "3", "--max-restarts", "5",
                  "--restart-policy", "act")
    assert outcome.code == 123
    assert attempts(outcome) == 1
    assert "all ranks failed in the same way before the first step; no other attempt follows" in outcome.err
