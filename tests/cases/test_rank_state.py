"""State that ranks inherit: none of autodist's own, and autodist's helpers run no user code."""

import json

import pytest

# Prints the inherited state of a process as JSON.
PROBE = r"""
cat > probe.py <<'P'
import json, os, resource
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
state = {name: status[name] for name in ("Umask", "SigBlk", "SigIgn", "NoNewPrivs", "CapEff", "Groups",
                                         "Cpus_allowed_list", "Mems_allowed_list")}
# Python ignores SIGPIPE and SIGXFSZ, and glibc's posix_spawn, which make uses, its own signals 32 and 33.
state["SigIgn"] = f"{int(state['SigIgn'], 16) & ~(1 << 12 | 1 << 24 | 3 << 31):x}"
state["nice"] = os.nice(0)
state["policy"] = os.sched_getscheduler(0)
state["oom"] = open("/proc/self/oom_score_adj").read().strip()
state["core filter"] = open("/proc/self/coredump_filter").read().strip()
state["slack"] = open("/proc/self/timerslack_ns").read().strip()
state["descriptors"] = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
state.update({name: resource.getrlimit(getattr(resource, name)) for name in dir(resource)
              if name.startswith("RLIMIT_")})
print("STATE", json.dumps(state))
P
"""


def states(said):
    """Printed states, by the label before each."""
    return {line.split("STATE ")[0].strip(): json.loads(line.split("STATE ")[1])
            for line in said.splitlines() if "STATE " in line}


@pytest.mark.parametrize("shell", [
    "ulimit -S -n 300; ulimit -S -c 0; umask 027",
    "umask 002; ulimit -S -s 4096",
    "trap '' INT QUIT PIPE; umask 022",
], ids=["limits", "stack", "ignored-signals"])
def test_a_local_rank_inherits_the_state_of_a_shell_program(case, shell):
    said = case(1, PROBE + shell + """
python3 probe.py | sed 's/^/shell /'
autodist run -n 1 -- python3 probe.py
autodist run -n 1 --detach --name d -- python3 probe.py; autodist attach d > /dev/null 2>&1; autodist logs d | sed 's/^/detached /'
""")
    found = states(said)
    assert len(found) == 3, said
    here, *ranks = found.values()
    if "trap" in shell:  # a shell's background programs ignore these signals; ranks do not
        here["SigIgn"] = "0"
    for rank in ranks:
        assert {key: (here[key], rank[key]) for key in here if here[key] != rank[key]} == {}, said


@pytest.mark.parametrize("again", [False, True], ids=["first run", "second run"])
def test_a_remote_rank_inherits_the_state_of_a_login(case, again):
    said = case(2, PROBE + """
ulimit -S -n 300; umask 002
ssh -o BatchMode=yes 10.77.0.2 "cd $PWD && python3 probe.py" | sed 's/^/login /'
""" + ("autodist run --spec \"$1\" -- true\n" if again else "") + """
autodist run --spec "$1" -- python3 probe.py
""")
    found = states(said)
    login, rank = found["login"], found["[10.77.0.2:1]"]
    login.pop("descriptors"), rank.pop("descriptors")
    assert {key: (login[key], rank[key]) for key in login if login[key] != rank[key]} == {}, said


def test_the_umask_is_the_same_in_every_run(case):
    said = case(2, """
umask 022
for i in 1 2; do autodist run --spec "$1" -- sh -c 'umask; touch out-$RANK; stat -c "%n %a" out-$RANK; rm out-$RANK'; done
""")
    assert said.count("] 0022\n") == 4 and said.count(" 644\n") == 4, said


@pytest.mark.parametrize("variable, value", [
    ("BASH_ENV", "$PWD/init.sh"),
    ("ENV", "$PWD/init.sh"),
    ("SHELLOPTS", "braceexpand:hashall:interactive-comments:noexec"),
    ("POSIXLY_CORRECT", "1"),
    ("BASH_XTRACEFD", "3"),
])
def test_python_venv_runs_in_a_clean_bash(case, variable, value):
    said = case(2, f"""
printf 'echo noise; export PATH=/opt/old/bin:$PATH FROM_INIT=1; exit 3\\n' > init.sh
sed "s/chief: true/&\\n    python_venv: 'export V=1'/; s/username: root/&\\n    python_venv: 'export V=1'/" "$1" > venv.yaml
env {variable}={value} autodist run --spec venv.yaml -- sh -c 'echo V=$V from=$FROM_INIT kept=${variable} PATH=$PATH'; echo "[$?]"
""")
    assert said.endswith("[0]\n"), said
    chief, = [line for line in said.splitlines() if line.startswith("[10.77.0.1:0] V=1 from= kept=")]
    other, = [line for line in said.splitlines() if line.startswith("[10.77.0.2:1] V=1 from= kept= ")]
    assert "/opt/old" not in chief + other and "kept= " not in chief, said
