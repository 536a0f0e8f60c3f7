"""The tests here run on host 1 of a virtual cluster, whose spec is named by SPEC."""

from pathlib import Path

import pytest
from hosts import SHARED, SPEC
from jobs import Running


@pytest.fixture
def folder(request):
    """A folder that all hosts see."""
    path = SHARED / "tests" / request.node.name.replace("/", "_")
    path.mkdir(parents=True)
    return path


@pytest.fixture
def start(folder):
    def run(*arguments, cwd=folder, env=None):
        return Running(arguments, cwd, env)
    return run


@pytest.fixture
def known_hosts():
    """~/.ssh/known_hosts, put back after the test."""
    path = Path.home() / ".ssh" / "known_hosts"
    text = path.read_text()
    yield path
    path.write_text(text)


@pytest.fixture
def spec(folder):
    """Writes a changed copy of the spec: spec(old=new, ...) by pairs of texts."""
    def write(*changes, append=""):
        text = SPEC.read_text()
        for old, new in changes:
            assert old in text, f"{old!r} is not in\n{text}"
            text = text.replace(old, new)
        path = folder / "spec.yaml"
        path.write_text(text + append)
        return path
    return write
