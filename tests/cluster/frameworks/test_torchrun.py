"""The torchrun command that users type on every node, started once by autodist."""

import pytest
from test_torch import check_training

pytestmark = pytest.mark.hosts(3, "--ranks 2")

RENDEZVOUS = ["torchrun", "--nproc_per_node=2", "--nnodes=3", "--rdzv_id=456", "--rdzv_backend=c10d",
              "--rdzv_endpoint={master_addr}:{master_port}", "train.py"]


def test_a_node_rank_and_a_master(run_program, folder):
    check_training(run_program("torch_ddp.py", [
        "python", "-m", "torch.distributed.run", "--nproc_per_node=2", "--nnodes=3", "--node_rank={node_rank}",
        "--master_addr={master_addr}", "--master_port={master_port}", "train.py"], "--per", "node"), folder)


def test_a_rendezvous(run_program, folder):
    check_training(run_program("torch_ddp.py", RENDEZVOUS, "--per", "node"), folder)


def test_a_rendezvous_with_host_names_of_loopback(run_program, folder, names_of_loopback):
    check_training(run_program("torch_ddp.py", RENDEZVOUS, "--per", "node"), folder)
