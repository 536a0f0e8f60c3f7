"""Devices that another job uses. There is no GPU here, so a fake nvidia-smi prints the processes."""

import os
import re

import pytest
from jobs import Running

LIMIT_S = 20


@pytest.fixture
def begin(tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"""#!/bin/sh
case "$*" in
  *query-gpu*) echo '0, A100, GPU-a, 4';;
  *query-compute-apps*) cat {tmp_path}/apps;;
esac
""")
    tool.chmod(0o755)
    (tmp_path / "apps").write_text("")
    (tmp_path / "cpus.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0, 1]\n")
    (tmp_path / "gpus.yaml").write_text("nodes:\n  - address: localhost\n    gpus: [0]\n")

    def run(*arguments):
        return Running(arguments, tmp_path, {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return run


@pytest.mark.parametrize("kind, devices", [("cpus", "CPUs 0, 1"), ("gpus", "GPU 0")])
def test_devices_of_another_job(begin, tmp_path, kind, devices):
    run = ["run", "--spec", f"{kind}.yaml"]
    outcome = begin(*run, "--detach", "--", "sh", "-c", f"until [ -e {tmp_path}/end ]; do sleep 0.05; done").finish()
    job = re.search(r"job (\S+) is running", outcome.err)[1]
    held = f"your job {job} has {devices}"
    unasked = begin(*run, "--", "true").finish()
    assert unasked.code == 0 and (held in unasked.err) == (kind == "gpus")
    asked = begin(*run, "--on-busy", "warn", "--", "true").finish()
    assert asked.code == 0 and held in asked.err
    refused = begin(*run, "--on-busy", "refuse", "--", "true").finish()
    assert refused.code == 125 and held in refused.err
    assert "localhost: devices\n" in refused.err and "hint: stop that job, " in refused.err
    waiting = begin(*run, "--on-busy", "wait", "--", "echo", "at last")
    waiting.await_err(f"waiting for devices (localhost: {held}); Ctrl-C ends the wait", LIMIT_S)
    interrupted = begin(*run, "--on-busy", "wait", "--", "true")
    interrupted.await_err("waiting for devices", LIMIT_S)
    interrupted.interrupt()
    assert interrupted.finish().code == 130
    assert waiting.process.poll() is None
    (tmp_path / "end").touch()
    outcome = waiting.finish()
    assert outcome.code == 0 and "at last" in outcome.out, outcome.err


def test_processes_on_a_gpu(begin, tmp_path):
    (tmp_path / "apps").write_text(f"GPU-a, {os.getpid()}, 3000, train\n")
    refused = begin("run", "--spec", "gpus.yaml", "--on-busy", "refuse", "--", "true").finish()
    assert refused.code == 125
    assert re.search(rf"GPU 0 is in use: train \(pid {os.getpid()}, of \S+, 3000 MiB\), 4 MiB taken", refused.err)
    waiting = begin("run", "--spec", "gpus.yaml", "--on-busy", "wait", "--", "true")
    waiting.await_err("waiting for devices", LIMIT_S)
    (tmp_path / "apps").write_text("")
    assert waiting.finish().code == 0


def test_a_restart_waits_for_memory_that_the_driver_still_frees(begin, tmp_path):
    # The job has memory until nvidia-smi has been asked three times after the failure.
    (tmp_path / "nvidia-smi").write_text(f"""#!/bin/sh
case "$*" in
  *query-gpu=index,name,uuid,memory.used*)
    used=4
    if [ -e {tmp_path}/failed ]; then
      echo x >>{tmp_path}/asked
      [ "$(cat {tmp_path}/asked | wc -l)" -ge 3 ] || used=5000
    fi
    echo "0, A100, GPU-a, $used";;
esac
""")
    (tmp_path / "asked").touch()
    program = f"[ -e {tmp_path}/failed ] && cat {tmp_path}/asked; touch {tmp_path}/failed; test -s {tmp_path}/asked"
    outcome = begin("run", "--spec", "gpus.yaml", "--max-restarts", "1", "--prefix", "none", "--",
                    "sh", "-c", program).finish()
    assert outcome.code == 0 and outcome.out == "x\n" * 3, outcome.err
    assert "still has" not in outcome.err


def test_the_device_check_is_required(begin):
    outcome = begin("run", "--no-preflight", "--on-busy", "wait", "--", "true").finish()
    assert outcome.code == 2 and "--no-preflight" in outcome.err
