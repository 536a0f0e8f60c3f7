"""Other users, and programs of the same user, cannot interfere with a job.

Time limits are three times the specified ones, because machines that run tests are slow.
"""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hosts import SPEC, address, agents_on, in_host, kill_all, sshd_sessions
from jobs import BUILD, processes, python, seconds_until

SLOWER = 3
RANKS = 8
GREETING = 64  # bytes
MOST_VISITORS = 16  # max. concurrent unauthenticated connections to an agent
MALLORY = 30000  # the first id that the fixture `users` assigns
UNTIL = ["sh", "-c", 'echo up $$; while [ ! -e "$0" ]; do sleep 0.1; done']

# Tries each [way, path] of a list, and prints {"way path": result}.
TRY = """
import json, os, socket, sys
def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
def look(path):
    return len(os.listdir(path))
def read(path):
    os.close(os.open(path, os.O_RDONLY))
def write(path):
    os.close(os.open(path, os.O_WRONLY))
def kill(path):
    os.kill(int(path), 0)
done = {}
for way, path in json.loads(sys.argv[1]):
    try:
        globals()[way](path)
        done[way + ' ' + path] = 'done'
    except OSError as error:
        done[way + ' ' + path] = type(error).__name__
print(json.dumps(done))
"""


def attempts(host, ways, user=0):
    """Results of the ways for this user on the host."""
    as_user = ["setpriv", f"--reuid={user}", "--regid=100", "--clear-groups"] if user else []
    return json.loads(in_host(host, *as_user, sys.executable, "-c", TRY, json.dumps(ways)))


def refused(host, ways):
    """Checks that all ways succeed for the job's user, and are refused for another."""
    ways = [[way, str(path)] for way, path in ways]
    ours = attempts(host, ways)
    assert set(ours.values()) == {"done"}, ours
    others = attempts(host, ways, MALLORY)
    assert set(others.values()) == {"PermissionError"}, others


def job_id(job):
    job.await_err("logs in ", 20)
    return job.err.decode().split("autodist: job ")[1].split(":")[0]


def agent_folder(job, host):
    return f"/tmp/autodist-0/{job_id(job)}.{host - 1}"


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def send(host, path, data):
    """Connects and sends; returns 'closed', or the received bytes in hexadecimal."""
    return in_host(host, sys.executable, "-c", f"""
import socket
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(10)
connection.connect({path!r})
try:
    connection.sendall(bytes.fromhex({data.hex()!r}))
    print(connection.recv(1 << 16).hex() or 'closed')
except (ConnectionResetError, BrokenPipeError):
    print('closed')
""").strip()


@pytest.mark.smoke
def test_another_user_reaches_neither_sockets_nor_descriptors_of_the_agent(up, users, folder):
    users(2, mallory="/bin/sh")
    job, ranks = up(program=[
        "sh", "-c", 'echo up $$; for file in write end; do while [ ! -e "$0/$file" ]; do sleep 0.1; done; '
        '[ $NODE_RANK = 1 ] && [ $file = write ] && head -c 4000000 /dev/zero; done; :', folder])
    [agent] = agents_on(2)
    path = agent_folder(job, 2)

    def is_spool(fd):
        try:
            return os.readlink(fd).startswith("/var/tmp/autodist-")
        except FileNotFoundError:
            return False  # closed since it was listed

    def spools():
        return [fd for fd in Path(f"/proc/{agent}/fd").iterdir() if is_spool(fd)]
    job.interrupt(signal.SIGSTOP)
    (folder / "write").touch()
    seconds_until(spools, 10)
    assert all(os.readlink(fd).endswith(" (deleted)") and stat.S_IMODE(fd.stat().st_mode) == 0o600
               for fd in spools())
    watchdog, rank = parent(agent), ranks[2]
    refused(2, [("look", "/tmp/autodist-0"), ("look", path), ("read", f"{path}/agent.log"), ("read", f"{path}/lock")] +
            [("connect", f"{start}/{path}/{name}.sock") for name in ("agent", "ranks")
             for start in ("", f"/proc/{agent}/root", f"/proc/{agent}/cwd", f"/proc/{rank}/root")] +
            [("look", f"/proc/{pid}/fd") for pid in (agent, watchdog, rank)] +
            [(way, fd) for way in ("read", "write") for fd in spools()] +
            [("read", f"/proc/{pid}/{what}") for what in ("environ", "mem") for pid in (agent, watchdog, rank)] +
            [("kill", pid) for pid in (agent, watchdog, rank)])
    job.interrupt(signal.SIGCONT)
    (folder / "end").touch()
    assert job.finish().code == 0


@pytest.mark.parametrize("place", ["session", "tmp"])
def test_another_user_reaches_neither_control_socket_nor_logs(up, users, folder, place):
    users(1, mallory="/bin/sh")
    # autodist does not use a session folder that all users may enter.
    session = Path("/tmp/session-of-0")
    session.mkdir(mode=0o700 if place == "session" else 0o755, exist_ok=True)
    try:
        job, _ = up(program=[*UNTIL, folder / "end"], env={"XDG_RUNTIME_DIR": str(session)})
        name = job_id(job)
        inside = session / "autodist" if place == "session" else Path("/tmp/autodist-jobs-0")
        socket, logs = inside / f"{name}.sock", folder / "autodist-runs" / name
        assert stat.S_IMODE(inside.stat().st_mode) == 0o700 and stat.S_IMODE(logs.stat().st_mode) == 0o700
        # The record is replaced by a temporary file, which exists only for a moment.
        files = [socket, *(file for file in logs.iterdir() if not file.name.startswith("job.json."))]
        assert {"job.json", "rank-0.out", "rank-7.err"} <= {file.name for file in files}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}, files
        folder.chmod(0o755)
        folder.parent.chmod(0o755)
        refused(1, [("look", inside), ("connect", socket), ("look", logs)] +
                [("read", file) for file in files[1:]] +
                [("connect", f"/proc/{job.process.pid}/root{socket}")])
        session.chmod(0o755)
        inside.chmod(0o755)  # the socket's own mode is sufficient
        refused(1, [("connect", socket)])
        (folder / "end").touch()
        assert job.finish().code == 0
        assert not socket.exists()
    finally:
        subprocess.run(["rm", "-rf", session], check=True)


# An agent that records what the chief sends: the greeting, then HTTP/2.
EAVESDROP = """#!/usr/bin/python3
import os, subprocess, sys, threading
agent = subprocess.Popen(['{agent}', *sys.argv[1:]], stdin=subprocess.PIPE)
def relay():
    with open(f'{seen}/{{sys.argv[3] if len(sys.argv) > 3 else ""}}-{{os.getpid()}}', 'wb', buffering=0) as copy:
        while data := os.read(0, 65536):
            copy.write(data)
            os.write(agent.stdin.fileno(), data)
    agent.stdin.close()
threading.Thread(target=relay, daemon=True).start()
os._exit(agent.wait())
"""


@pytest.fixture
def overheard(up, folder):
    """A job with recorded streams; gives it and a function for the first greeting of a host's node."""
    def run(*options, program):
        seen = folder / "seen"
        seen.mkdir()
        agent = folder / "autodist-agent"
        agent.write_text(EAVESDROP.format(agent=BUILD / "autodist-agent", seen=seen))
        agent.chmod(0o755)
        job, _ = up("--agent", agent, *options, program=program)

        def greeting(host):
            [stream] = seen.glob(f"{host - 1}-*")
            data = stream.read_bytes()
            assert data[GREETING:].startswith(b"PRI * HTTP/2.0")
            return data[:GREETING]
        return job, greeting
    return run


def test_wrong_and_used_keys_are_refused(overheard, folder):
    job, greeting = overheard("--lease", "4", program=[*UNTIL, folder / "end"])
    path = f"{agent_folder(job, 3)}/agent.sock"
    http = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)
    for data in (os.urandom(GREETING), bytes(GREETING), greeting(3), greeting(2), http + bytes(GREETING)):
        assert send(3, path, data + http) == "closed"
    (folder / "end").touch()
    outcome = job.finish()
    assert (outcome.code, outcome.out) == (0, "")
    assert "broken" not in outcome.err


def test_greetings_with_wrong_keys_do_not_renew_the_lease(overheard):
    lease = 3
    job, greeting = overheard("--lease", lease, "--grace", "1",
                              program=["sh", "-c", "echo up $$; exec sleep 1000"])
    path = f"{agent_folder(job, 3)}/agent.sock"
    knock = f"""
import os, socket, sys, time
while True:
    for data in (os.urandom({GREETING}), bytes.fromhex({greeting(3).hex()!r}), b'x'):
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect({path!r})
            connection.sendall(data)
            os.write(1, b'.')
            if len(data) == {GREETING}: connection.recv(1)
        except FileNotFoundError:
            sys.exit()  # the agent has gone
        except OSError:
            pass
    time.sleep(0.02)
"""
    printed = []
    knocking = threading.Thread(target=lambda: printed.append(in_host(3, sys.executable, "-c", knock)))
    knocking.start()
    job.interrupt(signal.SIGKILL)
    seconds_until(lambda: not processes(), lease + 1 * SLOWER)
    knocking.join()
    assert len(printed[0]) > 20
    assert job.finish().code == -signal.SIGKILL


@pytest.mark.parametrize("number", [1, MOST_VISITORS - 1])
def test_unfinished_greetings_do_not_block_the_chief(up, folder, number):
    job, _ = up("--lease", "20", program=[*UNTIL, folder / "end"])
    path = f"{agent_folder(job, 3)}/agent.sock"
    loiterer = subprocess.Popen(
        ["nsenter", "--target", str(next(iter(agents_on(3)))), "--net", "--mount", sys.executable, "-c", f"""
import socket
connections = []
for _ in range({number}):
    connections.append(socket.socket(socket.AF_UNIX))
    connections[-1].connect({path!r})
    connections[-1].sendall(b'x' * {GREETING - 1})
print('there', flush=True)
connections[0].recv(1)
"""], stdout=subprocess.PIPE)
    try:
        loiterer.stdout.readline()
        kill_all(sshd_sessions(3))
        job.await_err(f"{address(3)}: the connection is broken", 10)
        job.await_err(f"{address(3)}: connected again", 15)
        assert loiterer.poll() is None
        (folder / "end").touch()
        seconds_until(lambda: job.process.poll() is not None, 2 * SLOWER)
    finally:
        loiterer.kill()
        loiterer.wait()
    outcome = job.finish()
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    assert outcome.err.count("the connection is broken") == 1


# A rank that calls the agent's methods over the chief's socket, and over its own.
CALL = """
import os, socket, struct, sys
def frame(kind, flags, stream, payload):
    return struct.pack('>I', len(payload))[1:] + struct.pack('>BBI', kind, flags, stream) + payload
def literal(*texts):
    return b''.join(bytes([len(text)]) + text.encode() for text in texts)
def call(path, method):
    headers = b''.join(b'\\0' + literal(*pair) for pair in (
        (':method', 'POST'), (':scheme', 'http'), (':path', method), (':authority', 'localhost'),
        ('content-type', 'application/grpc'), ('te', 'trailers')))
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(path)
    answer = b''
    try:
        connection.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + frame(4, 0, 0, b'') +
                           frame(1, 4, 1, headers) + frame(0, 1, 1, bytes(5)))
        while b'grpc-status' not in answer:
            data = connection.recv(65536)
            if not data: return 'closed'
            answer += data
    except ConnectionResetError:
        return 'closed'
    status = answer[answer.index(b'grpc-status') + len('grpc-status'):]
    return 'status ' + status[1:1 + status[0]].decode()
ranks = os.environ['AUTODIST_AGENT_SOCKET']
for path in (ranks, os.path.dirname(ranks) + '/agent.sock'):
    print(call(path, sys.argv[1]), flush=True)
"""
OK, UNIMPLEMENTED = 0, 12


@pytest.mark.parametrize("method, answer", [
    ("AgentService/Session", UNIMPLEMENTED), ("AgentService/Prepare", UNIMPLEMENTED),
    ("RendezvousService/Set", OK)])
def test_a_rank_may_use_only_its_own_socket(start, method, answer):
    outcome = start("run", "--spec", SPEC, "--", *python(CALL), f"/autodist.v1.{method}").finish()
    assert outcome.code == 0, outcome.err
    for rank in range(RANKS):
        assert outcome.lines()[rank] == [f"status {answer}", "closed"]
