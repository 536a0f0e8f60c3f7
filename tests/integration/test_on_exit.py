"""The command of `run --on-exit` runs when the job is over."""

import signal

import pytest
from jobs import LIMIT_S, seconds_until

# Shows that a shell runs the command, and with which environment.
HOOK = ("env | grep ^AUTODIST_ | grep -v AUTODIST_JOB_ID= | sort > reported; "
        "grep -q '\"job_phase\":\"ended\"' \"$AUTODIST_LOG_FOLDER/events.jsonl\" && echo \"$AUTODIST_JOB_ID\" > \"$AUTODIST_LOG_FOLDER/on-end\"; "
        "echo \"it's over\" >&2")


def hook_values(tmp_path):
    seconds_until(lambda: (tmp_path / "reported").exists() and "WORLD_SIZE" in (tmp_path / "reported").read_text(), LIMIT_S)
    values = dict(line.split("=", 1) for line in (tmp_path / "reported").read_text().splitlines())
    return {name.removeprefix("AUTODIST_"): value for name, value in values.items()}


def log_folder(tmp_path):
    [folder] = (tmp_path / "autodist-runs").glob("2*")
    return folder


@pytest.mark.parametrize("script, code, how, cause", [
    ("exit 0", 0, "ended", ""),
    ("echo 'free(): invalid pointer' >&2; exit 3", 3, "failed", "exited with code 3: free(): invalid pointer")])
def test_the_command_gets_the_outcome_of_the_job(autodist, tmp_path, script, code, how, cause):
    outcome = autodist("run", "--name", "sweep-3", "--on-exit", HOOK, "--", "sh", "-c", script)
    assert outcome.code == code
    assert outcome.err.splitlines()[-1] == "it's over"
    values = hook_values(tmp_path)
    folder = log_folder(tmp_path)
    assert values["CAUSE"].endswith(cause) and (cause != "" or values["CAUSE"] == "")
    assert values["OUTCOME"] == how and values["EXIT_CODE"] == str(code) and values["WORLD_SIZE"] == "1"
    assert values["JOB_NAME"] == "sweep-3"
    assert values["ELAPSED_S"].isdigit() and values["LOG_FOLDER"] == str(folder)
    assert (folder / "on-end").read_text() == folder.name + "\n"  # the record was complete


def test_a_job_that_is_stopped(start, tmp_path):
    job = start("run", "--on-exit", HOOK, "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(1)
    job.interrupt()
    assert job.finish().code == 130
    values = hook_values(tmp_path)
    assert values["OUTCOME"] == "stopped" and values["EXIT_CODE"] == "130" and values["CAUSE"] == "stopped by SIGINT"


def test_a_job_that_is_not_started(autodist, tmp_path):
    assert autodist("run", "--no-preflight", "--on-exit", HOOK, "--", "./train").code == 127
    values = hook_values(tmp_path)
    assert values["OUTCOME"] == "not started" and values["EXIT_CODE"] == "127" and values["WORLD_SIZE"] == "1"
    assert values["CAUSE"].startswith("no rank was started")


def test_a_detached_job(autodist, tmp_path):
    outcome = autodist("run", "--detach", "--on-exit", HOOK, "--", "sh", "-c", "exit 4")
    assert outcome.code == 0
    values = hook_values(tmp_path)
    assert values["OUTCOME"] == "failed" and values["EXIT_CODE"] == "4"
    output = log_folder(tmp_path) / "output.log"
    seconds_until(lambda: "it's over" in output.read_text(), LIMIT_S)


@pytest.mark.parametrize("command, how", [("exit 9", "it exited with code 9"),
                                          ("kill -9 $$", "it was ended by SIGKILL")])
def test_a_failing_command_is_a_warning(autodist, command, how):
    outcome = autodist("run", "--on-exit", command, "--", "true")
    assert outcome.code == 0
    assert outcome.err.splitlines()[-1] == f"autodist: warning: the command of --on-exit failed: {how}"


def test_a_signal_ends_the_wait_for_the_command(start):
    job = start("run", "--on-exit", "echo begun; exec sleep 1000", "--", "true")
    assert job.await_lines(1) == ["begun\n"]
    seconds_until(lambda: job.process.poll() is not None or job.interrupt(signal.SIGTERM), LIMIT_S)
    assert job.finish().code == 0
