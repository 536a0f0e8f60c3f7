"""A contract of Ascend's rank table: the file and its variables. A run would need the hardware."""

import json

import pytest
from hosts import address

pytestmark = pytest.mark.hosts(3, "--ranks 2")

SERVERS = 3


@pytest.fixture
def eight_devices():
    """Changes of the spec: eight devices on each host, with their addresses."""
    return [(f"- address: {address(host)}\n    cpus: [0, 1]\n", f"""- address: {address(host)}
    gpus: [0, 1, 2, 3, 4, 5, 6, 7]
    device_ips: [{", ".join(f"192.168.{host}.{10 + device}" for device in range(8))}]
""") for host in range(1, SERVERS + 1)]


def test_contract(plan, environments, eight_devices):
    nodes = plan("--framework", "ranktable", changes=eight_devices)["nodes"]
    [(name, content)] = {(file["name"], file["content"]) for node in nodes for file in node["files"]}
    assert name == "hccl_3s_24p.json"  # the same on every node
    table = json.loads(content)
    assert {key: table[key] for key in ("version", "server_count", "status")} == {
        "version": "1.0", "server_count": "3", "status": "completed"}
    assert [server["server_id"] for server in table["server_list"]] == [address(1), address(2), address(3)]
    devices = [device for server in table["server_list"] for device in server["device"]]
    assert devices == [{"device_id": str(rank % 8), "device_ip": f"192.168.{rank // 8 + 1}.{10 + rank % 8}",
                        "rank_id": str(rank)} for rank in range(24)]

    ranks = environments("--framework", "ranktable", changes=eight_devices)
    for rank, found in enumerate(ranks):
        assert {"RANK_ID": str(rank), "RANK_SIZE": "24", "DEVICE_ID": devices[rank]["device_id"]}.items() <= found.items()
        assert "MS_ROLE" not in found  # MindSpore accepts either
