"""Programs that are started once per node or per job instead of per device, and processes beside the
ranks."""

import re
import socket

import pytest

# Two ranks in MindSpore's framework, whose scheduler is a third process of the same program.
SPEC = "nodes:\n  - address: localhost\n    cpus: [0, 1]\n"
SCHEDULED = """
case $MS_ROLE in
  MS_SCHED) echo scheduling; touch started; %s ;;
  MS_WORKER) echo working; until [ -e started ]; do sleep 0.02; done; %s ;;
esac
"""


@pytest.fixture
def run_script(autodist, tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    return lambda script, *options: autodist("run", "--spec", str(spec), *options, "--", "sh", "-c",
                                             script)


def test_service_processes_end_with_the_ranks(run_script):
    outcome = run_script(SCHEDULED % ("exec sleep 1000", "exit 0"), "--framework", "mindspore")
    assert outcome.code == 0
    assert outcome.lines() == {0: ["working"], 1: ["working"], 2: ["scheduling"]}
    assert "2 ranks on 1 node, and the scheduler" in outcome.err


def test_a_failing_service_process_fails_the_job(run_script):
    outcome = run_script(SCHEDULED % ("exit 3", "exec sleep 1000"), "--framework", "mindspore")
    assert outcome.code == 3
    assert re.search(r"the scheduler on localhost \(pid \d+\) exited with code 3", outcome.err)
    assert "rank-2.out and .err" in outcome.err


def test_the_service_log_is_like_the_others(run_script, autodist, tmp_path):
    outcome = run_script(SCHEDULED % ("exec sleep 1000", "exit 0"), "--framework", "mindspore")
    job = re.search(r"job (\S+):", outcome.err)[1]
    assert autodist("logs", job, "--rank", "2").out == "scheduling\n"
    assert "[localhost:2] scheduling" in autodist("logs", job).out


def test_once_per_node_and_once_per_job(run_script):
    script = "echo $AUTODIST_NODE_RANK $AUTODIST_LOCAL_WORLD_SIZE ${RANK-no} $PET_NNODES"
    outcome = run_script(script, "--per", "node")
    assert outcome.code == 0
    assert outcome.lines() == {0: ["0 2 no 1"]}
    assert "2 ranks on 1 node, by one program on each node" in outcome.err
    assert run_script("echo $AUTODIST_WORLD_SIZE", "--per", "job").lines() == {0: ["2"]}
    outcome = run_script("exit 4", "--per", "node")
    assert outcome.code == 4 and "process 0 on localhost" in outcome.err


def test_placeholders_are_filled_in(autodist):
    outcome = autodist("run", "--", "echo", "{rank}/{world_size}", "{{rank}}", '{"lr": 1}')
    assert outcome.lines() == {0: ['0/1 {rank} {"lr": 1}']}


def test_a_taken_master_port_is_reported(autodist):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        outcome = autodist("run", "--no-preflight", "--master-port", str(port), "--", "echo", "ran")
    assert outcome.code == 125
    assert f"no rank was started: port {port} on localhost is in use" in outcome.err
    assert "choose another port with --master-port" in outcome.err
    assert "ran" not in outcome.out


# In the first attempt, rank 1 takes the port before rank 0 can bind it.
RACE = """
import os, socket, sys, time
port = int(os.environ["MASTER_PORT"])
first = os.environ["AUTODIST_RESTART_COUNT"] == "0"
if os.environ["RANK"] == "1":
    if first:
        taken = socket.create_server(("127.0.0.1", port))
        open("taken", "w").close()
        time.sleep(1000)
    sys.exit()
while first and not os.path.exists("taken"):
    time.sleep(0.01)
try:
    socket.create_server(("127.0.0.1", port))
    print("listening", flush=True)
except OSError as error:
    sys.exit(f"port {port}: {error}")
"""


def test_a_lost_race_for_a_port_is_retried(autodist, tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    (tmp_path / "race.py").write_text(RACE)
    outcome = autodist("run", "--spec", str(spec), "--grace", "5", "--", "/usr/bin/python3",
                       "race.py")
    assert outcome.code == 0, outcome.err
    assert "Address already in use" in outcome.err
    assert outcome.lines() == {0: ["listening"]}
    # A port that the user has chosen is not retried.
    (tmp_path / "taken").unlink()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    outcome = autodist("run", "--spec", str(spec), "--grace", "5", "--master-port", str(port), "--",
                       "/usr/bin/python3", "race.py")
    assert outcome.code == 1
    assert f"rank 1 of this job listens at port {port} on localhost (pid " in outcome.err, outcome.err
    assert "hint: let only rank 0 listen at MASTER_PORT; " in outcome.err, outcome.err


def test_variables_for_all_processes(autodist):
    script = ["sh", "-c", 'echo "$SIZE|$COLOUR|$OMP_NUM_THREADS"']
    given = ["--env", "SIZE=$HOME x=1", "--pass-env", "COLOUR", "--env", "OMP_NUM_THREADS=3"]
    outcome = autodist("run", *given, "--", *script, env={"COLOUR": "green", "SIZE": "2"})
    assert outcome.lines() == {0: ["$HOME x=1|green|3"]}
    planned = autodist("run", "--dry-run", "--verbose", *given, "--", *script, env={"COLOUR": "green"})
    assert "SIZE='(hidden)'" in planned.out and "COLOUR='(hidden)'" in planned.out
    planned = autodist("run", "--dry-run", "--show-env-values", *given, "--", *script, env={"COLOUR": "green"})
    assert "SIZE='$HOME x=1'" in planned.out and "COLOUR='(hidden)'" in planned.out


@pytest.mark.parametrize("given, message", [
    (["--env", "SIZE"], "--env SIZE gives no value\n    hint: write --env SIZE=VALUE, or --pass-env SIZE"),
    (["--pass-env", "NOT_THERE"], "--pass-env NOT_THERE: the variable is not set here\n    hint: export it first"),
    (["--env", "RANK=3"], "RANK is set by autodist itself, for each process\n    hint: leave it out"),
    (["--env", "A-B=3"], "'A-B' is not a name for an environment variable"),
])
def test_wrong_variables_are_refused(autodist, given, message):
    outcome = autodist("run", *given, "--", "true")
    assert outcome.code == 2
    assert message in outcome.err


def test_frameworks_list_what_they_set(autodist):
    names = autodist("frameworks").out
    assert "PET_RDZV_CONF" in names and "  --per job\n      nothing\n" in names
    assert "CUDA_VISIBLE_DEVICES" in autodist("frameworks", "tensorflow").out
    torch = autodist("frameworks", "torch").out
    assert "      PET_NODE_RANK=1\n" in torch and "      PET_RDZV_CONF=is_host=1 (on node 0)\n" in torch
    assert "CUDA_VISIBLE_DEVICES" not in torch
