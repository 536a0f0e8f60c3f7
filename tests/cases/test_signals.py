"""Several signals within a second count as one; an interrupt before the start ends autodist."""

import pytest

SAVE = """cat > save.sh <<'S'
trap 'sleep 3; echo saved > saved-$RANK; exit 0' TERM; echo training; while :; do sleep 0.2; done
S
"""
AFTER = """
echo "checkpoints: $(ls saved-* 2> /dev/null | xargs)"; autodist ps --all
grep -oh '"what":"[^"]*"' autodist-runs/*/events.jsonl
"""
WINDOW = """cat > window.py <<'P'
import os, pty, sys, time      # a terminal window, an interactive shell in it, the job in that
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
os.write(fd, f"autodist run --spec {sys.argv[1]} -- bash save.sh\\n".encode())
seen = b""
while seen.count(b" training") < 2: seen += os.read(fd, 65536)
time.sleep(1); os.close(fd); time.sleep(8)                        # the window is closed
P
"""
STARTED = """autodist run --spec "$1" -- bash save.sh > out 2>&1 & job=$!
until [ "$(grep -c ' training' out)" = 2 ]; do sleep 0.2; done
"""


def saved(said):
    assert "checkpoints: saved-0 saved-1" in said, said
    assert "SIGKILL" not in said, said


def test_a_closed_window(case):
    said = case(2, SAVE + WINDOW + """timeout 60 python3 window.py "$1" bash --norc -i
""" + AFTER)
    saved(said)
    assert "exit 129" in said and "all ranks exited after SIGTERM" in said, said


def test_the_end_of_a_login_session(case):
    """As systemd-logind with KillUserProcesses: SIGTERM, SIGHUP and SIGCONT to each process."""
    said = case(2, SAVE + STARTED + """kill -TERM $job; kill -HUP $job; kill -CONT $job; wait $job; echo "[$?]"
""" + AFTER)
    saved(said)
    assert "[143]" in said or "[129]" in said, said  # the kernel decides the order


def test_a_scheduler_that_signals_the_group_and_then_the_leader(case):
    said = case(2, SAVE + """set -m
""" + STARTED + """kill -TERM -- -$job; sleep 0.4; kill -TERM $job; wait $job; echo "[$?]"
""" + AFTER)
    saved(said)
    assert "[143]" in said, said


def test_a_wrapper_that_forwards_ctrl_c(case):
    said = case(2, SAVE + """set -m
""" + STARTED + """kill -INT $job; kill -INT $job; sleep 0.1; kill -INT $job; wait $job; echo "[$?]"
""" + AFTER)
    saved(said)
    assert "[130]" in said, said


def test_a_second_ctrl_c_after_a_second_kills(case):
    said = case(2, SAVE + """set -m
""" + STARTED + """kill -INT $job; sleep 1.5; kill -INT $job; wait $job; echo "[$?]"; cat out
""" + AFTER)
    assert "checkpoints: \n" in said and "killing the remaining processes" in said and "[130]" in said, said


def test_a_closed_pipe_ends_logs_silently(case):
    said = case(2, """
autodist run --spec "$1" --show none -- sh -c 'seq 200000' > /dev/null 2>&1
autodist logs last 2> err | head -1 > /dev/null; echo "[${PIPESTATUS[0]}]"; cat err
""")
    assert said.strip() in ("[141]", "[0]"), said


@pytest.mark.parametrize("command", ["init --hosts slow", "run --hosts slow -- true"])
def test_an_interrupt_while_hosts_are_asked_leaves_nothing(case, command):
    said = case(1, f"""
mkdir -p ~/.ssh; printf 'Host slow\n  ProxyCommand sleep 76543\n' > ~/.ssh/config
env --default-signal=INT autodist {command} 2> said & job=$!
until pgrep -f '^sleep 76543' > /dev/null; do sleep 0.05; done
kill -INT $job; wait $job; echo "[$?]"
cat said
while pgrep -f '^sleep 76543' > /dev/null; do sleep 0.05; done
ls -A | grep -v case.sh
""")
    assert said == "[130]\nautodist: asking 1 host for its devices\n" \
                   "autodist: interrupted before all hosts answered\nsaid\n", said


def test_a_signal_while_hosts_are_asked_ends_it_though_stderr_is_a_full_pipe(case):
    said = case(1, """
mkdir -p ~/.ssh; printf 'Host slow\n  ProxyCommand sleep 76544\n' > ~/.ssh/config
mkfifo full; exec 9<>full
autodist run --hosts slow -- true > full 2>&1 & job=$!
until pgrep -f '^sleep 76544' > /dev/null; do sleep 0.05; done
dd if=/dev/zero of=full oflag=nonblock bs=4096 2> /dev/null
kill -TERM $job; wait $job; echo "[$?]"
""")
    assert said.endswith("[143]\n"), said


def test_an_interrupt_while_no_host_is_asked_says_nothing_of_hosts(case):
    said = case(1, """
mkdir -p ~/.ssh tools; printf 'Host slow\n  HostName 10.77.0.9\n' > ~/.ssh/config
printf '#!/bin/sh\nexec sleep 76545\n' > tools/ssh; chmod +x tools/ssh
PATH=$PWD/tools:$PATH env --default-signal=INT autodist init --offline --hosts slow 2> said & job=$!
until pgrep -f '^sleep 76545' > /dev/null; do sleep 0.05; done
kill -INT $job; wait $job; echo "[$?]"; pkill -f '^sleep 76545'
cat said
""")
    assert "[130]" in said and "before all hosts answered" not in said, said
