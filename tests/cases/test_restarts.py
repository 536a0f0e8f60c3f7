"""Two attempts never run at the same time: a missing name does not prove that a process has ended."""

import re

# Only for host 2 of this cluster, because the process list is that of the machine.
CUT = """kill $(pgrep -P $(pgrep -f "$(dirname "$1")/host2/sshd_config"))           # the connection breaks, once
"""
UP = "until [ -s steps ]; do sleep 0.2; done; sleep 2; "
BREAK = UP + CUT
WRITER = """sh -c 'for i in $(seq 12); do
  [ $RANK = 0 ] || echo "attempt $AUTODIST_RESTART_COUNT second $i" >> steps; sleep 1; done'"""
OWN_TMP = """cat > "$(dirname "$1")/host2/bashrc" <<'C'
[ -n "$OWN_TMP" ] || OWN_TMP=1 exec unshare -m sh -c 'mount -t tmpfs -o mode=1777 tmpfs /tmp; exec bash -c "$0"' "$BASH_EXECUTION_STRING"
C
"""
ONCE = "".join(f"attempt 0 second {i}\n" for i in range(1, 13))


def steps(said):
    return said.split("--- steps\n")[1]


def test_a_tmp_for_each_login(case):
    said = case(2, OWN_TMP + f"""
autodist run --spec "$1" --max-restarts 1 --show none -- {WRITER} & job=$!
{BREAK}wait $job; echo "[$?]"; echo "--- steps"; cat steps
""")
    assert "[0]" in said and "restarting" not in said, said
    assert "connected again" in said or "is back" in said, said
    assert steps(said) == ONCE, said


def test_an_emptied_tmp(case):
    """As a nightly clean-up of /tmp does: the agent's socket loses its file."""
    said = case(2, f"""
autodist run --spec "$1" --max-restarts 1 --show none -- {WRITER} & job=$!
{UP}ssh host2 'rm -rf /tmp/autodist-*'
{CUT}wait $job; echo "[$?]"; echo "--- steps"; cat steps
""")
    assert "[0]" in said and "restarting" not in said, said
    assert steps(said) == ONCE, said


def test_watchdog_and_agent_killed_while_a_rank_survives(case):
    """No process of the first attempt may run when the second one starts."""
    said = case(2, """
cat > train.sh <<'S'
[ $RANK = 1 ] || exec sleep 8
setsid sh -c 'while :; do echo "$AUTODIST_RESTART_COUNT" >> steps; sleep 0.2; done' &
sleep 8
S
autodist run --spec "$1" --max-restarts 1 --show none -- sh train.sh & job=$!
until [ -s steps ]; do sleep 0.2; done
pkill -KILL -f "attach $(ls autodist-runs) 1 "   # on host 2: its agent and its watchdog
wait $job; echo "[$?]"; echo "--- steps"; cat steps
""")
    written = steps(said).split()
    assert written == sorted(written), said  # no line of the first attempt after one of the second


def test_clean_finds_a_job_of_another_login(case):
    said = case(2, OWN_TMP + """
autodist run --spec "$1" --lease 300 --show none -- sh -c 'echo $$ > pid-$RANK; exec sleep 100' & job=$!
until [ -e pid-0 ] && [ -e pid-1 ]; do sleep 0.2; done
kill -KILL $job; sleep 1
autodist clean --spec "$1"; echo "[$?]"
sleep 1; kill -0 $(cat pid-1) 2> /dev/null && echo "rank 1 is left"; true
""")
    assert "[0]" in said and "rank 1 is left" not in said, said
    assert re.search(r"host2|10\.77\.0\.2", said), said
