"""`doctor` on set-ups that are broken in one way, compared with `run`.

All set-ups are made on the same two virtual hosts, one after the other, and each is undone. `doctor` must
report one issue, or none for a healthy set-up, and exit with 0 if and only if `run` with the same nodes,
options and program does.
"""

import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import PROGRAMS, VIRTUAL_CLUSTER

LIMIT_S = 1200
PYTHON = "/usr/bin/python3"

# A minimal training: sends 1 MB from rank 1 to rank 0, at the address and port from the environment.
TALK = """import os, socket
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
size = 1 << 20
if os.environ["RANK"] == "0":
    with socket.create_server(address) as server:
        server.settimeout(20)
        peer = server.accept()[0]
        peer.settimeout(6)
        while size:
            got = len(peer.recv(65536))
            assert got
            size -= got
        peer.sendall(b"x")
else:
    for _ in range(200):
        try:
            peer = socket.create_connection(address, timeout=6)
            break
        except ConnectionRefusedError:
            import time
            time.sleep(0.1)
    peer.sendall(bytes(size))
    assert peer.recv(1)
"""

PRELUDE = r"""
spec=$1
host2=$(pgrep -f 'sshd -D -e -f .*/host2/sshd_config' | head -1)
on2() { nsenter --target "$host2" --net --uts --mount --root bash -c "$1"; }
on_both() { bash -c "$1"; on2 "$1"; }
nodes() {  # a spec: address of host 2, more of the group, more of the node, the key, more of the chief
    printf 'nodes:\n- {address: 10.77.0.1, chief: true, cpus: [0]%s}\n' "$5"
    printf -- '- {address: %s, cpus: [0], ssh_config: g%s}\n' "$1" "$3"
    printf 'ssh:\n  g: {key_file: %s, username: root%s}\n' "${4:-$(dirname "$spec")/user_ed25519}" "$2"
}
cat > talk.py <<'TALK'
""" + TALK + """TALK
"""


@dataclass
class Setup:
    """One way in which two hosts are broken."""
    name: str
    says: str = ""  # text of doctor's only issue; empty: no issue
    starts: bool = False
    command: str = "true"
    options: str = ""
    before: str = ""  # bash on host 1, with the functions on2, on_both and nodes
    after: str = ""
    spec: str = '--spec "$spec"'


WORK = "on_both 'mkdir -p /tmp/w; echo same > /tmp/w/data'; cd /tmp/w"
NO_WORK = "cd \"$home\"; on_both 'rm -rf /tmp/w'"
SCRIPT = f"{PYTHON} train.py"


def script(text):
    return f"printf '%s\\n' {shlex.quote(text)} > train.py"


WELL = [
    Setup("all is well", starts=True),
    Setup("a Python script", starts=True, command=SCRIPT, before=script("import json, os.path as p\nprint(p)")),
    Setup("hosts without a spec", starts=True, spec="--hosts 10.77.0.1,host2"),
    Setup("ranks that talk", starts=True, command=f"{PYTHON} talk.py"),
    Setup("a module that the script does without", starts=True, command=SCRIPT,
          before=script("try:\n    import apex_of_nobody\nexcept ImportError:\n    apex_of_nobody = None")),
    Setup("a module that the script itself makes known", starts=True, command=SCRIPT,
          before="mkdir -p lib; echo > lib/mine_alone.py; "
                 + script("import sys\nsys.path.insert(0, 'lib')\nimport mine_alone")),
    Setup("an import in a text", starts=True, command=SCRIPT,
          before=script('"""How to use it:\nimport nosuchmodule_1\n"""\ntext = """\nfrom nosuch import x"""')),
    Setup("another node's script that is an argument", starts=True, command=f"{PYTHON} -c pass conf.py",
          before="echo 'import nosuchmodule_2' > conf.py"),
    Setup("a ~/.bashrc that prints", starts=True, before="on2 'echo echo hello from bashrc > ~/.bashrc'",
          after="on2 ': > ~/.bashrc'"),
    Setup("a folder that --sync brings", starts=True, options="--sync", command=SCRIPT,
          before=f"mkdir -p /tmp/w; cd /tmp/w; {script('import helper')}; echo > helper.py", after=NO_WORK),
    Setup("a program that --sync brings", starts=True, options="--sync", command="./train",
          before="mkdir -p /tmp/w; cd /tmp/w; printf '#!/bin/sh\\n' > train; chmod +x train", after=NO_WORK),
    Setup("files that --sync makes alike", starts=True, options="--sync", command=SCRIPT,
          before=f"{WORK}; {script('pass')}; on2 'echo other > /tmp/w/train.py'", after=NO_WORK),
    Setup("a link within the folder that --sync brings", starts=True, options="--sync", command=f"{PYTHON} link.py",
          before=f"mkdir -p /tmp/w; cd /tmp/w; {script('pass')}; ln -s train.py link.py", after=NO_WORK),
    Setup("addresses on lo", starts=True, command=f"{PYTHON} talk.py", spec="--spec lo.yaml", before="""
ip addr add 10.99.0.1/32 dev lo; ip route add 10.99.0.2/32 via 10.77.0.2 src 10.99.0.1
on2 'ip addr add 10.99.0.2/32 dev lo; ip route add 10.99.0.1/32 via 10.77.0.1 src 10.99.0.2'
sed 's/^[^ ]* /10.99.0.2 /' ~/.ssh/known_hosts | tail -1 >> ~/.ssh/known_hosts
sed 's/10\\.77\\./10.99./' "$spec" > lo.yaml""", after="""
ip route del 10.99.0.2/32; ip addr del 10.99.0.1/32 dev lo
on2 'ip route del 10.99.0.1/32; ip addr del 10.99.0.2/32 dev lo'; sed -i /^10.99/d ~/.ssh/known_hosts"""),
]

BROKEN = [
    Setup("no folder", r"10.77.0.2: folder\n.*/tmp/w: No such file", command=SCRIPT,
          before=f"mkdir -p /tmp/w; cd /tmp/w; {script('import helper')}; echo > helper.py", after=NO_WORK),
    Setup("no folder for a program in it", r"10.77.0.2: folder\n", command="./train",
          before="mkdir -p /tmp/w; cd /tmp/w; cp /bin/true train", after=NO_WORK),
    Setup("no folder for an environment in it", r"10.77.0.2: folder\n", spec="--spec venv.yaml", before=f"""
mkdir -p /tmp/w/venv/bin; cd /tmp/w; echo > venv/bin/activate
nodes 10.77.0.2 '' ', python_venv: source venv/bin/activate' '' ', python_venv: set' > venv.yaml""", after=NO_WORK),
    Setup("a folder that is nowhere", r"folder\n.*/tmp/nowhere", options="--workdir /tmp/nowhere"),
    Setup("no program on one host", r"10.77.0.2: program\n", command="./train",
          before=f"{WORK}; cp /bin/true train", after=NO_WORK),
    Setup("a program that may not be executed", r"10.77.0.2: program\n.*not an executable file",
          command="./train", before=f"{WORK}; on_both 'cp /bin/true /tmp/w/train'; on2 'chmod -x /tmp/w/train'",
          after=NO_WORK),
    Setup("a program that is nowhere", r"10.77.0.1, 10.77.0.2: program\n.*trainn", command="trainn"),
    Setup("a misspelt script", "did you mean train.py", command=f"{PYTHON} trian.py", before=script("pass")),
    Setup("other contents", r"10.77.0.2: files\n.*train.py differs", command=SCRIPT,
          before=f"{WORK}; {script('pass')}; on2 'echo 1 > /tmp/w/train.py'", after=NO_WORK),
    Setup("several files with other contents", r"10.77.0.2: files\n.*train.py and helper.py differ", command=SCRIPT,
          before=f"{WORK}; {script('import helper')}; echo > helper.py; "
                 "on2 'cd /tmp/w; echo 1 > train.py; echo 1 > helper.py'", after=NO_WORK),
    Setup("a missing file of the configuration", r"10.77.0.2: files\n.*big.yaml", command=f"{PYTHON} -c pass big.yaml",
          before=f"{WORK}; echo x > big.yaml", after=NO_WORK),
    Setup("a script that a link brings from elsewhere", r"10.77.0.2: files\n.*train.py, a link to /tmp/common/train.py: ",
          options="--sync", command=SCRIPT, before="""mkdir -p /tmp/w /tmp/common; cd /tmp/w
echo pass > /tmp/common/train.py; ln -s /tmp/common/train.py .""", after=NO_WORK + "; rm -r /tmp/common"),
    Setup("data behind a link", r"10.77.0.2: files \(warning\)\n.*data is a link to ../common, which does not exist there",
          starts=True, options="--sync", after=NO_WORK + "; rm -r /tmp/common",
          before="mkdir -p /tmp/w /tmp/common; cd /tmp/w; ln -s ../common data"),
    Setup("a file that --sync leaves out", r"10.77.0.2: files\n.*big.yaml(.*\n)+.*--sync skips files", options="--sync",
          command=f"{PYTHON} -c pass big.yaml", after=NO_WORK,
          before="mkdir -p /tmp/w; cd /tmp/w; echo x > big.yaml; echo big.yaml > .gitignore"),
    Setup("a program that --sync leaves out", r"10.77.0.2: program\n.*train(.*\n)+.*--sync skips files", options="--sync",
          command="./train", after=NO_WORK,
          before="mkdir -p /tmp/w; cd /tmp/w; cp /bin/true train; echo train > .gitignore"),
    Setup("an interpreter that only this host has",
          r"10.77.0.2: program\n.*the interpreter of ./train.py, /tmp/env/python3, does not exist", options="--sync",
          command="./train.py", after=NO_WORK + "; rm -r /tmp/env", before=f"""mkdir -p /tmp/w /tmp/env; cd /tmp/w
ln -s {PYTHON} /tmp/env/python3; {script("#!/tmp/env/python3")}; chmod +x train.py"""),
    Setup("a program without its library", r"10.77.0.1, 10.77.0.2: program\n.*'./train' cannot be loaded: libx.so.6: ",
          command="./train", after=NO_WORK, before=WORK + f"""
{PYTHON} -c 'open("train", "wb").write(open("/bin/true", "rb").read().replace(b"libc.so.6", b"libx.so.6"))'
chmod +x train; base64 train > text; on2 "base64 -d > /tmp/w/train; chmod +x /tmp/w/train" < text"""),
    Setup("arguments that are too long", r"10.77.0.2: program\n.*the arguments and variables of the program have 58",
          command="true $(yes xxxxxxxxxxxxxxxxxxxx | head -20000)",
          before="prlimit --pid $host2 --stack=1572864:1572864",
          after="prlimit --pid $host2 --stack=8388608:unlimited"),
    Setup("no such environment", r"10.77.0.2: venv\n", spec="--spec venv.yaml",
          before="nodes 10.77.0.2 '' ', python_venv: source /opt/nowhere/bin/activate' '' ', python_venv: set' > venv.yaml"),
    Setup("a module that is nowhere", r"python\n.*/python3[^ ]* has no module nosuchmodule, which is imported by train.py, line 2",
          command=SCRIPT, before=script("import os\nimport nosuchmodule.deep as d")),
    Setup("a module that a module needs", r"has no module nosuchmodule, which is imported by helper.py, line 1",
          command=SCRIPT, before=script("import helper") + "; echo 'from nosuchmodule import x' > helper.py"),
    Setup("a module on one host alone", r"10.77.0.2: python\n.*has no module onlyhere, which it has on 10.77.0.1",
          command=SCRIPT, options="--env PYTHONPATH=/tmp/site",
          before="mkdir -p /tmp/site; echo > /tmp/site/onlyhere.py; " + script("import onlyhere"),
          after="rm -rf /tmp/site"),
    Setup("a module without its library", r"train.py, line 1: import broken_one fails: ImportError: libcudart.so.12",
          command=SCRIPT, options='--env PYTHONPATH="$PWD/site"', before=script("import broken_one") + """
mkdir -p site; echo 'raise ImportError("libcudart.so.12: cannot open shared object file")' > site/broken_one.py"""),
    Setup("a module that kills its Python", r"import deadly fails: its Python was ended by signal 4", command=SCRIPT,
          options='--env PYTHONPATH="$PWD/site"', before=script("import deadly") + """
mkdir -p site; echo 'import os; os.kill(os.getpid(), 4)' > site/deadly.py"""),
    Setup("a script that is run by itself", r"has no module nosuchmodule", command="./train.py",
          before=script(f"#!{PYTHON}\nimport nosuchmodule") + "; chmod +x train.py"),
    Setup("a Python behind env", r"has no module nosuchmodule", command=f"env A=1 {SCRIPT}",
          before=script("import nosuchmodule")),
    Setup("one machine under two names", r"10.77.0.2 and host2 are the same machine \(host2\)\n    hint: list it once",
          spec="--spec twice.yaml", before="""
{ nodes 10.77.0.2 '' ''; } > twice.yaml
sed -i 's/^ssh:/- {address: host2, cpus: [1], ssh_config: g}\\n&/' twice.yaml"""),
    Setup("the chief under two names", r"10.77.0.1 and host1 are the same machine \(host1\)", spec="--spec twice.yaml",
          before="nodes host1 '' '' > twice.yaml"),
    Setup("one machine under two names, from outside", r"10.77.0.2 and host2 are the same machine",
          spec="--hosts 10.77.0.2,host2"),
    Setup("a port in use", r"10.77.0.1: network\n.*port 29777 is in use", options="--master-port 29777", before=f"""
{PYTHON} -c 'import socket, time; s = socket.create_server(("", 29777)); print(flush=True); time.sleep(600)' > up &
listener=$!; until [ -s up ]; do :; done""", after="kill $listener; rm up"),
    Setup("a full disk", r"10.77.0.2: disk\n.*is full", before=f"""{WORK}
on2 'mount -t tmpfs -o size=64k tmpfs /tmp/w; head -c 65536 /dev/zero > /tmp/w/all'""",
          after="on2 'umount /tmp/w'; " + NO_WORK),
    Setup("a folder that cannot be written", r"10.77.0.2: disk \(warning\)\n.*Read-only", starts=True, before=f"""{WORK}
on2 'mount --bind /tmp/w /tmp/w; mount -o remount,bind,ro /tmp/w'""", after="on2 'umount /tmp/w'; " + NO_WORK),
    Setup("logs that cannot be written", r"this machine: disk\n.*Read-only", before=f"""{WORK}
mount --bind /tmp/w /tmp/w; mount -o remount,bind,ro /tmp/w; cd /tmp/w""", after="""
cd "$home"; umount /tmp/w; on_both 'rm -rf /tmp/w'"""),
    Setup("a key that is refused", r"10.77.0.2: login\n", spec="--spec key.yaml", before="""
ssh-keygen -q -t ed25519 -N '' -f other_key; nodes 10.77.0.2 '' '' "$PWD/other_key" > key.yaml""", after="rm other_key*"),
    Setup("a host key that has changed", r"10.77.0.2: login\n.*key", before="""
cp ~/.ssh/known_hosts known; ssh-keygen -q -t ed25519 -N '' -f k; sed -i /host2/d ~/.ssh/known_hosts
echo "10.77.0.2,host2 $(cut -d' ' -f1,2 k.pub)" >> ~/.ssh/known_hosts""", after="cp known ~/.ssh/known_hosts; rm k k.pub"),
    Setup("a host that is not there", r"10.77.0.9: login\n", spec="--spec gone.yaml",
          before="nodes 10.77.0.9 '' '' > gone.yaml"),
    Setup("a server on another port", r"10.77.0.2: login\n.*2222", spec="--spec port.yaml",
          before="nodes 10.77.0.2 ', port: 2222' '' > port.yaml"),
    Setup("a name that does not resolve", r"hots2: login\n.*resolve", spec="--spec name.yaml",
          before="nodes hots2 '' '' > name.yaml"),
    Setup("an account that may not log in", r"10.77.0.2: login\n", before="""
sed '1s#:[^:]*$#:/usr/sbin/nologin#' /etc/passwd > passwd; on2 "mount --bind $PWD/passwd /etc/passwd" """,
          after="on2 'umount /etc/passwd'"),
    Setup("a host name that means the host itself", r"10.77.0.2: name \(warning\)\n.*host2 resolves to 127.0.1.1",
          starts=True, before="""
printf '127.0.0.1 localhost\\n127.0.1.1 host2\\n' > hosts2; on2 "mount --bind $PWD/hosts2 /etc/hosts" """,
          after="on2 'umount /etc/hosts'"),
    Setup("two hosts with one name", r"10.77.0.2: name \(warning\)\n.*host1, like that of 10.77.0.1", starts=True,
          before="on2 'hostname host1'", after="on2 'hostname host2'"),
    Setup("few open files", r"10.77.0.2: limits \(warning\)\n.*may open 100 files", starts=True,
          before="on2 'echo ulimit -n 100 > ~/.bashrc'", after="on2 ': > ~/.bashrc'"),
    Setup("packets of full size that get lost", r"small messages, but .* packets of full size get lost; eth0 of 10.77.0.",
          command=f"{PYTHON} talk.py", before="""
on2 'nft add table inet t; nft "add chain inet t out { type filter hook output priority 0; }"
nft "add rule inet t out tcp sport 22 accept"; nft "add rule inet t out tcp dport 22 accept"
nft add rule inet t out meta l4proto tcp meta length gt 1000 drop'""", after="on2 'nft delete table inet t'"),
    Setup("a firewall", r"10.77.0.1 and 10.77.0.2 cannot connect to each other, on all ports: timed out",
          command=f"{PYTHON} talk.py", before="""
on2 'nft add table inet t; nft "add chain inet t in { type filter hook input priority 0; }"
nft "add rule inet t in tcp sport 22 accept"; nft "add rule inet t in tcp dport 22 accept"
nft add rule inet t in ip saddr 10.77.0.1 meta l4proto tcp drop'""", after="on2 'nft delete table inet t'"),
    Setup("lo for Gloo", r"with GLOO_SOCKET_IFNAME=lo ranks that use Gloo give 127.0.0.1 \(lo\)",
          options="--env GLOO_SOCKET_IFNAME=lo"),
    Setup("an interface for Gloo that is nowhere", r"GLOO_SOCKET_IFNAME=eth9 names no interface of this node",
          options="--env GLOO_SOCKET_IFNAME=eth9"),
    Setup("an interface of the spec that is nowhere", r"10.77.0.2: address\n.*there is no interface eth9",
          spec="--spec interface.yaml", before="nodes 10.77.0.2 '' ', interface: eth9' > interface.yaml"),
    Setup("lo as the interface of the spec", r"give 127.0.0.1 \(lo\).*\n.*set `interface`", spec="--spec interface.yaml",
          before="nodes 10.77.0.2 '' ', interface: lo' > interface.yaml"),
    Setup("an address of no interface", r"10.77.0.2: address\n.*10.77.0.77.*\n.*correct or remove data_address", spec="--spec data.yaml",
          before="nodes 10.77.0.2 '' ', data_address: 10.77.0.77' > data.yaml"),
    Setup("a misspelt variable", r"NCCL_SOCKET_IFRAME; did you mean NCCL_SOCKET_IFNAME", starts=True,
          options="--env NCCL_SOCKET_IFRAME=eth0"),
    Setup("/tmp and the home where nothing can be executed", r"10.77.0.2: agent\n", before="""
on2 'for d in /tmp ~/.cache; do mount -o remount,noexec $d; done'""",
          after="on2 'for d in /tmp ~/.cache; do mount -o remount,exec $d; done'"),
]

# Refused by both with the same message, before anything is checked.
REFUSED = [
    Setup("a chief that is elsewhere", spec="--spec elsewhere.yaml", before="""
sed 's/10.77.0.1, chief/10.77.0.2, chief/; s/10.77.0.2, cpus/10.77.0.1, cpus/' <(nodes 10.77.0.2 '' '') > elsewhere.yaml"""),
    Setup("a spec with a mistake", spec="--spec wrong.yaml", before="echo 'nods: []' > wrong.yaml"),
]


def one(index, setup):
    nodes = f"{setup.spec} {setup.options}"
    return f"""
cd "$home"; mkdir {index}; cd {index}; cp ../talk.py .;
{setup.before}
timeout 60 autodist doctor {nodes} -- {setup.command} > "$home/{index}.doctor" 2>&1; echo $? > "$home/{index}.doctor.code"
timeout 60 autodist run {nodes} -- {setup.command} > "$home/{index}.run" 2>&1; echo $? > "$home/{index}.run.code"
{setup.after}
"""


ALL = WELL + BROKEN + REFUSED
CHOSEN = os.environ.get("SETUPS")  # a part of a name


WRITTEN = ("doctor", "doctor.code", "run", "run.code")


def text_of(path):
    return path.read_text(errors="replace") if path.exists() else ""


@pytest.fixture(scope="module")
def outcomes():
    """Output and exit code of doctor and run, by the set-up's name."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="autodist-doctor-") as folder:
        chosen = {i: setup for i, setup in enumerate(ALL) if not CHOSEN or CHOSEN in setup.name}
        (Path(folder) / "all.sh").write_text(
            PRELUDE + "home=$PWD\n" + "".join(one(i, setup) for i, setup in chosen.items()))
        log = Path(folder) / "log"
        with open(log, "wb") as output:
            subprocess.run([VIRTUAL_CLUSTER, "2", "--", "bash", "all.sh", "{spec}"], cwd=folder, check=False,
                           env=os.environ | {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"}, stdin=subprocess.DEVNULL,
                           stdout=output, stderr=subprocess.STDOUT, timeout=LIMIT_S)
        yield {setup.name: (*(text_of(Path(folder) / f"{i}.{what}") for what in WRITTEN), text_of(log))
               for i, setup in chosen.items()}


def issues(doctor):
    """Issues in the text, each with its hint."""
    return re.findall(r"^[✗!] .*(?:\n    .*)*", doctor, re.MULTILINE)


def parameters(setups):
    return pytest.mark.parametrize("setup", [s for s in setups if not CHOSEN or CHOSEN in s.name], ids=lambda setup: setup.name)


@parameters(WELL)
def test_healthy_set_ups(outcomes, setup):
    doctor, doctor_code, run, run_code, log = outcomes[setup.name]
    assert issues(doctor) == [] and "a run would start" in doctor, (doctor, run, log)
    assert (doctor_code.strip(), run_code.strip()) == ("0", "0"), (doctor, run, log)


@parameters(BROKEN)
def test_one_issue_and_the_same_outcome(outcomes, setup):
    doctor, doctor_code, run, run_code, log = outcomes[setup.name]
    found = issues(doctor)
    assert len(found) == 1, (doctor, run, log)
    assert re.search(setup.says, found[0]), (setup.says, doctor, run, log)
    assert (run_code.strip() == "0") == setup.starts, (doctor, run, log)
    assert (doctor_code.strip() == "0") == setup.starts, (doctor, run, log)


@parameters(REFUSED)
def test_doctor_refuses_what_run_refuses(outcomes, setup):
    doctor, doctor_code, run, run_code, log = outcomes[setup.name]
    assert doctor == run and doctor_code == run_code and doctor_code.strip() == "2", (doctor, run, log)


def test_ranks_connect_over_addresses_on_lo(case):
    """Gloo gets the interface that packets leave from, not the one of the address."""
    said = case(2, """
ip addr add 10.99.0.1/32 dev lo;              ip route add 10.99.0.2/32 via 10.77.0.2 src 10.99.0.1
ssh host2 'ip addr add 10.99.0.2/32 dev lo;   ip route add 10.99.0.1/32 via 10.77.0.1 src 10.99.0.2'
sed 's/^[^ ]* /10.99.0.2 /' ~/.ssh/known_hosts | tail -1 >> ~/.ssh/known_hosts
sed 's/10\\.77\\./10.99./' "$1" > lo.yaml
autodist doctor --spec lo.yaml; echo "[$?]"
autodist run --spec lo.yaml -- sh -c 'env | grep SOCKET_IFNAME; exec /usr/bin/python3 -c "import torch.distributed as d; d.init_process_group(\\"gloo\\"); print(\\"met\\")"'; echo "[$?]"
""")
    assert said.count("] met\n") == 2 and said.count("[0]\n") == 2, said
    assert "GLOO_SOCKET_IFNAME=eth0" in said and "IFNAME=lo" not in said, said


def test_a_route_without_an_address_is_reported_before_the_run(case):
    """The interface to the other node has no address that Gloo and NCCL can use."""
    said = case(2, """
on2() { nsenter --target "$(pgrep -f 'sshd -D -e -f .*/host2/sshd_config' | head -1)" --net bash -c "$1"; }
ip addr add 10.99.0.1/32 dev lo; ip route add 10.99.0.2/32 dev eth0 src 10.99.0.1
on2 'ip addr add 10.99.0.2/32 dev lo; ip addr del 10.77.0.2/16 dev eth0; for to in 10.99.0.1 10.77.0.1; do ip route add $to/32 dev eth0 src 10.99.0.2; done'
sed 's/^[^ ]* /10.99.0.2 /' ~/.ssh/known_hosts | tail -1 >> ~/.ssh/known_hosts
sed 's/10\\.77\\./10.99./' "$1" > lo.yaml
autodist doctor --spec lo.yaml; echo "[$?]"
autodist run --spec lo.yaml -- true; echo "[$?]"
""")
    assert said.count("10.99.0.2 is on lo, and no interface for the ranks of other nodes is found") == 2, said
    assert "set `interface`" in said and said.count("[0]\n") == 2, said


def test_one_machine_under_three_names_from_outside(case):
    said = case(2, """
cat > ~/.ssh/config <<C
Host a2 a2.lab
    HostName 10.77.0.2
Host a2-vpn
    HostName 10.77.0.2
C
printf 'nodes:\\n' > a2.yaml
for name in a2 a2.lab a2-vpn; do printf -- '- {address: %s, cpus: [0], ssh_config: g}\\n' $name; done >> a2.yaml
printf 'ssh: {g: {}}\\n' >> a2.yaml
autodist doctor --spec a2.yaml; echo "[$?]"
autodist run --spec a2.yaml -- hostname; echo "[$?]"
""")
    assert said.count("a2, a2.lab and a2-vpn are the same machine (host2)\n    hint: list it once") == 2, said
    assert "[1]\n" in said and said.endswith("[125]\n") and "data_address" not in said, said


def test_new_host_keys_without_a_spec(case):
    said = case(2, """
: > ~/.ssh/known_hosts
autodist doctor --hosts 10.77.0.1,10.77.0.2; echo "[$?]"
autodist doctor --hosts 10.77.0.1,10.77.0.2 --host-key-check accept-new; echo "[$?]"
autodist run --hosts 10.77.0.1,10.77.0.2 -- true; echo "[$?]"
""")
    first, second, third = said.split("[")[-3:]
    assert not first.startswith("0]") and second.startswith("0]") and third.startswith("0]"), said
