"""tests/gpu/check on CPUs: its steps work here, and it reports failures."""

import re
import subprocess
from pathlib import Path

from jobs import BUILD

CHECK = Path(__file__).parents[1] / "gpu/check"
LIMIT_S = 240


def check(folder, *options):
    """(exit code, {row: (result, figure)}) and what it printed."""
    done = subprocess.run([CHECK, "--no-gpu", "--logs", folder / "logs", *options], text=True,
                          capture_output=True, timeout=LIMIT_S, check=False)
    rows = re.findall(r"^(.{34})(ok|FAILED|not run|no GPU) +[\d.]+  (.*)$", done.stdout, re.MULTILINE)
    return done.returncode, {name.strip(): (result, figure) for name, result, figure in rows}, done


def test_steps_without_gpus_run_on_cpus(tmp_path):
    code, rows, done = check(tmp_path, "--programs", BUILD)
    assert code == 0, done.stdout + done.stderr
    results = {name: result for name, (result, _) in rows.items()}
    torch = {results.pop(name) for name in ("torch.distributed beside it", "PyTorch DDP: the same loss",
                                            "a restart")}
    assert torch in ({"ok"}, {"not run"}), done.stdout
    assert results == {
        "doctor": "ok", "doctor --burn": "ok", "bench, one rank": "ok", "bench, a rank on every GPU": "no GPU",
        "bench, 2 and 4 ranks on one GPU": "ok", "bench on two virtual hosts": "no GPU",
        "train_digits: the same loss": "ok", "a rank killed in an all-reduce": "ok",
        **dict.fromkeys(["CPUs near the GPU", "NCCL's own view (RAS)", "--nccl-debug", "why: a rank is late",
                         "why: the same without stacks", "why: another collective", "a hang is ended",
                         "a collective given up", "more memory than a GPU has", "an index out of bounds on a GPU",
                         "figures of GPUs"], "no GPU")}
    assert re.match(r"rank 0: .*(Connection|Read error|writev)", rows["a rank killed in an all-reduce"][1])
    assert list((tmp_path / "logs").glob("bench-one-rank/jobs/*/rank-0.out"))


def test_a_failing_row_is_reported_and_the_others_continue(tmp_path):
    (tmp_path / "autodist").symlink_to(BUILD / "autodist")
    trainer = tmp_path / "train_digits"
    trainer.write_text('#!/bin/sh\necho "loss 0.$AUTODIST_WORLD_SIZE"\n')
    trainer.chmod(0o755)
    code, rows, done = check(tmp_path, "--programs", tmp_path, "--only", "train_digits: the same loss",
                             "--only", "bench, one rank", "--only", "doctor")
    assert code == 1 and "1 failed" in done.stdout, done.stdout + done.stderr
    assert rows["train_digits: the same loss"] == ("FAILED", "2 ranks have a loss of 0.2, not 0.1")
    assert rows["doctor"][0] == rows["bench, one rank"][0] == "ok"


def test_missing_programs_are_reported(tmp_path):
    code, rows, done = check(tmp_path, "--programs", tmp_path)
    assert code == 1 and not rows and f"no autodist in {tmp_path}" in done.stderr
