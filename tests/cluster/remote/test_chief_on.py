"""run --chief-on: host 1, for example a laptop, starts the chief on host 2, and may disconnect.

Host 1 reaches hosts 2 to 4 only through a jump host, at addresses of another network, and by names that are
only in its ~/.ssh/config, with its own key. Host 2 has another key, which the others accept."""

import contextlib
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import hosts
import pytest
from hosts import SHARED, address, in_host, pids_on
from jobs import AUTODIST, processes, seconds_until
from terminal import Terminal

NODES = (2, 3, 4)
RANKS = 6
LEASE_S = 5


def inner(host):
    return f"10.88.0.{host}"


def name(host):
    return f"lab{host}"


@pytest.fixture(autouse=True)
def nothing_left_of_chiefs(nothing_left_on_any_host):  # pylint: disable=unused-argument
    yield
    for host in NODES:
        in_host(host, "sh", "-c", "rm -rf ~/.cache/autodist/chief ~/.cache/program")
    in_host(1, "sh", "-c", "rm -f ~/.ssh/laptop*")


@pytest.fixture
def laptop(folder, sshd, known_hosts, ssh_config, new_key):
    """The spec for host 1."""
    keys = {name: new_key(name, "-t", "ed25519") for name in ("laptop", "node")}
    accepted = folder / "accepted"
    accepted.write_text("".join(Path(f"{key}.pub").read_text() for key in keys.values()))
    # Hides files of other logins.
    for host in NODES:
        in_host(host, "sh", "-c", "cd ~/.ssh && mkdir kept && mv id_ed25519 known_hosts kept")
    in_host(1, "sh", "-c", f"cp {keys['laptop']} ~/.ssh/laptop && chmod 600 ~/.ssh/laptop")
    in_host(2, "sh", "-c", f"cp {keys['node']} ~/.ssh/id_ed25519 && chmod 600 ~/.ssh/id_ed25519")
    for key in keys.values():
        key.unlink()  # otherwise all hosts could read it there
    settings = {"AuthorizedKeysFile": accepted, "Subsystem": "sftp internal-sftp",
                "SetEnv": f"XDG_STATE_HOME={folder}/state"}  # not that of the user who runs the tests
    jump = sshd(2, **settings)
    servers = {host: sshd(host, **settings) for host in NODES}
    for host in NODES:
        in_host(host, "ip", "address", "add", f"{inner(host)}/24", "dev", "eth0")
    public = {host: (SHARED / f"host{host}" / "host_key.pub").read_text().split()[:2] for host in NODES}
    known_hosts.write_text("".join(
        f"[{inner(host)}]:{servers[host].port} {' '.join(public[host])}\n" for host in NODES) +
        f"[{address(2)}]:{jump.port} {' '.join(public[2])}\n")
    ssh_config.write_text("".join(
        f"Host {name(host)}\n  HostName {inner(host)}\n  Port {servers[host].port}\n  User root\n"
        for host in NODES))
    path = folder / "lab.yaml"
    path.write_text("nodes:\n" + "".join(
        f"  - {{address: {name(host)}, cpus: [0, 1], ssh_config: far}}\n" for host in NODES) +
        "ssh:\n  far:\n    key_file: ~/.ssh/laptop\n"
        f"    proxy_jump: {address(2)}:{jump.port}\n"
        "    shared_envs: {WHERE: 'on $HOME'}\n")
    yield path
    for host in NODES:
        in_host(host, "sh", "-c", "cd ~/.ssh && rm -f id_ed25519* known_hosts && mv kept/* . && rmdir kept")
        in_host(host, "ip", "address", "del", f"{inner(host)}/24", "dev", "eth0")


@pytest.fixture
def launch(start, laptop, folder):
    """Starts a job with its chief on host 2; gives its outcome."""
    def run(*options, program, cwd=folder, env=None):
        return start("run", "--spec", laptop, "--detach", "--chief-on", "first", "--workdir", folder,
                     *options, "--", *program, cwd=cwd, env=env).finish()
    return run


@pytest.fixture
def there(start, laptop):
    """Runs a command for the job whose chief is on host 2."""
    def run(command, *options):
        return start(command, *options, "--spec", laptop, "--chief-on", "first").finish()
    return run


def chiefs():
    return {pid for pid in pids_on(2) if "run-request" in hosts.argv_of(pid)[1:2]}


def test_without_a_spec_the_target_is_an_ssh_host(launch, start, laptop, ssh_config, folder):
    assert launch(program=["true"]).code == 0
    jump = re.search(r"proxy_jump: (\S+)", laptop.read_text())[1]
    ssh_config.write_text(ssh_config.read_text() + f"Host lab*\n  ProxyJump root@{jump}\nHost *\n  IdentityFile ~/.ssh/laptop\n")
    outcome = start("status", "last", "--chief-on", name(2), cwd=folder).finish()
    assert outcome.code == 0 and "exit code    0" in outcome.out, outcome.err


def test_the_laptop_is_disconnected_for_longer_than_the_lease(launch, there, cut, folder):
    count = 150
    program = folder / "train.sh"
    program.write_text(f'i=0; while [ $i -lt {count} ]; do echo "$RANK $i"; i=$((i + 1)); sleep 0.1; done\n'
                       f'touch done-$RANK; until [ $(ls done-* | wc -l) = {RANKS} ]; do sleep 0.1; done; exit 7\n')
    outcome = launch("--lease", str(LEASE_S), program=["sh", "train.sh"])
    assert outcome.code == 0, outcome.err
    assert "is running" in outcome.err and f"--chief-on {name(2)} (same options for ps" in outcome.err
    assert f"logs in {folder}/autodist-runs/" in outcome.err  # not relative to the folder here
    assert f"the job and its logs are on {name(2)}; from other machines: autodist attach" in outcome.err
    assert chiefs() and not {pid for pid in pids_on(1) & set(processes())}
    cut(1)
    time.sleep(LEASE_S + 3)
    assert len(hosts.ranks_on(3)) == 2
    hosts.heal(1)
    outcome = there("attach", "last", "--all")
    assert outcome.code == 7, outcome.err
    assert {rank: lines for rank, lines in outcome.lines().items()} == {
        rank: [f"{rank} {i}" for i in range(count)] for rank in range(RANKS)}
    assert "exited with code 7" in outcome.err
    for rank in range(RANKS):
        logged = there("logs", "last", "--rank", str(rank))
        assert logged.out == "".join(f"{rank} {i}\n" for i in range(count))
    seconds_until(lambda: not processes() and not chiefs(), 30)


def test_commands_reach_the_remote_chief(launch, there, laptop, folder):
    outcome = launch("--name", "far", program=["sh", "-c", "echo up; exec sleep 1000"])
    assert outcome.code == 0, outcome.err
    listed = there("ps")
    assert listed.code == 0 and " far " in listed.out and "running" in listed.out, listed.out + listed.err
    status = there("status", "far")
    assert status.code == 0 and name(4) in status.out
    top = there("top", "far", "--once")
    assert top.code == 0 and name(3) in top.out
    unknown = there("why", "no'$(touch x)such job").err
    assert "no job" in unknown and f"`autodist ps --all --spec {laptop} --chief-on first` lists" in unknown, unknown
    page = subprocess.Popen([AUTODIST, "web", "far", "--spec", laptop, "--chief-on", name(2)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder)
    url = page.stdout.readline().decode().strip()
    with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(url, timeout=10) as answer:
        assert b"<html" in answer.read()
    page.terminate()
    page.wait()
    stopped = there("stop", "far")
    assert stopped.code == 0, stopped.err
    assert not processes()
    seconds_until(lambda: not chiefs(), 10)
    seconds_until(lambda: not any("web" in hosts.argv_of(pid)[1:2] for pid in pids_on(2)), 10)
    assert in_host(2, "sh", "-c", "ls /tmp/autodist-web-* 2> /dev/null || true") == ""


def test_the_machine_that_started_the_job_finds_it(launch, start, there, folder):
    """Its log folder is on host 2 only."""
    runs = Path.home() / ".cache" / "runs"
    outcome = launch("--name", "far", "--log-dir", runs, program=["sh", "-c", "echo up; exec sleep 1000"])
    assert outcome.code == 0, outcome.err
    job, = re.search(r"autodist attach (\S+) --spec \S+/lab.yaml --chief-on ", outcome.err).groups()

    def here(*arguments):
        return start(*arguments, cwd=Path.home()).finish()
    [line] = [line for line in here("ps").out.splitlines() if job in line]
    assert line.split()[:4] == [job, "far", "unknown", name(2)]
    status = here("status", "far")
    assert status.code == 0 and "running" in status.out, status.err
    assert f"job {job} is on {name(2)}: going there with ssh" in status.err
    seconds_until(lambda: here("logs", job, "--rank", "5").out == "up\n", 20)
    report = here("report", "far", "--output", folder / "far.html")
    assert report.code == 0 and (folder / "far.html").read_text().startswith("<!doctype html>"), report.err
    refused = here("report", "far", "--output", folder / "far.html")
    assert refused.code == 2 and "--force" in refused.err
    assert re.search(rf"`autodist fetch (--spec \S+ )?--chief-on {name(2)} {job} data`", here("fetch", "far", "data").err)
    stopped = here("stop", "far")
    assert stopped.code == 0, stopped.err
    assert job not in here("ps").out
    [line] = [line for line in here("ps", "--all").out.splitlines() if job in line]
    assert line.split()[:4] == [job, "far", "ended", name(2)]
    assert "exit code    143" in there("status", "far").out
    assert here("prune", job).code == 0 and job not in here("ps", "--all").out
    in_host(2, "rm", "-rf", runs)


def test_fetch_prints_the_command_that_copies_the_files_here(there, laptop, start, folder):
    program = Path.home() / ".cache" / "program"
    for host in (1, *NODES):
        in_host(host, "mkdir", "-p", program)
    outcome = start("run", "--spec", laptop, "--detach", "--chief-on", "first", "--workdir", program, "--",
                    "sh", "-c", "echo $RANK > data; exec sleep 1000", cwd=program).finish()
    assert outcome.code == 0, outcome.err
    for host in (3, 4):
        in_host(host, "sh", "-c", f"until [ -s {program}/data ]; do sleep 0.1; done")
    fetched = there("fetch", "last", "dat*")
    assert fetched.code == 0 and "from 2 nodes" in fetched.err, fetched.err
    line = re.search(r"to copy them to your machine: (.*)", fetched.err)[1]
    into = folder / "copied"
    into.mkdir()
    subprocess.run(["sh", "-c", line], cwd=into, check=True)
    assert sorted(path.parent.name for path in into.rglob("data")) == [name(3), name(4)]
    nothing = there("fetch", "last", "none*")
    assert nothing.code == 0 and "scp" not in nothing.err, nothing.err
    assert there("stop", "last").code == 0
    in_host(1, "rm", "-rf", program)


def test_top_in_its_own_terminal(launch, there, laptop, folder):
    assert launch(program=["sh", "-c", "echo up; exec sleep 1000"]).code == 0
    terminal = Terminal([AUTODIST, "top", "--spec", laptop, "--chief-on", "first"], folder)
    terminal.until(lambda lines: "running" in "".join(lines))
    terminal.type("q")
    terminal.finish()
    assert terminal.code == 0
    assert there("stop", "last").code == 0


def test_exit_code_255_of_a_job_is_not_a_login_failure(launch, there, laptop, folder):
    assert launch(program=["sh", "-c", "sleep 1; exit 255"]).code == 0
    outcome = there("attach", "last")
    assert outcome.code == 255 and "exited with code 255" in outcome.err and "ssh" not in outcome.err, outcome.err
    terminal = Terminal([AUTODIST, "attach", "last", "--spec", laptop, "--chief-on", "first"], folder)
    terminal.finish()
    assert terminal.code == 255 and b"ENDED-WITH" not in terminal.written, terminal.written


@pytest.mark.parametrize("here", ["", "< /dev/null", "> /dev/null"], ids=["both", "no_stdin", "no_stdout"])
@pytest.mark.parametrize("command", ["logs last", "logs last --rank 0", "attach last --all"],
                         ids=["logs", "logs_of_one", "attach"])
def test_control_sequences_of_ranks_do_not_reach_the_local_terminal(launch, laptop, folder, here, command):
    """The remote command writes to a pipe that ends at the local terminal."""
    program = r"printf '\033]0;title\007out\n'; printf '\033]0;title\007err\n' >&2"
    assert launch("--show", "none", program=["sh", "-c", program]).code == 0
    terminal = Terminal(["sh", "-c", f"{AUTODIST} {command} --spec {laptop} --chief-on first {here}"], folder, emulated=False)
    terminal.finish()
    assert b"err" in terminal.written and b"\x1b]" not in terminal.written and b"\x07" not in terminal.written


@pytest.mark.smoke
def test_secrets_and_files_are_sent_along(launch, there, laptop, start, folder):
    """Secrets are in no argv and in no file; the folder is copied."""
    program = Path.home() / ".cache" / "program"
    in_host(1, "mkdir", "-p", program)
    (program / "train.py").write_text(
        "import os, time\nprint(os.environ['SECRET'], os.environ['TMPDIR'], os.environ['WHERE'], open('data').read(), flush=True)\n"
        "while not os.path.exists(os.path.expanduser('~/.cache/program/go')): time.sleep(0.05)\n")
    (program / "data").write_text("the data")
    secret = secrets.token_hex(16)  # random, so that it is in no file such as this one
    outcome = start("run", "--spec", laptop, "--detach", "--chief-on", name(3), "--sync", "--pass-env", "SECRET",
                    "--", sys.executable, "train.py", cwd=program, env={"SECRET": secret}).finish()
    # Host 3 has no key that the others accept.
    assert outcome.code == 125 and "no key to log in with" in outcome.err, outcome.err
    assert f"the chief on {name(3)} logs in with keys of that machine" in outcome.err
    assert not processes()
    outcome = start("run", "--spec", laptop, "--detach", "--chief-on", name(2), "--sync", "--pass-env", "SECRET",
                    # The chief has its own TMPDIR.
                    "--pass-env", "TMPDIR", "--", sys.executable, "train.py", cwd=program,
                    env={"SECRET": secret, "TMPDIR": "/nowhere"}).finish()
    assert outcome.code == 0, outcome.err
    assert secret not in outcome.err
    assert not [pid for pid in hosts.pids() if secret in " ".join(hosts.argv_of(pid))]
    for host in NODES:
        in_host(host, "touch", program / "go")
    attached = there("attach", "last", "--all")
    assert attached.code == 0, attached.err
    assert attached.lines() == {rank: [f"{secret} /nowhere on {Path.home()} the data"] for rank in range(RANKS)}
    stays = in_host(2, "sh", "-c", f"grep -rl {secret} ~/.cache/autodist ~/.ssh /tmp 2> /dev/null | grep -v {SHARED} || true")
    assert stays == ""
    # No private key was sent.
    assert in_host(2, "sh", "-c", "ls ~/.ssh") .split().count("laptop") == 0
    in_host(1, "rm", "-rf", program)


def test_a_chief_that_fails_to_start_the_job(launch):
    outcome = launch(program=["./no-such-program"])
    assert outcome.code == 127 and "no-such-program" in outcome.err
    assert "put the program there" in outcome.err and "run with --sync" not in outcome.err
    assert not processes() and not chiefs()


def test_host_keys_of_the_laptop_are_used(launch, known_hosts, laptop):
    """The nodes have no known_hosts; one key differs from the laptop's known_hosts."""
    text = laptop.read_text()
    keys = re.findall(r"ssh-\S+ \S+", known_hosts.read_text())
    laptop.write_text(text.replace("cpus: [0, 1]", f"cpus: [0, 1], host_keys: ['{keys[1]}']"))
    outcome = launch(program=["true"])
    assert outcome.code == 125 and outcome.err.count("host_keys") + outcome.err.count("Host key verification") > 0
    assert not processes()


def starters():
    return [pid for pid in pids_on(2) if hosts.argv_of(pid)[1:2] == ["remote-controller"]]


def test_an_unresponsive_node_can_be_left(start, laptop, folder):
    """Its remote process is stopped: the first Ctrl-C waits for it, the second one leaves."""
    job = start("run", "--spec", laptop, "--detach", "--chief-on", "first", "--workdir", folder, "--on-busy", "wait",
                "--", "sh", "-c", "echo up; exec sleep 1000")
    seconds_until(starters, 60)
    for pid in starters():
        os.kill(pid, signal.SIGSTOP)
    job.interrupt()
    job.interrupt()
    outcome = job.finish()
    for pid in starters():
        os.kill(pid, signal.SIGCONT)
    left = "leaving without an answer" in outcome.err  # the job may run
    assert outcome.code == (125 if left else 130) and "cancelled" not in outcome.err, outcome.err
    assert left or "interrupted before " in outcome.err, outcome.err
    seconds_until(lambda: not processes() and not chiefs() and not starters(), 40)


def test_a_command_without_a_terminal_ends_remotely_too(launch, there, laptop, folder):
    assert launch(program=["sh", "-c", "echo up; exec sleep 1000"]).code == 0
    attached = subprocess.Popen([AUTODIST, "attach", "last", "--all", "--spec", laptop, "--chief-on", "first"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=folder)
    attached.stdout.readline()
    attached.terminate()
    attached.wait()

    def following():
        return [pid for pid in pids_on(2) if hosts.argv_of(pid)[1:2] == ["exec-remote"]]
    seconds_until(lambda: not following(), 10)
    assert there("stop", "last").code == 0


def test_programs_of_other_users_are_not_run(laptop, folder):
    """A folder in /tmp with our name belongs to another user. Host 2 has no autodist at the path of ours."""
    program = Path.home() / ".cache" / "program"
    in_host(1, "mkdir", "-p", program)
    shutil.copy(AUTODIST, program / "autodist")
    in_host(2, "sh", "-c", "rm -rf ~/.cache/autodist/chief; mkdir -p /tmp/autodist-agent-0; "
            "chown 65534 /tmp/autodist-agent-0; d=/tmp/autodist-agent-0/$(sha256sum < " + AUTODIST + " | cut -d ' ' -f 1); "
            "mkdir $d; ln -s /bin/echo $d/autodist")
    outcome = subprocess.run([program / "autodist", "ps", "--spec", laptop, "--chief-on", "first"], cwd=folder,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    in_host(1, "rm", "-rf", program)
    in_host(2, "rm", "-rf", "/tmp/autodist-agent-0")
    assert outcome.returncode == 125 and "there is no autodist on this node" in outcome.stderr, outcome.stdout


def test_ctrl_c_during_the_start(start, laptop, folder):
    job = start("run", "--spec", laptop, "--detach", "--chief-on", "first", "--workdir", folder, "--on-busy", "wait",
                "--", "sh", "-c", "echo up; exec sleep 1000")
    job.await_err("job ", 60)  # the remote chief runs
    job.interrupt(signal.SIGINT)
    outcome = job.finish()
    assert outcome.code in (0, 130), outcome.err
    if outcome.code == 130:
        seconds_until(lambda: not processes() and not chiefs(), 20)
    else:  # it was already running
        with contextlib.suppress(ProcessLookupError):
            for pid in chiefs():
                os.kill(pid, signal.SIGTERM)
        seconds_until(lambda: not processes() and not chiefs(), 40)


@pytest.mark.parametrize("words, what", [
    (("--chief-on", "first"), "--chief-on needs --detach"),
    (("--chief-on", "10.1.1.1", "--detach"), "no node has that address"),
    (("--chief-on", "10.1.1.1", "--dry-run"), "no node has that address"),
    (("--chief-on", "first", "--detach", "--stdin-rank", "0"), "cannot be used with --chief-on"),
    (("--chief-on", "first", "--detach", "--web"), "`autodist web --spec {spec} --chief-on first` shows the page here"),
], ids=("attached", "elsewhere", "dry", "stdin", "web"))
def test_wrong_words(start, laptop, words, what):
    outcome = start("run", "--spec", laptop, *words, "--", "true").finish()
    assert outcome.code == 2 and what.format(spec=shlex.quote(str(laptop))) in outcome.err
