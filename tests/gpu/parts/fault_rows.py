"""Rows in which a job has a fault that autodist must diagnose."""

import json
import os
import re
import urllib.request
from pathlib import Path

from commands import Failed, wait_for
from rows import SHORT_LIMIT_S, TORCH_LIMIT_S, UP_LIMIT_S, row, torch_of

RANKS = 4
WHO = 2  # as in torch_faults.py
FIGURES = ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP",
           "DCGM_FI_DEV_SM_CLOCK", "autodist_rank_gpu_info"]
HANG_S = 8
LEAST_USE = 30  # % of the time


class FaultyJob:
    """A job of torch_faults.py, which `with` ends."""

    def __init__(self, setting, fault, options=(), env=None):
        self._setting = setting
        self.name = f"gpu-check-{fault.replace('_', '-')}-{os.getpid()}"
        self._running = setting.start(
            RANKS, [torch_of(setting), Path(__file__).with_name("torch_faults.py"), fault],
            ["--name", self.name, "--grace", "5", *options], env, script=None)

    def __enter__(self):
        self._running.__enter__()
        return self

    def __exit__(self, *what):
        self._running.__exit__(*what)

    def wait_until_it_begins(self):
        wait_for(lambda: self._running.out.count("begins") == RANKS or self._running.process.poll() is not None,
                 TORCH_LIMIT_S, "beginning in all ranks")
        if self._running.process.poll() is not None:
            raise Failed(f"it ended too early: {self._running.failure_excerpt()}")

    def ask(self, *words):
        with self._setting.commands.start([self._setting.autodist, *words, self.name]) as asked:
            return asked.finish(SHORT_LIMIT_S), asked.out

    def report(self):
        """Returns the first line of the job's report."""
        self._running.finish(TORCH_LIMIT_S)
        lines = self._running.err[self._running.err.find("autodist: error:"):].splitlines()
        return lines[1].strip() if len(lines) > 1 and lines[0].endswith(":") else lines[0]

    @property
    def err(self):
        return self._running.err


def log_folder(setting):
    return next((setting.commands.folder / "jobs").glob("*/job.json")).parent


def diagnosis(setting, fault, env=None):
    """Returns the sentence of `why`, which must name the rank."""
    with FaultyJob(setting, fault, env=env) as job:
        job.wait_until_it_begins()
        code, said = job.ask("why")
    sentence = said.splitlines()[0] if said else ""
    if code != 3 or not re.match(rf"rank {WHO}\b", sentence):
        raise Failed(f"exit code {code}: {sentence}")
    return sentence


@row("why: a rank is late", gpu=True)
def late(setting):
    return diagnosis(setting, "late")


@row("why: the same without stacks", gpu=True)
def late_without_stacks(setting):
    """The counts of NCCL and PyTorch are enough."""
    folders = [folder for folder in os.environ["PATH"].split(":")
               if not any((Path(folder) / tool).exists() for tool in ("py-spy", "gdb"))]
    return diagnosis(setting, "late", {"PATH": ":".join(folders)})


@row("why: another collective", gpu=True)
def another(setting):
    sentence = diagnosis(setting, "another")
    records = sorted(log_folder(setting).glob("flight-recorder/rank-*"))
    if len(records) != RANKS:
        raise Failed(f"{len(records)} flight records, of {RANKS} ranks")
    return f"{sentence}; flight records of {sum(file.stat().st_size for file in records) >> 10} KiB"


@row("a hang is ended", gpu=True)
def hang(setting):
    with FaultyJob(setting, "late", ["--hang-timeout", str(HANG_S)]) as job:
        return named(job.report())


@row("a collective given up", gpu=True)
def given_up(setting):
    with FaultyJob(setting, "given_up") as job:
        return named(job.report())


@row("more memory than a GPU has", gpu=True)
def too_much(setting):
    with FaultyJob(setting, "too_much") as job:
        return named(job.report(), "out of memory")


@row("an index out of bounds on a GPU", gpu=True)
def bad_index(setting):
    with FaultyJob(setting, "bad_index", env={"CUDA_LAUNCH_BLOCKING": "1"}) as job:
        return named(job.report(), "device-side assert")


@row("a restart")
def restart(setting):
    program = [torch_of(setting), Path(__file__).with_name("torch_restart.py"), setting.backend]
    with setting.start(1, program, ["--max-restarts", "1"], script=None) as running:
        code = running.finish(TORCH_LIMIT_S)
    if code != 0:
        raise Failed(f"exit code {code}: {running.failure_excerpt()}")
    ended, = re.findall(r"ends at (\S+)", running.out)
    took = float(re.findall(r"first step at (\S+)", running.out)[-1]) - float(ended)
    return f"the first step after a kill: {took:.1f} s"


def named(report, words=""):
    if not re.match(rf"autodist: error: (stopped: .*; )?rank {WHO}\b", report) or words not in report:
        raise Failed(f"the report begins with: {report}")
    return report


@row("figures of GPUs", gpu=True)
def figures(setting):
    with FaultyJob(setting, "busy", ["--metrics", "127.0.0.1:0"]) as job:
        job.wait_until_it_begins()
        address = re.search(r"http://127\.0\.0\.1:\d+/metrics", job.err)
        if not address:
            raise Failed("autodist printed no address of metrics")
        text = wait_for(lambda: busy_metrics(address[0]), UP_LIMIT_S, f"use of {LEAST_USE} %")
        job.ask("top", "--once")
        gpu_issue = check_of_gpus(setting)
    missing = [figure for figure in FIGURES if f"\n{figure}{{" not in text]
    if missing:
        raise Failed("missing metrics: " + ", ".join(missing))
    if "is in use" not in gpu_issue:
        raise Failed(f"doctor reports for a GPU that is in use: {gpu_issue}")
    return ", ".join(f"{figure} {value(text, figure):g}" for figure in FIGURES) + f"; doctor: {gpu_issue[:60]}"


def busy_metrics(address):
    """Returns the metrics once the GPU is busy; before, None."""
    with urllib.request.urlopen(address, timeout=SHORT_LIMIT_S) as answer:
        text = answer.read().decode()
    return text if (value(text, FIGURES[0]) or 0) > LEAST_USE else None


def value(text, figure):
    found = re.search(rf"^{figure}{{.*}} ([-+.e\d]+)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def check_of_gpus(setting):
    with setting.commands.start([setting.autodist, "doctor", "--json", "--spec", setting.spec(1, gpu=True), "--",
                                 "true"]) as asked:
        asked.finish(SHORT_LIMIT_S)
    issues = json.loads(asked.out)["issues"]
    return next((one["what"] for one in issues if one["check"] == "devices"), "nothing")
