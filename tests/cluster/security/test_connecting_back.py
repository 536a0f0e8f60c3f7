"""Nodes that connect back to the chief, as in the pods of Kubernetes: what is visible on the network, and
name resolution."""

import secrets
import signal
import socket
import subprocess
import sys
import threading

import pytest
from hosts import address, start_in_host
from jobs import BUILD, Running

AGENT = str(BUILD / "autodist-agent")
PORT = 7420
SECRET = "the-marker-" + secrets.token_hex(8)
ALL_PROTOCOLS = 3
LIMIT_S = 20
# Runs a command with a copy of /etc that the folder's files are copied over.
IN_ETC = """
cp -r /etc "$1/etc.$$"; cp -r "$1/over/." "$1/etc.$$/"; mount --bind "$1/etc.$$" /etc; shift; exec "$@"
"""


class Sniffer:
    """Captures all bytes on this host's interfaces while it is entered."""

    def __enter__(self):
        self.seen, self.ending = bytearray(), False
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
        self.socket.settimeout(0.05)
        self.thread = threading.Thread(target=self._read)
        self.thread.start()
        return self

    def _read(self):
        while not self.ending:
            try:
                self.seen += self.socket.recv(1 << 16)
            except TimeoutError:
                pass

    def __exit__(self, *_):
        self.ending = True
        self.thread.join()
        self.socket.close()


def with_files(folder, **files):
    """The argv prefix of a command that has these files in /etc."""
    over = folder / "over"
    for name, text in files.items():
        path = over / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ["unshare", "--mount", "sh", "-euc", IN_ETC, "sh", str(folder)]


def derived(job_key, node):
    return subprocess.run(["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{job_key}"], check=True,
                          input=f"autodist node key 1: {node}", stdout=subprocess.PIPE, text=True).stdout.split()[-1]


@pytest.fixture
def pods(folder):
    """Starts `autodist run --kubernetes ARGUMENTS` on host 1 as the chief and on host 2 as its worker; gives
    the chief."""
    job_key = secrets.token_hex(32)
    workers = []

    def run(*arguments, worker_key=None, env=None):
        variables = {"AUTODIST_KUBERNETES_CHIEF": f"{address(1)}:{PORT}", "AUTODIST_KUBERNETES_NODES": "2", "AUTODIST_KUBERNETES_RANKS": "1"}
        for role, key in (("chief", f"autodist-job-key {job_key}"), ("worker", worker_key or f"autodist-node-key {derived(job_key, 'worker-0')}")):
            (folder / role / "run").mkdir(parents=True)
            command = [*with_files(folder / role, **{"autodist/key": key + "\n"}), "env",
                       *(f"{name}={value}" for name, value in {**variables, "AUTODIST_KUBERNETES_ROLE": role}.items())]
            if role == "worker":
                workers.append(start_in_host(2, *command, BUILD / "autodist", "run", "--kubernetes", *arguments))
            else:
                chief = Running(("run", "--kubernetes", *arguments), folder, env, command)
        return chief
    run.job_key = job_key
    yield run
    for worker in workers:
        worker.terminate()
        worker.wait(LIMIT_S)


def test_no_secret_can_be_read_on_the_network(pods):
    with Sniffer() as sniffer:
        chief = pods("--pass-env", "OUR_SECRET", "--", "sh", "-c", "echo $RANK has $OUR_SECRET", env={"OUR_SECRET": SECRET})
        outcome = chief.finish()
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"{rank} has {SECRET}"] for rank in range(2)}
    assert b"worker-0" in sniffer.seen  # it is the right connection
    hidden = {"the variable": SECRET.encode(), "its name": b"OUR_SECRET", "the job's key": pods.job_key.encode(),
              "the same in bytes": bytes.fromhex(pods.job_key), "the node's": derived(pods.job_key, "worker-0").encode(),
              "and in bytes": bytes.fromhex(derived(pods.job_key, "worker-0"))}
    assert [what for what, text in hidden.items() if text in sniffer.seen] == []


# In a separate network: receives the agent's DNS query without answering. Prints whether it came, the exit
# code and the time.
ASKED = """
import os, signal, socket, subprocess, sys, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
server.settimeout(%(limit)d)
agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
agent.stdin.write(b"autodist-node-key " + b"0" * 64 + b"\\n")
agent.stdin.close()
asked = False
if sys.argv[1] == "signal":
    server.recv(1000)
    asked = True
    agent.send_signal(signal.SIGTERM)
began = time.monotonic()
code = agent.wait(60)
took = time.monotonic() - began
server.setblocking(False)
try:
    server.recv(1000)
    asked = True
except BlockingIOError:
    pass
print(asked, code, took)
""" % {"limit": LIMIT_S}


def asked(folder, how, seconds, chief, **files):
    words = with_files(folder, **files)
    words[1:1] = ["--net"]
    words[words.index("-euc") + 1] = "ip link set lo up; " + IN_ETC
    outcome = subprocess.run([*words, sys.executable, "-c", ASKED, how, AGENT, "connect-back", "a", seconds, chief], check=True,
                             stdout=subprocess.PIPE, text=True, timeout=100)
    was, code, took = outcome.stdout.split()
    return was == "True", int(code), float(took)


def test_a_signal_is_handled_during_name_resolution(folder):
    was, code, took = asked(folder, "signal", "60", f"chief.example:{PORT}", **{
        "resolv.conf": "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n"})
    assert was and code == 128 + signal.SIGTERM and took < 5, (was, code, took)


def test_names_are_resolved_by_files_and_dns_despite_nsswitch(folder):
    was, code, _ = asked(folder, "end", "1", f"chief.example:{PORT}", **{
        "resolv.conf": "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n", "nsswitch.conf": "hosts: mymachines dns\n",
        "hosts": "127.0.0.1 localhost chief.example\n"})
    assert not was and code == 1, (was, code)
