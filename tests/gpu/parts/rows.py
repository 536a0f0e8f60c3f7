"""The rows of the table: their actions, and when they fail."""

import csv
import json
import os
import re
import shutil
import signal
import sys
from collections import namedtuple
from pathlib import Path

from commands import Failed, NotRun, wait_for

BENCH_LIMIT_S = 240
TRAIN_LIMIT_S = 240
TORCH_LIMIT_S = 300  # several Pythons import torch with a cold disk cache
SHORT_LIMIT_S = 90
UP_LIMIT_S = 120    # until the ranks of a job with a fault are at work
DEATH_LIMIT_S = 60  # from a rank's death until all others have failed and the job is over
SHARED_RANKS = (2, 4)
VICTIM = 2  # of four
EPOCHS = 5
BURN_S = 5
CLOSE = 1e-3  # relative difference of losses: ranks sum in another order

# Lets several ranks share the first GPU: the local rank is an index in CUDA_VISIBLE_DEVICES, and NCCL
# assumes that each is on another host.
SHARE = ('export CUDA_VISIBLE_DEVICES="$CHECK_GPU" AUTODIST_LOCAL_RANK=0 LOCAL_RANK=0 '
         'NCCL_HOSTID="host-of-rank-$AUTODIST_RANK"; exec "$@"')
# A rank that prints its pid, and that survives SIGTERM so that it prints the error of the call.
STUBBORN = 'trap "" TERM; echo "pid $$" >&2; ' + SHARE

Row = namedtuple("Row", "name gpu body")
ROWS = []


def row(name, gpu=False):
    """Registers a row. Its function returns the figure, or raises. `gpu`: the row needs a GPU."""
    def add(body):
        ROWS.append(Row(name, gpu, body))
        return body
    return add


class Setting:
    """The programs under test, with helpers that start ranks."""

    def __init__(self, commands, machine, autodist, train_digits, repository):
        self.commands, self.machine, self.autodist = commands, machine, autodist
        self._train_digits, self.repository = train_digits, repository
        self._bench_folder = None

    @property
    def gpu(self):
        return bool(self.machine.gpus)

    @property
    def backend(self):
        return "nccl" if self.gpu else "gloo"

    def spec(self, ranks, gpu):
        """Writes a spec of this machine; `ranks` may exceed the number of GPUs."""
        file = self.commands.folder / f"{'gpu' if gpu else 'cpu'}-{ranks}.yaml"
        devices = ", ".join(str(device) for device in range(ranks))
        file.write_text(f"nodes:\n  - address: localhost\n    {'gpus' if gpu else 'cpus'}: [{devices}]\n")
        return file

    def bench_folder(self):
        """Returns the folder of the ranks' program of `autodist bench` and its libraries."""
        if not self._bench_folder:
            logs = self.commands.folder / "unpack"
            self.commands.run([self.autodist, "bench", "--spec", self.spec(1, gpu=False), "--log-dir", logs,
                               "--collective", "broadcast", "--to", "8"], SHORT_LIMIT_S)
            self._bench_folder = Path(job_of(logs)["working_directory"]).expanduser()
        return self._bench_folder

    def libraries(self, *programs):
        """Returns the environment in which the programs find NCCL and CUDA."""
        if not self.gpu:
            return {}
        bench = self.bench_folder() / "autodist-bench-nccl"
        if not bench.is_file():
            raise Failed("this autodist was built without NCCL")
        return {"LD_LIBRARY_PATH": self.machine.library_path(*(programs or [bench]))}

    def train_digits(self):
        if not self._train_digits:
            raise NotRun("no train_digits next to autodist")
        return self._train_digits

    def run(self, ranks, program, limit_s, options=(), env=None, cwd=None, script=SHARE):
        """Returns stdout of ranks of `autodist run` that share the first GPU, if any.

        The script makes them share it; without one the program must do so.
        """
        with self.start(ranks, program, options, env, cwd, script) as running:
            code = running.finish(limit_s)
        if code != 0:
            raise Failed(f"exit code {code}: {running.failure_excerpt()}")
        return running.out

    def start(self, ranks, program, options=(), env=None, cwd=None, script=SHARE):
        gpu = self.gpu
        return self.commands.start(
            [self.autodist, "run", "--spec", self.spec(ranks, gpu), "--no-preflight", "--prefix", "none",
             "--log-dir", self.commands.folder / "jobs", *options, "--",
             *(["sh", "-c", script, "sh"] if script else []), *program],
            {"CHECK_GPU": "0" if gpu else "", **(env or {})}, cwd)

    def bench_program(self, **changes):
        """Returns (command, folder) of a rank of `autodist bench`, with these changes of the BenchPlan."""
        folder = self.bench_folder()
        plan = {"backend": f"BACKEND_{self.backend.upper()}", "collectives": ["COLLECTIVE_ALL_REDUCE"],
                "from": "8", "to": "8", "factor": 2, "iterations": 20, "warmup": 2, "budgetMs": 300, **changes}
        if self.gpu:
            return ["./autodist-bench-nccl", json.dumps(plan)], folder
        loader = next(folder.glob("glibc/ld-linux*"))
        return [loader, "--library-path", "glibc:.", "./autodist-bench", json.dumps(plan)], folder


def job_of(logs):
    """Returns the record of the only job in the folder."""
    found = list(Path(logs).glob("*/job.json"))
    if len(found) != 1:
        raise Failed(f"{len(found)} jobs in {logs}")
    return json.loads(found[0].read_text())


def rows_of(table):
    with open(table, encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def check_right(measured):
    """Raises if a bench had wrong results; returns its all-reduce of the largest size."""
    wrong = sum(int(line["wrong"]) + int(line["in_place_wrong"] or 0) for line in measured)
    if wrong:
        raise Failed(f"{wrong} wrong numbers")
    if len({line["collective"] for line in measured}) != 6:
        raise Failed("not all six operations were measured")
    return [line for line in measured if line["collective"] == "all-reduce"][-1]


def figure_of(line):
    return (f"all-reduce of {int(line['bytes']) >> 10} KiB: {float(line['time_us']):.0f} us, "
            f"{float(line['algbw_GBps']):.2f} GB/s; in place {float(line['in_place_time_us']):.0f} us")


@row("doctor")
def doctor(setting):
    spec = setting.spec(max(len(setting.machine.gpus), 1), setting.gpu)
    with setting.commands.start([setting.autodist, "doctor", "--json", "--spec", spec, "--",
                                 sys.executable, "-c", "pass"]) as running:
        code = running.finish(SHORT_LIMIT_S)
    try:
        checks = json.loads(running.out)["nodes"][0]["checks"]
    except (ValueError, LookupError):
        raise Failed(f"exit code {code}: {running.failure_excerpt()}") from None
    results = {one["check"]: one["result"] for one in checks}
    issues = ", ".join(f"{name} {result}" for name, result in results.items()
                       if result != "not_checked" and (result != "good" or name == "devices"))
    if code != 0 or (setting.gpu and results.get("devices") not in ("good", "warning")):
        raise Failed(f"exit code {code}: {issues}")
    return issues or "all good"


@row("doctor --burn")
def burn(setting):
    spec = setting.spec(max(len(setting.machine.gpus), 1), setting.gpu)
    out = setting.commands.run([setting.autodist, "doctor", "--json", "--spec", spec, "--burn", BURN_S,
                                "--log-dir", setting.commands.folder / "jobs"], BENCH_LIMIT_S)
    devices = [device["result"] for device in json.loads(out)["burned"]]
    if any(device["wrong"] for device in devices):
        raise Failed(f"wrong results: {devices}")
    return f"{len(devices)} x {devices[0]['device']}: " + ", ".join(
        f"{rate['work']} {rate['rate']:.3g}" for rate in devices[0]["rates"])


@row("bench, one rank")
def bench_one(setting):
    ranks = 1
    return bench_by_itself(setting, ranks)


@row("bench, a rank on every GPU", gpu=True)
def bench_all(setting):
    if len(setting.machine.gpus) < 2:
        raise NotRun("there is one GPU")
    return bench_by_itself(setting, len(setting.machine.gpus))


def bench_by_itself(setting, ranks):
    """Runs it as users do."""
    table = setting.commands.folder / "table.csv"
    largest = "16M" if setting.gpu else "128K"
    setting.commands.run([setting.autodist, "bench", "--spec", setting.spec(ranks, setting.gpu), "--to", largest,
                          "--factor", "128", "--iterations", "20", "--budget", "0.3", "--csv", table,
                          "--log-dir", setting.commands.folder / "jobs"], BENCH_LIMIT_S, setting.libraries())
    return figure_of(check_right(rows_of(table)))


@row("bench, 2 and 4 ranks on one GPU")
def bench_shared(setting):
    figures = []
    for ranks in SHARED_RANKS:
        table = setting.commands.folder / f"table-{ranks}.csv"
        program, folder = setting.bench_program(
            collectives=[f"COLLECTIVE_{name}" for name in ("ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER",
                                                           "BROADCAST", "ALL_TO_ALL", "SEND_RECV")],
            to=str(16 << 20 if setting.gpu else 8 << 10), factor=1024, csvFile=str(table))
        setting.run(ranks, program, BENCH_LIMIT_S, env=setting.libraries(), cwd=folder)
        figures.append(f"{ranks}: {figure_of(check_right(rows_of(table)))}")
    return "; ".join(figures)


@row("bench on two virtual hosts", gpu=True)
def bench_virtual(setting):
    """Uses SSH, as in a cluster; NCCL sees two host names."""
    cluster = setting.repository / "examples/virtual_cluster/virtual_cluster"
    if os.geteuid() != 0 or not shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin"):
        raise NotRun("needs root and sshd")
    probe = setting.commands.start(["unshare", "--net", "--mount", "ip", "link"])
    with probe:
        if probe.finish(SHORT_LIMIT_S) != 0:
            raise NotRun(f"no network namespaces: {probe.failure_excerpt()}")
    table = setting.commands.folder / "table.csv"
    environment = setting.libraries()
    script = ('path=$1 spec=$2; shift 2; '
              'sed "s|cpus: .*|gpus: [0]\\n    shared_envs: {LD_LIBRARY_PATH: \'$path\'}|" "$spec" >gpus.yaml; '
              'exec "$@" --spec gpus.yaml')
    setting.commands.run(
        [sys.executable, cluster, "2", "--ranks", "1", "--", "sh", "-c", script, "sh", environment["LD_LIBRARY_PATH"], "{spec}",
         setting.autodist, "bench", "--to", "16M", "--factor", "1024", "--iterations", "20", "--budget", "0.3",
         "--csv", table, "--log-dir", setting.commands.folder / "jobs"], BENCH_LIMIT_S, environment)
    return figure_of(check_right(rows_of(table)))


@row("torch.distributed beside it")
def beside_torch(setting):
    python = torch_of(setting)
    sizes = [8, 1 << 17, 1 << 24 if setting.gpu else 1 << 18]
    figures = []
    for ranks in (1, 2):
        table = setting.commands.folder / f"ours-{ranks}.csv"
        program, folder = setting.bench_program(
            **{"from": str(sizes[-1])}, to=str(sizes[-1]), csvFile=str(table))
        setting.run(ranks, program, BENCH_LIMIT_S, env=setting.libraries(), cwd=folder)
        ours = float(rows_of(table)[0]["in_place_time_us"])
        out = setting.run(ranks, [python, Path(__file__).with_name("torch_allreduce.py"), setting.backend, 20,
                                  *sizes], TORCH_LIMIT_S)
        theirs = re.search(rf"^{sizes[-1]} bytes: ([\d.]+) us", out, re.MULTILINE)
        if not theirs:
            raise Failed("torch printed no times")
        figures.append(f"{ranks}: {ours:.0f} us, torch {float(theirs[1]):.0f} us")
    return f"all-reduce in place of {sizes[-1] >> 10} KiB, ranks: " + "; ".join(figures)


def torch_of(setting):
    if not setting.machine.torch:
        raise NotRun("no Python with torch" + (" and CUDA" if setting.gpu else ""))
    return setting.machine.torch


@row("train_digits: the same loss")
def train(setting):
    """1, 2 and 4 ranks reach the loss of one CPU."""
    libraries = {"LD_LIBRARY_PATH": ":".join(filter(None, [
        str(setting.bench_folder()), setting.machine.library_path(setting.train_digits())]))}
    command = [setting.train_digits(), "--epochs", EPOCHS, "--data",
               setting.repository / "examples/train_digits/digits.csv"]
    reference = loss_of(setting.commands.run(
        [setting.autodist, "run", "--spec", setting.spec(1, gpu=False), "--no-preflight", "--log-dir",
         setting.commands.folder / "jobs", "--", *command], TRAIN_LIMIT_S, libraries))
    losses = {}
    for ranks in (1, *SHARED_RANKS):
        out = setting.run(ranks, command, TRAIN_LIMIT_S, env=libraries)
        if setting.gpu and out.count("on GPU:") != ranks:
            raise Failed(f"{ranks} ranks: not all trained on the GPU")
        losses[ranks] = loss_of(out)
        compare(reference, losses[ranks], f"{ranks} ranks")
    return f"{reference:.6f}; " + ", ".join(f"{ranks}: {loss:.6f}" for ranks, loss in losses.items())


def loss_of(out):
    """Returns the last printed loss."""
    found = re.findall(r"loss ([\d.]+)", out)
    if not found:
        raise Failed("no loss was printed")
    return float(found[-1])


def compare(reference, loss, whose):
    if not abs(loss - reference) <= CLOSE * reference:
        raise Failed(f"{whose} have a loss of {loss}, not {reference}")


@row("PyTorch DDP: the same loss")
def ddp(setting):
    python = torch_of(setting)
    losses = []
    for ranks in (1, *SHARED_RANKS[:1]):
        out = setting.run(ranks, [python, Path(__file__).with_name("torch_ddp.py"), setting.backend], TORCH_LIMIT_S)
        losses.append(loss_of(out))
        compare(losses[0], losses[-1], f"{ranks} ranks")
    return f"{setting.backend}, torch {setting.machine.torch_version}: " + ", ".join(map(str, losses))


@row("a rank killed in an all-reduce")
def killed(setting):
    """The call of every other rank fails, and autodist names the killed rank."""
    program, folder = setting.bench_program(**{"from": str(1 << 20)}, to=str(64 << 20), factor=2,
                                            iterations=1_000_000, budgetMs=2000)
    jobs = setting.commands.folder / "jobs"
    with setting.start(4, program, ["--grace", "30"], cwd=folder, script=STUBBORN,
                       env={"NCCL_COMM_BLOCKING": "0", **setting.libraries()}) as running:
        wait_for_row(running, 1 << 20)
        pid = re.search(r"^pid (\d+)", next(jobs.glob(f"*/rank-{VICTIM}.err")).read_text(), re.MULTILINE)
        os.kill(int(pid[1]), signal.SIGKILL)
        code = running.finish(DEATH_LIMIT_S)
    report = running.err[running.err.find("autodist: error"):]
    named = re.search(r"rank (\d+) on", report)
    if code != 128 + signal.SIGKILL or not named or int(named[1]) != VICTIM:
        raise Failed(f"exit code {code}; the report: {' '.join(report.split())[:200]}")
    errors = {rank: said_by(jobs, rank) for rank in range(4) if rank != VICTIM}
    silent = [rank for rank, said in errors.items() if not said]
    if silent:
        raise Failed(f"no error of a call from ranks {silent}")
    return f"rank 0: {errors[0][:110]}"


def wait_for_row(running, size):
    """Waits until a bench has measured this size, and is measuring the next."""
    measured = re.compile(rf"^ +{size} ", re.MULTILINE)
    wait_for(lambda: measured.search(running.out) or running.process.poll() is not None, UP_LIMIT_S,
             "row of the table")
    if running.process.poll() is not None:
        raise Failed(f"it ended too early: {running.failure_excerpt()}")


def said_by(jobs, rank):
    """Returns the error that ended a rank of bench."""
    text = next(jobs.glob(f"*/rank-{rank}.err")).read_text(errors="replace")
    found = re.search(r"^autodist-bench: (.*)", text, re.MULTILINE)
    return found[1] if found else ""


@row("CPUs near the GPU", gpu=True)
def affinity(setting):
    address = setting.machine.gpus[0][0].lower()[-len("0000:00:00.0"):]
    near = Path(f"/sys/bus/pci/devices/{address}/local_cpulist")
    nodes = list(Path("/sys/devices/system/node").glob("node[0-9]*"))
    if len(nodes) < 2 or not near.is_file():
        raise NotRun("only one NUMA node" if len(nodes) < 2 else f"no {near}")
    wanted = cpus_of(near.read_text()) & os.sched_getaffinity(0)
    out = setting.commands.run(
        [setting.autodist, "run", "--spec", setting.spec(1, gpu=True), "--prefix", "none", "--log-dir",
         setting.commands.folder / "jobs", "--", sys.executable, "-c",
         "import os; print(*sorted(os.sched_getaffinity(0)))"], SHORT_LIMIT_S)
    got = {int(word) for word in out.split()}
    if got != wanted:
        raise Failed(f"runs on {len(got)} CPUs, and {len(wanted)} are near the GPU")
    return f"{len(got)} of {os.cpu_count()} CPUs"


def cpus_of(text):
    """Returns the CPUs of "0-3,8"."""
    ranges = [part.split("-") for part in text.strip().split(",") if part]
    return {cpu for ends in ranges for cpu in range(int(ends[0]), int(ends[-1]) + 1)}


@row("NCCL's own view (RAS)", gpu=True)
def ras(setting):
    name = f"gpu-check-{os.getpid()}"
    program, folder = setting.bench_program(to=str(1 << 20), factor=2, iterations=1_000_000, budgetMs=2000)
    with setting.start(2, program, ["--name", name, "--grace", "5"], setting.libraries(), folder) as running:
        wait_for_row(running, 8)
        with setting.commands.start([setting.autodist, "stacks", name]) as stacks:
            stacks.finish(SHORT_LIMIT_S)
    where = re.search(r"the stacks are in (\S+)", stacks.out + stacks.err)
    text = Path(where[1]).read_text(errors="replace") if where else ""
    view = re.search(r"^.*NCCL on .*\n((?:.*\n){1,40})", text, re.MULTILINE)
    if not view:
        raise Failed("the stacks lack NCCL's view")
    version = re.search(r"NCCL version \S+", view[1])
    return version[0] if version else view[1].strip().splitlines()[0]


@row("--nccl-debug", gpu=True)
def nccl_debug(setting):
    program, folder = setting.bench_program()
    setting.run(1, program, SHORT_LIMIT_S, ["--nccl-debug", "INFO"], setting.libraries(), folder)
    log = next((setting.commands.folder / "jobs").glob("*/rank-0.err")).read_text(errors="replace")
    version = re.search(r"NCCL version \S+", log)
    if "NCCL INFO" not in log:
        raise Failed("rank-0.err has no output of NCCL")
    return f"{version[0] if version else ''}, {log.count('NCCL INFO')} lines in rank-0.err"
