"""Host lists of other programs, read by `init --hostfile` and `run --hosts`."""

import os
import re

import pytest


def spec_lines(said):
    """The spec's lines without trailing blanks and comments."""
    return [re.sub(r"\s+#.*", "", line).rstrip() for line in said.splitlines() if not line.startswith("#")]


def nodes(said):
    """The devices of each node of a printed spec, by address."""
    devices, address = {}, None
    for line in spec_lines(said):
        if line.startswith("  - address: "):
            address = line.removeprefix("  - address: ").strip("'")
            devices[address] = 0
        elif address and line.startswith("    gpus: ["):
            devices[address] += len(re.findall(r"\d+", line))
        elif address and line.startswith("    gpus: unknown"):
            devices[address] += 1
    return devices


def init(case, text, *encoding):
    """The output of `init --offline` for a host list, given as arguments of printf."""
    pipe = f"| iconv -t {encoding[0]} " if encoding else ""
    return case(1, f"printf '{text}' {pipe}> hosts; autodist init --offline --hostfile hosts; echo \"[$?]\"")


@pytest.mark.parametrize("text", [
    r"\xef\xbb\xbfgpu1 slots=2\r\ngpu2 slots=2",
    r"gpu1 slots=2\rgpu2 slots=2\r",
    r"\xef\xbb\xbf# made by hand\r\ngpu1:2\r\n\xef\xbb\xbfgpu2:2\r\n\x1a",
    r"gpu1\xc2\xa0slots=2\ngpu2 slots=2\n",
])
def test_byte_order_marks_and_foreign_line_ends(case, text):
    said = init(case, text)
    assert nodes(said) == {"gpu1": 2, "gpu2": 2}, said
    assert said.endswith("[0]\n"), said


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32"])
def test_another_encoding_is_named_once(case, encoding):
    said = init(case, r"gpu1 slots=2\r\ngpu2 slots=2\r\n", encoding)
    # Without a mark, UTF-16LE is recognized by its zero bytes.
    assert f"the file is {encoding[:6]} (" in said and "save it as UTF-8" in said, said
    assert len(said.splitlines()) == 2 and said.endswith("[2]\n"), said


def test_other_readers_accept_or_refuse_the_same_files(case):
    said = case(1, r"""
mkdir -p ~/.ssh; printf '\xef\xbb\xbfHost gpu1\r\n  User ann\r\n' > ~/.ssh/config
autodist init --offline --ssh-config; echo "[$?]"
printf 'Host gpu1\n' | iconv -t UTF-16 > ~/.ssh/config; autodist init --offline --ssh-config; echo "[$?]"
printf 'nodes: [{address: localhost}]\n' | iconv -t UTF-16 > s.yaml; autodist validate s.yaml; echo "[$?]"
printf '\xef\xbb\xbfnodes:\r\n  - address: localhost\r\n' > s.yaml; autodist validate s.yaml; echo "[$?]"
""")
    assert "config: line 1: Bad configuration option: " in said and "without a byte order mark" in said, said
    assert said.count("the file is UTF-16") == 2, said
    assert "s.yaml: valid: 1 node, 1 rank, chief localhost\n[0]\n" in said, said
    assert said.count("[2]\n") == 3, said


def test_a_port_after_a_host(case):
    said = case(2, r"""
printf 'trainer1:22\nann@trainer2:22\n' > pssh-hosts
autodist init --offline --hostfile pssh-hosts > made; grep warning made
autodist run --hosts 10.77.0.1:1,10.77.0.2:22 -- true; echo "[$?]"
""")
    assert "'trainer1:22' means 22 devices; a port is '--port 22' of init" in said, said
    assert "(the same goes for 1 other host)" in said, said
    assert re.search(r"warning: 10.77.0.2 has no GPU and \d+ CPUs, .*"
                     r"'10.77.0.2:22' means 22 devices; a port is", said), said
    assert f": {1 + min(len(os.sched_getaffinity(0)), 22)} ranks on 2 nodes" in said and said.endswith("[0]\n"), said


@pytest.mark.parametrize("text, port, user", [
    (r"trainer1:2222 ann\ntrainer2:2222 ann\n", 2222, "ann"),
    (r"10.0.0.1 ubuntu\n10.0.0.2 ubuntu\n", None, "ubuntu"),
])
def test_hosts_of_pssh_with_users(case, text, port, user):
    said = init(case, text)
    assert list(nodes(said).values()) == [1, 1], said
    assert f"    username: {user}" in spec_lines(said), said
    assert port is None or f"    port: {port}" in spec_lines(said), said
    assert said.endswith("[0]\n"), said


@pytest.mark.parametrize("text", [
    "login9 1 gpu3 2 gpu4 2",                            # $LSB_MCPU_HOSTS
    'LSB_MCPU_HOSTS="login9 1 gpu3 2 gpu4 2 "',          # as in `env` or a script
    r"login9\ngpu3\ngpu3\ngpu4\ngpu4\n",                 # $LSB_DJOB_HOSTFILE, $PBS_NODEFILE
    "login9 gpu3 gpu3 gpu4 gpu4",                        # $LSB_HOSTS
    r"login9 1\ngpu3 2\ngpu4 2\n",
    r"login9 1 all.q@login9 UNDEFINED\ngpu3 2 all.q@gpu3 UNDEFINED\ngpu4 2 all.q@gpu4 <NULL>\n",  # $PE_HOSTFILE
    "login9/0+gpu3/0*2+gpu4/0+gpu4/1",                   # exec_host of PBS
    r"rank 0=login9 slot=0\nrank 1=gpu3 slot=0:0-3\nrank 2=gpu3 slot=1:0\nrank 3=gpu4 slot=1\nrank 4=gpu4 slot=2\n",
    "login9:1,gpu[3-4]:2",
])
def test_lists_of_schedulers(case, text):
    said = init(case, text)
    assert nodes(said) == {"login9": 1, "gpu3": 2, "gpu4": 2}, said
    assert said.endswith("[0]\n"), said


def test_a_host_without_a_gpu_among_others(case):
    said = case(3, r"""
printf '#!/bin/sh\nfor i in 0 1; do echo "GPU $i: A100"; done\n' > nvidia-smi; chmod +x nvidia-smi
printf '%s\n' 10.77.0.2 10.77.0.1 10.77.0.1 > djob
PATH=$PWD:$PATH autodist init --hostfile djob; echo "[$?]"
""")
    assert "10.77.0.2 has no GPU, the other one has; leave it out unless it is to have a rank" in said, said
    assert "    cpus: []\n    gpus: []  # no GPU there" in said, said
    assert said.endswith("[0]\n"), said


def test_options_of_hydra_and_open_mpi(case):
    said = case(1, r"""
cat > hosts <<H
# written for hydra and MVAPICH2
gpu1:2 binding=user:0,1
gpu2:2 user=ann
gpu3:4:mlx5_1
gpu4 slots=2 port=2200
gpu5 slots = 2 max_slots=4 ifhn=gpu5-ib
gpu6 cpus=2
H
autodist init --offline --hostfile hosts 2>warnings; echo "[$?]"; cat warnings
""")
    assert nodes(said) == {"gpu1": 2, "gpu2": 2, "gpu3": 4, "gpu4": 2, "gpu5": 2, "gpu6": 2}, said
    assert "    ssh_config: as_ann" in spec_lines(said) and "    username: ann" in spec_lines(said), said
    assert "    port: 2200" in spec_lines(said), said
    warnings = [line for line in said.splitlines() if "warning" in line]
    assert len(warnings) == 1 and "not used of this list: 'binding=user:0,1' (line 2), ':…' (line 4), " \
           "'ifhn=gpu5-ib' (line 6); 'port=2200' (line 5) is taken for the port of the SSH server" in warnings[0], said
    assert "IPv6" not in said and "[0]\n" in said, said


@pytest.mark.parametrize("line", ["start with:", "please start with", "- gpu3", "Machines:", "$ mpirun -np 4 train"])
def test_a_line_that_is_no_host(case, line):
    said = case(1, f"""
printf '%s\\n' 'gpu1 slots=2' 'gpu2 slots=2' '' '{line}' 'mpirun --hostfile notes -np 4 python3 train.py' > notes
autodist init --offline --hostfile notes; echo "[$?]"
""")
    assert said == f"notes:4: '{line}' is not a host with options, such as 'gpu1 slots=4 user=ann port=2222'; " \
                   "put comments behind a '#'\n[2]\n", said


FROM_ELSEWHERE = {
    "commands of ssh": (r"ssh -p 41234 root@194.26.196.144 -L 8080:localhost:8080\n"
                        r"ssh root@74.48.78.46 -p 24182 -i ~/.ssh/id_ed25519\n",
                        {"194.26.196.144": 1, "74.48.78.46": 1},
                        {"    port: 41234", "    port: 24182", "    username: root",
                         "    key_file: ~/.ssh/id_ed25519"}),
    "a URL": (r"ssh://root@ssh4.example.com:11234\n", {"ssh4.example.com": 1},
              {"    port: 11234", "    username: root"}),
    "CSV": (r"hostname,ip,gpus\nnode1,10.0.0.11,8\nnode2,10.0.0.12,8\n", {"10.0.0.11": 8, "10.0.0.12": 8}, set()),
    "CSV without gpus": (r"hostname,ip\nnode1,10.0.0.11\nnode2,10.0.0.12\n", {"10.0.0.11": 1, "10.0.0.12": 1}, set()),
    "CSV of a spreadsheet": (r"\xef\xbb\xbf\"Name\";\"IP\";\"User\"\r\n\"gpu1\";\"10.0.0.1\";\"ann\"\r\n",
                             {"10.0.0.1": 1}, {"    username: ann"}),
    "rank and host": (r"0 10.0.0.11\n1 10.0.0.12\n", {"10.0.0.11": 1, "10.0.0.12": 1}, set()),
    "name, address, GPUs": (r"node1 10.0.0.11 8\nnode2 10.0.0.12 8\n", {"10.0.0.11": 8, "10.0.0.12": 8}, set()),
    "host and port": (r"74.48.78.46 24182\n74.48.78.47 24183\n", {"74.48.78.46": 1, "74.48.78.47": 1},
                      {"    port: 24182", "    port: 24183"}),
    "/etc/hosts": (r"127.0.0.1 localhost\n::1 ip6-localhost\n10.0.0.11 node1.lab.example node1\n"
                   r"10.0.0.12 node2.lab.example node2\n", {"10.0.0.11": 1, "10.0.0.12": 1}, set()),
    "commas and blanks": (r"node1, node2, node3\n", {"node1": 1, "node2": 1, "node3": 1}, set()),
    "comments": (r"; a\n// b\n-- c\n# d\ngpu1 slots=2 ; e\ngpu2 slots=2 // f\n", {"gpu1": 2, "gpu2": 2}, set()),
}


@pytest.mark.parametrize("kind", FROM_ELSEWHERE)
def test_lists_of_machines_from_elsewhere(case, kind):
    text, devices, lines = FROM_ELSEWHERE[kind]
    said = init(case, text)
    assert nodes(said) == devices and lines <= set(spec_lines(said)), said
    assert said.endswith("[0]\n"), said


@pytest.mark.parametrize("text, message", [
    (r"node[01-03]   gpu,compute,ngpus=8\nlogin1        login\nnode04        gpu,compute,ngpus=4\n",
     "hosts: this is a genders file; give the hosts of an attribute"),
    (r"10.0.0.11/24\n", "hosts:1:1: '10.0.0.11/24' has the length of a network's prefix"),
    (r"10.0.0.11 ssh-ed25519 AAAAC3Nz\n", "hosts: this is a known_hosts file; it has every server that was reached"),
    (r"root:geheim@74.48.78.46:22\n", "hosts:1:1: before the '@': 'root:…' is not a user name; a password cannot be"),
    (r"host,user,password\ngpu1,root,geheim\n", "hosts:2:11: remove 'password': a password cannot be given"),
    (r"node1,worker\nnode2,worker\n", "hosts:1:7: it is unclear what 'worker' is; put the names of the columns in"),
    (r"ssh gpu1 nvidia-smi\n", "hosts:1:10: 'nvidia-smi' is a command for the host 'gpu1'; write the host alone"),
])
def test_lists_that_are_refused(case, text, message):
    said = init(case, text)
    assert message in said and "geheim" not in said and said.endswith("[2]\n"), said
    assert len(said.splitlines()) == 2, said


def test_a_wrong_host_on_the_command_line_is_an_error(case):
    said = case(1, "autodist run --hosts host2:x -- true; autodist init --hosts host2:x; echo \"[$?]\"\n")
    assert said == "autodist: error: --hosts:7: 'x' is not a number of devices; it should be from 1 to 512\n" * 2 \
                   + "[2]\n", said


def test_an_inventory_of_ansible(case):
    said = case(1, r"""
cat > inventory.ini <<H
[workers]
gpu1 ansible_host=10.0.0.1 ansible_port=2200
gpu[02:03]
[heads]
gpu9:2222 ansible_user=root  ; the first
[workers:vars]
ansible_user = ann
[all:vars]
ansible_ssh_private_key_file='~/.ssh/lab'
H
autodist init --offline --from inventory.ini; echo "[$?]"
cat > inventory.yml <<H
all:
  vars: {ansible_user: ann}
  children:
    workers:
      hosts:
        gpu1:
          ansible_host: 10.0.0.1
        gpu2:
H
autodist init --offline --from inventory.yml; echo "[$?]"
""")
    first, second = said.split("[0]\n")[:2]
    assert nodes(first) == {"10.0.0.1": 1, "gpu02": 1, "gpu03": 1, "gpu9": 1}, said
    assert {"    username: ann", "    username: root", "    port: 2200", "    port: 2222",
            "    key_file: ~/.ssh/lab"} <= set(spec_lines(first)), said
    assert nodes(second) == {"10.0.0.1": 1, "gpu2": 1} and "    username: ann" in second, said
