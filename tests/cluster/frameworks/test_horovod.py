"""Horovod's programs; and a contract: the variables that its gloo_context.cc reads exist and are
consistent."""

import re
from collections import defaultdict

import pytest
from hosts import address

pytestmark = pytest.mark.hosts(3, "--ranks 2")

READ_AS_THEY_ARE = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo",
                    "HOROVOD_GLOO_RENDEZVOUS_ADDR": address(1)}


PROGRAM = (r"rank (\d) of (\d), local rank (\d) of (\d), cross rank (\d) of (\d): "
           r"the sum is (\d+), hello\n")


def found_in(outcome):
    return sorted(tuple(map(int, found)) for found in re.findall(PROGRAM, outcome.out))


def test_a_program(run_program):
    outcome = run_program("horovod_allreduce.py", ["python", "train.py"], "--framework", "horovod")
    assert found_in(outcome) == [(rank, 6, rank % 2, 2, rank // 2, 3, 15) for rank in range(6)], outcome.out


def test_two_ranks_and_one(run_program, two_and_one):
    outcome = run_program("horovod_allreduce.py", ["python", "train.py"], "--framework", "horovod",
                          changes=two_and_one)
    assert found_in(outcome) == [(0, 3, 0, 2, 0, 2, 3), (1, 3, 1, 2, 0, 1, 3), (2, 3, 0, 1, 1, 2, 3)], outcome.out


def test_a_rank_that_dies_ends_the_job(start_program):
    job = start_program("horovod_allreduce.py", ["sh", "-c", "[ $HOROVOD_RANK = 4 ] && exit 3; exec python train.py"],
                        "--framework", "horovod")
    outcome = job.finish()
    assert outcome.code == 3
    assert f"rank 4 on {address(3)}" in outcome.err


def check_groups(ranks, key, number, size):
    """Checks that among ranks with the same `key`, `number` counts up to `size`."""
    groups = defaultdict(list)
    for rank in ranks:
        groups[rank[key]].append(rank)
    for group in groups.values():
        assert [int(rank[number]) for rank in group] == list(range(len(group)))
        assert {int(rank[size]) for rank in group} == {len(group)}


def test_contract_with_two_ranks_and_one(environments, plan, two_and_one):
    ranks = environments("--framework", "horovod", changes=two_and_one)
    assert [rank["HOROVOD_RANK"] for rank in ranks] == ["0", "1", "2"]
    assert {rank["HOROVOD_SIZE"] for rank in ranks} == {"3"}
    check_groups(ranks, "HOROVOD_HOSTNAME", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE")
    check_groups(ranks, "HOROVOD_LOCAL_RANK", "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE")
    for rank in ranks:
        assert {name: rank[name] for name in READ_AS_THEY_ARE} == READ_AS_THEY_ARE

    nodes = plan("--framework", "horovod", "--master-port", "29999", changes=two_and_one)["nodes"]
    for node in nodes:
        assert "HOROVOD_GLOO_IFACE" in [step["set"]["name"] for step in node["environment"] if "set" in step]
    [store] = [process for process in nodes[0]["ranks"] if process.get("auxiliary")]
    assert store["argv"] == ["horovod-store", address(1), "29999"]
