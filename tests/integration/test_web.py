"""`autodist web` over HTTP: access, answers, and limits."""

import contextlib
import json
import os
import re
import socket
import stat
import time

import pytest
from jobs import seconds_until
from web import JOB, OLD, Snapshot, Web, events, leave_ended, own_session

MOST_VIEWERS = 64
SOON_S = 4  # ten times what an idle machine needs; idle connections are closed after 5 s


@pytest.fixture(autouse=True)
def session(tmp_path, monkeypatch):
    own_session(tmp_path, monkeypatch)


@pytest.fixture
def snapshot(tmp_path):
    job = Snapshot(tmp_path / "job")
    yield job
    job.end()


@pytest.fixture
def serve(tmp_path):
    running = []

    def start(*arguments):
        running.append(Web(*arguments, cwd=tmp_path))
        return running[-1]
    yield start
    for web in running:
        web.end()


@pytest.fixture
def web(snapshot, serve):
    return serve().enter()


def test_a_token_is_required(snapshot, serve):
    web = serve()
    for path in ("/", "/page.js", "/page.css", "/api/jobs", f"/api/jobs/{JOB}/events", "/nothing"):
        status, headers, text = web.ask(path)
        assert status == 403 and b"token" in text
        assert "Access-Control-Allow-Origin" not in headers
    assert web.ask("/?token=" + "0" * 32)[0] == 403
    status, headers, _ = web.ask(f"/?token={web.token}")
    assert status == 303 and headers["Location"] == "/"
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    web.enter()
    status, headers, text = web.ask("/")
    assert status == 200 and b"<title>" in text and web.token.encode() not in text
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    # DNS rebinding, and pages on other ports of this machine.
    assert web.ask("/", headers={"Host": "evil.example"})[0] == 403
    assert web.ask("/api/jobs", headers={"Sec-Fetch-Site": "same-site"})[0] == 403
    assert web.ask("/api/jobs", headers={"Origin": "http://127.0.0.1:1"})[0] == 403


def test_the_page_loads_nothing_from_other_servers(web):
    _, _, page = web.ask("/")
    assert b"http://" not in page.replace(b"http://www.w3.org/", b"")
    for name in ("page.js", "log.js", "page.css"):
        status, headers, text = web.ask("/" + name)
        assert status == 200 and b"https://" not in text
        assert headers["Content-Type"].startswith("text/javascript" if name.endswith("js") else "text/css")
    assert web.ask("/../server.cc")[0] == 404


def test_the_jobs_and_their_values(tmp_path, snapshot, serve):
    leave_ended(tmp_path / "old")
    web = serve("c02b7e").enter()
    reply = web.json("/api/jobs")
    assert [job["status"]["job_id"] for job in reply["jobs"]] == [JOB, OLD]
    assert reply["job"] == OLD and reply["control"] is False and reply["viewers"] == 0
    assert reply["jobs"][0]["progress"]["total"] == 20000 and reply["jobs"][0]["nodes"] == 4
    for job, state in ((JOB, "running"), (OLD, "ended")):
        shown = web.json(f"/api/jobs/{job}/snapshot")
        assert shown["job"]["state"] == state
        assert len(shown["nodes"]) == 4 and len(shown["ranks"]) == 8
        points = web.json(f"/api/jobs/{job}/history")["points"]
        since = points[-3]["time_ms"]
        later = web.json(f"/api/jobs/{job}/history?since={since}")["points"]
        assert len(points) > 500 and 2 <= len(later) <= 3
    for wrong in ("20261123-000000-000000", "..%2f..", "x"):
        status, _, text = web.ask(f"/api/jobs/{wrong}/snapshot")
        assert status == 404 and "error" in json.loads(text)


def test_a_job_without_a_snapshot_shows_its_record(tmp_path, serve):
    leave_ended(tmp_path / "old")
    os.remove(tmp_path / "old" / "snapshot.json")
    web = serve().enter()
    shown = web.json(f"/api/jobs/{OLD}/snapshot")
    assert shown["job"]["state"] == "ended" and len(shown["nodes"]) == 4 and shown["ranks"] == []
    assert web.ask(f"/api/jobs/{OLD}/log/3")[0] == 200


def test_snapshots_are_streamed_until_the_end(snapshot, web):
    answer = web.open(f"/api/jobs/{JOB}/events")
    stream = events(answer)
    first = next(stream)[1]
    second = next(stream)[1]
    assert first["version"] != second["version"]
    snapshot.do("fail 3")
    begin = time.monotonic()
    for name, reply in stream:
        if reply["ranks"][3]["state"] == "failed":
            break
    assert time.monotonic() - begin < SOON_S
    snapshot.do("end 1")
    names = [name for name, _ in stream]
    assert names[-1] == "end"


def test_ranges_of_logs(snapshot, web):
    snapshot.log(2, "x" * (3 << 20), "err")
    path = f"/api/jobs/{JOB}/log/2?stream=err"
    status, headers, text = web.ask(path)
    assert status == 200 and len(text) == 1 << 20 and headers["X-Log-Size"] == str(3 << 20)
    assert headers["X-Log-From"] == str(2 << 20) and headers["Content-Type"] == "application/octet-stream"
    snapshot.log(2, "\0\xff<b>")
    _, headers, text = web.ask(path + "&from=3145725&bytes=9000000")
    assert text == b"xxx"
    _, _, text = web.ask(f"/api/jobs/{JOB}/log/2?from=0&bytes=4")
    assert text == b"step"
    for wrong in ("9", "-1", "2/../3", "x", "99999999999"):
        assert web.ask(f"/api/jobs/{JOB}/log/{wrong}")[0] in (400, 404)


def test_a_log_is_followed(snapshot, web):
    answer = web.open(f"/api/jobs/{JOB}/log/1/follow")
    stream = events(answer)
    size = (snapshot.folder / "rank-1.out").stat().st_size
    assert next(stream)[1] == {"from": size, "to": size, "size": size, "text": ""}
    snapshot.log(1, "good news\n")
    name, reply = next(stream)
    assert name == "tail" and reply["text"] == "good news\n" and reply["from"] == size
    snapshot.log(1, "é".encode()[:1].decode("latin1"))  # a flood is cut to its end
    snapshot.log(1, "flood\n" * 100_000)
    reply = next(stream)[1]
    assert reply["text"].endswith("flood\n") and len(reply["text"]) <= 64 << 10
    assert reply["to"] == reply["size"]


def test_search_from_the_end_and_its_limits(snapshot, web):
    snapshot.log(4, "".join(f"line {i} Needle\n" for i in range(1000)))
    path = f"/api/jobs/{JOB}/search/4"
    reply = web.json(path + "?q=needle")
    assert len(reply["hits"]) == 200 and reply["hits"][0]["text"] == "line 999 Needle"
    reply = web.json(path + f"?q=needle&from={reply['next']}")
    assert reply["hits"][0]["text"] == "line 799 Needle"
    assert web.json(path + "?q=NEEDLE")["hits"] == []
    assert web.json(path + "?q=needle&backwards=0")["hits"][0]["text"] == "line 0 Needle"
    assert web.ask(path)[0] == 400
    assert web.ask(path + "?q=" + "x" * 2000)[0] == 400


def test_the_65th_viewer_is_rejected(snapshot, web):
    streams = [web.open(f"/api/jobs/{JOB}/events") for _ in range(MOST_VIEWERS)]
    assert {answer.status for answer in streams} == {200}
    assert next(events(streams[-1]))[0] == "snapshot"
    assert web.json("/api/jobs")["viewers"] == MOST_VIEWERS
    status, _, text = web.ask(f"/api/jobs/{JOB}/events")
    assert status == 503 and b"64 viewers" in text
    # Other requests work, and a viewer that leaves makes room.
    assert web.ask(f"/api/jobs/{JOB}/snapshot")[0] == 200
    streams.pop().connection.close()
    streams[0].connection.sock.close()

    def let_in():
        answer = web.open(f"/api/jobs/{JOB}/events")
        answer.connection.close()
        return answer.status == 200
    seconds_until(let_in, 5)
    for answer in streams:
        answer.connection.close()


def test_a_viewer_that_stops_reading_is_dropped_and_delays_no_others(tmp_path, serve):
    large = Snapshot(tmp_path / "job", "--nodes", "500")
    web = serve().enter()
    stuck = web.raw()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.sendall(f"GET /api/jobs/{JOB}/events HTTP/1.1\r\nHost: {web.place}\r\nCookie: {web.cookie}\r\n\r\n".encode())
    assert stuck.recv(16) == b"HTTP/1.1 200 OK\r"
    stream = events(web.open(f"/api/jobs/{JOB}/events"))
    next(stream)
    assert web.json("/api/jobs")["viewers"] == 2
    begin = time.monotonic()
    while web.json("/api/jobs")["viewers"] == 2:
        next(stream)
        assert time.monotonic() - begin < 40
    large.end()


def test_a_silent_connection_is_closed(snapshot, web):
    silent, slow = web.raw(), web.raw()
    slow.sendall(b"GET / HTTP/1.1\r\nHost:")
    for connection in (silent, slow):
        begin = time.monotonic()
        while connection.recv(1000):
            pass
        assert time.monotonic() - begin < 20


def test_silent_connections_displace_no_viewers(snapshot, web):
    stream = events(web.open(f"/api/jobs/{JOB}/events"))
    assert next(stream)[0] == "snapshot"
    silent = [web.raw() for _ in range(300)]
    assert web.json("/api/jobs")["viewers"] == 1
    for connection in silent[::2]:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")  # without the cookie
    assert web.json("/api/jobs")["viewers"] == 1
    assert next(stream)[0] == "snapshot"
    for connection in silent:
        connection.close()


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


def test_unfinished_headers_use_little_memory(snapshot, web):
    web.json("/api/jobs")
    before = resident_kb(web.process.pid)
    headers = b"".join(b"X-%d: %s\r\n" % (i, b"y" * 8000) for i in range(98))
    connections = [web.raw() for _ in range(100)]
    for connection in connections:
        with contextlib.suppress(OSError):  # the server closes when the headers are too long
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + headers)
    assert web.json("/api/jobs")["viewers"] == 0
    assert resident_kb(web.process.pid) - before < 8 << 10
    for connection in connections:
        connection.close()


def test_oversized_requests_are_refused(web):
    assert web.ask("/api/stop", "POST", body=b"x" * 10)[0] == 413
    assert web.ask("/" + "x" * 20000)[0] == 414
    assert web.ask("/", headers={"X": "y" * 20000})[0] == 431
    assert web.ask("/", headers={f"X-{i}": "y" for i in range(40)})[0] == 431
    assert web.ask("/", "DELETE")[0] == 405
    assert web.ask("/api/jobs")[0] == 200


def test_actions_have_to_be_allowed(snapshot, serve):
    web = serve().enter()
    page = {"X-Autodist": "1"}
    for path in (f"/api/stop?job={JOB}", f"/api/stacks?job={JOB}"):
        status, _, text = web.ask(path, "POST", page)
        assert status == 403 and b"--allow-actions" in text
    web = serve("--allow-actions").enter()
    assert web.ask(f"/api/stop?job={JOB}", "POST")[0] == 403
    assert web.ask(f"/api/stop?job={JOB}", "POST", {**page, "Origin": "http://evil.example"})[0] == 403
    assert web.ask(f"/api/stop?job={JOB}")[0] == 404
    assert web.ask("/api/stop?job=nothing", "POST", page)[0] == 404
    _, _, text = web.ask(f"/api/stacks?job={JOB}", "POST", page)
    assert json.loads(text)["groups"][0]["doing"] == "cudaStreamSynchronize"
    assert web.ask(f"/api/stop?job={JOB}", "POST", page)[0] == 200
    assert snapshot.process.stdout.readline() == "signal 15\n"


def test_a_unix_socket_for_forwarding(tmp_path, snapshot, serve):
    path = tmp_path / "web.sock"
    web = serve("--socket", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert web.ask("/api/jobs", headers={"Host": "localhost:9000"})[0] == 403
    web.enter()
    assert web.ask("/api/jobs", headers={"Host": "localhost:9000"})[0] == 200
    assert web.ask("/api/jobs", headers={"Host": "evil.example"})[0] == 403
    web.process.terminate()
    web.process.wait()
    assert not path.exists()


def test_it_ends_at_once_despite_viewers(snapshot, serve):
    web = serve().enter()
    streams = [web.open(f"/api/jobs/{JOB}/events") for _ in range(5)]
    streams.append(web.open(f"/api/jobs/{JOB}/log/1/follow"))
    begin = time.monotonic()
    web.process.terminate()
    assert web.process.wait() == 0
    assert time.monotonic() - begin < SOON_S


@pytest.mark.parametrize("arguments, complaint", [
    (["--listen", "host.example:80"], "is not ADDRESS:PORT"), (["nothing"], "there is no job"),
    (["--listen", "127.0.0.1:1", "--socket", "x"], "--socket")])
def test_wrong_usage(autodist, arguments, complaint):
    outcome = autodist("web", *arguments)
    assert outcome.code == 2 and complaint in outcome.err


def test_a_taken_port_is_reported(autodist, web):
    outcome = autodist("web", "--listen", web.place)
    assert outcome.code == 125 and web.place in outcome.err and "Address already in use" in outcome.err
