"""What programs tell of their progress."""

import pytest


@pytest.mark.parametrize("pattern, complaint", [
    (r"step (?P<step>[0-9+)", "is no regular expression at character 15: missing ]: [0-9+)"),
    (r"step [0-9]+", "names no group; name what is told: 'step (?P<step>\\d+) of (?P<total>\\d+)'"),
    (r"(?=x)(?P<step>1)", "is no regular expression at character 1: invalid perl operator: (?=")])
def test_a_pattern_that_is_none_is_refused(autodist, tmp_path, pattern, complaint):
    outcome = autodist("run", "--progress", pattern, "--", "true")
    assert outcome.code == 2
    assert complaint in outcome.err and "--progress" in outcome.err
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
