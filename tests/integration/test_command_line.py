"""Unusual and wrong command lines: autodist does what was meant, or names the right spelling."""

import os
import re
import sys
from pathlib import Path

import pytest

# The command line, and what the message has to name.
WRONG = [
    ("rnu -- ./train", "`autodist run`"),
    ("./train", "autodist run -- ./train"),
    ("python train.py --lr 0.1", "`autodist run -- python train.py --lr 0.1`"),
    ("-- ./train", "autodist run -- "),
    ("--spec c.yaml -- ./train", "`autodist run --spec`"),
    ("start -- ./train", "`autodist "),
    ("run", "autodist run --spec cluster.yaml -- ./train"),
    ("run cluster.yaml -- ./train", "autodist run --spec cluster.yaml"),
    ("run 4 -- ./train", "only options may precede '--'"),
    ("run --spce c.yaml -- ./train", "did you mean --spec?"),
    ("run --lease=0 -- ./train", "--lease: '0' is not a duration like 90, 10m, 1h30m or 2d, from 1s to 30d"),
    ("run --timeout=10x -- ./train", "--timeout: '10x' is not a duration"),
    ("run --per nod -- ./train", "did you mean node?"),
    ("run --nccl-debug info -- ./train", "did you mean INFO?"),
    ("run --fan-out many -- ./train", "a whole number from 1 to 4096"),
    ("run --output-buffer lots -- ./train", "500M"),
    ("run --max-restarts -- ./train", "--max-restarts needs a value"),
    ("run --metrics -n 1 -- ./train", "'-n' is not ADDRESS:PORT"),
    ("run --restart 2 -- ./train", "--max-restarts"),
    ("run --retries 2 -- ./train", "--max-restarts"),
    ("run --dir x -- ./train", "--workdir"),
    ("report last --html", "--output"),
    ("web --port 8080", "--listen"),
    ("logs last --rank 0-1", "--show 0-1"),
    ("init host1 host2", "--hosts host1,host2"),
    ("init --hosts host1 host2", "--hosts host1,host2"),
    ("run --hosts gpu1 gpu2 -- ./train", "--hosts gpu1,gpu2"),
    ("run --hosts gpu1 gpu2 ./train", "--hosts gpu1,gpu2"),
    ("run --hosts a --hosts b -- ./train", "--hosts is given twice"),
    ("submit --slurm --gres gpu:8 -- ./train", "`--sbatch=--gres=gpu:8`"),
    ("run --framework pytorch -- ./train", "torch"),
    ("run --env LR -- ./train", "--env LR=VALUE"),
    ("run --follow -- ./train", "use `autodist logs --follow`"),
    ("submit --slurm --dry-run -- ./train", "did you mean --print?"),
    ("doctor --max-restarts x -- ./train", "doctor: --max-restarts: 'x' is not a whole number from 0 to 1000000"),
    ("--max-restarts 3 -- ./train", "`autodist run --max-restarts` or `autodist submit --max-restarts`"),
    ("fetch", "fetch: PATTERN is missing"),
    ("list", "`autodist ps` lists jobs"),
    ("kill last", "`autodist stop` stops a job"),
    ("stop --grcae 3 last", "stop has no option '--grcae'"),
    ("kil last", "`autodist stop` stops a job"),
    ("validate", "validate: FILE is missing, and there is no autodist.yaml in this folder"),
    ("validate a.yaml b.yaml", "unexpected argument: 'b.yaml'"),
    ("bench --collective allreduce", "did you mean all-reduce?"),
    ("init", "--hosts"),
    ("init --hosts a --shared-env X", "--shared-env X=VALUE"),
    ("init --hosts a --shared-env 1X=2", "'1X' is not a name"),
    ("help rnu", "`autodist run`"),
    ("run -n 0 true", "a whole number from 1 to 4096"),
    ("run --nproc-per-node gpu true", "leave it out: without a spec"),
    ("run -n 2 --hosts localhost true", "--spec, --hosts, --slurm and -n"),
    ("run --hosts localhost:x true", "autodist: error: --hosts:11: 'x' is not a number of devices"),
    ("run --spec none.yaml true", "autodist init --hosts gpu1,gpu2 --output none.yaml"),
]

# Spellings of other launchers: the launcher, and what to write instead.
OF_OTHERS = [
    ("run -np 4 python train.py", "mpirun", "autodist run -n 4"),
    ("run --np=4 python train.py", "mpirun", "autodist run -n 4"),
    ("-np 4 ./train", "mpirun", "autodist run -n 4"),
    ("run -H gpu1:4,gpu2:4 ./train", "mpirun", "autodist run --hosts gpu1:4,gpu2:4"),
    ("run --hostfile hosts.txt ./train", "mpirun", "autodist run --spec hosts.txt"),
    ("run -machinefile hosts.txt ./train", "mpirun", "autodist run --spec hosts.txt"),
    ("run -x LD_LIBRARY_PATH ./train", "mpirun", "autodist run --pass-env LD_LIBRARY_PATH"),
    ("run -x LR=0.1 ./train", "mpirun", "autodist run --env LR=0.1"),
    ("run --bind-to none ./train", "mpirun", "autodist run --no-affinity"),
    ("run --mca btl tcp ./train", "mpirun", "autodist run --per job -- mpirun --mca"),
    ("run --nnodes 2 --nproc_per_node 8 train.py", "torchrun", "autodist run --hosts"),
    ("run -- --nproc_per_node=2 train.py", "", "autodist run --nproc-per-node=2 -- train.py"),
    ("run -- --nnodes=2 train.py", "torchrun", "autodist run --hosts"),
    ("--nproc_per_node=8 train.py", "", "autodist run --nproc-per-node=8"),
    ("run --master_addr 10.0.0.1 train.py", "torchrun", "leave it out"),
    ("run --node_rank 0 train.py", "torchrun", "leave it out"),
    ("run --rdzv_backend c10d train.py", "torchrun", "leave it out"),
    ("run --standalone train.py", "torchrun", "leave it out"),
    ("run --module package.train", "torchrun", "autodist run -- python3 -m package.train"),
    ("run -N 2 ./train", "srun", "autodist run --hosts"),
    ("run --ntasks 16 ./train", "srun", "autodist run -n 16"),
    ("run --gpus-per-node=4 ./train", "srun", "autodist run -n 4` on this machine, `--hosts HOST:4,...`"),
    ("run -e %j.err ./train", "srun", "autodist run --log-dir FOLDER"),
    ("run --nodelist gpu[1-2] ./train", "srun", "autodist run --hosts gpu[1-2]"),
    ("run --partition long ./train", "srun", "autodist run --slurm"),
    ("run -p long ./train", "srun", "autodist run --slurm"),
    ("run --tee 3 train.py", "torchrun", "autodist run --log-dir FOLDER"),
    ("run --monitor_interval 5 train.py", "torchrun", "leave it out"),
    ("run -J sweep ./train", "srun", "autodist run --name sweep"),
    ("run -o %j.out ./train", "srun", "autodist run --log-dir FOLDER"),
    ("run -c 8 ./train", "srun", "autodist run --no-affinity"),
    ("run --export=ALL ./train", "srun", "leave it out: --slurm passes all variables; else --pass-env NAME passes one"),
    ("run --export=ALL,LR=1 ./train", "srun", "autodist run --env NAME=VALUE"),
    ("run --num_gpus 4 train.py", "deepspeed", "autodist run -n 4"),
    ("run --include localhost:0,1 train.py", "deepspeed", "autodist run --spec cluster.yaml"),
    ("run --num_processes 8 train.py", "accelerate", "autodist run -n 8"),
    ("run --num_machines 2 train.py", "accelerate", "autodist run --hosts"),
    ("run --main_process_port 29500 train.py", "accelerate", "autodist run --master-port 29500"),
    ("doctor -H gpu1,gpu2", "mpirun", "autodist doctor --hosts gpu1,gpu2"),
]


@pytest.mark.parametrize("words, named", WRONG, ids=[words for words, _ in WRONG])
def test_a_correction_is_suggested(autodist, words, named):
    outcome = autodist(*words.split())
    assert outcome.code == 2, outcome.err
    assert named in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("words, launcher, named", OF_OTHERS, ids=[words for words, *_ in OF_OTHERS])
def test_options_of_other_launchers_are_translated(autodist, words, launcher, named):
    outcome = autodist(*words.split())
    assert outcome.code == 2, outcome.err
    assert named in outcome.err and (f"{launcher}'s; " in outcome.err or not launcher)
    for command, option in re.findall(r"`autodist (\w+) (--?\w[\w-]*)", outcome.err):
        assert re.search(rf"^ .*{option}\b", autodist(command, "--help", "all").out, re.M)


OTHER_COMMANDS = ("wait", "sync", "push", "env", "export", "metrics", "debug", "gpus", "ssh", "shell", "forward",
                  "tunnel", "notebook", "profile", "resume", "upgrade", "list", "kill", "rm", "launch", "tail",
                  "show", "check", "watch", "gui", "trace", "cp", "hosts", "connect")


@pytest.mark.parametrize("command", OTHER_COMMANDS)
def test_each_command_of_a_hint_is_accepted(autodist, command):
    outcome = autodist(command)
    assert outcome.code == 2 and "did you mean" not in outcome.err, outcome.err
    hint = outcome.err.split("hint: ")[1]
    assert "to run a program: `autodist run -- " not in hint, hint
    for line in re.findall(r"`autodist ([^`]+)`", hint):
        name, *words = line.split()
        accepted = autodist(name, "--help", *words)
        assert accepted.code == 0, (line, accepted.err)


@pytest.mark.parametrize("words", ["-N 3", "-N3", "-p long", "-C a100", "--gres gpu:8", "-t 30", "-J sweep", "-n 4"])
def test_each_hint_for_sbatch_is_accepted(autodist, words):
    outcome = autodist("submit", "--slurm", "--print", *words.split(), "--", "true")
    assert outcome.code == 2, outcome.err
    hint = re.search(r"`(--[^`]+)`", outcome.err)[1]
    accepted = autodist("submit", "--slurm", "--print", *hint.split(), "--", "true")
    assert accepted.code == 0, (hint, accepted.err)


SHOW = "import os, sys; print(os.environ['RANK'], *sys.argv[1:])\n"


@pytest.mark.parametrize("words", [
    "run -n 2 -- show.py --lr 1", "run -n 2 show.py --lr 1", "run -n 2 -- ./show.py --lr 1",
    "run -n 2 -- -m pkg.show --lr 1", "run --nproc_per_node=2 -m pkg.show --lr 1"])
def test_scripts_and_modules_run_as_with_torchrun(autodist, tmp_path, monkeypatch, words):
    (tmp_path / "pkg").mkdir()
    for path in ("show.py", "pkg/show.py"):
        (tmp_path / path).write_text(SHOW)
    monkeypatch.chdir(tmp_path)
    outcome = autodist(*words.split())
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {0: ["0 --lr 1"], 1: ["1 --lr 1"]}


def test_a_script_that_runs_itself_keeps_its_interpreter(autodist, tmp_path, monkeypatch):
    (tmp_path / "self.py").write_text("#!/bin/sh\necho sh runs it\n")
    (tmp_path / "self.py").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert autodist("run", "--", "./self.py").lines() == {0: ["sh runs it"]}


def test_an_activation_is_no_program(autodist):
    outcome = autodist("run", "--", "conda", "activate", "train")
    # There is no spec whose python_venv could be set.
    assert outcome.code == 2 and "hint: run the command before `autodist run`\n" in outcome.err, outcome.err


@pytest.mark.parametrize("words, named", [
    ("", "autodist run -- ./train"), ("help", "Watch jobs:"), ("help exit-codes", "128 + n"),
    ("help spec", "python_venv"), ("help run", "--spec FILE"), ("run --help all", "--fan-out N"),
    ("-V", "autodist "), ("--version", "autodist "), ("version", "autodist "),
    ("logs --help", "--show RANKS"), ("attach --help", "--show RANKS")])
def test_help_has_several_spellings(autodist, words, named):
    outcome = autodist(*words.split())
    assert (outcome.code, outcome.err) == (0, "")
    assert named in outcome.out


def test_a_program_may_follow_the_options(autodist):
    outcome = autodist("run", "--grace", "2", "echo", "hello", "--grace", "3")
    assert outcome.lines() == {0: ["hello --grace 3"]}


RANKS = ["sh", "-c", "echo $WORLD_SIZE"]


@pytest.mark.parametrize("options", [["-n", "3"], ["-n3"], ["--nproc-per-node", "3"], ["--hosts", "localhost:3"]])
def test_nodes_without_a_spec(autodist, monkeypatch, options):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("AUTODIST_SPEC", "none.yaml")  # an option has priority
    assert autodist("run", *options, "--", *RANKS).lines() == {rank: ["3"] for rank in range(3)}


def test_a_spec_is_found(autodist, monkeypatch, tmp_path):
    (tmp_path / "autodist.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0, 1]\n")
    (tmp_path / "other.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0]\n")
    outcome = autodist("run", "--", *RANKS)
    assert outcome.lines() == {0: ["2"], 1: ["2"]}
    assert outcome.err.startswith("autodist: using spec autodist.yaml in this folder\n")
    monkeypatch.setenv("AUTODIST_SPEC", "other.yaml")
    outcome = autodist("run", "--", *RANKS)
    assert outcome.lines() == {0: ["1"]}
    assert outcome.err.startswith("autodist: using spec other.yaml from $AUTODIST_SPEC\n")
    assert "using spec" not in autodist("run", "--spec", "autodist.yaml", "--", *RANKS).err
    assert "using spec" not in autodist("ps", "--chief-on", "first").err


def test_an_unused_spec_with_a_usual_name_is_named(autodist, tmp_path):
    spec = tmp_path / "cluster.yaml"
    spec.write_text("nodes:\n  - address: localhost\n    cpus: [0, 1]\n")
    hint = ("autodist: cluster.yaml in this folder is not used; to use it: --spec cluster.yaml, "
            "or rename it to autodist.yaml\n")
    assert autodist("run", "--", "true").err.startswith(hint)
    assert "is not used" not in autodist("run", "-n", "1", "--", "true").err
    spec.write_text("services: {}\n")  # another program's
    assert "is not used" not in autodist("run", "--", "true").err


# A hook in the spec would run a command here.
@pytest.mark.parametrize("command", [["run", "--", *RANKS], ["doctor", "--", *RANKS], ["clean"],
                                     ["attach", "last", "--chief-on", "first"]])
@pytest.mark.parametrize("mode", [{"file": 0o666}, {"folder": 0o777},
                                  *([{"owner": 65534}] if os.geteuid() == 0 else [])])
def test_a_spec_that_others_can_write_is_ignored(autodist, tmp_path, command, mode):
    spec = tmp_path / "autodist.yaml"
    spec.write_text("nodes:\n  - address: localhost\n    cpus: [0]\n    python_venv: 'touch ran'\n")
    spec.chmod(mode.get("file", 0o644))
    tmp_path.chmod(mode.get("folder", 0o755))
    os.chown(spec, mode.get("owner", -1), -1)
    outcome = autodist(*command)
    assert outcome.code == 2 and not (tmp_path / "ran").exists()
    assert "autodist: error: autodist.yaml in this folder is not used: " in outcome.err
    hint = "check it, then give --spec autodist.yaml"
    open_path = spec if "file" in mode else tmp_path
    expected = hint + "\n" if "owner" in mode else f"{hint}, or run chmod go-w {open_path}\n"
    assert expected in outcome.err, outcome.err
    assert autodist("run", "--spec", "autodist.yaml", "--", *RANKS).code == 0  # the user named it explicitly


def test_init_writes_the_environment(autodist):
    outcome = autodist("init", "--offline", "--hosts", "localhost,a", "--python-venv", "source v",
                       "--shared-env", "A=$B:1")
    assert outcome.code == 0, outcome.err
    environment = "    python_venv: 'source v'\n    shared_envs:\n      A: '$B:1'\n"
    assert outcome.out.count(environment) == 2  # the chief's, and the group's


@pytest.mark.parametrize("value, seen", [(None, "1"), ("yes", "yes"), ("", None)])
def test_python_output_is_shown_at_once(autodist, monkeypatch, value, seen):
    if value is None:
        monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    else:
        monkeypatch.setenv("PYTHONUNBUFFERED", value)
    words = "import os; print('last words', os.environ['PYTHONUNBUFFERED']); os.kill(os.getpid(), 9)"
    outcome = autodist("run", "--", sys.executable, "-c", words)
    assert outcome.code == 137
    assert outcome.lines() == ({0: [f"last words {seen}"]} if seen else {})


def options_of_other_launchers():
    """[["-np", "4"], …], from the tables of docs/how-to/migrate.md."""
    page = (Path(__file__).parents[2] / "docs/how-to/migrate.md").read_text(encoding="utf-8")
    return [option.split() for cell in re.findall(r"^\| (`-[^|]*) \|", page, re.MULTILINE)
            for option in re.findall(r"`(--?\w[^`…]*)`", cell)]


@pytest.mark.parametrize("words", options_of_other_launchers(), ids=" ".join)
def test_options_of_the_migration_page_are_recognized(autodist, words):
    values = {"FOLDER": "/tmp", "FILE": "hosts", "N": "2", "S": "60", "NAME": "A", "NAME=VALUE": "A=1", "MIN:MAX": "1:2"}
    said = autodist("run", *[values.get(word, word) for word in words], "--dry-run", "--", "true").err
    assert "run has no option" not in said or re.search("write `autodist |leave it out", said), said


@pytest.mark.parametrize("variables", [
    {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}, {"OMPI_COMM_WORLD_SIZE": "2"}, {"PMI_SIZE": "2"}])
def test_a_start_by_each_task_of_another_launcher_is_refused(autodist, variables):
    refused = autodist("run", "-n", 1, "--dry-run", "--", "true", env=variables)
    assert refused.code == 2 and "this is one of 2 tasks of " in refused.err and "start autodist once" in refused.err, refused.err


def test_doctor_accepts_the_options_of_run(autodist):
    options = set(re.findall(r"^ +(?:-\w, ?)?(--[a-z][a-z-]+)", autodist("run", "--help", "all").out, re.M)) - {"--help", "--kubernetes"}
    assert {"--max-restarts", "--checkpoint-dir", "--chief-on", "--exclude", "--web"} <= options
    for option in sorted(options):
        # The first word may be the value of the option.
        refused = autodist("doctor", option, "--zzzz=1", "--zzzz=1", "--", "true")
        assert refused.code == 2 and "doctor has no option '--zzzz'" in refused.err, (option, refused.err)
    checked = autodist("doctor", "-n", 1, "--max-restarts", 3, "--checkpoint-dir", "saved", "--detach", "--timeout", "1h", "--", "true")
    assert "a run would start" in checked.out and not os.path.exists("autodist-runs"), checked.err
    refused = autodist("doctor", "-n", 1, "--timeout", "soon", "--", "true")
    assert refused.code == 2 and "--timeout: 'soon' is not a duration" in refused.err
    assert "hint: see `autodist run --help`\n" in refused.err, refused.err
    own = autodist("doctor", "-n", 1, "--burn", "soon", "--", "true")
    assert own.code == 2 and "hint: see `autodist doctor --help`\n" in own.err, own.err


def test_hosts_in_a_file(autodist, tmp_path):
    for name in ("hosts.txt", "ckpt-1", "ckpt-2"):
        (tmp_path / name).touch()
    init = autodist("init", "--offline", "--hosts", "hosts.txt")
    assert init.code == 0 and "for the hosts in the file of this name: --hostfile hosts.txt" in init.err, init.err
    fetch = autodist("run", "--fetch", "ckpt-1", "ckpt-2", "./train")
    assert fetch.code == 2 and "quote the pattern" in fetch.err, fetch.err


def test_validate_reads_the_default_spec(autodist, tmp_path):
    (tmp_path / "autodist.yaml").write_text("nodes: [{address: localhost, cpus: [0]}]\n")
    outcome = autodist("validate")
    assert outcome.code == 0 and outcome.out.startswith("autodist.yaml: valid: 1 node, 1 rank"), outcome.err
