"""tests/plain_english and tests/commit_msg find what they are for."""

import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
LONG = "Word " * 40


def checked(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    return subprocess.run([TESTS / "plain_english", page], capture_output=True, text=True, check=False)


@pytest.fixture
def folder():
    """A folder within the repository, since paths are shown from its root."""
    path = TESTS.parent / "build" / "language_test"
    path.mkdir(parents=True, exist_ok=True)
    yield path
    for file in path.iterdir():
        file.unlink()
    path.rmdir()


@pytest.mark.parametrize("text, issue", [
    ("The chief is to" "ld the end.\n", "is banned"),
    (f"{LONG}.\n", "a sentence of 40 words"),
    ("See [this](missing" ".md).\n", "no such file"),
    ("See [this](#nowhere).\n", "no such heading"),
    ("What a node says is checked.\n", "subject is a clause"),
    ("A line.\n\n" * 100, "202 lines"),
], ids=lambda value: value[:20])
def test_issues_of_a_page(folder, text, issue):
    done = checked(folder, f"# Title\n\n{text}")
    assert done.returncode == 1
    assert issue in done.stdout


@pytest.mark.parametrize("text", [
    f"    {LONG}\n", f"| {LONG} | {LONG} |\n", f"```\n{LONG}\n```\n", "See [the title](#title).\n",
    "One file `a.b` is read. Another follows.\n"], ids=lambda value: value[:10])
def test_code_and_tables_are_no_sentences(folder, text):
    done = checked(folder, f"# Title\n\n{text}")
    assert (done.returncode, done.stdout.strip()) == (0, "")


@pytest.mark.parametrize("message, issue", [
    ("chief: keep the snapshot per version", ""),
    ("chief, slurm: `x` becomes y\n\nWhy.", ""),
    ("Keep the snapshot", "area: imperative"),
    ("chief: Keep the snapshot", "area: imperative"),
    ("chief: kept the snapshot.", "area: imperative"),
    ("chief: keeps the snapshot", "no imperative"),
    ("chief: renamed the snapshot", "no imperative"),
    ("chief: " + "long " * 20, "characters"),
    ("chief: keep it\nat once", "blank line"),
], ids=lambda value: value[:30])
def test_subjects_of_commits(tmp_path, message, issue):
    (tmp_path / "message").write_text(message)
    done = subprocess.run([TESTS / "commit_msg", tmp_path / "message"], capture_output=True, text=True, check=False)
    assert done.returncode == (1 if issue else 0), done.stderr
    assert issue in done.stderr
