"""What programs tell of their progress."""

import re

import pytest
from jobs import python


@pytest.mark.parametrize("pattern, complaint", [
    (r"step (?P<step>[0-9+)", "is no regular expression at character 15: missing ]: [0-9+)"),
    (r"step [0-9]+", "names no group; name what is told: 'step (?P<step>\\d+) of (?P<total>\\d+)'"),
    (r"(?=x)(?P<step>1)", "is no regular expression at character 1: invalid perl operator: (?=")])
def test_a_pattern_that_is_none_is_refused(autodist, tmp_path, pattern, complaint):
    outcome = autodist("run", "--progress-regex", pattern, "--", "true")
    assert outcome.code == 2
    assert complaint in outcome.err and "--progress-regex" in outcome.err
    assert not (tmp_path / "autodist-runs").exists()


def test_each_rank_has_a_file_to_tell_it(autodist):
    # A shell opens the FIFO for writing: without a reader it would wait for ever.
    tell = ("test -p \"$AUTODIST_PROGRESS\" || exit 1; "
            "for i in 1 2 3; do echo \"{\\\"step\\\": $i}\" > \"$AUTODIST_PROGRESS\" || exit 2; done; "
            "head -c 1000000 /dev/zero > \"$AUTODIST_PROGRESS\" || exit 3; "
            "echo \"${AUTODIST_PROGRESS##*.}\"")
    outcome = autodist("run", "-n", "2", "--prefix", "none", "--", "sh", "-c", tell)
    assert outcome.code == 0
    assert sorted(outcome.out.split()) == ["0", "1"]


def test_what_python_opens_does_not_wait(autodist):
    program = "import json, os\nwith open(os.environ['AUTODIST_PROGRESS'], 'a') as file:\n" \
              "    print(json.dumps({'step': 1, 'loss': float('nan')}), file=file)\nprint('told')"
    assert autodist("run", "--", "python3", "-c", program).out.endswith("told\n")


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


def test_a_slow_rank_is_warned_of_once(autodist, tmp_path):
    outcome = autodist("run", "-n", "4", "--", *python(SLOW_RANK))
    assert outcome.code == 0, outcome.err
    [warning] = re.findall(r"autodist: warning: (.* slower .*)", outcome.err)
    told = re.match(r"rank 2 \(localhost\) is (\d\.\d) x slower than the median since \d\d:\d\d", warning)
    assert told and 2 < float(told[1]) < 4, warning
    [folder] = (tmp_path / "autodist-runs").glob("*")
    assert warning in (folder / "events.jsonl").read_text()
