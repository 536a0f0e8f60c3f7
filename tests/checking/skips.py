"""Skipped tests, and the list tests/may_skip of tests that may be skipped."""

import fnmatch
import xml.etree.ElementTree as xml
from pathlib import Path

from results import read

LIST = Path(__file__).resolve().parents[1] / "may_skip"


def read_list(text):
    """{pattern of test names: why they may be skipped}, from lines `PATTERN | WHY`."""
    lines = [line.partition(" | ") for line in text.splitlines() if line and not line.startswith("#")]
    return {pattern.strip(): why.strip() for pattern, _, why in lines}


def why_skipped(test, listed):
    """Why the test may be skipped, or ""."""
    return next((why for pattern, why in listed.items() if fnmatch.fnmatchcase(test, pattern)), "")


def _of_pytest(file):
    last = {result["test"]: result for result in read(file)}
    return {test: result["reason"] for test, result in last.items() if result["outcome"] == "skipped"}


def _of_googletest(file):
    found = {}
    for case in xml.parse(file).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None:
            message = (skipped.get("message") or "").strip()
            found[f"{file.stem}::{case.get('classname')}.{case.get('name')}"] = message.rpartition("\n")[2]
    return found


def skipped_in(folder):
    """{test: reason} of all skipped tests of a stage with results in the folder."""
    found = _of_pytest(folder / "pytest.jsonl")
    for file in sorted(folder.glob("*.xml")):
        found |= _of_googletest(file)
    return found
