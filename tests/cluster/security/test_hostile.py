"""A node whose agent lies (tests/hostile): the command ends in time and names the node, uses little memory,
writes little and only where it should, and leaves no processes on other nodes.

HOSTILE=all runs all lies with every command; the default is a selection.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hosts import SPEC, address, in_host, on_host, pids_on
from jobs import BUILD

pytestmark = pytest.mark.hosts(3, "--ranks 2")

ALL = os.environ.get("HOSTILE") == "all"
LIAR = 3
HONEST = (1, 2)
MOST_MEMORY_KIB = 128 << 10
MOST_SAID = 128 << 10  # bytes
MOST_WRITTEN = 4 << 20

LEASE_S = 4
GRACE_S = 2
# Enough for all work on a machine that is busy with other tests.
WORK_S = 10
# Max. time until a job has ended (docs/explanation/faults.md).
END_S = GRACE_S + 10
# Other time limits in the code: launch/bootstrap, launch/launcher, launch/folder_sync, chief/checks/doctor,
# chief/checks/clean, and chief/job for an agent that does not exit.
READY_S, PREPARE_S, STALL_S, PORTS_S, CLEAN_S, GONE_S = 60, 90, 60, 12, 90, 13
PATIENCE_S = 20  # agent/sync/file_source
WAITS_S = {"says_nothing": READY_S, "never_prepares": PREPARE_S, "never_finishes": STALL_S,
           "passes_on_never": STALL_S, "passes_on_without_end": PATIENCE_S,
           "never_opens_ports": PORTS_S, "never_tries_ports": PORTS_S, "cleans_without_end": CLEAN_S,
           "never_renews": LEASE_S, "never_stops": GONE_S, "vanishes": 2 * LEASE_S}
# chief/checks/probe_nodes: a doctor waits for agents that answered and do not exit.
COMMAND_WAITS_S = {"doctor": 10}
LIES = subprocess.run([BUILD / "liar", "--list"], check=True, capture_output=True, text=True).stdout.split()

# Harmless lies, with which the command may succeed.
MAY_END_WELL = {"many_warnings_later", "cleans_many_jobs", "cleans_long_names"}
# One of each kind.
CHOSEN = {"noise_without_end", "gone_at_length", "no_http", "compressed", "extreme_facts", "not_utf8", "exit_code",
          "resumed_twice", "output_of_many_ranks", "output_with_gaps", "gets_for_ever", "skips_numbers",
          "cancels_many_calls"}
CHOSEN_FOR_DOCTOR = {"compressed", "extreme_facts", "impossible_port"}
CHOSEN_FOR_SYNC = {"wants_all_again_and_again", "idle_without_end"}
CHOSEN_FOR_PASSING_ON = {"passes_on_at_two_ports", "passes_on_wrong_files", "passes_on_a_twin",
                         "misses_without_end"}
CHOSEN_FOR_CLEAN = {"cleans_noisily", "cleans_many_jobs", "cleans_nothing"}
CHOSEN_FOR_BENCH = {"exit_code"}
FOR_BENCH = {"failure", "exit_code", "gets_for_ever", "wants_all_again_and_again"}

# Runs a command, and prints its exit code and peak memory.
MEASURE = """
import json, os, resource, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]), file=open('measured', 'w'))
"""


@pytest.fixture
def hostile(folder):
    """Runs a command while one node lies: hostile(lie, command...)."""
    def run(lie, *command, spec=SPEC):
        agent = folder / "autodist-agent"
        host = in_host(LIAR, "hostname").strip()
        real = BUILD / "autodist-agent"
        agent.write_text(f"#!/bin/sh\nif [ \"$(hostname)\" = {host} ]; then exec {BUILD}/liar {lie} \"$@\"; fi\n"
                         f"exec {real} \"$@\"\n")
        agent.chmod(0o755)
        if command[0] == "clean":  # it sends no agent
            place = "~/.cache/autodist/agent/" + hashlib.sha256(agent.read_bytes()).hexdigest()
            on_host(LIAR, f"mkdir -p {place} && cp {agent} {place}/autodist-agent")
        work = folder / "work"
        work.mkdir(exist_ok=True)
        before = {host: pids_on(host) for host in HONEST}
        start = time.monotonic()
        try:
            ended = subprocess.run(
                [sys.executable, "-c", MEASURE, BUILD / "autodist", command[0], "--spec", spec, "--agent", agent, *command[1:]],
                cwd=work, capture_output=True, check=True,
                timeout=WORK_S + WAITS_S.get(lie, 0) + COMMAND_WAITS_S.get(command[0], 0) + END_S,
                stdin=subprocess.DEVNULL)
        finally:
            seconds = time.monotonic() - start
            print(f"{command[0]} {lie}: {seconds:.1f} s")
        code, memory = json.loads((work / "measured").read_text())
        (work / "measured").unlink()
        said = ended.stderr.decode() + ("" if command[0] == "run" else ended.stdout.decode())
        print(f"code {code}, {memory} KiB, {len(said)} bytes: {said[-1500:]}")
        assert code >= 0
        assert memory < MOST_MEMORY_KIB
        assert len(said) < MOST_SAID
        assert "libprotobuf" not in said and "\033[2J" not in said
        assert {file.name for file in work.iterdir()} <= {"autodist-runs", "file", "link", "sub"}
        written = sum(file.stat().st_size for file in work.rglob("*") if file.is_file())
        assert written < MOST_WRITTEN or lie == "output_without_end"
        for host in HONEST:
            left = {pid for pid in pids_on(host) - before[host] if "autodist" in argv(pid) or "sleep 1001" in argv(pid)}
            assert not left, [argv(pid) for pid in left]
            assert in_host(host, "sh", "-c", "ls -A /tmp/autodist-0 2>&1 || :").strip() in (
                "", "ls: cannot access '/tmp/autodist-0': No such file or directory")
        return code, said
    return run


def argv(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def check(lie, code, said):
    assert code != 0 or lie in MAY_END_WELL
    assert code == 0 or address(LIAR) in said
    assert not any(f"{address(host)} is lost" in said for host in HONEST)


ABOUT_CLEAN = {lie for lie in LIES if lie.startswith("cleans_")}
ABOUT_SYNC = set(LIES[LIES.index("places_without_end"):LIES.index("passes_on_at_an_impossible_port")])
ABOUT_PASSING_ON = set(LIES[LIES.index("passes_on_at_an_impossible_port"):LIES.index("never_opens_ports")])
ABOUT_PORTS = set(LIES[LIES.index("never_opens_ports"):]) - ABOUT_CLEAN
# The doctor starts no job, so it receives only these.
ABOUT_JOBS = set(LIES[LIES.index("exit_code"):]) - ABOUT_CLEAN - ABOUT_SYNC - ABOUT_PASSING_ON - ABOUT_PORTS
JOB = ("--lease", str(LEASE_S), "--grace", str(GRACE_S), "--", "sh", "-c", "exec sleep 1001")


def lies(wanted, chosen):
    return pytest.mark.parametrize("lie", [lie for lie in LIES if lie in wanted and (ALL or lie in chosen)])


@lies(set(LIES) - ABOUT_CLEAN - ABOUT_SYNC - ABOUT_PASSING_ON - ABOUT_PORTS, CHOSEN)
def test_run(hostile, lie):
    check(lie, *hostile(lie, "run", *JOB))


def test_modex(hostile):
    check("floods_modex", *hostile("floods_modex", "run", "--framework", "mpi", *JOB))


def test_commands_of_mpirun(hostile):
    lie = "commands_another_node"
    check(lie, *hostile(lie, "run", "--framework", "mpi", "--per", "job", *JOB))
    assert on_host(2, "ls /tmp/commanded 2>&1 || :").strip().endswith("No such file or directory")


def test_spoofed_text(hostile, folder):
    code, said = hostile("spoofs", "run", "--on-exit", "printf %s \"$AUTODIST_CAUSE\" > ../cause", *JOB)
    check("spoofs", code, said)
    logs = next((folder / "work" / "autodist-runs").glob("*/job.json")).parent
    texts = [said, (folder / "cause").read_text(), (logs / "job.json").read_text(), (logs / "events.jsonl").read_text()]
    assert all("no such file" in text for text in texts)
    for text in texts:
        assert "\033" not in text and "\\u001b" not in text and "\nautodist: error: spoofed" not in text


@lies(ABOUT_SYNC, CHOSEN_FOR_SYNC)
def test_sync(hostile, lie, folder):
    (folder / "work" / "sub").mkdir(parents=True)
    (folder / "work" / "file").write_text("content")
    (folder / "work" / "link").symlink_to("file")
    check(lie, *hostile(lie, "run", "--sync", *JOB))


@lies(ABOUT_PASSING_ON, CHOSEN_FOR_PASSING_ON)
def test_files_that_are_passed_on(hostile, lie, folder):
    """From outside; a node that depends on the lying one gets its files from the chief."""
    place = Path("/tmp/hostile-work")
    (folder / "work").mkdir()
    (folder / "work" / "file").write_text("content" * 10_000)
    first, _, *nodes = SPEC.read_text().partition("ssh:\n")[0].split("  - ")
    if lie.startswith("passes_on"):
        nodes.reverse()
    spec = folder / "spec.yaml"
    spec.write_text(first + "".join(f"  - {node}" for node in nodes) + "ssh:\n" + SPEC.read_text().partition("ssh:\n")[2])
    on_host(2, f"rm -rf {place}")
    code, said = hostile(lie, "run", "--sync", "--workdir", place, *JOB, spec=spec)
    check(lie, code, said)
    assert on_host(2, f"cat {place}/file") == "content" * 10_000
    on_host(2, f"rm -rf {place}")


@lies(set(LIES) - ABOUT_CLEAN - ABOUT_SYNC - ABOUT_PASSING_ON - (set() if ALL else ABOUT_JOBS), CHOSEN_FOR_DOCTOR)
def test_doctor(hostile, lie):
    code, said = hostile(lie, "doctor", "--", "true")
    if lie not in ABOUT_JOBS:
        check(lie, code, said)


@lies(FOR_BENCH, CHOSEN_FOR_BENCH)
def test_bench(hostile, lie):
    check(lie, *hostile(lie, "bench", "--to", "1K"))


@lies(ABOUT_CLEAN, CHOSEN_FOR_CLEAN)
def test_clean(hostile, lie):
    check(lie, *hostile(lie, "clean"))
