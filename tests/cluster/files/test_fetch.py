"""autodist fetch and run --fetch on hosts that do not share the working directory."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from copies import OTHERS, WORK
from hosts import SPEC, address, on_host
from jobs import AUTODIST, ONE_REQUEST_S, seconds_until

pytestmark = pytest.mark.hosts(8)

# Each rank writes its own checkpoints, and prints a line.
WRITE = ("mkdir -p ckpt-2/deep && head -c 300000 /dev/urandom > ckpt-1.pt && chmod 640 ckpt-1.pt && "
         "echo $RANK > ckpt-2/deep/rank && echo no > other && ln -s /etc/passwd ckpt-link && ")


@pytest.fixture
def unshared(work):
    for host in OTHERS:
        on_host(host, f"mkdir -p {WORK}")
    return work


def log_folder(err):
    return WORK / re.search(r"logs in (\S+)", err)[1]


def size(path):
    """The size of a file in bytes, or 0 if it was removed."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def assert_fetched(folder, hosts):
    """Checks that the folder has exactly the files of the hosts."""
    for host in hosts:
        came = folder / address(host)
        theirs = on_host(host, f"cd {WORK} && sha256sum ckpt-1.pt ckpt-2/deep/rank && stat -c '%a %Y' ckpt-1.pt")
        here = os.popen(f"cd {came} && sha256sum ckpt-1.pt ckpt-2/deep/rank && stat -c '%a %Y' ckpt-1.pt").read()
        assert here == theirs
        assert sorted(path.name for path in came.rglob("*") if path.is_file()) == ["ckpt-1.pt", "rank"]
    assert not [path for path in folder.rglob(".autodist-sync-*")]


def test_fetch_from_a_running_job(start, autodist, unshared):
    job = start("run", "--spec", SPEC, "--", "sh", "-c", WRITE + "echo written; exec sleep 600", cwd=unshared)
    job.await_lines(8)
    fetched = autodist("fetch", "last", "ckpt*", cwd=unshared)
    folder = log_folder(job.err.decode())
    assert fetched.code == 0, fetched.err
    assert f"fetched 14 files, 2.1 MB, from 7 nodes into {folder}; files of the chief's own node stay in {WORK}\n" \
           in fetched.err
    assert re.search(r"warning: 10\.77\.0\.2, .*: ckpt-link: not fetched: a symbolic link\n", fetched.err), fetched.err
    assert_fetched(folder, OTHERS)
    assert not (folder / address(1)).exists()

    # A second fetch replaces files; a pattern without matches is reported.
    on_host(2, f"echo new > {WORK}/ckpt-1.pt")
    assert autodist("fetch", "last", "ckpt-1.pt").code == 0
    assert (folder / address(2) / "ckpt-1.pt").read_text() == "new\n"
    none = autodist("fetch", "last", "none/**")
    assert none.code == 0 and "fetched nothing: 7 nodes without a file that matches" in none.err

    large = autodist("fetch", "last", "ckpt*", "--max-size", "100K")
    assert large.code == 125
    assert "2 files with 300 kB on the node, more than the limit of 102 kB" in large.err
    wrong = autodist("fetch", "last", "../x")
    assert wrong.code == 2 and "leads out of the folder with '..'" in wrong.err

    job.interrupt()
    assert job.finish().code == 130


def test_fetch_after_the_end(autodist, unshared):
    """It logs in again, and takes only what this job has changed."""
    for host in OTHERS:
        on_host(host, f"cd {WORK} && echo old > ckpt-0 && touch -d '1 hour ago' ckpt-0")
    on_host(2, f"echo just before > {WORK}/ckpt-9")
    outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c", WRITE + "exit 0", cwd=unshared)
    assert outcome.code == 0, outcome.err
    folder = log_folder(outcome.err)
    time.sleep(2.1)  # a file that is as late does not belong to the job
    on_host(2, f"echo later > {WORK}/ckpt-3")
    late = autodist("fetch", "last", "ckpt*", cwd="/")
    assert late.code == 0, late.err
    assert "has ended; logging in to its nodes" in late.err
    assert f"fetched 14 files, 2.1 MB, from 7 nodes into {folder}; 9 files that match did not change while " \
           "the job ran; files of the chief's own node stay in" in late.err, late.err
    assert_fetched(folder, OTHERS)

    (folder / "nodes.json").unlink()
    unknown = autodist("fetch", "last", "ckpt*")
    assert unknown.code == 125
    assert "how to log in to its nodes is not recorded" in unknown.err and "`autodist run --fetch 'ckpt*' ...`" in unknown.err, unknown.err


def test_fetch_from_a_failed_job(autodist, unshared):
    outcome = autodist("run", "--spec", SPEC, "--fetch", "ckpt*", "--", "sh", "-c",
                       WRITE + "[ $RANK != 3 ] || exit 7; exec sleep 600", cwd=unshared)
    assert outcome.code == 7, outcome.err
    assert re.search(r"fetched \d+ files, .* from \d nodes into ", outcome.err), outcome.err
    folder = log_folder(outcome.err)
    assert_fetched(folder, [4])


def test_fetch_after_one_ctrl_c_but_not_after_two(start, unshared):
    for signals, fetched in ((1, True), (2, False)):
        job = start("run", "--spec", SPEC, "--grace", "600", "--fetch", "ckpt*", "--", "sh", "-c",
                    ("trap '' TERM; " if signals == 2 else "") + "rm -rf ckpt*;" + WRITE + "echo written; "
                    "while :; do sleep 1; done", cwd=unshared)
        job.await_lines(8)
        job.interrupt()
        if signals == 2:
            job.await_err("repeat to kill them", 10)
            time.sleep(ONE_REQUEST_S)
            job.interrupt()
        outcome = job.finish()
        assert outcome.code == 130, outcome.err
        assert ("fetched 14 files" in outcome.err) == fetched, outcome.err
        assert (log_folder(outcome.err) / address(2)).exists() == fetched


def test_a_node_that_dies_during_the_fetch(start, unshared, power_off):
    on_host(2, f"truncate -s 3G {WORK}/ckpt-large")
    job = start("run", "--spec", SPEC, "--lease", "5", "--fetch", "ckpt*", "--", "sh", "-c",
                "[ ! -e ckpt-large ] || touch ckpt-large; " + WRITE + "echo written", cwd=unshared)
    job.await_err("fetching files", 20)
    folder = log_folder(job.err.decode()) / address(2)
    seconds_until(lambda: any(size(path) > 1_000_000 for path in folder.glob(".autodist-sync-*")), 20)
    power_off(2)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert f"{address(2)}: incomplete: " in outcome.err
    assert "fetched 14 files, 2.1 MB, from 7 nodes" in outcome.err  # two were fetched before
    assert_fetched(folder.parent, range(3, 9))
    assert not list(folder.glob(".autodist-sync-*")) and not (folder / "ckpt-large").exists()


def test_ctrl_c_ends_the_fetch(start, autodist, unshared):
    """During `autodist fetch` the job continues; at the end of a job only the fetch ends."""
    on_host(2, f"truncate -s 5G {WORK}/large")
    os.mkfifo(unshared / "go")
    for host in OTHERS:
        on_host(host, f"mkfifo {WORK}/go")
    job = start("run", "--spec", SPEC, "--fetch", "large", "--", "sh", "-c",
                "[ ! -e large ] || touch large; echo ran; read x < go", cwd=unshared)
    job.await_lines(8)
    folder = log_folder(job.err.decode()) / address(2)
    fetch = start("fetch", "last", "large", cwd=unshared)
    seconds_until(lambda: any(folder.glob(".autodist-sync-*")), 20)
    busy = autodist("fetch", "last", "large")
    assert busy.code == 125 and "are being fetched already" in busy.err
    fetch.interrupt()
    assert fetch.finish().code == -signal.SIGINT
    seconds_until(lambda: not any(folder.glob(".autodist-sync-*")), 20)
    for host in OTHERS:
        on_host(host, f"echo > {WORK}/go")
    (unshared / "go").write_text("\n")
    job.await_err("fetching files", 20)
    seconds_until(lambda: any(folder.glob(".autodist-sync-*")), 20)
    job.interrupt()
    outcome = job.finish(30)
    assert outcome.code == 0, outcome.err
    assert "SIGINT: no more files are fetched" in outcome.err
    assert re.search(rf"error: {address(2)}.*: incomplete: cancelled\n", outcome.err), outcome.err
    assert not list(folder.iterdir())


def test_a_full_local_disk_is_reported_per_node(autodist, unshared):
    logs = Path("/tmp/fetch-test-logs")
    logs.mkdir()
    os.system(f"mount -t tmpfs -o size=2m tmpfs {logs}")
    try:
        outcome = autodist("run", "--spec", SPEC, "--log-dir", logs, "--fetch", "ckpt-3.pt", "--", "sh", "-c",
                           "[ $RANK != 1 ] || head -c 3000000 /dev/urandom > ckpt-3.pt", cwd=unshared)
    finally:
        os.system(f"umount {logs}")
        logs.rmdir()
    assert outcome.code == 0, outcome.err
    assert re.search(rf"{re.escape(address(2))}: incomplete: writing into \S+ on this machine: write: No space left on device\n +hint: make room there",
                     outcome.err)
