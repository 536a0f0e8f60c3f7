"""`autodist web` and a made-up job to show."""

import http.client
import json
import socket
import subprocess
from urllib.parse import parse_qs, urlsplit

from jobs import AUTODIST, BUILD

JOB, OLD = "20261123-171502-3fa9c1", "20261123-081407-c02b7e"


def own_session(folder, monkeypatch):
    """Limits jobs to those of the test."""
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        (folder / name).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(folder / name))


class Snapshot:
    """A job controlled by the test: see tests/programs/web_snapshot.cc."""

    def __init__(self, folder, *options, job=JOB):
        self.folder, self.job = folder, job
        self.process = subprocess.Popen([BUILD / "web_snapshot", job, folder, *options], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "ready\n"

    def do(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def log(self, rank, text, stream="out"):
        with open(self.folder / f"rank-{rank}.{stream}", "a") as file:
            file.write(text)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


def leave_ended(folder, job=OLD):
    """Writes the record of an ended job."""
    subprocess.run([BUILD / "web_snapshot", job, folder, "--ended"], check=True)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Web:
    """A running `autodist web`."""

    def __init__(self, *arguments, cwd=None):
        self.process = subprocess.Popen([AUTODIST, "web", *map(str, arguments)], text=True, cwd=cwd,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        parts = urlsplit(self.url)
        self.place, self.token = parts.netloc, parse_qs(parts.query)["token"][0]
        self.socket = arguments[arguments.index("--socket") + 1] if "--socket" in arguments else None
        self.cookie = None

    def connect(self):
        return UnixConnection(str(self.socket)) if self.socket else http.client.HTTPConnection(self.place, timeout=20)

    def open(self, path, method="GET", headers=None, body=None):
        """The unread answer."""
        connection = self.connect()
        cookie = {"Cookie": self.cookie} if self.cookie else {}
        connection.request(method, path, headers={**cookie, **(headers or {})}, body=body)
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def ask(self, path, method="GET", headers=None, body=None):
        """Status, headers, text."""
        answer = self.open(path, method, headers, body)
        text = answer.read()
        answer.connection.close()
        return answer.status, answer.headers, text

    def enter(self):
        status, headers, _ = self.ask(f"/?token={self.token}")
        assert status == 303
        self.cookie = headers["Set-Cookie"].split(";")[0]
        return self

    def json(self, path):
        status, _, text = self.ask(path)
        assert status == 200, text
        return json.loads(text)

    def raw(self):
        """A socket connected to it."""
        host, port = self.place.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=20)

    def end(self):
        self.process.terminate()
        code = self.process.wait(timeout=10)
        self.process.stdout.close()
        self.process.stderr.close()
        assert code == 0


def events(answer):
    """The events of a stream: (name, data)."""
    name = None
    for line in answer:
        word, _, rest = line.decode().rstrip("\n").partition(": ")
        if word == "event":
            name = rest
        elif word == "data":
            yield name, json.loads(rest)
