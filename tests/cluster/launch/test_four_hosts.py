"""Four hosts, two ranks each. Host 2 accepts an RSA key, host 3 Ed25519, host 4 ECDSA on port 2222."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hosts import SHARED, SPEC, address, on_host
from jobs import BUILD, python

ECHO_RANK = ["sh", "-c", "echo rank $RANK on $(hostname)"]


@pytest.mark.smoke
def test_one_run_reaches_all_kinds_of_keys_and_ports(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", *ECHO_RANK)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [f"rank {rank} on host{rank // 2 + 1}"] for rank in range(8)}


@pytest.mark.smoke
def test_training_over_ssh(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", BUILD / "train_digits", "--epochs", "3")
    assert outcome.code == 0, outcome.err
    checksums = {line.split()[7] for lines in outcome.lines().values() for line in lines
                 if line.startswith("rank")}
    assert len(checksums) == 1


def test_arguments_arrive_byte_for_byte(autodist):
    arguments = ["two words", "", "it's", '"', "$HOME", "*", "a\nb", "`id`", "$(id)", "\\", "ü€😀",
                 "-n", "--", "~", "!x", "{}", "\t "]
    outcome = autodist("run", "--spec", SPEC, "--",
                       *python("import sys; print(ascii(sys.argv[1:]))"), *arguments)
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [ascii(arguments)] for rank in range(8)}


def test_interface_variables_name_the_interface_of_the_address(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c",
                       "echo $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $MASTER_ADDR")
    assert outcome.lines() == {rank: ["=eth0 eth0 10.77.0.1"] for rank in range(8)}


def test_activation_and_shared_envs(autodist, spec, folder):
    (folder / "activate").write_text("export VENV=on PATH=/venv/bin:$PATH LD_LIBRARY_PATH=/venv/lib\n")
    changed = spec(("    username: root\n    port: 2222\n", f"""    username: root
    port: 2222
    python_venv: 'source {folder}/activate; export X=1'
    shared_envs:
      LD_LIBRARY_PATH: '$LD_LIBRARY_PATH:/opt/lib'
      S: 'a b "c" $X'
      EVIL: '$(touch {folder}/pwned)`touch {folder}/pwned`'
"""))
    outcome = autodist("run", "--spec", changed, "--", *python(
        "import os; print([os.environ.get(n) for n in ('VENV', 'LD_LIBRARY_PATH', 'S', 'EVIL')])"))
    assert outcome.code == 0, outcome.err
    lines = outcome.lines()
    assert lines[6] == lines[7] == [str(["on", "/venv/lib:/opt/lib", 'a b "c" 1',
                                         f"$(touch {folder}/pwned)`touch {folder}/pwned`"])]
    assert lines[2] == ["[None, None, None, None]"]
    assert not (folder / "pwned").exists()


def test_the_chief_has_a_separate_environment(autodist, spec, folder):
    (folder / "activate").write_text("export VENV=$HERE/on\n")
    changed = spec(("    chief: true\n", f"""    chief: true
    python_venv: 'HERE=of-the-chief; source {folder}/activate'
    shared_envs: {{S: '$VENV $KEPT'}}
"""))
    outcome = autodist("run", "--spec", changed, "--", "sh", "-c", "echo $VENV,$S,$KEPT,$SHLVL",
                       env=os.environ | {"KEPT": "of-the-shell"})
    assert outcome.code == 0, outcome.err
    lines = outcome.lines()
    assert lines[0] == lines[1] == ["of-the-chief/on,of-the-chief/on of-the-shell,of-the-shell,"]
    assert lines[2] == [",,,"]
    assert "python_venv" not in outcome.err  # it would be a warning


def test_a_chief_without_the_shared_environment_causes_a_warning(autodist, spec, monkeypatch):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    changed = spec(("    username: root\n", "    username: root\n    python_venv: export A=1\n"))
    warning = "the chief has no python_venv, unlike all other nodes"
    assert warning in autodist("run", "--spec", changed, "--", "true").err
    assert warning in autodist("doctor", "--spec", changed).out
    monkeypatch.setenv("VIRTUAL_ENV", "/venv")
    assert warning not in autodist("run", "--spec", changed, "--", "true").err


def test_nodes_without_devices_have_no_rank(autodist, spec):
    path = spec()
    parts = path.read_text().split("cpus: [0, 1]")
    assert len(parts) == 5
    path.write_text(parts[0] + "cpus: []\n    gpus: []" + parts[1] + "cpus: [0, 1]" + parts[2] +
                    "cpus: []\n    gpus: []" + parts[3] + "cpus: [0, 1]" + parts[4])
    # Rank 0 is where the other ranks expect it.
    program = """
import os, socket
rank, node, address = (os.environ[name] for name in ("RANK", "NODE_RANK", "MASTER_ADDR"))
if rank == "0":
    socket.socket().bind((address, 0))
print(address, node, os.environ["WORLD_SIZE"], socket.gethostname())
"""
    outcome = autodist("run", "--spec", path, "--", *python(program))
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {
        rank: [f"{address(2)} {rank // 2} 4 host{2 if rank < 2 else 4}"] for rank in range(4)}


def test_a_failing_activation_names_the_node_and_shows_its_stderr(autodist, spec):
    changed = spec(("    port: 2222\n", "    port: 2222\n    python_venv: 'source /none; export X=1'\n"))
    outcome = autodist("run", "--spec", changed, "--", "true")
    assert outcome.code == 125
    assert "1 of 4 nodes" in outcome.err and f"  {address(4)}:\n" in outcome.err
    assert "/none: No such file or directory" in outcome.err


def test_a_slow_launch_reports_what_it_waits_for(autodist, spec):
    bashrc = SHARED / "host3" / "bashrc"
    bashrc.write_text("sleep 1.5\n")
    try:
        outcome = autodist("run", "--spec", SPEC, "--", "true")
    finally:
        bashrc.write_text("")
    assert outcome.code == 0, outcome.err
    waits = [line for line in outcome.err.splitlines() if "waiting for" in line]
    assert len(waits) == 1 and f"{address(3)} (logged in; its login shell has not run anything yet)" in waits[0], waits

    slow = spec(("    username: root\n", "    username: root\n    python_venv: 'sleep 1.5'\n"))
    outcome = autodist("run", "--spec", slow, "--", "true")
    assert outcome.code == 0, outcome.err
    assert "(checking the node and preparing the environment)" in outcome.err


def test_a_bashrc_has_no_effect(autodist):
    bashrc = SHARED / "host3" / "bashrc"  # host 3's ~/.bashrc
    bashrc.write_text("echo noise; echo noise >&2; export FROM_RC=1 PATH=/rc:$PATH; cd /; sleep 0.5\n")
    try:
        assert "noise" in on_host(3, "true")  # sshd's bash does read it
        outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c", "echo $FROM_RC $PATH")
    finally:
        bashrc.write_text("")
    assert outcome.code == 0, outcome.err
    lines = outcome.lines()
    assert lines[4] == lines[5] == lines[6]
    assert "noise" not in outcome.out + outcome.err


def test_the_agent_is_installed_once_and_completely(autodist):
    on_host(3, "rm -rf ~/.cache/autodist")
    assert autodist("run", "--spec", SPEC, "--", "true").code == 0
    listing = on_host(3, "cd ~/.cache/autodist/agent && ls -l */*").split("\n")
    [line] = [line for line in listing if line]
    assert line.startswith("-rwx------") and line.endswith("/autodist-agent")
    [name] = on_host(3, "ls ~/.cache/autodist/agent").split()
    digest = on_host(3, "sha256sum ~/.cache/autodist/agent/*/autodist-agent").split()[0]
    assert name == digest


@pytest.mark.parametrize("script, code, what", [
    ("exit 7", 7, "exited with code 7"), ("kill -SEGV $$", 139, "was ended by SIGSEGV"),
    ("kill -KILL $$", 137, "was ended by SIGKILL")])
def test_one_failing_rank_ends_the_job(autodist, script, code, what):
    outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c",
                       f"[ $RANK = 5 ] && {{ echo last words; {script}; }}; exec sleep 1000")
    assert outcome.code == code
    assert outcome.seconds < 5
    assert f"rank 5 on {address(3)} (pid " in outcome.err and what in outcome.err
    assert "    | last words\n" in outcome.err
    assert "all others ended on SIGTERM" in outcome.err


def test_the_time_from_a_failure_to_the_end(start):
    job = start("run", "--spec", SPEC, "--", *python(
        "import os, time\n"
        "print('up', flush=True)\n"
        "if os.environ['RANK'] != '5': time.sleep(1000)\n"
        "time.sleep(1); print(time.time(), flush=True); os._exit(7)"))
    outcome = job.finish()
    ended = time.time()
    assert outcome.code == 7
    assert ended - float(outcome.lines()[5][1]) < 1


def test_a_command_missing_on_one_node_is_127(autodist, folder):
    on_host(3, "mkdir -p /tmp/only-here")
    tool = folder / "tool"
    tool.write_text("#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    for host in (2, 4):
        on_host(host, f"cp {tool} /tmp/the-tool")
    Path("/tmp/the-tool").write_bytes(tool.read_bytes())
    Path("/tmp/the-tool").chmod(0o755)
    outcome = autodist("run", "--spec", SPEC, "--", "/tmp/the-tool")
    assert outcome.code == 127
    assert f"  {address(3)}:\n    '/tmp/the-tool' does not exist" in outcome.err
    assert "ran" not in outcome.out
    on_host(3, f"cp {tool} /tmp/the-tool")
    assert autodist("run", "--spec", SPEC, "--", "/tmp/the-tool").code == 0


def test_all_bad_nodes_are_reported_together(autodist, spec, folder, known_hosts):
    """Every kind of bad node in one run; the good nodes are left unchanged."""
    lines = known_hosts.read_text().splitlines()
    other_key = lines[0].split()[1:]
    lines = [f"{address(3)} {' '.join(other_key)}" if line.startswith(address(3)) else line
             for line in lines if not line.startswith(address(2))]
    known_hosts.write_text("\n".join(lines) + "\n")
    groups = f"""
  refused_key: {{key_file: {folder}/stranger, username: root, port: 2222}}
  no_such_key: {{key_file: {folder}/none, username: root}}
  nobody_listens: {{key_file: {SHARED}/user_ed25519, username: root, port: 2}}
"""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "stranger"], check=True)
    changed = spec((f"address: {address(4)}\n    cpus: [0, 1]\n    ssh_config: ecdsa_port_2222",
                    f"address: {address(4)}\n    cpus: [0, 1]\n    ssh_config: refused_key"),
                   ("ssh:\n", f"""\
  - {{address: 10.77.0.99, ssh_config: ed25519_port_22}}
  - {{address: host2, ssh_config: no_such_key}}
  - {{address: host3, ssh_config: nobody_listens}}
ssh:
"""), append=groups.removeprefix("\n"))
    outcome = autodist("run", "--spec", changed, "--", "touch", f"{folder}/ran")
    assert outcome.code == 125
    err = outcome.err
    assert "6 of 7 nodes" in err
    for node, cause in [
            (address(2), "host key unknown: the server has ssh-ed25519 SHA256:"),
            (address(3), "host key changed: the server has"),
            (address(4), "key refused: the server does not accept"),
            ("10.77.0.99", "connect"),
            ("host2", "none: No such file or directory"),
            ("host3", "Connection refused")]:
        block = err.split(f"  {node}:\n")[1].split("\n  1")[0].split("\n  h")[0]
        assert cause in block and "hint: " in block, (node, block)
    # The suggested line is correct.
    assert f"{address(2)} ssh-ed25519 AAAA" in err
    assert not (folder / "ran").exists()


def test_a_missing_working_directory(autodist, tmp_path):
    outcome = autodist("run", "--spec", SPEC, "--", "true", cwd=tmp_path)  # only on host 1
    assert outcome.code == 125
    assert "3 of 4 nodes" in outcome.err
    assert f"working directory {tmp_path}: No such file or directory" in outcome.err


def test_no_writable_folder_for_the_agent(autodist):
    on_host(3, "mount -t tmpfs -o ro tmpfs ~/.cache && ln -s /root /tmp/autodist-agent-0")
    try:
        outcome = autodist("run", "--spec", SPEC, "--", "true")
    finally:
        on_host(3, "umount ~/.cache; rm /tmp/autodist-agent-0")
    assert outcome.code == 125
    assert "1 of 4 nodes" in outcome.err and "Read-only file system" in outcome.err
    assert "/tmp/autodist-agent-0: is a symbolic link\n    hint: remove " in outcome.err, outcome.err


def test_the_chief_must_be_this_machine(autodist, spec):
    changed = spec((f"{address(1)}\n    cpus: [0, 1]\n    chief: true\n",
                    f"{address(1)}\n    cpus: [0, 1]\n    ssh_config: ed25519_port_22\n"),
                   (f"{address(3)}\n    cpus: [0, 1]\n", f"{address(3)}\n    cpus: [0, 1]\n    chief: true\n"))
    outcome = autodist("run", "--spec", changed, "--", "true")
    assert outcome.code == 2
    assert f"the chief of the spec is {address(3)}, but this machine is 10.77.0.1 (eth0)" in outcome.err
    assert f"hint: run autodist on {address(3)}, or move 'chief: true' to {address(1)}\n" in outcome.err, outcome.err


def test_host_names_work_as_addresses(autodist, spec):
    outcome = autodist("run", "--spec", spec((f"address: {address(3)}\n", "address: host3\n")), "--",
                       *ECHO_RANK)
    assert outcome.code == 0, outcome.err
    assert "[host3:4] rank 4 on host3" in outcome.out


def test_a_host_name_that_does_not_resolve(autodist, spec):
    outcome = autodist("run", "--spec", spec((f"address: {address(3)}\n", "address: no.such.host\n")),
                       "--", "true")
    assert outcome.code == 125
    assert "name does not resolve: 'no.such.host'" in outcome.err


def test_ctrl_c_reaches_every_host(start):
    job = start("run", "--spec", SPEC, "--", "sh", "-c",
                "trap 'echo term; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    job.await_lines(8)
    job.interrupt()
    outcome = job.finish()
    assert outcome.code == 130
    assert outcome.lines() == {rank: ["term"] for rank in range(8)}


def test_ctrl_c_while_nodes_are_being_reached(start, spec):
    # No host has the address, so the launch waits.
    job = start("run", "--spec", spec((f"address: {address(3)}\n", "address: 10.77.0.99\n")), "--",
                "true")
    while b"job " not in job.err:
        assert job.process.poll() is None
    job.interrupt(signal.SIGINT)
    outcome = job.finish(limit=5)
    assert outcome.code in (130, 125)


def test_daemons_on_every_host_are_ended(autodist):
    outcome = autodist("run", "--spec", SPEC, "--", "sh", "-c",
                       "setsid sleep 1000 & setsid setsid sh -c 'sleep 1000 & sleep 1000' & sleep 0.2")
    assert outcome.code == 0
