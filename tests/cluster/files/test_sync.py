"""autodist run --sync on eight hosts: copied files, and messages."""

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest
from copies import OTHERS, PARTS, WORK, listing, make_tree, on_chief
from hosts import SPEC, address, on_host
from jobs import AUTODIST

pytestmark = pytest.mark.hosts(8)


def test_a_thousand_files_to_seven_hosts(sync, work):
    make_tree(work)
    work.chmod(0o710)  # a mode that no umask creates
    before = listing(1)
    first = sync(program=("sh", "-c", "ls part7/7.bin"))
    assert first.code == 0, first.err
    assert re.search(r"syncing 1000 files, 200 MB to (up to )?[1-7] nodes?: \d+ %", first.err), first.err
    assert re.search(r"synced: 1000 files, 200 MB sent to 7 nodes in [\d.]+ s\n", first.err), first.err
    assert first.lines() == {rank: ["part7/7.bin"] for rank in range(8)}
    assert listing(1) == before
    for host in OTHERS:
        assert listing(host) == before

    second = sync()
    assert second.code == 0, second.err
    assert "synced: nothing to send\n" in second.err and "syncing" not in second.err
    assert second.seconds < first.seconds

    # A changed file is sent again; a file with only a new time is not.
    (work / "part3" / "3.bin").write_bytes(b"new")
    os.utime(work / "part4" / "4.bin")
    third = sync()
    assert "synced: 1 file, 3 bytes sent to 7 nodes" in third.err, third.err
    for host in OTHERS:
        assert listing(host) == listing(1)

    # Nodes that have all files are not counted.
    on_host(2, f"rm {WORK}/part5/5.bin")
    fourth = sync()
    assert re.search(r"synced: 1 file, .* sent to 1 node in ", fourth.err) and "7 nodes" not in fourth.err, fourth.err


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
            pass  # the other end of the terminal is closed
        assert process.wait() == 0
    os.close(ours)
    drawn = re.findall(rb"\r\x1b\[Ksyncing 100 files, 20 MB to (?:up to )?[1-7] nodes?  \[[#-]{20}\]  (\d+) %", shown)
    assert drawn and sorted(drawn, key=int) == drawn, shown
    # The progress line is erased before the final one.
    assert re.search(rb"\r\x1b\[K\x1b\[1mautodist: \x1b\[msynced: 100 files, 20 MB sent to 7 nodes", shown), shown
    assert b"\n" not in shown[shown.index(b"syncing"):shown.rindex(b"\r\x1b[K")]


@pytest.mark.smoke
def test_copied_and_excluded_files(sync, work):
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
    assert re.search(r"left out of --sync by \.gitignore: 1 file, .*, and 1 folder: b\.pyc, src/out/", outcome.err), outcome.err
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
    assert "synced: nothing to send; 7 nodes with the same folder\n" in outcome.err
    assert before == on_chief(f"find {folder} -printf '%p %i %C@\\n' | grep -v ' {folder.stat().st_ino} '")


def test_a_folder_that_some_hosts_share(sync, work, folder):
    """Hosts 2 and 3 have the chief's folder through a symbolic link; the others do not have it."""
    (folder / "file").write_text("x")
    work.rmdir()
    work.symlink_to(folder)
    for host in (2, 3):
        on_host(host, f"ln -s {folder} {WORK}")
    try:
        outcome = sync("--log-dir", "/tmp/sync-test-logs")
        assert "synced: 1 file, 1 byte sent to 5 nodes" in outcome.err
        assert "2 nodes with the same folder" in outcome.err
        assert on_host(4, f"cat {WORK}/file") == "x"
    finally:
        work.unlink()
        work.mkdir()


def test_errors_of_all_nodes_are_reported_at_once(sync, work):
    (work / "a").write_text("x" * 100_000)
    (work / "b").write_text("x")
    on_host(2, f"mkdir -p {WORK}/a")
    on_host(3, f"touch {WORK}")
    on_host(4, f"mkdir -p {WORK} && mount -t tmpfs -o size=16k,mode=755 tmpfs {WORK}")
    on_host(5, f"mkdir -p {WORK} && mount -t tmpfs -o ro,mode=755 tmpfs {WORK}")
    try:
        outcome = sync()
    finally:
        for host in (4, 5):
            on_host(host, f"umount {WORK}")
    assert outcome.code == 125
    assert "4 of 8 nodes" in outcome.err
    for host, cause, hint in [
            (2, f"{WORK}/a: a folder there, but a file on the chief", "remove it there"),
            (3, "Not a directory", "remove the file"),
            (4, f"{WORK}/a: write: No space left on device", "make room"),
            (5, "Read-only file system", "mount that file system writable")]:
        block = outcome.err.split(f"  {address(host)}:\n")[1].split("\n  10.")[0]
        assert cause in block and f"hint: {hint}" in block, (host, block)


def test_dry_run_lists_the_files_and_connects_to_no_node(sync, work):
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


def test_unreadable_files_are_reported_before_any_connection(autodist, work):
    # Root can read everything except non-files.
    (work / "loop").mkdir()
    (work / ".gitignore").write_bytes(b"x\n" * (9 << 20))
    outcome = autodist("run", "--sync", "--spec", SPEC, "--", "true", cwd=work)
    assert outcome.code == 125
    assert f"{WORK}/.gitignore: larger than" in outcome.err


def test_content_is_compared_where_size_and_time_are_the_same(sync, work):
    """On this host, and on a node."""
    file = work / "a.txt"
    file.write_text("one\n")
    os.utime(file, ns=(1, 1_600_000_000_000_000_000))
    assert sync().code == 0
    file.write_text("two\n")
    os.utime(file, ns=(1, 1_600_000_000_000_000_000))
    assert sync(program=("cat", "a.txt")).lines() == {rank: ["two"] for rank in range(8)}
    on_host(3, f"cd {WORK} && touch -r a.txt ../time && echo 333 > a.txt && touch -r ../time a.txt && rm ../time")
    outcome = sync(program=("cat", "a.txt"))
    assert outcome.lines() == {rank: ["two"] for rank in range(8)}
    assert "synced: 1 file, 4 bytes sent to 1 node" in outcome.err
    # A folder that takes the place of another one.
    for name in ("old", "new"):
        (work / name).mkdir()
        (work / name / "x").write_text(f"{name}\n")
        os.utime(work / name / "x", ns=(1, 1_600_000_000_000_000_000))
    assert sync().code == 0
    (work / "old").rename(work / "older")
    (work / "new").rename(work / "old")
    assert sync(program=("cat", "old/x")).lines() == {rank: ["new"] for rank in range(8)}
    assert "synced: nothing to send\n" in sync().err


def test_no_old_bytecode_is_used(sync, work):
    program = ("/usr/bin/python3", "train.py")
    (work / "train.py").write_text("import part\nprint(part.VALUE)\n")
    for value, nanoseconds in (("1", 0), ("2", 500_000_000)):
        (work / "part.py").write_text(f"VALUE = {value}\n")
        os.utime(work / "part.py", ns=(1, 1_600_000_000_000_000_000 + nanoseconds))
        outcome = sync(program=program)
        values = outcome.lines()
        assert [values[rank] for rank in range(1, 8)] == [[value]] * 7, outcome.err  # rank 0 is on this host


def test_sync_delete(sync, start, work):
    (work / "train.py").write_text("")
    (work / "pkg").mkdir()
    (work / "pkg" / "__init__.py").write_text("")
    (work / "old.py").write_text("")
    (work / ".autodistignore").write_text("/data/\n*.ckpt\n")
    assert sync().code == 0
    for name in ("old.py", "pkg/__init__.py"):
        (work / name).unlink()
    (work / "pkg").rmdir()
    on_host(2, f"cd {WORK} && mkdir data mounted && touch data/x a.ckpt ../outside && ln -s .. up && "
               "mount -t tmpfs tmpfs mounted && touch mounted/x.py")
    files = f"cd {WORK} && find . -mindepth 1 -type f ! -name .autodist-sync | LC_ALL=C sort"
    before = on_host(2, files)
    outcome = sync()
    assert re.search(r"warning: files that a program may read, but that this machine does not have: old\.py and "
                     r"pkg/__init__\.py on 10\.77\.0\.2, .*\n    hint: --sync-delete ", outcome.err), outcome.err
    outcome = sync("--sync-delete", "--dry-run")
    assert outcome.code == 0, outcome.err
    assert re.search(r"to delete on the nodes: .*old\.py", outcome.err), outcome.err
    assert on_host(2, files) == before
    job = start("run", "-n", "1", "--", "sh", "-c", "echo up; sleep 100", cwd=work)
    job.await_lines(1)
    outcome = sync("--sync-delete")
    assert outcome.code == 125 and "which runs in this folder" in outcome.err, outcome.err
    assert on_host(2, files) == before
    job.interrupt()
    job.finish()
    outcome = sync("--sync-delete")
    assert outcome.code == 0, outcome.err
    assert "deleted, because this machine does not have them: " in outcome.err
    assert on_host(2, files).split() == ["./.autodistignore", "./a.ckpt", "./data/x", "./mounted/x.py", "./train.py"]
    assert on_host(3, files).split() == ["./.autodistignore", "./train.py"]
    on_host(2, f"umount {WORK}/mounted && rmdir {WORK}/mounted && ! test -e {WORK}/up")
    assert on_host(2, f"ls {WORK}/../outside && rm {WORK}/../outside")
    assert "this machine does not have" not in sync("--sync-delete").err
    assert sync("--dry-run").code == 0
    assert "--sync-delete needs --sync" in subprocess.run(
        [AUTODIST, "run", "--sync-delete", "--", "true"], cwd=work, check=False, capture_output=True, text=True).stderr


def test_a_job_that_runs_in_the_folder_is_named_before_its_files_are_replaced(sync, start, work):
    (work / "train.py").write_text("")
    assert sync().code == 0
    job = start("run", "--spec", SPEC, "--name", "first", "--", "sh", "-c", "echo up; sleep 100", cwd=work)
    job.await_lines(8)
    assert "which runs in this folder" not in sync().err  # nothing has changed
    (work / "train.py").write_text("print()")
    outcome = sync()
    assert outcome.code == 0, outcome.err
    assert re.search(r"warning: files that differ are copied under job \S+ \(first\), which runs in this folder "
                     r"\(since 2.*\); nodes of both jobs: 10\.77\.0\.2, 10\.77\.0\.3, 10\.77\.0\.4 and 4 others\n",
                     outcome.err), outcome.err
    assert outcome.err.count("which runs in this folder") == 1, outcome.err
    assert "prune" not in outcome.err, outcome.err
    (work / "train.py").write_text("print(1)")
    job.interrupt(signal.SIGSTOP)
    outcome = sync("--dry-run")  # does not wait for the answer of the stopped one
    assert outcome.code == 0 and outcome.seconds < 4, outcome.err
    job.interrupt(signal.SIGCONT)
    job.interrupt()
    job.finish()
    (work / "train.py").write_text("")
    assert "which runs in this folder" not in sync().err


def test_a_job_whose_chief_was_killed_does_not_run_in_the_folder(sync, start, work):
    (work / "train.py").write_text("")
    assert sync().code == 0
    job = start("run", "--spec", SPEC, "--lease", "2", "--grace", "1", "--", "sh", "-c", "echo up; sleep 100", cwd=work)
    job.await_lines(8)
    job.interrupt(signal.SIGKILL)
    assert job.finish().code == -signal.SIGKILL
    outcome = sync()
    assert outcome.code == 0 and "which runs in this folder" not in outcome.err, outcome.err


def test_own_output_and_growing_files_prevent_no_start(work):
    (work / "program").write_text("")
    writer = subprocess.Popen(["sh", "-c", "while :; do seq 2000; sleep 0.001; done > old.log"], cwd=work)
    try:
        for _ in range(3):
            with open(work / "train.log", "w", encoding="utf8") as log:
                ended = subprocess.run([AUTODIST, "run", "--sync", "--spec", SPEC, "--", "echo", "ran"],
                                       cwd=work, check=False, stdout=log, stderr=log)
            text = (work / "train.log").read_text()
            assert ended.returncode == 0, text
            assert text.count(" ran\n") == 8
    finally:
        writer.kill()
        writer.wait()
    assert on_host(2, f"ls {WORK}").split() == ["old.log", "program"]
    assert on_host(2, f"head -n 2 {WORK}/old.log") == "1\n2\n"


def test_holes_stay_holes(sync, work):
    """On a node with less space than the file's size."""
    with open(work / "image", "wb") as file:
        file.truncate(2_000_000_000)
        file.seek(1_000_000_000)
        file.write(b"x")
    on_host(2, f"mkdir -p {WORK} && mount -t tmpfs -o size=100m,mode=755 tmpfs {WORK}")
    try:
        outcome = sync(program=("sh", "-c", "stat -c %s image; test $(du -k image | cut -f1) -lt 1000 && echo sparse"))
    finally:
        on_host(2, f"umount {WORK}")
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: ["2000000000", "sparse"] for rank in range(8)}


def test_a_folder_that_everyone_can_write_in(sync, work):
    (work / "a").write_text("x")
    on_host(2, f"mkdir -p {WORK} && chmod 777 {WORK}")
    outcome = sync()
    assert outcome.code == 0, outcome.err
    assert f"everyone can write in {WORK} on {address(2)}, so other users can change the program\n" in outcome.err


def test_large_outputs_of_a_job_are_named(sync, work):
    sync(program=("sh", "-c", "[ $RANK != 0 ] || (mkdir big; head -c 12000000 /dev/urandom > big/x)"))
    second = sync()
    assert "warning: --sync sends 12 MB that was written while a job ran here, in big/\n" in second.err, second.err
    assert "add a line to .autodistignore: /big/" in second.err
    assert "written while" not in sync().err
