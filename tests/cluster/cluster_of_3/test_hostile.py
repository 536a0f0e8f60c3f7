"""A node whose agent lies (tests/hostile): whatever it says, the command ends in time and names the
node, takes little memory, writes little and where it should, and leaves nothing on other nodes.

A part of the lies by default; all of them, and with every command, by HOSTILE=all.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hosts import SPEC, address, in_host, pids_on
from jobs import BUILD

ALL = os.environ.get("HOSTILE") == "all"
LIAR = 3
HONEST = (1, 2)
MOST_MEMORY_KIB = 128 << 10
MOST_SAID = 128 << 10  # bytes
MOST_WRITTEN = 4 << 20
LIMIT_S = 40
LIES = subprocess.run([BUILD / "liar", "--list"], check=True, capture_output=True, text=True).stdout.split()

# What is told, but taken for no lie: the command may end well.
MAY_END_WELL = {"many_warnings_later", "cleans_many_jobs"}
# Of each kind one.
CHOSEN = {"noise_without_end", "gone_at_length", "no_http", "compressed", "large_answer", "many_problems",
          "not_utf8", "exit_code", "resumed_twice", "event_is_not_utf8", "output_of_many_ranks",
          "gets_for_ever", "unasked_stacks", "skips_numbers"}
CHOSEN_FOR_DOCTOR = {"compressed", "many_variables", "impossible_port"}
CHOSEN_FOR_SYNC = {"wants_all_again_and_again"}

# Runs a command, and prints how it ended and the peak of its memory.
MEASURE = """
import json, os, resource, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]), file=open('measured', 'w'))
"""


@pytest.fixture
def hostile(folder):
    """Runs a command while one node lies: hostile(lie, command...)."""
    def run(lie, *command):
        agent = folder / "autodist-agent"
        host = in_host(LIAR, "hostname").strip()
        real = BUILD / "autodist-agent"
        agent.write_text(f"#!/bin/sh\nif [ \"$(hostname)\" = {host} ]; then exec {BUILD}/liar {lie} \"$@\"; fi\n"
                         f"exec {real} \"$@\"\n")
        agent.chmod(0o755)
        work = folder / "work"
        work.mkdir(exist_ok=True)
        before = {host: pids_on(host) for host in HONEST}
        start = time.monotonic()
        try:
            ended = subprocess.run(
                [sys.executable, "-c", MEASURE, BUILD / "autodist", command[0], "--spec", SPEC, "--agent", agent, *command[1:]],
                cwd=work, capture_output=True, timeout=LIMIT_S, check=True, stdin=subprocess.DEVNULL)
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
        assert {file.name for file in work.iterdir()} <= {"autodist-runs", "file"}
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
    if lie not in MAY_END_WELL:
        assert code != 0
    assert address(LIAR) in said


ABOUT_CLEAN = {lie for lie in LIES if lie.startswith("cleans_")}
ABOUT_SYNC = {"wants_what_there_is_not", "wants_all_again_and_again", "fails_to_sync_at_length"}
ABOUT_PORTS = {"impossible_port", "large_port_answer", "more_tries_than_asked"}
# The doctor asks for no job, so it hears no more than these.
ABOUT_JOBS = set(LIES[LIES.index("exit_code"):]) - ABOUT_CLEAN - ABOUT_SYNC - ABOUT_PORTS


@pytest.mark.parametrize("lie", [lie for lie in LIES if lie not in ABOUT_CLEAN | ABOUT_SYNC | ABOUT_PORTS and
                                 (ALL or lie in CHOSEN)])
def test_run(hostile, lie):
    code, said = hostile(lie, "run", "--lease", "4", "--grace", "2", "--", "sh", "-c", "exec sleep 1001")
    check(lie, code, said)


@pytest.mark.parametrize("lie", [lie for lie in LIES if lie in ABOUT_SYNC and (ALL or lie in CHOSEN_FOR_SYNC)])
def test_sync(hostile, lie, folder):
    (folder / "work").mkdir()
    (folder / "work" / "file").write_text("content")
    code, said = hostile(lie, "run", "--sync", "--lease", "4", "--grace", "2", "--", "sh", "-c", "exec sleep 1001")
    check(lie, code, said)


@pytest.mark.parametrize("lie", [lie for lie in LIES if lie not in ABOUT_CLEAN | ABOUT_SYNC and
                                 (ALL or lie in CHOSEN_FOR_DOCTOR)])
def test_doctor(hostile, lie):
    code, said = hostile(lie, "doctor", "--", "true")
    if lie not in ABOUT_JOBS:
        check(lie, code, said)


@pytest.mark.parametrize("lie", [lie for lie in LIES if ALL])
def test_clean(hostile, lie):
    code, said = hostile(lie, "clean")
    if lie in ABOUT_CLEAN:
        check(lie, code, said)
