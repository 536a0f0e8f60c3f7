"""The trainer that docs/worker_library.md shows. The build has compiled it, from the page's own text."""

import re
import subprocess
from pathlib import Path

import pytest
from jobs import BUILD

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs/worker_library.md").read_text()
CONFIGURE_LIMIT_S = 100


@pytest.fixture(name="fit")
def folder_of_the_page(tmp_path):
    """With the files that it shows, and autodist."""
    for name, text in re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(text)
    (tmp_path / "autodist").symlink_to(REPOSITORY)
    return tmp_path


def test_the_trainer_runs_as_the_page_says(autodist, fit):
    command, said = re.search(r"^    autodist/build/bin/autodist (run --spec here.*?)\n\nprints `(.*?)`",
                              PAGE, re.MULTILINE | re.DOTALL).groups()
    outcome = autodist(*command.replace("build/fit", str(BUILD / "fit")).split(), cwd=fit)
    assert outcome.code == 0, outcome.err
    assert outcome.out == said + "\n"


def test_the_build_of_the_page_is_one(fit):
    [command] = re.findall(r"^    (cmake -B build .*?) && cmake --build build$", PAGE, re.MULTILINE)
    subprocess.run(command.split(), cwd=fit, check=True, timeout=CONFIGURE_LIMIT_S, stdout=subprocess.DEVNULL)
    targets = subprocess.run(["cmake", "--build", "build", "--target", "help"], cwd=fit, check=True,
                             capture_output=True, text=True, timeout=CONFIGURE_LIMIT_S).stdout
    assert "fit" in re.findall(r"\w+", targets)
