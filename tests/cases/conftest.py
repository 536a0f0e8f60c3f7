"""Issues that users reported, as scripts on virtual hosts.

Each test gives the script of a case to `case` and checks what it printed. BUILD: the folder of the programs,
build/bin.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
VIRTUAL_CLUSTER = REPOSITORY / "examples/virtual_cluster/virtual_cluster"
PROGRAMS = os.environ.get("BUILD", REPOSITORY / "build/bin")
LIMIT_S = 120


@pytest.fixture
def case():
    """Runs a bash script on host 1 of this number of new virtual hosts, with autodist in PATH and the
    cluster's spec as $1; returns its stdout and stderr together.

    The script runs in an empty folder that all hosts share. Its home has its own ~/.ssh, and no other host's.
    """
    def run(hosts, script, *options):
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="autodist-case-") as folder:
            (Path(folder) / "case.sh").write_text(script)
            ended = subprocess.run(
                [VIRTUAL_CLUSTER, str(hosts), *options, "--", "bash", "case.sh", "{spec}"],
                cwd=folder, env=os.environ | {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                timeout=LIMIT_S)
            return ended.stdout.decode(errors="replace")
    return run
