"""Jobs on four hosts that continue without a terminal."""

import json
import os
import pty
import re
import signal
import subprocess
import termios

import pytest
from hosts import SPEC, address, agents_on
from jobs import AUTODIST, LIMIT_S, seconds_until, state
from terminals import Terminal

RANKS = 8
UNTIL = ["sh", "-c", 'echo up of $RANK; echo bad of $RANK >&2; while [ ! -e "$0" ]; do sleep 0.1; done; '
                     'echo done; [ $RANK = 5 ] && { sleep 0.5; exit $1; }; :']  # after the others
SAYS = r"job (\d{8}-\d{6}-[0-9a-f]+) is running; `autodist attach \1` shows it, `autodist stop \1` ends it"


@pytest.fixture
def ask(autodist):
    return autodist


@pytest.fixture
def detached(autodist, folder):
    """Starts a job that runs until the file 'end' exists, and has an exit code; gives its name."""
    def run(code=0, *options):
        outcome = autodist("run", "--detach", "--spec", SPEC, *options, "--", *UNTIL, folder / "end", code)
        assert outcome.code == 0, outcome.err
        return re.search(SAYS, outcome.err)[1]
    return run


def record(folder, job):
    return json.loads((folder / "autodist-runs" / job / "job.json").read_text())


def gone(pid):
    return lambda: state(pid) == ""


def ended(folder, job):
    """Waits until the job's autodist has exited; gives its record."""
    seconds_until(gone(record(folder, job)["chief_pid"]), 20)
    return record(folder, job)


def await_output(folder, job, text):
    """Waits until every rank has written the text."""
    logs = folder / "autodist-runs" / job
    seconds_until(lambda: all(text in path.read_text() for path in logs.glob("rank-?.out"))
                  and len(list(logs.glob("rank-?.out"))) == RANKS, 20)


@pytest.mark.smoke
def test_every_command_reaches_a_detached_job(detached, start, ask, folder):
    job = detached(7)
    [line] = [line for line in ask("ps").out.splitlines() if job in line]
    assert line.split()[1:5] == ["-", "running", "4", "8"]
    status = json.loads(ask("status", "--json", job).out)
    assert status["detached"] and [node["address"] for node in status["nodes"]] == [
        address(host) for host in (1, 2, 3, 4)]
    await_output(folder, job, "up")
    assert ask("logs", job, "--rank", "5").out == "up of 5\n"
    assert ask("logs", job).lines() == {rank: [f"up of {rank}"] for rank in range(RANKS)}
    following, attached = start("logs", "-f", job), start("attach", job)
    for reader in (following, attached):
        reader.await_lines(RANKS)
    (folder / "end").touch()
    outcome = following.finish()
    assert outcome.code == 0
    assert outcome.lines() == {rank: ["done"] for rank in range(RANKS)}
    outcome = attached.finish()
    assert outcome.code == 7, outcome.err
    assert f"autodist: error: rank 5 on {address(3)} (pid " in outcome.err
    final = ended(folder, job)
    assert final["phase"] == "JOB_PHASE_ENDED" and final["exit_code"] == 7
    assert f"rank 5 on {address(3)}" in final["report"] and final["ended_ms"] >= final["started_ms"]
    text = ask("status", job).out
    assert "exit code    7" in text and final["report"] in text
    assert job not in ask("ps").out and f"{job}  -     exit 7" in ask("ps", "--all").out


def test_stop_ends_a_detached_job_everywhere(detached, ask, folder):
    job = detached()
    outcome = ask("stop", job)
    assert outcome.code == 0, outcome.err
    assert f"job {job} has ended with exit code 143" in outcome.err and "all ranks ended on SIGTERM" in outcome.err
    assert ended(folder, job)["exit_code"] == 143


def test_a_foreground_job_is_listed_and_stopped(up, ask, folder):
    job, _ = up(program=["sh", "-c", "echo up $$; exec sleep 1000"])
    [line] = [line for line in ask("ps").out.splitlines() if "sleep 1000" in line]
    assert line.split()[1:5] == ["-", "running", "4", "8"]
    assert ask("stop", line.split()[0]).code == 0
    assert job.finish().code == 143


def test_a_closed_terminal_does_not_end_a_detached_job(folder, ask):
    terminal = Terminal(folder, "run", "--detach", "--spec", SPEC, "--", *UNTIL, folder / "end", "0")
    assert terminal.wait() == 0
    terminal.await_words(b"ends it")
    job = re.search(SAYS, terminal.said.decode())[1]
    chief = record(folder, job)["chief_pid"]
    assert os.getsid(chief) == chief != terminal.pid
    for stream in (0, 1, 2):
        assert "/dev/pts" not in os.readlink(f"/proc/{chief}/fd/{stream}")
    terminal.close()
    await_output(folder, job, "up")
    assert state(chief) not in ("", "Z") and "running" in ask("status", job).out
    (folder / "end").touch()
    assert ended(folder, job)["exit_code"] == 0


def test_a_closed_terminal_ends_a_foreground_job(folder):
    terminal = Terminal(folder, "run", "--spec", SPEC, "--", *UNTIL, folder / "end", "0")
    terminal.await_words(b"up of")
    terminal.close()
    assert terminal.wait() == 128 + signal.SIGHUP
    [job] = (path.name for path in (folder / "autodist-runs").glob("2*"))
    assert record(folder, job)["exit_code"] == 128 + signal.SIGHUP


def test_ctrl_c_at_the_terminal_before_the_ranks_run(folder, spec):
    # No host has the address, so the launch waits.
    nowhere = spec((f"address: {address(3)}\n", "address: 10.77.0.99\n"))
    terminal = Terminal(folder, "run", "--detach", "--spec", nowhere, "--", *UNTIL, folder / "end", "0")
    terminal.await_words(b"logs in ")
    terminal.type(termios.tcgetattr(terminal.fd)[6][termios.VINTR])
    said = terminal.read()
    assert terminal.wait() == 130
    assert "interrupted before a rank was started" in said
    terminal.close()


def test_ctrl_c_at_the_terminal_does_not_stop_running_ranks(folder, ask):
    # The shell prints when it continues, as it may miss a Ctrl-C while it is starting a program.
    shell = ["sh", "-c", '"$@"; echo went on; exec sleep 1000', "sh", AUTODIST]
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvp(shell[0], [*shell, "run", "--detach", "--spec", str(SPEC), "--", *UNTIL, str(folder / "end"), "0"])
    said = b""
    while b"went on" not in said:
        said += os.read(fd, 4096)
    job = re.search(SAYS, said.decode())[1]
    os.write(fd, termios.tcgetattr(fd)[6][termios.VINTR])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in (-signal.SIGINT, 130)
    assert "running" in ask("status", job).out
    os.close(fd)
    (folder / "end").touch()
    assert ended(folder, job)["exit_code"] == 0


@pytest.mark.parametrize("program, code, what", [
    (["./no-such-program"], 127, "'./no-such-program' does not exist"), (["true"], 125, "name does not resolve")])
def test_a_failing_launch_is_reported_at_the_terminal(autodist, ask, spec, folder, program, code, what):
    path = SPEC if code == 127 else spec((f"address: {address(3)}\n", "address: no.such.host\n"))
    outcome = autodist("run", "--detach", "--spec", path, "--", *program)
    assert outcome.code == code
    assert what in outcome.err and "is running" not in outcome.err
    assert not (folder / "autodist-runs").exists()
    [job] = re.findall(r"autodist: job (\S+):", outcome.err)
    assert job[-6:] not in ask("ps", "--all").out


def test_a_program_with_ranks_that_end_at_once(autodist, folder):
    outcome = autodist("run", "--detach", "--spec", SPEC, "--", "true")
    assert outcome.code == 0
    assert ended(folder, re.search(SAYS, outcome.err)[1])["exit_code"] == 0


def test_the_output_pipe_of_detach_is_closed(folder, detached):
    # $(autodist run --detach ...) must not wait for the job.
    done = subprocess.run([AUTODIST, "run", "--detach", "--spec", SPEC, "--", *UNTIL, folder / "end", "0"],
                          cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=LIMIT_S, text=True, check=True)
    job = re.search(SAYS, done.stdout)[1]
    assert not (folder / "end").exists()
    (folder / "end").touch()
    assert ended(folder, job)["exit_code"] == 0


def test_a_killed_detached_job_has_crashed(detached, start, ask, folder):
    job = detached(0, "--lease", "60", "--grace", "1")
    await_output(folder, job, "up")
    attached = start("attach", job)
    attached.await_lines(RANKS)
    assert agents_on(3)
    os.kill(record(folder, job)["chief_pid"], signal.SIGKILL)
    outcome = attached.finish()
    assert outcome.code == 125 and f"`autodist clean {job}`" in outcome.err
    assert f"{job}  -     crashed" in ask("ps", "--all").out
    assert ask("logs", job).lines() == {rank: [f"up of {rank}"] for rank in range(RANKS)}
    outcome = ask("stop", job)
    assert outcome.code == 125 and f"`autodist clean {job}`" in outcome.err
    outcome = ask("clean", "--spec", SPEC)
    assert f"{address(3)}: ended job {job}\n" in outcome.out


def test_restarts_of_a_detached_job_are_visible(autodist, start, ask, folder):
    script = ('if [ $AUTODIST_RESTART_COUNT = 0 ]; then echo first; [ $RANK = 5 ] || exec sleep 1000; '
              'while [ ! -e "$0" ]; do sleep 0.1; done; exit 3; fi; echo second')
    outcome = autodist("run", "--detach", "--max-restarts", "1", "--spec", SPEC, "--",
                       "sh", "-c", script, folder / "go")
    job = re.search(SAYS, outcome.err)[1]
    following = start("logs", "-f", job, "--rank", "5")
    assert following.await_lines(1) == ["first\n"]
    (folder / "go").touch()
    assert following.finish().out == "second\n"
    final = ended(folder, job)
    assert (final["exit_code"], final["attempt"]) == (0, 1)
    assert ask("logs", job, "--rank", "5").out == "second\n"


def test_stop_during_a_failed_attempt_prevents_a_restart(autodist, ask, folder):
    """The ranks keep their grace period."""
    script = ('trap \'touch "$0/told-$RANK"; while [ ! -e "$0/go" ]; do sleep 0.1; done; echo saved; exit\' TERM; '
              'echo up; touch "$0/up-$RANK"; '
              'while :; do sleep 0.1; [ $RANK = 5 ] && [ $(ls "$0" | grep -c ^up-) = 8 ] && exit 3; done')
    outcome = autodist("run", "--detach", "--max-restarts", "3", "--spec", SPEC, "--", "sh", "-c", script, folder)
    job = re.search(SAYS, outcome.err)[1]
    seconds_until(lambda: len(list(folder.glob("told-*"))) == RANKS - 1, 20)
    with subprocess.Popen([AUTODIST, "stop", job], stderr=subprocess.PIPE) as stop:
        seconds_until(lambda: json.loads(ask("status", "--json", job).out).get("stop_requested"), 20)
        (folder / "go").touch()
        assert b"has ended with exit code 3" in stop.stderr.read()
        assert stop.wait() == 0
    assert ask("logs", job, "--rank", "0").out == "up\nsaved\n"
    assert record(folder, job).get("attempt", 0) == 0
