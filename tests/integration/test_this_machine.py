"""Runs on this machine alone, without SSH."""

import json
import re
import signal
import stat
import subprocess
import time

import pytest
from jobs import AUTODIST, BUILD, ONE_REQUEST_S, processes, python

TRAIN = BUILD / "train_digits"


def spec_of(tmp_path, ranks):
    path = tmp_path / f"{ranks}.yaml"
    path.write_text(f"nodes:\n  - address: localhost\n    cpus: {list(range(ranks))}\n")
    return path


def test_the_default_is_this_machine(autodist):
    outcome = autodist("run", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE")
    assert outcome.code == 0
    assert outcome.lines() == {0: ["rank 0 of 1"]}


@pytest.mark.parametrize("script, code", [
    ("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)])
def test_the_exit_code_is_the_ranks(autodist, script, code):
    assert autodist("run", "--", "sh", "-c", script).code == code


def test_a_missing_program_is_127_and_a_forbidden_one_126(autodist, tmp_path):
    outcome = autodist("run", "--", "./train")
    assert outcome.code == 127
    assert "'./train' does not exist" in outcome.err
    (tmp_path / "train").touch()
    assert autodist("run", "--", "./train").code == 126
    outcome = autodist("run", "--", "no-such-program")
    assert outcome.code == 127 and "not in PATH" in outcome.err
    assert "hint: install it, or put its folder in PATH\n" in outcome.err, outcome.err


def test_a_script_whose_interpreter_is_missing_is_127(autodist, tmp_path):
    script = tmp_path / "train"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    outcome = autodist("run", "--", "./train")
    assert outcome.code == 127
    assert "/no/such/interpreter, does not exist" in outcome.err and "no rank was started" in outcome.err


def test_wrong_usage_is_2(autodist, tmp_path):
    for arguments in (["run"], ["run", "./train", "--", "x"], ["run", "--no-such-option", "--", "x"],
                      ["run", "--grace", "soon", "--", "x"], ["run", "--json", "--detach", "--", "x"],
                      ["run", "--grace", "nan", "--", "x"], ["run", "--spec", "", "--", "x"],
                      ["run", "--log-dir", "", "--", "x"],
                      ["run", "--spec", "none.yaml", "--", "x"], ["validate", "none.yaml"]):
        assert autodist(*arguments).code == 2, arguments
    assert autodist("--help").code == 0
    assert "Examples:" in autodist("run", "--help").out


def test_validate_reports_all_errors_with_their_positions(autodist, tmp_path):
    spec = tmp_path / "bad.yaml"
    spec.write_text("nodes:\n  - adress: a\n    gpus: [0, 0]\n")
    outcome = autodist("validate", "bad.yaml")
    assert outcome.code == 2
    assert "bad.yaml:2:5: unknown key 'adress' in a node; did you mean 'address'?" in outcome.err
    assert "bad.yaml:3:15: in 'gpus': device 0 is listed twice" in outcome.err


@pytest.mark.parametrize("words", [["validate"], ["run", "--dry-run", "--spec"]])
def test_a_missing_key_file_is_reported_with_its_position(autodist, tmp_path, words):
    (tmp_path / "key").write_text("")
    (tmp_path / "spec.yaml").write_text(f"""nodes:
  - {{address: 10.0.0.1, chief: true, ssh_config: lab}}
  - {{address: 10.0.0.2, ssh_config: lab}}
ssh:
  lab:
    key_file: {tmp_path}/none
  other: {{key_file: {tmp_path}/key}}
""")
    command = [] if words[0] == "validate" else ["--", "true"]
    outcome = autodist(*words, "spec.yaml", *command)
    assert outcome.code == 0
    assert outcome.err == (f"autodist: warning: spec.yaml:6:15: key_file {tmp_path}/none: "
                           "No such file or directory\n")


@pytest.mark.parametrize("command, remedy", [
    (["python3", "-u", "trian.py"], "did you mean train.py?"),
    (["bash", "run.sh"], "run autodist from the script's folder"),
])
def test_a_missing_script_is_found_before_anything_starts(autodist, tmp_path, command, remedy):
    (tmp_path / "train.py").write_text("")
    outcome = autodist("run", "--", *command)
    assert outcome.code == 125 and outcome.out == ""
    assert f"{command[-1]}: No such file or directory" in outcome.err and remedy in outcome.err
    assert autodist("doctor", "--", *command).code == 1
    assert autodist("run", "--no-preflight", "--", *command).code in (2, 127)  # the interpreter reports it


def test_dry_run_starts_nothing_and_prints_everything(autodist, tmp_path):
    spec = spec_of(tmp_path, 2)
    text = autodist("run", "--spec", spec, "--dry-run", "--verbose", "--", "touch", "ran here").out
    assert "rank 1: cpu 1" in text and "argv: touch 'ran here'" in text and "RANK=1" in text
    plan = json.loads(autodist("run", "--spec", spec, "--dry-run", "--json", "--", "true").out)
    assert plan["world_size"] == 2
    assert plan["nodes"][0]["ranks"][1]["argv"] == ["true"]
    assert not (tmp_path / "ran here").exists() and not (tmp_path / "autodist-runs").exists()


def test_output_is_whole_separate_and_complete(autodist, tmp_path):
    script = "import sys\nfor i in range(20000): print('x' * 90, i)\nprint('e', file=sys.stderr)"
    outcome = autodist("run", "--spec", spec_of(tmp_path, 4), "--log-dir", "logs", "--",
                       *python(script))
    assert outcome.code == 0
    wanted = ["x" * 90 + f" {i}" for i in range(20000)]
    assert outcome.lines() == {rank: wanted for rank in range(4)}
    for rank in range(4):
        assert f"[localhost:{rank}] e\n" in outcome.err
        [log] = (tmp_path / "logs").glob(f"*/rank-{rank}.out")
        assert log.read_text().splitlines() == wanted
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_closed_stdout_does_not_end_the_job(tmp_path):
    script = "for i in range(50000): print(i, flush=i % 1000 == 0)"
    process = subprocess.Popen([AUTODIST, "run", "--", *python(script)], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read().count(b"cannot write to stdout") == 1
    [log] = tmp_path.glob("autodist-runs/*/rank-0.out")
    assert log.read_text().endswith("49999\n")


def test_local_ranks_have_the_environment_of_the_shell(autodist):
    outcome = autodist("run", "--", "sh", "-c", "echo $MINE/$RANK/$TORCHELASTIC_ERROR_FILE/$PWD",
                       env={"MINE": "yes", "RANK": "99", "TORCHELASTIC_ERROR_FILE": "stale"})
    [line] = outcome.lines()[0]
    assert line.startswith("yes/0//")


def test_the_working_directory_is_the_logical_one(autodist, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    outcome = autodist("run", "--", "sh", "-c", "echo $PWD; /bin/pwd", cwd=tmp_path / "link",
                       env={"PWD": str(tmp_path / "link")})
    assert outcome.lines()[0] == [str(tmp_path / "link"), str(tmp_path / "real")]


def test_ctrl_c_lets_ranks_end_and_returns_130(start):
    job = start("run", "--", "sh", "-c",
                "trap 'echo term; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    job.await_lines(1)
    job.interrupt()
    outcome = job.finish()
    assert outcome.code == 130
    assert outcome.lines() == {0: ["term"]}
    assert "stopped by SIGINT" in outcome.err


def test_sigkill_after_the_grace_period(start):
    job = start("run", "--grace", "0.3", "--", "sh", "-c",
                "n=0; trap 'n=$((n+1)); echo term $n' TERM; echo up; while :; do sleep 0.05; done")
    job.await_lines(1)
    job.interrupt()
    outcome = job.finish()
    assert outcome.code == 130
    assert outcome.lines() == {0: ["term 1"]}  # once
    assert "the rank needed SIGKILL" in outcome.err


def test_a_second_ctrl_c_kills_at_once(start):
    job = start("run", "--grace", "3600", "--", "sh", "-c",
                "trap 'echo term' TERM; echo up; while :; do sleep 0.05; done")
    job.await_lines(1)
    job.interrupt()
    job.await_lines(1)
    time.sleep(ONE_REQUEST_S)
    job.interrupt()
    assert job.finish().code == 130


def test_sigterm_is_passed_on_too(start):
    job = start("run", "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(1)
    job.interrupt(signal.SIGTERM)
    assert job.finish().code == 143


def test_repeated_signals_do_not_change_the_outcome(start):
    """The last of them arrive when the job is over."""
    job = start("run", "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(1)
    limit = time.monotonic() + 20
    while job.process.poll() is None:
        job.interrupt(signal.SIGTERM)
        assert time.monotonic() < limit
    assert job.finish().code == 143


def test_daemons_of_a_rank_end_with_the_job(autodist):
    # The fixture checks that no process is left.
    outcome = autodist("run", "--", "sh", "-c", "setsid sleep 1000 & setsid setsid sleep 1000 & :")
    assert outcome.code == 0


def test_children_of_a_wrapper_have_the_grace_period_too(start):
    job = start("run", "--", "sh", "-c",
                "sh -c 'trap \"sleep 0.3; echo saved; exit\" TERM; echo up; while :; do sleep 0.05; done';"
                " true")
    job.await_lines(1)
    job.interrupt()
    assert job.finish().lines() == {0: ["saved"]}


def test_ctrl_c_works_while_the_output_is_not_read(tmp_path):
    process = subprocess.Popen([AUTODIST, "run", "--", "yes"], cwd=tmp_path, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    process.stdout.read(100000)
    process.send_signal(signal.SIGINT)
    limit = time.monotonic() + 20
    while any("yes" in command.split() for command in processes().values()):
        assert time.monotonic() < limit
    process.stdout.read()
    assert process.wait(20) == 130


def test_sighup_stops_the_job(start):
    job = start("run", "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_lines(1)
    job.interrupt(signal.SIGHUP)
    assert job.finish().code == 129


def test_a_deleted_working_directory(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    outcome = subprocess.run(["sh", "-c", f"cd {gone} && rmdir {gone} && exec {AUTODIST} run -- true"],
                             capture_output=True, text=True, check=False)
    assert outcome.returncode == 2
    assert "cd to a folder that exists" in outcome.stderr


# Python does this with PYTHONUNBUFFERED, which ranks have.
def test_a_newline_that_is_written_separately(autodist):
    outcome = autodist("run", "-n", "1", "--", "sh", "-c",
                       r"for i in 1 2 3; do printf 'line %s' $i; sleep 0.2; printf '\n'; sleep 0.2; done")
    assert outcome.out == "".join(f"[localhost:0] line {i}\n" for i in (1, 2, 3))


def test_a_failing_rank_ends_the_others(autodist, tmp_path):
    outcome = autodist("run", "--spec", spec_of(tmp_path, 3), "--", "sh", "-c",
                       "[ $RANK = 1 ] && { echo doomed >&2; exit 9; }; exec sleep 1000")
    assert outcome.code == 9
    assert "rank 1 on localhost" in outcome.err and "exited with code 9" in outcome.err
    assert "| doomed" in outcome.err
    assert outcome.err.splitlines()[-2] == "  all others ended on SIGTERM"
    assert re.fullmatch(r"autodist: job \S+ failed after \S+ s; exit code 9", outcome.err.splitlines()[-1])


@pytest.mark.parametrize("ranks", [1, 2, 4, 7])
def test_collectives_are_correct(autodist, tmp_path, ranks):
    outcome = autodist("run", "--spec", spec_of(tmp_path, ranks), "--", BUILD / "collectives")
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: ["all collectives are right"] for rank in range(ranks)}


def test_training_is_independent_of_the_number_of_ranks(autodist, tmp_path):
    losses = []
    for ranks in (1, 2, 6):
        outcome = autodist("run", "--spec", spec_of(tmp_path, ranks), "--", TRAIN, "--epochs", "5")
        assert outcome.code == 0, outcome.err
        epochs = [line for line in outcome.lines()[0] if line.startswith("epoch")]
        losses.append([float(line.split()[3]) for line in epochs])
    for other in losses[1:]:
        assert other == pytest.approx(losses[0], rel=1e-3)
    assert losses[0][-1] < losses[0][0] / 2

