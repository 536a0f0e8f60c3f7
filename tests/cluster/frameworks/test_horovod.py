"""Contract of Horovod, not a run: what gloo_context.cc of Horovod reads is there and fits together."""

from collections import defaultdict

from hosts import address

READ_AS_THEY_ARE = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo",
                    "HOROVOD_GLOO_RENDEZVOUS_ADDR": address(1)}


def check_groups(ranks, key, number, size):
    """Of those with the same `key`, `number` counts up to `size`."""
    groups = defaultdict(list)
    for rank in ranks:
        groups[rank[key]].append(rank)
    for group in groups.values():
        assert [int(rank[number]) for rank in group] == list(range(len(group)))
        assert {int(rank[size]) for rank in group} == {len(group)}


def test_contract_with_two_ranks_and_one(environments, plan, two_and_one):
    ranks = environments("--dialect", "horovod", changes=two_and_one)
    assert [rank["HOROVOD_RANK"] for rank in ranks] == ["0", "1", "2"]
    assert {rank["HOROVOD_SIZE"] for rank in ranks} == {"3"}
    check_groups(ranks, "HOROVOD_HOSTNAME", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE")
    check_groups(ranks, "HOROVOD_LOCAL_RANK", "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE")
    for rank in ranks:
        assert {name: rank[name] for name in READ_AS_THEY_ARE} == READ_AS_THEY_ARE

    nodes = plan("--dialect", "horovod", "--master-port", "29999", changes=two_and_one)["nodes"]
    for node in nodes:
        assert "HOROVOD_GLOO_IFACE" in [variable["name"] for variable in node["interface_variables"]]
    [store] = [process for process in nodes[0]["ranks"] if process.get("auxiliary")]
    assert store["argv"][1:] == [address(1), "29999"]
