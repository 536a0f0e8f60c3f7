"""Progress that programs report."""

import re

import pytest
from jobs import python


@pytest.mark.parametrize("pattern, complaint", [
    (r"step (?P<step>[0-9+)", "is no regular expression at character 15: missing ]: [0-9+)"),
    (r"step [0-9]+", "names no group; name the numbers to read: 'step (?P<step>\\d+) of (?P<total>\\d+)'"),
    (r"(?=x)(?P<step>1)", "is no regular expression at character 1: invalid perl operator: (?=")])
def test_an_invalid_pattern_is_refused(autodist, tmp_path, pattern, complaint):
    outcome = autodist("run", "--progress-regex", pattern, "--", "true")
    assert outcome.code == 2
    assert complaint in outcome.err and "--progress-regex" in outcome.err
    assert not (tmp_path / "autodist-runs").exists()


def test_each_rank_has_a_fifo_for_its_progress(autodist):
    # A shell blocks when it opens a FIFO for writing that has no reader.
    send = ("test -p \"$AUTODIST_PROGRESS\" || exit 1; "
            "for i in 1 2 3; do echo \"{\\\"step\\\": $i}\" > \"$AUTODIST_PROGRESS\" || exit 2; done; "
            "head -c 1000000 /dev/zero > \"$AUTODIST_PROGRESS\" || exit 3; "
            "echo \"${AUTODIST_PROGRESS##*.}\"")
    outcome = autodist("run", "-n", "2", "--prefix", "none", "--", "sh", "-c", send)
    assert outcome.code == 0
    assert sorted(outcome.out.split()) == ["0", "1"]


def test_python_opens_the_fifo_without_blocking(autodist):
    program = "import json, os\nwith open(os.environ['AUTODIST_PROGRESS'], 'a') as file:\n" \
              "    print(json.dumps({'step': 1, 'loss': float('nan')}), file=file)\nprint('reported')"
    assert autodist("run", "--", "python3", "-c", program).out.endswith("reported\n")


SLOW_RANK = """
import json, os, time
rank = int(os.environ["RANK"])
begin = time.monotonic()
step = 0
with open(os.environ["AUTODIST_PROGRESS"], "w") as file:
    while time.monotonic() - begin < 45:
        time.sleep(0.3 if rank == 2 else 0.1)
        step += 1
        print(json.dumps({"step": step}), file=file, flush=True)
"""


def test_a_slow_rank_causes_one_warning(autodist, tmp_path):
    outcome = autodist("run", "-n", "4", "--", *python(SLOW_RANK))
    assert outcome.code == 0, outcome.err
    [warning] = re.findall(r"autodist: warning: (.* slower .*)", outcome.err)
    found = re.match(r"rank 2 \(localhost\) is (\d\.\d) x slower than the median since \d\d:\d\d", warning)
    assert found and 2 < float(found[1]) < 4, warning
    [folder] = (tmp_path / "autodist-runs").glob("2*")
    assert warning in (folder / "events.jsonl").read_text()
