"""autodist run --sync on eight hosts. /tmp is each host's own; SHARED is the same on all."""

import os
import pty
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hosts import SHARED, SPEC, address, in_host, listening_sshd, on_host, parent
from jobs import AUTODIST, processes

OTHERS = range(2, 9)
WORK = Path("/tmp/sync-test")
# What a copy must have in common with the original.
LIST = (f"cd {WORK} && find . -mindepth 1 -name autodist-runs -prune -o -type f -printf '%y %m %s %T@ %p\\n' -o "
        "-mindepth 1 -type d -printf '%y %m %p\\n' -o -type l -printf '%y %l %p\\n' | LC_ALL=C sort && "
        "find . -name autodist-runs -prune -o -type f -exec md5sum {} + | LC_ALL=C sort")
# What has not arrived completely.
PARTS = f"[ ! -e {WORK} ] || find {WORK} -name '.autodist-sync-*'"


def on_chief(command):
    return subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.PIPE, text=True).stdout


def listing(host):
    return on_chief(LIST) if host == 1 else on_host(host, LIST)


@pytest.fixture
def work():
    """The folder that is copied: on host 1, and nowhere else."""
    WORK.mkdir()
    yield WORK
    shutil.rmtree(WORK)
    for host in OTHERS:
        on_host(host, f"rm -rf {WORK}")


@pytest.fixture
def sync(autodist, work):
    def run(*options, program=("true",), cwd=work):
        return autodist("run", "--sync", "--spec", SPEC, *options, "--", *program, cwd=cwd,
                        env={"PWD": str(cwd)})
    return run


@pytest.fixture
def start_sync(start, work):
    """Starts a run and waits for a part of the copying."""
    def run(*options):
        job = start("run", "--sync", "--spec", SPEC, *options, "--", "sh", "-c", "echo ran", cwd=work)
        while b" %" not in job.err:
            assert job.process.poll() is None, job.err
        return job
    return run


def make_tree(folder, files=1000, size=200_000):
    for i in range(files):
        path = folder / f"part{i % 20}" / f"{i}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(size))


def assert_nothing_torn(folder):
    """Every file that a host has is whole. Returns how many each has."""
    sums = SHARED / "md5sums"
    sums.write_text(on_chief(f"cd {folder} && find . -name autodist-runs -prune -o -type f -exec md5sum {{}} +"))
    counts = []
    for host in OTHERS:
        checked = on_host(host, f"cd {folder} 2>/dev/null && md5sum -c --ignore-missing {sums} 2>&1 || true")
        assert "FAILED" not in checked
        counts.append(checked.count(": OK\n"))
        assert counts[-1] == int(on_host(host, f"find {folder} -name '*.bin' 2>/dev/null | wc -l"))
    return counts


def agent_on(host):
    """The agent's pid and that of the process which passes its bytes on."""
    on_node = [pid for pid, command in processes().items()
               if "autodist-agent attach" in command and command.split()[3] == str(host - 1)]
    # It passes bytes on, started the guardian, which started the agent.
    [agent] = [pid for pid in on_node if parent(pid) in on_node and parent(parent(pid)) in on_node]
    return agent, parent(parent(agent))


def sshd_of_agent_on(host):
    """The one whose connection leads to the agent."""
    _, above = agent_on(host)
    while Path(f"/proc/{above}/comm").read_text() != "sshd\n":
        above = parent(above)
    return above


def await_part(host):
    """Until a file is on its way to the host. Looks itself: a login would take longer than the file."""
    folder = f"/proc/{listening_sshd(host)}/root{WORK}"
    limit = time.monotonic() + 10
    while not any(name.startswith(".autodist-sync-") for _, _, names in os.walk(folder) for name in names):
        assert time.monotonic() < limit, "nothing comes"
        time.sleep(0.001)


def await_no_process():
    limit = time.monotonic() + 10
    while processes() and time.monotonic() < limit:
        time.sleep(0.05)
    assert processes() == {}


def test_a_thousand_files_to_seven_hosts(sync, work):
    make_tree(work)
    before = listing(1)
    first = sync(program=("sh", "-c", "ls part7/7.bin"))
    assert first.code == 0, first.err
    assert re.search(r"syncing 1000 files, 200 MB to 7 nodes: \d+ %", first.err), first.err
    assert re.search(r"synced: 7000 files, 1.4 GB sent to 7 nodes in [\d.]+ s\n", first.err), first.err
    assert first.lines() == {rank: ["part7/7.bin"] for rank in range(8)}
    assert listing(1) == before
    for host in OTHERS:
        assert listing(host) == before

    second = sync()
    assert second.code == 0, second.err
    assert "synced: nothing to send\n" in second.err
    assert second.seconds < first.seconds

    # One that changes travels alone; one that is only touched does not.
    (work / "part3" / "3.bin").write_bytes(b"new")
    os.utime(work / "part4" / "4.bin")
    third = sync()
    assert "synced: 7 files, 21 bytes sent to 7 nodes" in third.err, third.err
    for host in OTHERS:
        assert listing(host) == listing(1)


def test_progress_on_a_terminal(work):
    make_tree(work, files=100)
    ours, theirs = pty.openpty()
    with subprocess.Popen([AUTODIST, "run", "--sync", "--spec", SPEC, "--", "true"], cwd=work,
                          stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            pass  # the terminal's other end is closed
        assert process.wait() == 0
    os.close(ours)
    drawn = re.findall(rb"\r\x1b\[Ksyncing 100 files, 20 MB to 7 nodes  \[[#-]{20}\]  (\d+) %", shown)
    assert drawn and sorted(drawn, key=int) == drawn, shown
    # The line is taken away, then comes what stays.
    assert re.search(rb"\r\x1b\[K\x1b\[32mautodist: \x1b\[msynced: 700 files, 140 MB sent to 7 nodes", shown), shown
    assert b"\n" not in shown[shown.index(b"syncing"):shown.rindex(b"\r\x1b[K")]


def test_what_is_copied_and_what_is_not(sync, work):
    (work / "src" / "out").mkdir(parents=True)
    (work / "empty").mkdir()
    (work / ".git").mkdir()
    for name in (".git/HEAD", "a.py", "b.pyc", "src/keep.pyc", "src/out/x", "data.bin", "run"):
        (work / name).write_text(name)
    (work / ".gitignore").write_text("*.pyc\n")
    (work / ".autodistignore").write_text("/data.bin\n")
    (work / "src" / ".gitignore").write_text("!keep.pyc\n/out/\n")
    (work / "run").chmod(0o750)
    (work / "a.py").chmod(0o604)
    (work / "empty").chmod(0o711)
    (work / "to").symlink_to("src")
    (work / "dangling").symlink_to("/no/such")
    (work / "two words\n'\"é").write_text("x")
    outcome = sync("--log-dir", "my logs")
    assert outcome.code == 0, outcome.err
    assert (work / "my logs").is_dir()
    sync("--log-dir", "my logs")
    left_out = (".git", "./.git/HEAD", "b.pyc", "src/out", "data.bin", "my logs")
    expected = [line for line in listing(1).splitlines()
                if not any(re.search(rf"\./{re.escape(name)}(/|$)", line)
                           for name in (*left_out, ".git/HEAD"))]
    for host in OTHERS:
        assert listing(host).splitlines() == expected


def test_nothing_remote_is_deleted(sync, work):
    (work / "both").mkdir()
    (work / "both" / "file").write_text("ours")
    on_host(2, f"mkdir -p {WORK}/both {WORK}/theirs && echo 1 > {WORK}/both/more && echo 2 > {WORK}/theirs/x "
               f"&& echo theirs > {WORK}/both/file")
    assert sync().code == 0
    assert on_host(2, f"cd {WORK} && cat both/more theirs/x both/file") == "1\n2\nours"


def test_a_shared_folder_is_not_written(sync, folder):
    for i in range(10):
        (folder / f"{i}").write_text("x")
    before = on_chief(f"find {folder} -printf '%p %i %C@\\n' | grep -v ' {folder.stat().st_ino} '")
    outcome = sync("--log-dir", "/tmp/sync-test-logs", cwd=folder)
    assert outcome.code == 0, outcome.err
    assert "synced: nothing to send; 7 nodes with this very folder\n" in outcome.err
    assert before == on_chief(f"find {folder} -printf '%p %i %C@\\n' | grep -v ' {folder.stat().st_ino} '")


def test_a_folder_that_some_hosts_share(sync, work, folder):
    """Hosts 2 and 3 have the chief's folder, by a symbolic link; the others have none."""
    (folder / "file").write_text("x")
    work.rmdir()
    work.symlink_to(folder)
    for host in (2, 3):
        on_host(host, f"ln -s {folder} {WORK}")
    try:
        outcome = sync("--log-dir", "/tmp/sync-test-logs")
        assert "synced: 5 files, 5 bytes sent to 5 nodes" in outcome.err
        assert "2 nodes with this very folder" in outcome.err
        assert on_host(4, f"cat {WORK}/file") == "x"
    finally:
        work.unlink()
        work.mkdir()


def test_ctrl_c_half_way(start_sync, sync, work):
    make_tree(work)
    before = listing(1)
    job = start_sync()
    job.interrupt()
    outcome = job.finish()
    assert outcome.code == 130 and outcome.seconds < 10 and outcome.out == ""
    assert listing(1) == before
    counts = assert_nothing_torn(work)
    assert min(counts) < 1000 and max(counts) > 0
    assert "".join(on_host(host, PARTS) for host in OTHERS) == ""
    assert sync().code == 0
    for host in OTHERS:
        assert listing(host) == before


def test_a_killed_agent_half_way(start_sync, sync, work):
    make_tree(work, files=1, size=80_000_000)
    before = listing(1)
    job = start_sync()
    await_part(5)
    agent, _ = agent_on(5)
    os.kill(agent, signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 125 and outcome.out == ""
    assert f"  {address(5)}:\n    copying the working directory: " in outcome.err
    assert assert_nothing_torn(work) == [1, 1, 1, 0, 1, 1, 1]
    assert on_host(5, PARTS) != ""
    assert sync().code == 0
    for host in OTHERS:
        assert listing(host) == before


@pytest.fixture
def small_buffers():
    """From this host to host 5, so that packets are sent in parts."""
    sizes = {1: "tcp_wmem", 5: "tcp_rmem"}
    before = {host: in_host(host, "cat", f"/proc/sys/net/ipv4/{name}") for host, name in sizes.items()}

    def write(values):
        for host, name in sizes.items():
            in_host(host, "sh", "-c", f"echo {values[host]} >/proc/sys/net/ipv4/{name}")
    write(dict.fromkeys(sizes, "4096 4096 4096"))
    yield
    write(before)


def unsent(host):
    """Bytes that connections from here hold back for a host."""
    peer = "".join(f"{int(part):02X}" for part in reversed(address(host).split(".")))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(line[4].split(":")[0], 16) for line in lines if line[2].startswith(f"{peer}:"))


def test_a_packet_that_is_sent_in_part_holds_nobody(start_sync, work, small_buffers):
    make_tree(work, files=1, size=80_000_000)
    job = start_sync("--lease", "1", "--grace", "1")
    await_part(5)
    sshd = sshd_of_agent_on(5)
    os.kill(sshd, signal.SIGSTOP)
    held = seconds = 0
    while not held or held != unsent(5):
        held, seconds = unsent(5), seconds + 0.2
        assert seconds < 20
        time.sleep(0.2)
    job.interrupt()
    outcome = job.finish(limit=30)
    os.kill(sshd, signal.SIGCONT)
    assert outcome.code == 130
    await_no_process()


def test_a_connection_that_breaks_half_way(start_sync, sync, work):
    make_tree(work, files=1, size=80_000_000)
    before = listing(1)
    job = start_sync("--lease", "1")
    await_part(6)
    os.kill(sshd_of_agent_on(6), signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 125
    assert f"  {address(6)}:\n    copying the working directory: " in outcome.err
    await_no_process()
    assert on_host(6, f"cd {WORK} && find . -type f") == ""
    assert sync().code == 0
    for host in OTHERS:
        assert listing(host) == before


def test_a_killed_chief_half_way(start_sync, sync, work):
    make_tree(work, files=1, size=80_000_000)
    job = start_sync("--lease", "1", "--grace", "1")
    job.interrupt(signal.SIGKILL)
    job.finish()
    await_no_process()
    assert "".join(on_host(host, PARTS) for host in OTHERS) == ""
    assert on_chief(PARTS) != ""  # by which nodes would have known the folder
    assert sync().code == 0
    assert on_chief(PARTS) == ""
    for host in OTHERS:
        assert listing(host) == listing(1)


def test_what_is_wrong_on_any_node_is_told_at_once(sync, work):
    (work / "a").write_text("x" * 100_000)
    (work / "b").write_text("x")
    on_host(2, f"mkdir -p {WORK}/a")
    on_host(3, f"touch {WORK}")
    on_host(4, f"mkdir -p {WORK} && mount -t tmpfs -o size=16k tmpfs {WORK}")
    on_host(5, f"mkdir -p {WORK} && mount -t tmpfs -o ro tmpfs {WORK}")
    try:
        outcome = sync()
    finally:
        for host in (4, 5):
            on_host(host, f"umount {WORK}")
    assert outcome.code == 125
    assert "4 of 8 nodes" in outcome.err
    for host, cause in [(2, f"{WORK}/a: a folder there, but a file on the chief"),
                        (3, "Not a directory"), (4, f"{WORK}/a: write: No space left on device"),
                        (5, "Read-only file system")]:
        block = outcome.err.split(f"  {address(host)}:\n")[1].split("\n  10.")[0]
        assert cause in block and "to do: " in block, (host, block)


def test_dry_run_says_what_there_is_and_reaches_nobody(sync, work):
    (work / "file").write_text("x" * 2000)
    outcome = sync("--dry-run")
    assert outcome.code == 0
    assert "to sync: 1 file, 2.0 kB, to 7 nodes\n" in outcome.err
    assert on_host(2, f"ls -d {WORK} 2>/dev/null || true") == ""
    assert on_chief(PARTS) == ""


def test_the_home_folder_is_not_copied(sync):
    outcome = sync(cwd=Path.home())
    assert outcome.code == 125
    assert "--sync would copy all of" in outcome.err


def test_what_cannot_be_read_is_told_before_anything_is_reached(autodist, work):
    # Root reads everything but what is no file any more.
    (work / "loop").mkdir()
    (work / ".gitignore").write_bytes(b"x\n" * (9 << 20))
    outcome = autodist("run", "--sync", "--spec", SPEC, "--", "true", cwd=work)
    assert outcome.code == 125
    assert f"{WORK}/.gitignore: larger than" in outcome.err
