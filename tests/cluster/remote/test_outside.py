"""A chief that is no node: host 1 controls hosts 2 to 4, which it reaches only through host 2.

The nodes use addresses of another network among themselves, which host 1 cannot reach."""

import json
import re
import shutil
from pathlib import Path

import hosts
import pytest
from hosts import address, kill_all, on_host, pids_on
from jobs import processes, seconds_until
from outside import NODES, inner

RANKS = 6
PROGRAMS = Path(__file__).parents[1] / "frameworks" / "programs"


@pytest.mark.smoke
def test_ranks_run_only_on_the_nodes_and_use_their_inner_addresses(start, outside, folder):
    outcome = start("run", "--spec", outside, "--workdir", folder, "--", "sh", "-c",
                    'echo $RANK of $WORLD_SIZE on $(uname -n): $AUTODIST_NODE_ADDRESS, $MASTER_ADDR, '
                    '$NCCL_SOCKET_IFNAME, $AUTODIST_NODE_ADDRESSES, $(pwd)').finish()
    assert outcome.code == 0, outcome.err
    reported = {line for lines in outcome.lines().values() for line in lines}
    addresses = ",".join(map(inner, NODES))
    assert reported == {f"{rank} of {RANKS} on host{host}: {inner(host)}, {inner(2)}, =eth0, {addresses}, {folder}"
                    for rank, host in zip(range(RANKS), (2, 2, 3, 3, 4, 4))}
    assert not processes()


def test_the_dry_run_lists_its_queries(start, outside):
    outcome = start("run", "--spec", outside, "--dry-run", "--", "./train").finish()
    assert outcome.code == 0 and outcome.out.count("its address between ranks is asked on the node") == 3
    plan = start("run", "--spec", outside, "--dry-run", "--json", "--", "./train").finish()
    assert all(node["ask_data_address"] for node in json.loads(plan.out)["nodes"])


def test_the_folder_is_relative_to_the_home_folder(start, outside, folder):
    """Every host has its own home folder here."""
    program = Path.home() / ".cache" / "outside" / "program"
    program.mkdir(parents=True)
    (program / "train.sh").write_text("echo $RANK in $PWD with $(cat data)\n")
    (program / "data").write_text("the data\n")
    outcome = start("run", "--spec", outside, "--log-dir", folder / "logs", "--", "sh", "train.sh",
                    cwd=program).finish()
    assert outcome.code == 125 and "run with --sync, which copies this machine's" in outcome.err
    outcome = start("run", "--spec", outside, "--log-dir", folder / "logs", "--sync", "--", "sh", "train.sh",
                    cwd=program).finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} in {program} with the data"] for rank in range(RANKS)}
    (program / "train.sh").write_text("exit 1\n")
    outcome = start("run", "--spec", outside, "--log-dir", folder / "logs", "--", "sh", "train.sh",
                    cwd=program).finish()
    assert outcome.code == 125 and "train.sh differs from this machine's" in outcome.err


def test_doctor_and_bench(start, outside, folder):
    outcome = start("doctor", "--spec", outside, "--json").finish()
    issues = json.loads(outcome.out).get("issues", [])
    assert outcome.code == 0 and not issues, outcome.out + outcome.err
    outcome = start("bench", "--spec", outside, "--backend", "gloo", "--collective", "all-reduce",
                    "--from", "8", "--to", "8K", "--factor", "32").finish()
    assert outcome.code == 0, outcome.err
    assert re.search(r"^ *8192 ", outcome.out, re.MULTILINE), outcome.out


def test_shared_folders_are_compared_among_nodes_only(start, outside, folder):
    """The shared folder has another name on the nodes, and does not exist on the chief."""
    shared, own = Path("/tmp/shared-by-nodes"), Path("/tmp/own-of-nodes")
    (folder / "data").mkdir()
    for host in NODES:
        on_host(host, f"mkdir {shared} {own}; mount --bind {folder}/data {shared}")

    def doctor(*paths):
        spec = folder / "shared.yaml"
        spec.write_text(outside.read_text() + f"shared_paths: [{', '.join(map(str, paths))}]\n")
        outcome = start("doctor", "--spec", spec, "--json").finish()
        return [(issue["check"], issue["nodes"], issue["result"], issue["what"])
                for issue in json.loads(outcome.out).get("issues", [])]
    try:
        assert not doctor(shared)
        outcome = start("run", "--spec", folder / "shared.yaml", "--workdir", folder, "--", "sh", "-c",
                        f"while [ -n \"$(ls -A {shared})\" ]; do sleep 0.1; done; echo ran").finish(limit=20)
        assert outcome.code == 0 and outcome.out.count("ran") == RANKS, outcome.err
        whose = "is not 10.88.0.2's folder"
        [issue] = doctor(shared, own)
        assert issue[:3] == ("shared", [1, 2], "bad") and f"{own} {whose}" in issue[3]
        on_host(4, f"umount {shared}")
        [issue] = doctor(shared)
        assert issue[:3] == ("shared", [2], "bad") and f"{shared} {whose}" in issue[3]
        outcome = start("run", "--spec", folder / "shared.yaml", "--workdir", folder, "--", "true").finish()
        assert outcome.code == 125 and f"{shared} {whose}" in outcome.err
        on_host(4, f"mount --bind {folder}/data {shared} && mount -o remount,ro,bind {shared}")
        assert not doctor(shared)  # a read-only mount is the same folder, too
        on_host(2, f"umount {shared}; rmdir {shared}")
        [issue] = doctor(shared)
        assert issue[:3] == ("shared", [0], "bad") and "No such file or directory" in issue[3]
        assert not list((folder / "data").iterdir()) and not shared.exists()
    finally:
        for host in NODES:
            on_host(host, f"umount {shared} 2>/dev/null; rmdir {shared}; rmdir {own} || true")


def test_a_program_of_pytorch(start, outside, folder):
    shutil.copy(PROGRAMS / "torch_ddp.py", folder / "train.py")
    outcome = start("run", "--spec", outside, "--workdir", folder, "--", "/usr/bin/python3", "train.py").finish()
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("6 models became 1, the loss fell") == RANKS
    assert [path.name for path in folder.glob("*.pt")] == ["checkpoint.pt"]


def test_losing_the_first_node(start, behind_a_jump_host, folder):
    outside, server = behind_a_jump_host
    job = start("run", "--spec", outside, "--workdir", folder, "--min-nodes", "2", "--max-restarts", "1",
                "--lease", "5", "--", "sh", "-c",
                'echo $RANK of $WORLD_SIZE at $MASTER_ADDR; [ $WORLD_SIZE = 4 ] || exec sleep 1000')
    job.await_lines(RANKS)
    # Logins to the first node fail; it is still the jump host of the others.
    server.stop()
    kill_all(hosts.agents_on(2))
    outcome = job.finish()
    server.start()
    assert outcome.code == 0, outcome.err
    assert sorted(outcome.out.splitlines()) == sorted(
        f"[{inner(host)}:{rank}] {rank} of 4 at {inner(3)}" for rank, host in zip(range(4), (3, 3, 4, 4)))
    seconds_until(lambda: not processes(), 30)


def test_detached(start, outside, folder):
    outcome = start("run", "--spec", outside, "--workdir", folder, "--detach", "--", "sh", "-c",
                    'echo up; exec sleep 1000').finish()
    assert outcome.code == 0, outcome.err
    job = re.search(r"job (\S+) is running", outcome.err)[1]
    assert len(pids_on(3) & set(processes())) > 0
    assert start("stop", job).finish().code == 0
    assert not processes()


def test_one_of_the_nodes_is_this_machine(start, spec):
    outcome = start("run", "--spec", spec(("chief: true", "ssh_config: rsa_port_22")), "--", "true").finish()
    assert outcome.code == 2
    assert f"{address(1)} is this machine, but no node of the spec is the chief" in outcome.err
    assert "add 'chief: true'" in outcome.err


def test_validate(start, outside):
    outcome = start("validate", outside).finish()
    assert outcome.code == 0 and "3 nodes, 6 ranks, launched from outside" in outcome.out
    outcome = start("validate", "--strict", outside).finish()
    assert outcome.code == 2 and "no node has chief: true (--strict)" in outcome.err
    assert "hint: if autodist is to run on one of the nodes, add 'chief: true' to it; otherwise " in outcome.err
