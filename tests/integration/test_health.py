"""Faults of the hardware. There is no GPU here, so a fake nvidia-smi describes two."""

import os
import re
from pathlib import Path

import pytest

RECORDING = Path(__file__).resolve().parents[1] / "unit/health/recordings/driver_570.xml"
FAULT = "GPU 1 needs a recovery action: Reset (nvidia-smi)"
REMEDY = "hint: reset the GPU (nvidia-smi --gpu-reset -i 1) or restart the node"


@pytest.fixture
def run(autodist, tmp_path):
    def run(description, *options, gpus="[0, 1]"):
        (tmp_path / "description").write_text(description)
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"""#!/bin/sh
case "$*" in
  '-q -x') {"sleep 1000" if description == "hangs" else f"cat {tmp_path}/description"};;
  *query-gpu*) echo '0, NVIDIA H200, GPU-a, 4'; echo '1, NVIDIA H200, GPU-b, 4';;
esac
""")
        tool.chmod(0o755)
        (tmp_path / "spec.yaml").write_text(f"nodes:\n  - address: localhost\n    gpus: {gpus}\n")
        return autodist("run", "--spec", "spec.yaml", *options, "--", "true",
                        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return run


def faulty():
    healthy = RECORDING.read_text()
    second = healthy.rindex("<gpu id=")
    return healthy[:second] + healthy[second:].replace("<gpu_recovery_action>None", "<gpu_recovery_action>Reset")


def test_a_fault_is_a_warning(run):
    outcome = run(faulty())
    assert outcome.code == 0
    assert FAULT in outcome.err and REMEDY in outcome.err


def test_strict_starts_nothing_on_a_faulty_gpu(run):
    outcome = run(faulty(), "--health", "strict")
    assert outcome.code == 125
    assert FAULT in outcome.err and REMEDY in outcome.err


@pytest.mark.parametrize("options, gpus", [(["--health", "off"], "[0, 1]"), (["--health", "strict"], "[0]")])
def test_faults_that_do_not_matter(run, options, gpus):
    outcome = run(faulty(), *options, gpus=gpus)
    assert outcome.code == 0
    assert FAULT not in outcome.err


@pytest.mark.parametrize("description", [RECORDING.read_text(), RECORDING.read_text()[:2000], "", "hangs"])
def test_a_healthy_node_and_an_nvidia_smi_that_says_nothing(run, description):
    outcome = run(description, "--health", "strict")
    assert outcome.code == 0
    assert not re.search(r"health \(", outcome.err)
