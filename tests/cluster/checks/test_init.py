"""autodist init, then a run with the spec that it wrote. Hosts 1 and 3 accept the Ed25519 key."""

from pathlib import Path

import pytest
from hosts import SHARED, address

KEY = SHARED / "user_ed25519"
HOSTFILES = {
    "deepspeed": "host1 slots=2\nhost3 slots=2\n",
    "open mpi": "# two machines\nhost1 max_slots=8 slots=1\nroot@host3 slots = 2\nhost1\n",
    "mpich": "host1:2\n\nhost3:2\n",
}


@pytest.fixture
def init(autodist, folder):
    """Runs autodist init, and returns its outcome and the spec it wrote."""
    def run(*arguments, **options):
        path = folder / "made.yaml"
        outcome = autodist("init", *arguments, "--key-file", KEY, "--output", path, **options)
        return outcome, path
    return run


@pytest.fixture
def ranks_by(autodist):
    """Validates the spec and runs with it: the host of each rank."""
    def run(path):
        valid = autodist("validate", path)
        assert valid.code == 0, valid.err + path.read_text()
        outcome = autodist("run", "--spec", path, "--", "hostname")
        assert outcome.code == 0, outcome.err + path.read_text()
        return [outcome.lines()[rank][0] for rank in sorted(outcome.lines())]
    return run


@pytest.fixture
def ssh_config():
    path = Path.home() / ".ssh" / "config"
    yield path
    for made in (path, path.parent / "lab.conf"):
        made.unlink(missing_ok=True)


@pytest.fixture
def bashrc_of_host_3():
    path = SHARED / "host3" / "bashrc"
    yield path
    path.write_text("")


def test_hosts_on_the_command_line(init, ranks_by):
    outcome, path = init("--hosts", f"host1:2,root@{address(3)}:2")
    assert outcome.code == 0 and "warning" not in outcome.err, outcome.err
    assert "2 nodes, 4 ranks" in outcome.err
    assert ranks_by(path) == ["host1"] * 2 + ["host3"] * 2


@pytest.mark.parametrize("kind", HOSTFILES)
def test_hostfiles(init, ranks_by, folder, kind):
    (folder / "hostfile").write_text(HOSTFILES[kind])
    outcome, path = init("--hostfile", folder / "hostfile")
    assert outcome.code == 0 and "warning" not in outcome.err, outcome.err
    assert ranks_by(path) == ["host1"] * 2 + ["host3"] * 2


def test_the_ssh_configuration(init, ranks_by, ssh_config):
    ssh_config.write_text("Include lab.*\nHost elsewhere\n  HostName 192.0.2.7\n")
    (ssh_config.parent / "lab.conf").write_text("Host host1 host3\nHost *\n  User root\n")
    outcome, path = init("--ssh-config", "host*")
    assert outcome.code == 0 and "warning" not in outcome.err, outcome.err
    assert ranks_by(path) == ["host1", "host3"]


def test_a_slurm_allocation(init, ranks_by):
    outcome, path = init("--slurm", env={"SLURM_JOB_NODELIST": "host[1,3]",
                                         "SLURM_TASKS_PER_NODE": "1,2"})
    assert outcome.code == 0 and "warning" not in outcome.err, outcome.err
    assert ranks_by(path) == ["host1"] + ["host3"] * 2


def test_localhost_gets_an_address_that_other_nodes_reach(init, ranks_by):
    outcome, path = init("--hosts", "host3,localhost")
    assert outcome.code == 0, outcome.err
    assert f"address: {address(1)}  # given as localhost" in path.read_text()
    assert ranks_by(path) == ["host1", "host3"]


def test_gpus_are_queried_despite_a_noisy_login(init, bashrc_of_host_3, folder):
    tool = folder / "nvidia-smi"
    tool.write_text("#!/bin/sh\nfor i in 0 1 2; do echo \"GPU $i: A100\"; done\n")
    tool.chmod(0o755)
    bashrc_of_host_3.write_text(f"echo hello; echo noise >&2; PATH={folder}:$PATH; printf 'no end'\n")
    for hosts, devices in (("host1,host3", "[0, 1, 2]\n"),
                           ("host1,host3:2", "[0, 1]  # the first 2 of 3\n"),
                           ("host1,host3:4", "[0, 1, 2]  # 4 were asked for; it has 3\n")):
        outcome, path = init("--hosts", hosts, "--force")
        assert outcome.code == 0, outcome.err
        text = path.read_text()
        assert f"- address: host3\n    gpus: {devices}" in text
        assert "cpus: []\n    gpus: []  # no GPU there" in text
        assert "host1 has no GPU, the other one has; leave it out" in outcome.err
        assert ("host3 has 3 GPUs, fewer than the 4 given" in outcome.err) == (":4" in hosts)


def test_an_unreachable_host_is_written_as_given(init, autodist):
    outcome, path = init("--hosts", f"host1,{address(2)}:2,10.77.0.99:1,no-such-host:1")
    assert outcome.code == 0, outcome.err
    text = path.read_text()
    assert text.count("# not reached: ") == 3
    assert f"address: {address(2)}\n    gpus: [0, 1]  # not reached: " in text
    for host in (address(2), "10.77.0.99", "no-such-host"):
        assert f"warning: {host} did not report the devices: " in outcome.err
    assert outcome.seconds < 15
    assert autodist("validate", path).code == 0


def test_unknown_devices_are_not_guessed(init, autodist):
    outcome, path = init("--hosts", f"host1,{address(2)}")
    assert outcome.code == 125, outcome.err
    assert f"address: {address(2)}\n    gpus: unknown  # " in path.read_text()
    heading = "the spec is not complete, because 1 of 2 nodes did not report the devices:\n"
    assert heading in outcome.err
    below = outcome.err.split(heading)[1].split("\nautodist: ")[0].splitlines()
    assert below[0] == f"  {address(2)}:" and all(line.startswith("    ") for line in below[1:]), outcome.err
    assert "correct that and repeat init with --force, or replace `unknown`" in outcome.err, outcome.err
    assert "key_file" not in outcome.err and "in the spec, or" not in outcome.err, outcome.err
    assert autodist("validate", path).code == 2


def test_host_keys_are_learned(init, ranks_by, known_hosts):
    known_hosts.write_text("")
    outcome, path = init("--hosts", "host1,host3")
    assert "host key unknown" in outcome.err and "give --host-key-check accept-new" in outcome.err
    outcome, path = init("--hosts", "host1,host3", "--host-key-check", "accept-new", "--force")
    assert outcome.code == 0 and "warning" not in outcome.err, outcome.err
    assert known_hosts.read_text() != ""
    assert ranks_by(path) == ["host1", "host3"]


def test_only_remote_hosts_have_no_chief(init):
    outcome, path = init("--hosts", "host3,host2", "--offline")
    assert outcome.code == 0
    assert "- address: host3\n    gpus: unknown  # not asked; write the numbers of the GPUs here, such as [0, 1]\n" \
           "    ssh_config: workers" in path.read_text()
    assert "chief:" not in path.read_text()


def test_a_file_is_replaced_only_with_force(init, folder):
    (folder / "made.yaml").write_text("mine")
    outcome, path = init("--hosts", "host1")
    assert outcome.code == 2 and "made.yaml: File exists" in outcome.err and "--force" in outcome.err
    assert path.read_text() == "mine"
    outcome, path = init("--hosts", "host1", "--force")
    assert outcome.code == 0 and path.read_text() != "mine"


@pytest.mark.parametrize("arguments, what", [
    ([], "give one of --hosts, --hostfile, --from, --ssh-config and --slurm"),
    (["--hosts", "a", "--slurm"], "more than one source of hosts"),
    (["--slurm"], "this shell is not inside a Slurm allocation"),
    (["--hosts", "a:x,b c"], "autodist: error: --hosts:3: 'x' is not a number"),
    (["--hosts", "a:x,b&c"], "autodist: error: --hosts:5: 'b&c' is neither"),
    (["--hosts", "localhost,host1"], "'localhost' and 'host1' are both this machine"),
    (["--hostfile", "/none"], "autodist: error: --hostfile: /none: No such file or directory"),
    (["--hosts", "a", "--user", "a b"], "--user: 'a b' is not a user name"),
])
def test_wrong_usage(init, arguments, what):
    outcome, path = init(*arguments)
    assert outcome.code == 2 and what in outcome.err
    assert not path.exists()
