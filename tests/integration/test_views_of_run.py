"""The page of `run --web` and the metrics of `run --metrics`: access by the user and by strangers."""

import http.client
import os
import re
import socket
import stat
import subprocess
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from jobs import AUTODIST, LIMIT_S, seconds_until
from terminal import Terminal
from web import Web, own_session

KEPT = re.compile(r"page: its address is in (\S+)\n")
SECRET = "SECRET-OF-THE-OTHER-JOB"


@pytest.fixture(autouse=True)
def session(tmp_path, monkeypatch):
    own_session(tmp_path, monkeypatch)


@pytest.fixture
def waiting(start, tmp_path):
    """Starts a job whose rank waits until the test ends it."""
    jobs = []

    def run(*options, text="up"):
        pipe = tmp_path / f"pipe-{len(jobs)}"
        os.mkfifo(pipe)
        job = start("run", *options, "--", "sh", "-c", f"echo {text}; read line < {pipe}")
        jobs.append((job, pipe))
        return job
    yield run
    for job, pipe in jobs:
        if job.process.poll() is None:
            job.interrupt()
        job.finish()


class Page(Web):
    """The page of a `run --web`, opened with the address in the job's log folder."""

    def __init__(self, file):
        self.url = file.read_text().strip()
        parts = urlsplit(self.url)
        self.place, self.token = parts.netloc, parse_qs(parts.query)["token"][0]
        self.socket, self.cookie = None, None


def page_of(job):
    seconds_until(lambda: KEPT.search(job.err.decode()), LIMIT_S)
    return Page(Path(KEPT.search(job.err.decode())[1]))


def id_in(err):
    found = re.search(r"job (\d{8}-\d{6}-\w+)", err)
    return found and found[1]


def id_of(job):
    seconds_until(lambda: id_in(job.err.decode()), LIMIT_S)
    return id_in(job.err.decode())


def metrics_of(job):
    job.await_err("metrics at http", LIMIT_S)
    seconds_until(lambda: re.search(r"metrics at (\S+)\n", job.err.decode()), LIMIT_S)
    return urlsplit(re.search(r"metrics at (\S+)\n", job.err.decode())[1]).netloc


def scrape(place, **headers):
    connection = http.client.HTTPConnection(place, timeout=LIMIT_S)
    connection.request("GET", "/metrics", headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


# The address of the page.

def test_without_a_terminal_the_token_is_in_a_private_file(waiting):
    job = waiting("--web")
    page = page_of(job)
    assert page.token.encode() not in job.err and b"token=" not in job.err
    file = Path(KEPT.search(job.err.decode())[1])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.is_absolute()
    assert str(file.parent) in job.err.decode().split("logs in ")[1] or file.parent.name == id_of(job)
    assert page.enter().json("/api/jobs")["job"] == id_of(job)
    job.interrupt()
    job.finish()
    assert not file.exists()


def test_at_a_terminal_the_address_is_shown_and_not_stored(tmp_path):
    terminal = Terminal([AUTODIST, "run", "--web", "--", "sh", "-c", "grep -rl token= autodist-* ; echo searched"],
                        tmp_path, columns=200)
    terminal.finish()
    assert re.search(r"page at http://\S+/\?token=[0-9a-f]{32}", "\n".join(terminal.all_lines()))
    assert not [line for line in terminal.all_lines() if "web-address" in line]


def test_readable_files_of_a_detached_job_have_no_token(autodist, tmp_path):
    started = autodist("run", "--detach", "--web", "--", "sleep", "1000")
    assert started.code == 0, started.err
    job = id_in(started.err)
    try:
        file = Path(KEPT.search(started.err)[1])
        page = Page(file)
        assert page.enter().json("/api/jobs")["job"] == job
        shown = [autodist(*words) for words in (("ps", "--json"), ("ps",), ("status", job, "--json"), ("top", job, "--once"))]
        for outcome in (started, *shown):
            assert page.token not in outcome.out + outcome.err
        for other in file.parent.rglob("*"):
            assert other == file or not other.is_file() or page.token.encode() not in other.read_bytes(), other
        chief = re.search(r'"chief_pid":\s*"?(\d+)', shown[2].out)[1]
        assert page.token not in Path(f"/proc/{chief}/cmdline").read_text()
    finally:
        assert autodist("stop", job).code == 0
    seconds_until(lambda: not file.exists(), LIMIT_S)


# What the token opens.

def test_a_token_opens_only_its_own_job(waiting):
    other = waiting(text=SECRET)
    other_id = id_of(other)
    other.await_line(SECRET)
    page = page_of(waiting("--web", "--web-allow-actions")).enter()
    for what in ("snapshot", "history", "events", "log/0", "log/0/follow", "search/0?q=SECRET"):
        status, _, text = page.ask(f"/api/jobs/{other_id}/{what}")
        assert status == 404 and SECRET.encode() not in text, what
    shown = page.json("/api/jobs")
    assert [job["status"]["job_id"] for job in shown["jobs"]] == [shown["job"]] != [other_id]
    for what in ("stop", "stacks"):
        assert page.ask(f"/api/{what}?job={other_id}", "POST", {"X-Autodist": "1"})[0] == 404
    assert other.process.poll() is None
    # Its own job stays accessible.
    own = shown["job"]
    assert page.json(f"/api/jobs/{own}/snapshot")["job"]["job_id"] == own
    seconds_until(lambda: page.ask(f"/api/jobs/{own}/log/0")[2] == b"up\n", LIMIT_S)
    assert page.ask(f"/api/stop?job={own}", "POST", {"X-Autodist": "1"})[0] == 200


def test_autodist_web_shows_all_jobs(waiting, tmp_path):
    jobs = {id_of(waiting()), id_of(waiting())}
    web = Web(cwd=tmp_path)
    try:
        assert {job["status"]["job_id"] for job in web.enter().json("/api/jobs")["jobs"]} >= jobs
    finally:
        web.end()


# Metrics.

def test_metrics_on_a_loopback_address_accept_only_loopback_names(waiting):
    place = metrics_of(waiting("--metrics", "127.0.0.1:0"))
    seconds_until(lambda: scrape(place) == 200, LIMIT_S)
    assert scrape(place, Host="evil.example") == scrape(place, Host="evil.example:9464") == 403
    assert scrape(place, Host="localhost:9464") == 200


def test_metrics_on_a_network_accept_addresses_and_this_machines_name(waiting):
    place = metrics_of(waiting("--metrics", "0.0.0.0:0")).replace("0.0.0.0", "127.0.0.1")
    seconds_until(lambda: scrape(place) == 200, LIMIT_S)
    assert scrape(place, Host="10.0.0.1:9464") == scrape(place, Host=socket.gethostname()) == 200
    assert scrape(place, Host="evil.example:9464") == 403


def test_silent_connections_do_not_block_prometheus(waiting):
    place = metrics_of(waiting("--metrics", "127.0.0.1:0"))
    host, port = place.split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(40)]
    seconds_until(lambda: scrape(place) == 200, LIMIT_S)
    for connection in silent:
        connection.close()


# A start that fails.

@pytest.mark.parametrize("option", ["--metrics", "--web"])
def test_queries_during_a_failing_start_are_safe(autodist, tmp_path, option):
    over = threading.Event()
    failed = []

    def ask():
        while not over.is_set():
            for words in (("ps", "--json"), ("status", "last"), ("top", "last", "--once")):
                done = subprocess.run([AUTODIST, *words], capture_output=True, text=True)
                if done.returncode < 0 or "Sanitizer" in done.stderr:
                    failed.append(done.stderr)
    threads = [threading.Thread(target=ask) for _ in range(3)]
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for thread in threads:
            thread.start()
        try:
            for _ in range(8):
                outcome = autodist("run", option, address, "--on-exit", "sleep 0.1", "--", "true")
                assert outcome.code == 125 and "Address already in use" in outcome.err
                assert "Sanitizer" not in outcome.err
        finally:
            over.set()
            for thread in threads:
                thread.join()
    assert not failed
