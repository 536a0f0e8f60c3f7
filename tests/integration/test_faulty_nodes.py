"""Nodes that are remembered as faulty."""

import json

import pytest
from jobs import Running

SPEC = """nodes:
  - {address: 192.0.2.6, cpus: [0], chief: true}
  - {address: 192.0.2.7, cpus: [0], ssh_config: all}
  - {address: 192.0.2.8, cpus: [0], ssh_config: all}
ssh:
  all: {username: me}
"""


@pytest.fixture
def autodist(tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC)

    def run(*arguments):
        return Running(arguments, tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state")}).finish()
    return run


@pytest.fixture
def planned(autodist):
    """The nodes of a run, with what it prints."""
    def plan(*options):
        outcome = autodist("run", "--spec", "spec.yaml", "--dry-run", "--json", *options, "--", "true")
        assert outcome.code == 0, outcome.err
        return [node["address"] for node in json.loads(outcome.out)["nodes"]], outcome.err
    return plan


def test_a_node_is_remembered_until_it_is_forgotten(autodist):
    assert "no node is remembered" in autodist("nodes").err
    assert autodist("nodes", "--exclude", "192.0.2.7", "--why", "fan is broken").code == 0
    listed = autodist("nodes")
    assert listed.out.startswith("192.0.2.7  20") and listed.out.endswith("Z  fan is broken\n")
    assert autodist("nodes", "--forget", "192.0.2.7").code == 0
    again = autodist("nodes", "--forget", "192.0.2.7")
    assert again.code == 125 and "192.0.2.7 is not remembered as faulty" in again.err
    assert autodist("nodes", "--exclude", "two words").code == 2


def test_a_run_with_spares_does_without_it(autodist, planned):
    autodist("nodes", "--exclude", "192.0.2.7")
    nodes, err = planned("--spares", "1")
    assert nodes == ["192.0.2.6", "192.0.2.8"]
    assert "192.0.2.7 is remembered as faulty since" in err and "this job does without it" in err
    assert planned("--min-nodes", "2")[0] == ["192.0.2.6", "192.0.2.8"]


def test_other_runs_warn(autodist, planned):
    autodist("nodes", "--exclude", "192.0.2.7")
    nodes, err = planned()
    assert nodes == ["192.0.2.6", "192.0.2.7", "192.0.2.8"]
    assert "192.0.2.7 is remembered as faulty since" in err and "; this job uses it\n" in err
    assert "to leave it out: --exclude 192.0.2.7; to forget the fault: `" in err
    assert planned("--health", "off") == (nodes, "")
    assert planned("--min-nodes", "3")[0] == nodes
    strict = autodist("run", "--spec", "spec.yaml", "--dry-run", "--health", "strict", "--", "true")
    assert strict.code == 125 and "hint: leave it out with --exclude 192.0.2.7" in strict.err


def test_nodes_can_be_left_out_of_one_run(autodist, planned):
    assert planned("--exclude", "192.0.2.7,192.0.2.8")[0] == ["192.0.2.6"]
    wrong = autodist("run", "--spec", "spec.yaml", "--exclude", "192.0.2.9", "--dry-run", "--", "true")
    assert wrong.code == 2 and "--exclude 192.0.2.9: no node has that address" in wrong.err and "hint: choose among " in wrong.err


def test_a_line_that_is_not_understood_is_skipped(autodist, tmp_path):
    autodist("nodes", "--exclude", "192.0.2.7")
    (tmp_path / "state/autodist/faulty-nodes").write_text("192.0.2.7\n")
    outcome = autodist("run", "--spec", "spec.yaml", "--dry-run", "--", "true")
    assert outcome.code == 0 and "faulty-nodes:1 is skipped: it is not ADDRESS SINCE WHY" in outcome.err
