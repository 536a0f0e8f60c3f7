"""Fixtures that do what users of a framework do: activate its environment, go to the program's folder, start
it."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from hosts import SPEC, address, on_host

PROGRAMS = Path(__file__).parent / "programs"
HOSTS = (1, 2, 3)
LIMIT_S = 300  # all ranks share this machine's cores
# The framework's virtual environment; empty: Debian's Python with Debian's framework.
ENVIRONMENT = os.environ.get("ENVIRONMENT")


@pytest.fixture
def python():
    return "python" if ENVIRONMENT else sys.executable


@pytest.fixture
def cluster(spec):
    """Writes the spec whose nodes activate the environment, with changes: cluster((old, new), ...)."""
    def write(*changes):
        group = "    username: root\n"
        lines = "    shared_envs: {OMP_NUM_THREADS: '1'}\n"
        if ENVIRONMENT:
            lines += f"    python_venv: source '{ENVIRONMENT}/bin/activate'\n"
        return spec(*changes, (group, group + lines))
    return write


@pytest.fixture
def names_of_loopback(folder):
    """On every host, the hosts' names resolve to 127.0.0.1."""
    (folder / "hosts").write_text("127.0.0.1 localhost host1 host2 host3\n::1 localhost\n")
    for host in HOSTS:
        on_host(host, f"mount --bind {folder}/hosts /etc/hosts")
    yield
    for host in HOSTS:
        on_host(host, "umount /etc/hosts")


@pytest.fixture
def dead_proxy(monkeypatch):
    """The user's shell has a proxy that does not exist."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://{address(99)}:3128")


def node_of_spec(host):
    """The lines of a host's node in the spec."""
    text = SPEC.read_text()
    begin = text.index(f"  - address: {address(host)}")
    ends = (text.find("  - address:", begin + 1), text.index("ssh:\n"))
    return text[begin:min(end for end in ends if end > 0)]


@pytest.fixture
def two_hosts():
    """Changes of the spec: without host 3."""
    return [(node_of_spec(3), "")]


def with_one_rank(host):
    """A change of the spec that leaves the host one rank."""
    node = node_of_spec(host)
    return node, node.replace("[0, 1]", "[0]")


@pytest.fixture
def two_and_one(two_hosts):
    """The same, with one rank on host 2."""
    return [with_one_rank(2), *two_hosts]


@pytest.fixture
def one_and_one(two_and_one):
    """The same, with one rank on host 1."""
    return [with_one_rank(1), *two_and_one]


@pytest.fixture
def start_program(start, cluster, folder):
    """Starts `autodist run OPTIONS -- COMMAND` after PROGRAM was copied to train.py."""
    def begin(program, command, *options, changes=()):
        shutil.copy(PROGRAMS / program, folder / "train.py")
        shell = {"OMP_NUM_THREADS": "1"}
        if ENVIRONMENT:
            shell |= {"PATH": f"{ENVIRONMENT}/bin:{os.environ['PATH']}", "VIRTUAL_ENV": ENVIRONMENT}
        return start("run", "--spec", cluster(*changes), "--timeout", LIMIT_S, *options, "--", *command, env=shell)
    return begin


@pytest.fixture
def run_program(start_program):
    """Runs a program, which has to succeed."""
    def run(*arguments, **how):
        outcome = start_program(*arguments, **how).finish(limit=2 * LIMIT_S)
        assert outcome.code == 0, outcome.err + outcome.out
        return outcome
    return run


@pytest.fixture
def plan(autodist, spec):
    """What `autodist run OPTIONS -- python train.py` would start: {nodes: [...], ...}."""
    def make(*options, changes=()):
        outcome = autodist("run", "--spec", spec(*changes), *options, "--dry-run", "--json",
                           "--show-env-values", "--",
                           "python", "train.py")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)
    return make


@pytest.fixture
def environments(plan):
    """The variables of each process of such a plan, except auxiliary processes."""
    def make(*options, **how):
        whole = plan(*options, **how)
        return [{variable["name"]: variable.get("value", "")
                 for variable in whole["environment"] + process["environment"]}
                for node in whole["nodes"] for process in node["ranks"] if not process.get("auxiliary")]
    return make
