"""PaddlePaddle's programs."""

import json
import os
import re
import subprocess

import pytest

pytestmark = pytest.mark.hosts(3, "--ranks 2")

PROGRAM = r"rank (\d) of 6: the ranks' sum is 15, the loss fell, the model is (\w{64})\n"
# Does what paddle.distributed.spawn(..., nprocs=2) does, as far as possible without GPUs.
SPAWN = """
import importlib, json
spawn = importlib.import_module("paddle.distributed.spawn")
spawn.check_backend = lambda backend: None  # refuses nccl without a GPU
print(json.dumps(spawn._get_subprocess_env_list(2, {"backend": "nccl"})))
"""


def check_training(text):
    found = sorted(re.findall(PROGRAM, text))
    assert [int(rank) for rank, _ in found] == list(range(6)), text
    assert len({model for _, model in found}) == 1


def test_a_program(run_program):
    check_training(run_program("paddle_parallel.py", ["python", "train.py"], "--framework", "paddle").out)


def test_the_launcher(run_program, folder):
    run_program("paddle_parallel.py", ["python", "-m", "paddle.distributed.launch",
                                       "--log_dir", "log-{node_rank}", "train.py"], "--per", "node")
    check_training("".join(log.read_text() for log in folder.glob("log-*/workerlog.*")))


def test_contract_of_spawn(environments):
    """Not a run, because spawn works across nodes only with GPUs: checks what spawn reads."""
    ranks = []
    for found in environments("--framework", "paddle", "--per", "node", changes=[("cpus: [0, 1]", "gpus: [2, 3]")]):
        answer = subprocess.run([f"{os.environ['ENVIRONMENT']}/bin/python", "-c", SPAWN], check=True,
                                stdout=subprocess.PIPE, env={**os.environ, **found})
        ranks += json.loads(answer.stdout.splitlines()[-1])
    endpoints = ranks[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert [endpoint.split(":")[0] for endpoint in endpoints] == [
        f"10.77.0.{host}" for host in (1, 1, 2, 2, 3, 3)]
    assert len(set(endpoints)) == 6
    assert ranks == [{"PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": "6",
                      "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
                      "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
                      "FLAGS_selected_gpus": str(rank % 2)} for rank in range(6)]
