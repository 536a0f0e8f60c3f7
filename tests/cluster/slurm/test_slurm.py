"""Allocations of a real Slurm on these hosts, which finds a job's processes by cgroup or by /proc."""

import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hosts import SHARED, address, agents_on, argv_of, in_host, kill_all, named_on, parent, pids, pids_on
from jobs import AUTODIST, processes, python, seconds_until
from slurm import PORTS, PROGRAMS, Slurm

TRAIN = Path(__file__).parents[1] / "frameworks" / "programs" / "torch_ddp.py"
HOSTS = 4
GPUS = 2
KILL_WAIT_S = 20
GONE_LIMIT_S = 20
UP = ["sh", "-c", "echo up $$; exec sleep 1000"]
SAVES = ["sh", "-c", """trap 'sleep 1; echo saved > "saved.$RANK"; exit 0' TERM; echo up; while :; do sleep 0.05; done"""]

pytestmark = pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason="there is no Slurm here")


@pytest.fixture(scope="module", params=["cgroup", "linuxproc"])
def slurm(request):
    with Slurm(HOSTS, request.param, GPUS, KILL_WAIT_S) as running:
        yield running


@pytest.fixture
def folder(request):
    """A folder shared by all hosts."""
    path = SHARED / request.node.name.replace("[", "-").rstrip("]")
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def nothing_left_of_slurm(slurm):
    yield
    left = [job for job in slurm.jobs() if not job.endswith("COMPLETING")]
    slurm.cancel_all()
    assert left == []
    assert [in_host(host, "sh", "-c", "ls -d /tmp/autodist-hold-* 2> /dev/null || true") for host in (1, 2, 3, 4)] == [""] * 4


@pytest.fixture
def alloc(start, folder):
    """Starts autodist in an allocation."""
    def run(*arguments, options=("-N4", "--ntasks-per-node=2"), command="run", env=None):
        return start(command, "--slurm", *arguments, cwd=folder, env=env, under=("salloc", "-Q", *options))
    return run


@pytest.fixture
def batch(slurm, folder):
    """Submits a batch script that runs autodist; gives the job's number."""
    def run(*arguments, options=("-N4", "--ntasks-per-node=2"), first="exec"):
        script = f"#!/bin/sh\n{first} {shlex.join([AUTODIST, 'run', '--slurm', *arguments])}\n"
        return subprocess.run(["sbatch", "--parsable", "-o", "out", "--open-mode=append", *options], cwd=folder, check=True,
                              input=script, stdout=subprocess.PIPE, text=True).stdout.strip()
    return run


def has(path, text):
    return path.exists() and text in path.read_text()


def callback_clients_on(host):
    """Without its forked processes, one for each connection."""
    found = [pid for pid in pids_on(host) if argv_of(pid)[1:2] == ["connect-back"]]
    return [pid for pid in found if parent(pid) not in found]


@pytest.mark.smoke
def test_ranks_of_an_allocation(alloc, slurm, folder):
    outcome = alloc("--", "sh", "-c", "echo $RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $PWD; echo $SLURM_PROCID${SLURM_JOB_ID:+a job} $OURS",
                    env={"OURS": "of the shell"}).finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} 8 {rank % 2} {address(1)} {folder}", "a job of the shell"] for rank in range(8)}
    slurm.await_true("no step", lambda: not slurm.steps())


# Records its stdin.
RECORDS = """\
#!/bin/sh
exec 3<&0
mkfifo "$RECORDED/fifo.$$"
tee "$RECORDED/input.$$" <&3 > "$RECORDED/fifo.$$" &
{srun} "$@" < "$RECORDED/fifo.$$"
code=$?
kill $!
exit $code
"""


def test_no_key_is_readable_on_srun_s_stdin(alloc, folder):
    """srun's stdin is sent unencrypted; neither sending the agent nor starting it puts a key there."""
    srun = folder / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(RECORDS.format(srun=shutil.which("srun")))
    srun.chmod(0o755)
    for recorded in (folder / "sends", folder / "has"):
        recorded.mkdir()
        outcome = alloc("--", "sh", "-c", "echo up", options=("-N1", "--ntasks-per-node=2"), env={
            "HOME": str(folder), "PATH": f"{srun.parent}:{os.environ['PATH']}", "RECORDED": str(recorded)}).finish()
        assert outcome.code == 0, outcome.err
        inputs = [path.read_bytes() for path in recorded.glob("input.*")]
        assert inputs and all(data.startswith(b"MUNGE:") for data in inputs if data), inputs
        assert not any(b"autodist-job-key" in data for data in inputs)
        assert any(len(data) > 100000 for data in inputs) == (recorded.name == "sends")


def test_every_byte_is_passed_on(alloc, folder):
    data = bytes(range(256)) * 4000
    (folder / "data").write_bytes(data)
    outcome = alloc("--", "cat", "data").finish()
    assert outcome.code == 0, outcome.err
    [job] = (folder / "autodist-runs").glob("2*")
    assert all((job / f"rank-{rank}.out").read_bytes() == data for rank in range(8))


def test_devices_are_those_of_the_job(alloc, slurm):
    # Without NVIDIA drivers, autodist does not detect GPUs.
    look = python("import os\nfor n in range(%d):\n try: os.open(f'%s/gpu{n}', os.O_RDONLY)\n"
                  " except OSError as e: print(n, e.errno, os.environ['CUDA_VISIBLE_DEVICES'])" % (GPUS, slurm.folder))
    outcome = alloc("--no-preflight", "--", *look, options=("-N4", "--gpus-per-node=1")).finish()
    assert outcome.code == 0, outcome.err
    no_driver, not_allowed = 6, 1
    other = not_allowed if slurm.proctrack == "cgroup" else no_driver
    assert outcome.lines() == {rank: [f"0 {no_driver} 0", f"1 {other} 0"] for rank in range(4)}
    tasks = alloc("--no-preflight", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", options=("-N4", "--gpus-per-task=1", "--ntasks-per-node=2")).finish()
    assert tasks.lines() == {rank: ["0,1"] for rank in range(8)}, tasks.err
    both = alloc("--no-preflight", "--", "sh", "-c", "echo $LOCAL_RANK $CUDA_VISIBLE_DEVICES", options=("-N4", f"--gpus={GPUS * 4}", "--gpu-bind=single:1")).finish()
    assert both.lines() == {rank: [f"{rank % 2} 0,1"] for rank in range(8)}, both.err


def test_submit(autodist, slurm, folder):
    arguments = ("submit", "--slurm", "--nodes", 3, "--gpus-per-node", GPUS, "--name", "ours", "--sbatch=--output=out", "--max-restarts", 1, "--no-preflight")
    program = ["sh", "-c", "echo 'on $RANK' $RANK $AUTODIST_RESTART_COUNT; exit $((RANK == 4 && 1 - AUTODIST_RESTART_COUNT))"]
    outcome = autodist(*arguments, "--", *program, cwd=folder)
    assert outcome.code == 0 and int(outcome.out) > 0, outcome.err
    assert "; output in out in this folder; squeue " in outcome.err, outcome.err
    slurm.await_true("the end", lambda: not slurm.jobs())
    text = (folder / "out").read_text()
    assert all(f"] on $RANK {rank} 1" in text for rank in range(6)) and "(ours)" in text, text
    refused = autodist("submit", "--slurm", "--partition", "none", "--", "true", cwd=folder)
    assert refused.code == 1 and "sbatch refused the script" in refused.err, refused.err


def test_an_agent_is_sent_to_one_of_several_nodes(alloc):
    assert alloc("--", "true").finish().code == 0
    in_host(4, "rm", "-rf", Path.home() / ".cache/autodist/agent")
    outcome = alloc("--", "sh", "-c", "echo up").finish()
    assert outcome.code == 0 and len(outcome.lines()) == 8, outcome.err


def test_doctor_and_sync(alloc, folder):
    outcome = alloc(options=("-N4",), command="doctor").finish()
    assert outcome.code == 0, outcome.out + outcome.err
    (folder / "data").touch()
    elsewhere = f"/tmp/{folder.name}"  # on each host
    outcome = alloc("--sync", "--workdir", elsewhere, "--", "ls", "data", options=("-N4",)).finish()
    assert outcome.code == 0 and outcome.lines() == {rank: ["data"] for rank in range(4)}, outcome.err


def test_a_program_of_pytorch(batch, slurm, folder):
    shutil.copy(TRAIN, folder / "train.py")
    batch("--", "/usr/bin/python3", "train.py")
    slurm.await_true("the end", lambda: not slurm.jobs())
    text = (folder / "out").read_text()
    assert text.count("8 models became 1, the loss fell") == 8, text


def test_a_batch_job_reports_how_it_ended(batch, slurm, folder):
    job = batch("--", "sh", "-c", "echo rank $RANK; exit $((RANK == 5 ? 7 : 0))")
    slurm.await_true("the end", lambda: not slurm.jobs())
    text = (folder / "out").read_text()
    assert "rank 5" in text and "exited with code 7" in text, text
    assert "ExitCode=7:0" in subprocess.run(["scontrol", "show", "job", job], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_exported_site_settings_do_not_matter(batch, slurm, folder):
    """Including settings for srun's own steps."""
    batch("--env", "PATH=/usr/bin:/bin", "--", "sh", "-c", "[ $RANK != 0 ] || scontrol show step $SLURM_JOB_ID",
          options=("-N4", "--ntasks-per-node=2", "--cpus-per-task=3", "--export=NONE"), first="SRUN_CPUS_PER_TASK=3 exec")
    slurm.await_true("the end", lambda: not slurm.jobs())
    text = (folder / "out").read_text()
    # all of 4 nodes, 2 tasks, 3 CPUs
    assert "finished" in text and "CPUs=24 Tasks=4 Name=autodist-agent" in text, text


def test_a_killed_rank(alloc):
    job = alloc("--", *UP)
    pids_of = {int(line.split(":")[1].split("]")[0]): int(line.split()[-1]) for line in job.await_lines(8)}
    os.kill(pids_of[5], signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 137 and "rank 5 " in outcome.err, outcome.err


def test_nodes_connect_back_to_slurms_open_ports(alloc, folder):
    job = alloc("--", "sh", "-c", "echo up; until [ -e end ]; do sleep 0.05; done")
    job.await_lines(8)
    [client] = callback_clients_on(3)
    called = [int(word.rsplit(":", 1)[1]) for word in argv_of(client)[4:] if ":" in word]
    (folder / "end").touch()
    assert job.finish().code == 0
    assert called and all(PORTS[0] <= port <= PORTS[1] for port in called), called


def test_a_killed_link(alloc, slurm, folder):
    job = alloc("--", "sh", "-c", "echo up; until [ -e end ]; do sleep 0.05; done; echo end")
    job.await_lines(8)
    [client] = callback_clients_on(3)
    [link] = [pid for pid in pids_on(3) if argv_of(pid)[1:2] == ["attach"] and parent(pid) == client]
    os.kill(link, signal.SIGKILL)
    job.await_err("connected again", GONE_LIMIT_S)
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0 and outcome.out.count("end") == 8, outcome.err


def test_a_killed_holder(alloc):
    job = alloc("--max-restarts", "1", "--", "sh", "-c", "echo up; [ $AUTODIST_RESTART_COUNT = 1 ] || exec sleep 1000")
    job.await_lines(8)
    kill_all(named_on(3, "autodist-guard"))
    outcome = job.finish()
    assert outcome.code == 0 and outcome.out.count("up") == 8, outcome.err
    assert "host3" in outcome.err


def test_a_killed_callback_client(alloc, slurm, folder):
    job = alloc("--max-restarts", "1", "--lease", "5", "--", "sh", "-c",
                "echo up; until [ -e end ]; do sleep 0.05; done; echo end")
    job.await_lines(8)
    [client] = callback_clients_on(3)
    os.kill(client, signal.SIGKILL)
    if slurm.proctrack == "cgroup":  # ends its children, too
        job.await_err("host3", GONE_LIMIT_S)
        job.await_lines(8)
    (folder / "end").touch()
    outcome = job.finish()
    assert outcome.code == 0 and outcome.out.count("end") == 8, outcome.err


def test_a_killed_srun(alloc):
    """Slurm kills its step with all processes."""
    job = alloc("--", *SAVES)
    job.await_lines(8)
    sruns = [pid for pid in pids() if argv_of(pid)[0] == "srun"]
    [srun] = [pid for pid in sruns if parent(pid) not in sruns]  # the parent; its child would end the step
    os.kill(srun, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code in (125, 128 + signal.SIGKILL), outcome.err  # depends on which exit is noticed first
    assert not processes()


def test_a_restart_after_a_killed_srun(alloc):
    job = alloc("--max-restarts", "1", "--lease", "5", "--", "sh", "-c",
                "echo up; [ $AUTODIST_RESTART_COUNT = 1 ] || exec sleep 1000")
    job.await_lines(8)
    sruns = [pid for pid in pids() if argv_of(pid)[0] == "srun"]
    os.kill(min(pid for pid in sruns if parent(pid) not in sruns), signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 0 and outcome.out.count("up") == 8, outcome.err


def test_a_spare_takes_the_place_of_a_lost_host(alloc):
    job = alloc("--spares", "1", "--", "sh", "-c", "echo up; [ $AUTODIST_RESTART_COUNT = 1 ] || exec sleep 1000")
    job.await_lines(6)
    [agent] = agents_on(3)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert {line.split("]")[0] for line in outcome.out.splitlines()} == {
        f"[host{host}:{rank}" for host, rank in ((1, 0), (1, 1), (2, 2), (2, 3), (4, 4), (4, 5))}


def test_a_killed_slurmd(alloc, slurm, folder):
    job = alloc("--", "sh", "-c", "echo up; until [ -e end ]; do sleep 0.05; done; echo end")
    job.await_lines(8)
    kill_all(named_on(3, "slurmd"))
    (folder / "end").touch()
    outcome = job.finish()
    slurm.start_slurmd(3)
    slurm.await_true("host3 back", lambda: not slurm.jobs() and slurm.idle() == HOSTS)
    assert outcome.code == 0 and outcome.out.count("end") == 8, outcome.err


def test_ctrl_c(alloc, folder):
    job = alloc("--", *SAVES)
    job.await_lines(8)
    [autodist] = [pid for pid in pids() if argv_of(pid)[:2] == [AUTODIST, "run"]]
    os.kill(autodist, signal.SIGINT)
    outcome = job.finish()
    assert outcome.code == 130, outcome.err
    assert len(list(folder.glob("saved.*"))) == 8


def saves(batch, folder, *arguments, **how):
    job = batch(*arguments, "--", *SAVES, **how)
    seconds_until(lambda: (folder / "out").exists() and (folder / "out").read_text().count("] up") == 8, GONE_LIMIT_S)
    return job


@pytest.mark.parametrize("first", ["exec", ""], ids=["exec", "shell"])
def test_scancel_leaves_ranks_time_to_save(batch, slurm, folder, first):
    job = saves(batch, folder, first=first)
    subprocess.run(["scancel", job], check=True)
    seconds_until(lambda: not processes(), KILL_WAIT_S + GONE_LIMIT_S)
    assert len(list(folder.glob("saved.*"))) == 8, (folder / "out").read_text()


def test_usr1_reaches_all_ranks(batch, slurm, folder):
    job = batch("--", "sh", "-c", "trap 'echo received; exit 0' USR1; echo up; while :; do sleep 0.05; done")
    seconds_until(lambda: has(folder / "out", "7] up") and (folder / "out").read_text().count("] up") == 8, GONE_LIMIT_S)
    subprocess.run(["scancel", "--batch", "--signal=USR1", job], check=True)
    slurm.await_true("the end", lambda: not slurm.jobs())
    assert (folder / "out").read_text().count("] received") == 8


def test_a_requeue_restarts_the_job(batch, slurm, folder):
    job = batch("--", "sh", "-c", "n=${SLURM_RESTART_COUNT:-0}; echo up $n; [ $n = 1 ] || exec sleep 1000",
                options=("-N4", "--ntasks-per-node=2", "--requeue"))
    seconds_until(lambda: has(folder / "out", "] up 0"), GONE_LIMIT_S)
    subprocess.run(["scontrol", "requeue", job], check=True)
    took = seconds_until(lambda: any("PENDING" in line for line in slurm.jobs()), KILL_WAIT_S + GONE_LIMIT_S)
    assert took < KILL_WAIT_S / 2, (folder / "out").read_text()
    slurm.await_true("the nodes free", lambda: slurm.idle() == HOSTS)
    # The default delay is two minutes. The credential is revoked in the second in which the job ended.
    subprocess.run(["scontrol", "update", f"JobId={job}", "StartTime=now+2"], check=True)
    slurm.await_true("the second end", lambda: not slurm.jobs())
    text = (folder / "out").read_text()
    assert text.count("] up 1") == 8, text
    slurm.await_true("the end", lambda: not slurm.jobs())


def test_the_login_node_finds_a_batch_job(batch, slurm, start, folder):
    """Host 1 is not of the job, and shares its record and log folder."""
    (folder / "state").mkdir(mode=0o700)
    shared = {"XDG_STATE_HOME": f"{folder}/state"}
    batch("--name", "far", "--", *UP, options=("-N2", "--nodelist=host[2-3]", "--ntasks-per-node=2",
                                               f"--export=ALL,XDG_STATE_HOME={folder}/state"))
    seconds_until(lambda: has(folder / "out", ":3] up"), GONE_LIMIT_S)

    def ask(*arguments):
        return start(*arguments, cwd=folder, env=shared).finish()
    [line] = [line for line in ask("ps").out.splitlines() if " far " in line]
    assert line.split()[2:4] == ["running", "host2"], line
    status = ask("status")  # the job of this folder
    assert status.code == 0 and "running" in status.out and "going there with srun" in status.err, status.err
    assert ask("top", "far", "--once").code == 0
    seconds_until(lambda: ask("logs", "far", "--rank", "3").out.startswith("up "), GONE_LIMIT_S)
    assert "stopping job" in ask("stop", "far").err
    slurm.await_true("the end", lambda: not slurm.jobs())
    seconds_until(lambda: not processes(), GONE_LIMIT_S)
    # The record of an ended job is read here.
    ended = ask("status", "far")
    assert "exit code    143" in ended.out and "srun" not in ended.err, ended.err
    other = start("run", "--", "true", cwd=folder, env=shared).finish()
    assert other.code == 0 and " far " in ask("ps", "--all").out


def test_outside_an_allocation(start):
    outcome = start("run", "--slurm", "--", "true").finish()
    assert outcome.code == 2 and "not inside a Slurm allocation" in outcome.err
    assert "to queue a job for nodes: `autodist submit --slurm`" in outcome.err, outcome.err
    outcome = start("init", "--slurm").finish()
    assert outcome.code == 2 and "get one with salloc" in outcome.err and "submit" not in outcome.err, outcome.err


def test_a_start_once_per_task_is_refused(start, slurm):
    for options in ((), ("--slurm",)):
        outcome = start("run", *options, "--", "true", under=("salloc", "-Q", "-N2", "srun", "-n2")).finish()
        assert outcome.code == 2 and "this is one of 2 tasks of srun" in outcome.err, outcome.err


def test_a_step_of_one_task_may_start_a_job(start, slurm):
    outcome = start("run", "--", "echo", "up", under=("salloc", "-Q", "-N2", "srun", "-n1")).finish()
    assert outcome.code == 0 and "] up" in outcome.out, outcome.err


def test_an_unused_allocation_is_reported(start, slurm):
    outcome = start("run", "--", "true", under=("salloc", "-Q", "-N2")).finish()
    assert outcome.code == 0 and "a Slurm allocation of 2 nodes and uses only this machine" in outcome.err, outcome.err
