"""The generated pages of docs/reference, and the width of what --help prints."""

import os
import re
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "docs/reference"
MAX_WIDTH = 80
SHORT_HELP_OPTIONS = 21


def commands(autodist):
    return re.findall(r"^  ([a-z]+)  +[A-Z]", autodist("--help").out.split("Examples:")[0], re.M)


def test_the_pages_are_what_the_program_writes(autodist, tmp_path):
    """Set UPDATE_GOLDEN=1 to write them after a change that is meant."""
    folder = REFERENCE if "UPDATE_GOLDEN" in os.environ else tmp_path
    (folder / "commands").mkdir(exist_ok=True)
    assert autodist("man", "--markdown", str(folder)).code == 0
    written = {path.relative_to(folder) for path in [*folder.glob("*.md"), *folder.glob("commands/*.md")]
               if path.read_text().startswith("<!-- Generated")}
    kept = {path.relative_to(REFERENCE) for path in [*REFERENCE.glob("*.md"), *REFERENCE.glob("commands/*.md")]
            if path.read_text().startswith("<!-- Generated")}
    assert written == kept
    for path in written:
        assert (folder / path).read_text() == (REFERENCE / path).read_text(), path


def test_each_command_has_a_page(autodist):
    pages = {path.stem for path in (REFERENCE / "commands").glob("*.md")}
    assert pages == set(commands(autodist)) 


def test_help_fits_into_a_terminal(autodist):
    for words in [["--help"], *([command, "--help", "all"] for command in commands(autodist))]:
        too_wide = [line for line in autodist(*words).out.splitlines() if len(line) > MAX_WIDTH and not re.fullmatch(r"  --\S+ \S+", line)]
        assert not too_wide, words


def test_the_short_help_has_twenty_options(autodist):
    said = autodist("run", "--help").out
    assert len(re.findall(r"^  (?:-\w, )?--", said, re.M)) == SHORT_HELP_OPTIONS  # with --help
    assert re.search(r"`autodist run --help all` shows all \d+ options", said)
