"""Commands that inspect and end jobs from another terminal."""

import json
import os
import re
import signal
import subprocess

import pytest
from jobs import AUTODIST, Running, processes, python, seconds_until

RANKS = 3
LIMIT_S = 20
# Executes the lines that the test writes into its pipe.
PUPPET = """
import os, signal, sys, time
rank = os.environ['RANK']
with open(f'{sys.argv[1]}/rank-{rank}') as pipe:
    for line in pipe:
        exec(line)
"""


class Job:
    """A detached job on this machine, with ranks that do what the test says."""

    def __init__(self, begin, folder, *options):
        self.pipes = folder / f"pipes-{len(list(folder.glob('pipes-*')))}"
        self.pipes.mkdir()
        for rank in range(RANKS):
            os.mkfifo(self.pipes / f"rank-{rank}")
        spec = folder / "spec.yaml"
        spec.write_text(f"nodes:\n  - address: localhost\n    cpus: {list(range(RANKS))}\n")
        outcome = begin("run", "--detach", "--spec", spec, *options, "--", *python(PUPPET), self.pipes).finish()
        assert outcome.code == 0, outcome.err
        self.id = re.search(r"job (\S+) is running; `autodist attach (\S+)` shows it", outcome.err)[1]
        self.logs = folder / "autodist-runs" / self.id
        self.status = json.loads((self.logs / "job.json").read_text())
        self.open_pipes()

    def open_pipes(self):
        """Opens them for the ranks of another attempt, too."""
        self.ways = {rank: open(self.pipes / f"rank-{rank}", "w", buffering=1) for rank in range(RANKS)}

    def execute(self, rank, code):
        self.ways[rank].write(code + "\n")

    def write(self, rank, text, fd=1):
        self.execute(rank, f"os.write({fd}, {text.encode() if isinstance(text, str) else text!r})")

    def await_log(self, name, text):
        seconds_until(lambda: (self.logs / name).read_bytes().endswith(text.encode()), LIMIT_S)

    def end(self, code=0):
        """Ends rank 1 with this code, after the others."""
        def ends():
            return len(re.findall(r'"rank":\d', (self.logs / "events.jsonl").read_text()))
        before = ends()
        for rank in (0, 2):
            self.execute(rank, "sys.exit()")
        seconds_until(lambda: ends() == before + 2, LIMIT_S)
        self.execute(1, f"sys.exit({code})")
        self.await_end()

    def await_end(self):
        seconds_until(lambda: "JOB_PHASE_ENDED" in (self.logs / "job.json").read_text(), LIMIT_S)
        seconds_until(lambda: not os.path.exists(f"/proc/{self.status['chief_pid']}"), LIMIT_S)

    def crash(self):
        os.kill(self.status["chief_pid"], signal.SIGKILL)
        seconds_until(lambda: not os.path.exists(f"/proc/{self.status['chief_pid']}"), LIMIT_S)


@pytest.fixture
def begin(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    session = {"XDG_RUNTIME_DIR": str(tmp_path / "run"), "XDG_STATE_HOME": str(tmp_path / "state")}

    def run(*arguments, cwd=tmp_path, **env):
        return Running(arguments, cwd, {**session, **env})
    return run


@pytest.fixture
def ask(begin):
    def run(*arguments):
        return begin(*arguments).finish()
    return run


@pytest.fixture
def new_job(begin, tmp_path):
    jobs = []

    def make(*options, lease_s=5):  # shorter ones can end on a busy machine
        jobs.append(Job(begin, tmp_path, "--lease", lease_s, *options))
        return jobs[-1]
    yield make
    for job in jobs:
        begin("stop", "--now", job.id).finish()
    seconds_until(lambda: not processes(), LIMIT_S)  # of a job that crashed until its lease is over


def test_ps_lists_running_jobs_and_with_all_option_the_others(ask, new_job):
    running, ended, crashed = new_job(), new_job(), new_job()
    ended.end(3)
    crashed.crash()
    lines = ask("ps").out.splitlines()
    assert lines[0].split() == ["JOB", "NAME", "STATE", "NODES", "RANKS", "STARTED", "ELAPSED", "PROGRESS", "LAST",
                                "OUTPUT", "RESTARTS", "FOLDER", "COMMAND"]
    assert [line.split()[:5] for line in lines[1:]] == [[running.id, "-", "running", "1", "3"],
                                                        [crashed.id, "-", "crashed", "1", "3"]]
    states = {line.split()[0]: " ".join(line.split()[2:4]) for line in ask("ps", "--all").out.splitlines()[1:]}
    assert states == {running.id: "running 1", ended.id: "exit 3", crashed.id: "crashed 1"}
    jobs = {job["job_id"]: job
            for job in map(json.loads, ask("ps", "--all", "--json").out.splitlines())}
    assert jobs[running.id]["command"][-1] == str(running.pipes) and jobs[running.id]["detached"]
    assert jobs[ended.id]["exit_code"] == 3 and not jobs[ended.id]["chief_gone"]
    assert jobs[crashed.id]["chief_gone"]


def test_a_crashed_job_is_cleaned_before_it_is_pruned(ask, new_job):
    crashed = new_job()
    crashed.crash()
    refused = ask("prune", crashed.id)
    assert refused.code == 2 and "its ranks may still run" in refused.err and f"autodist clean {crashed.id}" in refused.err
    assert "removed 0 jobs" in ask("prune", "--keep", "0").out
    assert ask("clean", crashed.id).code == 0
    status = ask("status", crashed.id).out
    assert "exit code    125" in status and "`autodist clean` ended what was left" in status and "is gone" not in status
    assert crashed.id not in ask("ps").out
    assert ask("prune", crashed.id).code == 0


def test_a_job_without_its_socket_runs(ask, new_job, tmp_path):
    running, ended = new_job(), new_job()
    ended.end()
    for socket in (tmp_path / "run" / "autodist").iterdir():
        socket.unlink()
    assert json.loads(ask("status", "--json").out)["job_id"] == running.id
    pid = running.status["chief_pid"]
    for command in ("attach", "stop"):
        refused = ask(command)
        assert refused.code == 125 and f"job {running.id}: its chief (process {pid}" in refused.err, refused.err
        assert "runs, but its socket is missing" in refused.err
        assert f"hint: stop it with `kill {pid}`" in refused.err
    os.kill(pid, signal.SIGTERM)
    running.await_end()


def test_a_stopped_chief_is_reported(begin, new_job):
    running = new_job(lease_s=120)
    pid = running.status["chief_pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        shown, refused = [job.finish() for job in (begin("status", running.id), begin("stop", running.id))]
        assert shown.code == 0 and "not answering" in shown.out, shown.out
        assert refused.code == 125 and f"job {running.id}: its chief (process {pid} on " in refused.err, refused.err
        for outcome in (shown, refused):
            assert "it is stopped (state T)" in outcome.err and f"hint: `kill -CONT {pid}`" in outcome.err, outcome.err
    finally:
        os.kill(pid, signal.SIGCONT)
    running.end()


def test_a_job_in_a_terminal_is_listed_too(begin, ask, tmp_path):
    job = begin("run", "--", "sh", "-c", f"echo up; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done")
    job.await_lines(1)
    [line] = ask("ps").out.splitlines()[1:]
    assert line.split()[2:4] == ["running", "1"]
    status = json.loads(ask("status", "--json", "last").out)
    assert status["job_id"] == line.split()[0] and not status["detached"]
    assert ask("logs", "last", "--rank", "0").out == "up\n"
    (tmp_path / "end").touch()
    assert job.finish().code == 0
    assert "exit code    0\n" in ask("status", "last").out


def test_status_of_running_ended_and_crashed_jobs(ask, new_job, tmp_path):
    job = new_job()
    outcome = ask("status", job.id)
    assert outcome.code == 0
    assert "running" in outcome.out and str(job.pipes) in outcome.out
    assert ["localhost", "running", "0-2", "3"] in [line.split() for line in outcome.out.splitlines()]
    job.end(9)
    outcome = ask("status", job.id[-6:])  # a suffix of the id is enough
    assert outcome.code == 0
    assert "exit code    9\n" in outcome.out and "rank 1 on localhost" in outcome.out
    assert "exited with code 9" in outcome.out.split("\n\n")[-1]
    assert json.loads(ask("status", "--json", job.id).out)["exit_code"] == 9
    assert json.loads((job.logs / "job.json").read_text())["exit_code"] == 9
    crashed = new_job()
    crashed.crash()
    assert f"`autodist clean {crashed.id}`" in ask("status", crashed.id).out


def test_a_name_means_the_newest_job(begin, ask, new_job):
    first, second, other = new_job("--name", "sweep-3"), new_job("--name", "sweep-3"), new_job("--name", "eval")
    assert [line.split()[:2] for line in ask("ps").out.splitlines()[1:]] == [
        [first.id, "sweep-3"], [second.id, "sweep-3"], [other.id, "eval"]]
    assert json.loads(ask("status", "sweep-3", "--json").out)["job_id"] == second.id
    second.write(0, "words\n")
    second.await_log("rank-0.out", "words\n")
    assert ask("logs", "sweep-3", "--rank", "0").out == "words\n"
    assert begin("stop", "sweep-3").finish().code == 0
    outcome = ask("status", "sweep-3")  # also when it has ended
    assert "exit code    143" in outcome.out and "sweep-3" in outcome.out
    assert "running" in ask("status", first.id).out
    assert f"{other.id} (eval)" in ask("status", "swoop").err


@pytest.mark.parametrize("name, why", [
    ("last", "already means the last job"), ("20261120-173000-3fa9c1", "has the form of a job's id"),
    ("two words", "is not a name of"), ("x" * 65, "is not a name of")])
def test_invalid_names_are_refused(ask, name, why):
    outcome = ask("run", "--name", name, "--", "true")
    assert outcome.code == 2 and why in outcome.err


def test_status_shows_the_last_output_of_a_rank(ask, new_job):
    job = new_job()
    assert json.loads(ask("status", job.id, "--json").out)["last_output_ms"] is None
    assert re.search(r"last output +-$", ask("status", job.id).out, re.M)
    job.write(1, "words\n", fd=2)
    job.await_log("rank-1.err", "words\n")
    written_ms = (job.logs / "rank-1.err").stat().st_mtime * 1000
    assert abs(int(json.loads(ask("ps", "--json").out)["last_output_ms"]) - written_ms) < 2000
    assert re.search(r"last output +(now|\d+ s ago)$", ask("status", job.id).out, re.M)
    job.end()
    last = int(json.loads((job.logs / "job.json").read_text())["last_output_ms"])
    assert abs(last - written_ms) < 2000
    assert int(json.loads(ask("status", job.id, "--json").out)["last_output_ms"]) == last


def test_unknown_and_ambiguous_names(ask, new_job):
    job = new_job()
    for command in ("status", "logs", "attach", "stop"):
        outcome = ask(command, "no-such-job")
        assert outcome.code == 2
        assert "no job is called 'no-such-job'" in outcome.err and job.id in outcome.err
        assert ask(command, "../" + job.id).code == 2
        assert "\\x1b[2J" in (said := ask(command, "\x1b[2J").err) and "\x1b" not in said


def test_logs_of_all_ranks_and_of_one(ask, new_job):
    job = new_job()
    job.write(0, "one\ntwo")
    job.await_log("rank-0.out", "two")
    job.write(2, b"\0\xff\n")
    job.write(2, "bad\n", fd=2)
    for name, text in (("rank-2.out", "\n"), ("rank-2.err", "bad\n")):
        job.await_log(name, text)
    outcome = ask("logs", job.id)
    assert outcome.code == 0
    assert outcome.out == "[localhost:0] one\n[localhost:0] two\n[localhost:2] \0\udcff\n"
    assert outcome.err == "[localhost:2] bad\n"
    outcome = ask("logs", "--rank", "2", job.id)
    assert (outcome.out, outcome.err) == ("\0\udcff\n", "bad\n")
    assert ask("logs", job.id, "--rank", "0", "--rank", "1").out == "[localhost:0] one\n[localhost:0] two\n"
    assert ask("logs", job.id, "--stderr").out == "[localhost:2] bad\n"
    outcome = ask("logs", job.id, "--rank", "3")
    assert outcome.code == 2 and "has no rank 3" in outcome.err
    job.end()
    assert ask("logs", job.id, "--rank", "0").out == "one\ntwo"


def test_a_job_of_this_folder_is_preferred(begin, ask, tmp_path):
    def run_in(name):
        (tmp_path / name).mkdir()
        assert ask("run", "--name", name, "--workdir", tmp_path / name, "--", "echo", name).code == 0
    run_in("a")
    run_in("b")
    (tmp_path / "c").mkdir()
    for arguments in (["logs"], ["logs", "last"]):
        for folder, shown in (("a", "a"), ("b", "b"), (".", "b"), ("c", "b")):
            outcome = begin(*arguments, "--rank", "0", cwd=tmp_path / folder).finish()
            assert outcome.out == f"{shown}\n", outcome.err
            notice = "no job of this folder; using " in outcome.err and f"(b): echo b, in {tmp_path}/b" in outcome.err
            assert notice == (folder == "c"), outcome.err
    for command in ("stop", "prune", "clean"):
        refused = begin(command, "last", cwd=tmp_path / "c").finish()
        assert refused.code == 2 and "no job was started in this folder" in refused.err, refused.err
        assert f"`autodist {command} JOB`" in refused.err, refused.err
    assert begin("stop", "last", cwd=tmp_path / "a").finish().code == 0
    assert "no job is called 'none'" in begin("stop", "--", "none", cwd=tmp_path / "a").finish().err


def test_a_log_folder_is_a_job(ask, new_job, tmp_path):
    job = new_job()
    job.write(0, "words\n")
    job.end(9)
    job.logs.rename(tmp_path / "copy")
    assert ask("status", job.id).code == 2
    for path in ("./copy", str(tmp_path / "copy/")):
        assert ask("logs", path, "--rank", "0").out == "words\n"
        status = ask("status", path)
        assert "exit code    9\n" in status.out and str(tmp_path / "copy") in status.out, status.err
        assert "exited with code 9" in ask("report", path, "--markdown").out
        assert ask("why", path).code != 2
    refused = ask("logs", "./pipes-0")
    assert refused.code == 2 and "./pipes-0 is not the log folder of a job: it has no job.json" in refused.err


def test_logs_of_an_earlier_attempt(ask, new_job):
    job = new_job("--max-restarts", "1")
    job.write(0, "old\n")
    job.await_log("rank-0.out", "old\n")
    job.execute(0, "sys.exit(7)")
    seconds_until(lambda: (job.logs / "restart-1" / "rank-0.out").exists(), LIMIT_S)
    job.open_pipes()
    job.write(0, "new\n")
    job.await_log("restart-1/rank-0.out", "new\n")
    last = ask("logs", job.id)
    assert last.out == "[localhost:0] new\n"
    assert f"`autodist logs {job.id} --attempt 1` prints the output of the attempt before" in last.err
    assert ask("logs", job.id, "--attempt", "2").out == last.out
    first = ask("logs", job.id, "--attempt", "1")
    assert first.out == "[localhost:0] old\n" and "was restarted" not in first.err
    refused = ask("logs", job.id, "--attempt", "3")
    assert refused.code == 2 and "has no attempt 3, but 2 attempts" in refused.err


def test_no_output_of_a_job_that_launches(begin, ask, tmp_path):
    (tmp_path / "slow.yaml").write_text(
        f"nodes:\n  - {{address: localhost, cpus: [0], python_venv: 'until [ -e {tmp_path}/go ]; do sleep 0.05; done'}}\n")
    job = begin("run", "--spec", "slow.yaml", "--", "true")
    seconds_until(lambda: " launching " in ask("ps").out, LIMIT_S)
    assert "is launching: no rank has written anything yet" in ask("logs").err
    (tmp_path / "go").touch()
    assert job.finish().code == 0
    assert ": no such output" in ask("logs").err


def test_logs_follow_until_the_end_and_into_the_next_attempt(begin, new_job):
    job = new_job("--max-restarts", "1")
    job.write(0, "old\n")
    following = begin("logs", "-f", job.id)
    assert following.await_lines(1) == ["[localhost:0] old\n"]
    job.write(0, "new\nbeg")
    assert following.await_lines(1) == ["[localhost:0] new\n"]
    job.write(0, "un\n")
    job.write(1, "first\n")
    assert sorted(following.await_lines(2)) == ["[localhost:0] begun\n", "[localhost:1] first\n"]
    job.write(0, "unfinished")
    job.await_log("rank-0.out", "unfinished")
    job.execute(0, "sys.exit(7)")
    seconds_until(lambda: (job.logs / "restart-1" / "rank-0.out").exists(), LIMIT_S)
    job.open_pipes()
    job.write(0, "again\n")
    assert following.await_lines(2) == ["[localhost:0] unfinished\n", "[localhost:0] again\n"]
    job.write(0, "the last")
    job.end()
    outcome = following.finish()
    assert (outcome.code, outcome.out) == (0, "[localhost:0] the last\n")
    assert "restarts" in begin("status", job.id).finish().out


def test_attach_shows_the_last_lines_and_exits_as_the_job_does(begin, new_job):
    job = new_job()
    job.write(0, "".join(f"{i}\n" for i in range(100)))
    job.await_log("rank-0.out", "99\n")
    attached = begin("attach", job.id)
    assert attached.await_lines(5) == [f"[localhost:0] {i}\n" for i in range(95, 100)]
    job.write(2, "bad\n", fd=2)
    attached.await_err("bad", LIMIT_S)
    job.write(0, "on\n")
    assert attached.await_lines(1) == ["[localhost:0] on\n"]
    job.execute(2, "sys.exit(7)")
    outcome = attached.finish()
    assert outcome.code == 7
    assert outcome.err.startswith("[localhost:2] bad\nautodist: error: rank 2 on localhost (pid ")
    assert "exited with code 7" in outcome.err
    assert outcome.err.split("error: ")[1].rstrip() == json.loads((job.logs / "job.json").read_text())["report"]


def test_attach_and_logs_of_a_job_that_has_ended(ask, new_job):
    job = new_job()
    job.write(0, "words\n")
    job.end(7)
    outcome = ask("attach", job.id)
    assert (outcome.code, outcome.out) == (7, "[localhost:0] words\n")
    assert ask("logs", "-f", job.id).out == "[localhost:0] words\n"


def test_ctrl_c_leaves_an_attached_job_alone(begin, ask, new_job):
    job = new_job()
    job.write(0, "up\n")
    attached = begin("attach", job.id)
    attached.await_lines(1)
    attached.interrupt()
    outcome = attached.finish()
    assert outcome.code == 130
    assert f"job {job.id} continues; `autodist stop {job.id}` ends it" in outcome.err
    assert "running" in ask("status", job.id).out
    job.end()
    assert json.loads((job.logs / "job.json").read_text())["exit_code"] == 0


def test_ctrl_c_works_while_no_reader_drains_the_output(begin, new_job):
    job = new_job()
    attached = begin("attach", job.id)
    # More than the pipe holds.
    job.execute(0, "for _ in range(16): sys.stdout.write('x' * (1 << 20) + '\\n'); sys.stdout.flush()")
    assert attached.process.stdout.read1(1)
    job.execute(0, "os.write(2, b'all written')")
    job.await_log("rank-0.err", "all written")  # a blocked client does not delay the job
    attached.interrupt()
    assert attached.process.wait(LIMIT_S) == 130


@pytest.mark.parametrize("command", ["attach JOB --all", "logs JOB -f"])
def test_the_end_of_the_reader_ends_a_follower_of_a_silent_job(ask, new_job, tmp_path, command):
    job = new_job()
    job.write(0, "up\n")
    job.await_log("rank-0.out", "up\n")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run"), "XDG_STATE_HOME": str(tmp_path / "state")}
    line = f"{AUTODIST} {command.replace('JOB', job.id)} | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=environment, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    assert (done.stdout, done.returncode) == ("[localhost:0] up\n", 128 + signal.SIGPIPE), done.stderr
    assert "running" in ask("status", job.id).out


def test_attach_to_a_job_that_was_killed(begin, new_job):
    job = new_job()
    job.write(0, "up\n")
    attached = begin("attach", job.id)
    attached.await_lines(1)
    job.crash()
    outcome = attached.finish()
    assert outcome.code == 125 and f"`autodist clean {job.id}`" in outcome.err


def ignore_sigterm(job, seconds):
    """Rank 0 takes this long to exit after SIGTERM."""
    job.execute(0, "signal.signal(signal.SIGTERM, lambda *_: "
                f"(os.write(1, b'term\\n'), time.sleep({seconds}), os.write(1, b'saved\\n'), os._exit(0)))")
    job.write(0, "ready\n")
    job.await_log("rank-0.out", "ready\n")


def test_stop_sends_one_signal_and_waits(begin, ask, new_job):
    job = new_job(lease_s=30)  # the rank gets its time, however busy the machine is
    ignore_sigterm(job, 2)
    stopping = begin("stop", job.id)
    job.await_log("rank-0.out", "term\n")
    seconds_until(lambda: "stopping" in ask("status", job.id).out, LIMIT_S)
    second = begin("stop", job.id)  # a second signal would shorten the grace period
    second.await_err("stopping job", LIMIT_S)
    for command in (stopping, second):
        outcome = command.finish()
        assert outcome.code == 0
        assert f"job {job.id} has ended with exit code 143" in outcome.err
    assert (job.logs / "rank-0.out").read_text() == "ready\nterm\nsaved\n"
    outcome = ask("stop", job.id)
    assert outcome.code == 0 and "exit code 143" in outcome.err


@pytest.mark.parametrize("asked_before", [False, True])
def test_stop_now_does_not_wait(begin, ask, new_job, asked_before):
    job = new_job("--grace", "60")
    ignore_sigterm(job, 1000)
    stopping = []
    if asked_before:
        stopping.append(begin("stop", job.id))
        job.await_log("rank-0.out", "term\n")
    stopping.append(begin("stop", "--now", job.id))
    for command in stopping:
        outcome = command.finish()
        assert outcome.code == 0 and outcome.seconds < LIMIT_S
    assert "needed SIGKILL" in ask("status", job.id).out


def test_stop_of_a_job_that_was_killed(ask, new_job):
    job = new_job()
    job.crash()
    outcome = ask("stop", job.id)
    assert outcome.code == 125 and f"`autodist clean {job.id}`" in outcome.err


def test_output_of_a_detached_job(new_job):
    job = new_job()
    job.write(0, "words\n")
    job.write(1, "bad\n", fd=2)
    job.await_log("rank-1.err", "bad\n")
    job.end(7)
    said = (job.logs / "output.log").read_text()
    assert "[localhost:0] words\n" in said and "[localhost:1] bad\n" in said
    assert "autodist: error: rank 1 on localhost" in said
