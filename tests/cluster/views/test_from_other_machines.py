"""Every command about a job, from every machine where people are, in each state of the job; prints a table.

Hosts 1 to 3 run Slurm jobs. Hosts 4 to 6 are login hosts with the same home folder; host 6 has neither srun nor
a key for ssh. Host 7 is a laptop whose job has its chief on host 2."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hosts
import pytest
from hosts import SHARED, address, in_host
from jobs import AUTODIST, processes, seconds_until
from slurm import PROGRAMS, Slurm

pytestmark = [pytest.mark.hosts(7), pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason="there is no Slurm here")]

NODES = (2, 3)
LOGINS = (4, 5, 6)
WITHOUT_WAYS = 6
LAPTOP = 7
RANKS = 4
LIMIT_S = 180
CLOSED_PIPE = -signal.SIGPIPE
PROGRAM = ["sh", "-c", "echo up of $RANK; until [ -e end ]; do sleep 0.1; done; echo done"]
LINE = r"\[\S+:\d\] up of \d"
GONE = "chief of job .* is gone"


class Place:
    """A machine and a folder in which commands are typed."""

    def __init__(self, name, host, cwd, **env):
        self.name, self.host, self.cwd, self.env = name, host, cwd, env
        self.has_slurm = "PATH" not in env

    def start(self, words):
        env = [f"{name}={value}" for name, value in self.env.items()]
        return subprocess.Popen(hosts.entering(self.host, [
            "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.cwd, "env", "-u", "XDG_RUNTIME_DIR", *env, AUTODIST, *words]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask(self, *words):
        """Its exit code, stdout and stderr."""
        process = self.start(words)
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return ("none", *process.communicate())
        return process.returncode, out, err

    def ask_and_leave(self, *words):
        """The same for a reader that leaves after a line, as `head -1` does; the command has to notice."""
        process = self.start(words)
        line = process.stdout.readline()
        process.stdout.close()
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return "none", line, process.stderr.read()
        return process.returncode, line, process.stderr.read()


class Table:
    """What each command printed, and what it should have."""

    def __init__(self):
        self.rows, self.wrong = [], []

    def check(self, state, place, words, expected, code=0, never=None, leave=False):
        got, out, err = (place.ask_and_leave if leave else place.ask)(*words)
        codes = code if isinstance(code, tuple) else (code,)
        said = out + err
        right = got in codes and all(re.search(text, said, re.M) for text in ([expected] if isinstance(expected, str) else expected)) \
            and not (never and re.search(never, said, re.M))
        self.rows.append((state, place.name, shlex.join(words), got, said, right))
        if not right:
            self.wrong.append(f"{state}, {place.name}: autodist {shlex.join(words)}: exit code {got} of {codes}, "
                              f"expected {expected!r}, never {never!r}:\n{said}")

    def text(self):
        short = [(state, name, words, str(code), next(iter(re.sub(r"\n+", " / ", said.strip()).splitlines()), "")[:200], "" if right else "WRONG")
                 for state, name, words, code, said, right in self.rows]
        return "\n".join(" | ".join(row) for row in [("state", "from", "command", "exit", "printed", ""), *short])


@pytest.fixture
def table():
    made = Table()
    yield made
    text = made.text()
    print(text)
    if "TABLE" in os.environ:
        with open(os.environ["TABLE"], "a", encoding="utf-8") as file:
            file.write(text + "\n")


def in_parallel(rows):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda row: row(), rows))


@pytest.fixture
def slurm():
    with Slurm(3, "linuxproc") as running:
        yield running
        running.cancel_all()


@pytest.fixture
def shared(folder):
    """The places with a shared home: the login hosts, and a node of the job."""
    (folder / "state").mkdir(mode=0o700)
    state = {"XDG_STATE_HOME": f"{folder}/state"}
    few = folder / "few"
    few.mkdir()
    for name in ("ssh", "sh", "env", "true"):
        (few / name).symlink_to(shutil.which(name))
    in_host(WITHOUT_WAYS, "sh", "-c", "mv ~/.ssh/id_ed25519 ~/.ssh/hidden")
    places = [Place(f"login{number}", host, folder, **state, **({"PATH": str(few)} if host == WITHOUT_WAYS else {}))
              for number, host in enumerate(LOGINS, 1)]
    yield [*places, Place("node 3", 3, folder, **state)]
    in_host(WITHOUT_WAYS, "sh", "-c", "mv ~/.ssh/hidden ~/.ssh/id_ed25519")


def record_of(folder):
    return next(iter(folder.glob("autodist-runs/*/job.json")), None)


def phase(folder):
    return json.loads(record_of(folder).read_text())["phase"] if record_of(folder) else ""


def outputs(folder, text):
    return [path for path in folder.glob("autodist-runs/*/rank-?.out") if text in path.read_text()]


def submitted(place, folder, *options):
    """Submits the job; gives its number in Slurm."""
    code, out, err = place.ask("submit", "--slurm", "--nodes", "2", "--ntasks-per-node", "2", "--name", "far", *options,
                               "--sbatch=--nodelist=host[2-3]", "--sbatch=--no-requeue", "--lease", "5", "--grace", "1", "--", *PROGRAM)
    assert code == 0, err
    return out.strip()


def await_output(folder):
    seconds_until(lambda: len(outputs(folder, "up of")) == RANKS, LIMIT_S)


def by_hand(words):
    return f"log in to host2 and run `autodist {words[0]} "


def test_slurm_with_a_shared_home(slurm, shared, folder, table):
    number = submitted(shared[0], folder, "--sbatch=--hold")
    for place in shared:
        queue = "squeue --me" if place.has_slurm else "."
        pending = [rf"Slurm job {number} \(far\) is pending", rf"`scancel {number}` cancels it"]
        for words in (["status"], ["attach"], ["logs"], ["stop"], ["status", "last"]):
            table.check("queued", place, words, pending if place.has_slurm else "there is no job", code=2)
        for words in (["status", number], ["stop", number], ["fetch", number, "nothing*"]):
            unknown = [f"Slurm job {number} was submitted and has recorded no job", f"squeue --jobs={number}"]
            table.check("queued", place, words, pending if place.has_slurm else unknown, code=2)
        table.check("queued", place, ["ps"], ["no running jobs", queue])
    subprocess.run(["scontrol", "release", number], check=True)
    await_output(folder)
    job = record_of(folder).parent.name
    path = f"autodist-runs/{job}"
    rows = []
    for place in shared:
        def row(words, expected, place=place, **more):
            rows.append(lambda: table.check("running", place, words, expected, never=GONE, **more))

        def there(words, expected, place=place, row=row, **more):
            """A command that goes to the chief, or names the command to run there."""
            if place.has_slurm:
                row(words, expected, **more)
            else:
                row(words, [by_hand(words), job], code=125)
        for words in (["ps"], ["ps", "--all"], ["ps", "-v"]):
            row(words, rf"{job} +far +running +host2 +2 +4 ")
        for word in ([job], [number], ["far"], ["last"], [path], [], [job[-6:]]) if place is shared[0] else ([number], []):
            there(["status", *word], ["state +running", r"host2 +running"])
        there(["status", "--json"], '"pid":\\d+')
        there(["attach", path], LINE, code=CLOSED_PIPE, leave=True)
        there(["logs", path], LINE)
        there(["logs", "-f", job], LINE, code=CLOSED_PIPE, leave=True)
        there(["logs", "--attempt", "1"], LINE)
        there(["top", "--once"], ["running", "host3"])
        there(["why"], "rank|CPU", code=(0, 3, 4))
        there(["stacks"], "the stacks are in")
        there(["report", "--markdown", path], "^# far")
        row(["fetch", "nothing*"], "autodist fetch --chief-on host2", code=125)
        row(["web", "far"], "autodist web --chief-on host2", code=2)
        row(["clean", job], "has not ended", code=2)
        runs = place.has_slurm  # else it would only be forgotten, as Slurm cannot be asked
        row(["prune", job, "--dry-run"], "has not ended" if runs else "would remove", code=2 if runs else 0)
    in_parallel(rows)
    table.check("running", shared[1], ["stop"], "has ended with exit code 143")
    slurm.await_true("the end", lambda: not slurm.jobs())
    check_ended(table, shared, number, path)
    other = shared[2].ask("run", "--", "true")
    assert other[0] == 0, other
    table.check("after a start on login3", shared[0], ["ps", "--all"], " far ")
    assert not table.wrong, "\n\n".join(table.wrong)


def check_ended(table, places, number, path):
    rows = []
    for place in places:
        for words, expected, code in (
                (["ps"], "no running jobs", 0), (["ps", "--all"], "far +exit 143", 0), (["status"], "exit code +143", 0),
                (["status", number], "exit code +143", 0), (["status", path], "exit code +143", 0), (["attach"], LINE, 143), (["logs"], LINE, 0),
                (["logs", "-f"], LINE, 0), (["logs", "--attempt", "1"], LINE, 0), (["top", "--once"], "stopped, exit code 143", 0),
                (["why"], "stopped by `autodist stop`", 3), (["stacks"], "has ended", 125), (["report", "--markdown"], "^# far", 0),
                (["stop"], "has ended with exit code 143", 0), (["fetch", "nothing*"], "as for all jobs of Slurm", 125)):
            rows.append(lambda place=place, words=words, expected=expected, code=code:
                        table.check("ended", place, words, expected, code=code, never=GONE))
    in_parallel(rows)


def test_a_lost_host_of_the_chief(slurm, shared, folder, table):
    number = submitted(shared[0], folder)
    await_output(folder)
    hosts.power_off(2)
    for place in shared:  # Slurm does not know it yet
        table.check("lost", place, ["ps"], "far +running +host2", never=GONE)
        table.check("lost", place, ["status"], "host2", code=(1, 125, 233), never=GONE)
    subprocess.run(["scontrol", "update", "NodeName=host2", "State=DOWN", "Reason=lost"], check=True)
    slurm.await_true("the end", lambda: not slurm.jobs())
    lost = "Slurm has ended job .*, host2, is down or does not answer"
    for place in shared:
        if not place.has_slurm:
            table.check("ended by Slurm", place, ["status"], by_hand(["status"]), code=125)
            continue
        for words, expected, code in (
                (["ps"], "far +crashed", 0), (["ps", "--all"], "far +crashed", 0), (["status"], lost, 0), (["status", number], "crashed", 0),
                (["attach"], [LINE, lost], 125), (["logs"], LINE, 0), (["logs", "-f"], LINE, 0), (["logs", "--attempt", "1"], LINE, 0),
                (["top", "--once"], "no saved state", 125), (["why"], lost, 125), (["stacks"], lost, 125), (["report", "--markdown"], "crashed", 0),
                (["stop"], lost, 125), (["fetch", "nothing*"], lost, 125),
                (["prune", "far", "--dry-run"], ["may still run", "when host2 answers Slurm"], 2)):
            table.check("ended by Slurm", place, words, expected, code=code)
    hosts.power_on(2)
    slurm.start_slurmd(2)
    subprocess.run(["scontrol", "update", "NodeName=host2", "State=RESUME"], check=True)
    slurm.await_true("all nodes idle", lambda: slurm.idle() == slurm.hosts)
    for place in shared:
        if not place.has_slurm:
            continue
        for words, expected, code in (
                (["ps"], "no running jobs", 0), (["status"], [GONE, "Slurm has ended it"], 0), (["prune", "far", "--dry-run"], "would remove", 0)):
            table.check("the node is back", place, words, expected, code=code)
    assert not table.wrong, "\n\n".join(table.wrong)


@pytest.fixture
def laptop(folder, sshd, known_hosts):
    """A machine that shares nothing with the nodes, and its spec."""
    servers = {host: sshd(host, SetEnv=f"XDG_STATE_HOME={folder}/state-of-nodes") for host in NODES}
    keys = {host: (SHARED / f"host{host}" / "host_key.pub").read_text().split()[:2] for host in NODES}
    known = "".join(f"[{address(host)}]:{servers[host].port} {' '.join(keys[host])}\n" for host in NODES)
    for host in (1, LAPTOP, *NODES):
        in_host(host, "sh", "-c", f"cp ~/.ssh/known_hosts ~/.ssh/kept; printf '{known}' >> ~/.ssh/known_hosts")
    spec = folder / "lab.yaml"
    spec.write_text("nodes:\n" + "".join(f"  - {{address: '[{address(host)}]:{servers[host].port}', cpus: [0, 1], ssh_config: g}}\n" for host in NODES)
                    + f"ssh:\n  g: {{key_file: {SHARED}/user_ed25519}}\n")
    home = Path.home() / ".cache" / "digits"
    in_host(LAPTOP, "mkdir", "-p", home)
    for host in NODES:
        in_host(host, "mkdir", "-p", home)
    yield Place("laptop", LAPTOP, home, XDG_STATE_HOME=f"{folder}/state-of-laptop", AUTODIST_SPEC=spec), servers
    for host in (LAPTOP, *NODES):
        in_host(host, "sh", "-c", f"mv ~/.ssh/kept ~/.ssh/known_hosts; rm -rf {home} ~/.cache/autodist/chief")


def test_a_laptop(laptop, table):
    place, servers = laptop
    code, out, err = place.ask("run", "--chief-on", "first", "--detach", "--name", "far", "--lease", "5", "--grace", "1", "--", *PROGRAM)
    assert code == 0, err
    job = re.search(r"job (\d{8}-\d{6}-[0-9a-f]+)", err)[1]
    never, going = GONE, "is on 10.77.0.2: going there with ssh"
    for words, expected, code in (
            (["ps"], f"{job} +far +unknown +10.77.0.2 +- +- ", 0), (["ps", "--all"], f"{job} +far +unknown +10.77.0.2 +- +- ", 0),
            (["status"], [going, "state +running"], 0), (["status", job], "state +running", 0), (["status", "last"], "state +running", 0),
            (["status", f"autodist-runs/{job}"], "state +running", 0), (["status", "--json"], '"pid":\\d+', 0),
            (["logs"], LINE, 0), (["logs", f"autodist-runs/{job}"], LINE, 0), (["logs", "--attempt", "1"], LINE, 0),
            (["top", "--once"], "running", 0), (["why"], "rank|CPU", (0, 3, 4)), (["stacks"], "the stacks are in", 0),
            (["report", "--markdown"], "^# far", 0), (["fetch", "nothing*"], "autodist fetch --spec .* --chief-on 10.77.0.2", 125),
            (["web", "far"], "autodist web --spec .* --chief-on 10.77.0.2", 2), (["clean", job], "has not ended", 2)):
        table.check("running", place, words, expected, code=code, never=never)
    for words in (["attach"], ["logs", "-f"]):
        table.check("running", place, words, LINE, code=CLOSED_PIPE, never=never, leave=True)
    servers[2].stop()  # as a laptop without a network sees it
    again = "run the command again; a running job does not need the connection"
    table.check("disconnected", place, ["ps"], "far +unknown", never=never)
    for words in (["status"], ["logs"], ["attach"], ["stop"]):
        table.check("disconnected", place, words, again, code=125, never=never)
    for host in NODES:
        in_host(host, "sh", "-c", "touch ~/.cache/digits/end")
    seconds_until(lambda: not processes(), LIMIT_S)
    servers[2].start()
    for words, expected, code in (
            (["ps"], "far +unknown", 0), (["status"], "exit code +0", 0), (["logs"], LINE, 0), (["logs", "-f"], LINE, 0),
            (["top", "--once"], "ended well", 0), (["why"], "nothing is wrong", 0), (["report", "--markdown"], "ended well", 0),
            (["stop"], "has ended with exit code 0", 0), (["ps"], "no running jobs", 0), (["attach"], "^.*done", 0),
            (["ps", "--all"], "far +exit 0 +10.77.0.2 +- +- +\\S+ +- ", 0), (["prune", job, "--dry-run"], "would remove", 0)):
        table.check("ended", place, words, expected, code=code, never=never)
    assert not table.wrong, "\n\n".join(table.wrong)
