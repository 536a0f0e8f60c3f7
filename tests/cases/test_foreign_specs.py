"""Specs of users: with abbreviations of YAML, of older versions, and of other programs."""

import pytest
from test_host_lists import nodes


def validate(case, text, name="f.yaml"):
    return case(1, f"cat > {name} <<'C'\n{text}C\nautodist validate {name}; echo \"[$?]\"\n")


MERGE = """x-gpu: &gpu
  cpus: [0, 1]
  ssh_config: lab
nodes:
  - address: 10.77.0.1
    chief: true
  - <<: *gpu
    address: 10.77.0.2
  - <<: *gpu
    address: 10.77.0.3
    cpus: [0]
ssh:
  lab: {}
"""
MERGES = """.base: &base {ssh_config: lab}
templates:
  - &two {cpus: [0, 1]}
  - &one {cpus: [0], ssh_config: none}
nodes:
  - {address: a, chief: true}
  - {address: b, <<: [*base, *two, *one]}
  - &b {address: c, <<: [*base, *one]}
  - {<<: *b, address: d, cpus: !!seq [0, 1]}
ssh:
  lab: &lab {username: ann, shared_envs: &envs {A: 1}}
  other: {<<: *lab, shared_envs: {<<: *envs, B: 2}}
"""


@pytest.mark.parametrize("text, ranks", [(MERGE, "3 nodes, 4 ranks"), (MERGES, "4 nodes, 6 ranks")])
def test_merge_keys(case, text, ranks):
    said = validate(case, text)
    assert f"f.yaml: valid: {ranks}" in said and said.endswith("[0]\n"), said


@pytest.mark.parametrize("text, message", [
    ("nodes:\n  - &a {address: a, <<: *a}\n", "f.yaml:2:21: '<<' merges a mapping into itself"),
    ("x-a: &a [1]\nnodes:\n  - {address: a, <<: *a}\n", "f.yaml:3:18: '<<' takes a mapping, or a list of mappings"),
    ("nodes: !include nodes.yaml\n", "f.yaml:1:8: the tag '!include' is not known here"),
])
def test_unreadable_text_is_reported_once(case, text, message):
    said = validate(case, text)
    assert said.startswith(message), said
    assert len(said.splitlines()) == 2 and said.endswith("[2]\n"), said


OLD = """nodes:
  - address: 10.77.0.1
    gpus: [0]
    chief: true
  - address: 10.77.0.2
    gpus: [0]
ssh:
  username: ubuntu
  key_file: ~/.ssh/id_ed25519
"""


@pytest.mark.parametrize("text", [
    OLD,
    OLD.replace("  - address: 10.77.0.2\n", "  - address: 10.77.0.2\n    ssh_config: lab\n"),
    OLD + "  python_venv: 'source /home/ubuntu/venv/bin/activate'\n  shared_envs: {A: b}\n",
])
def test_one_login_for_all_nodes(case, text):
    said = validate(case, text, "old.yaml")
    assert "old.yaml: valid: 2 nodes, 2 ranks, chief 10.77.0.1\n[0]\n" in said, said


def test_login_settings_beside_groups(case):
    said = validate(case, OLD + "  lab: {}\n", "old.yaml")
    assert said == "old.yaml:8:3: 'ssh' has 'username' beside the group 'lab'; " \
                   "put it below the name of a group\n[2]\n", said


@pytest.mark.parametrize("setting, message", [
    ("username: $USER", "f.yaml:6:15: 'username' is '$USER': variables are not replaced here; write the value itself"),
    ("username: root@gpu1", "f.yaml:6:15: 'username': 'root@gpu1' is not a user name: a host is the 'address'"),
    ("key_file: $KEYS/id", "f.yaml:6:15: 'key_file' is '$KEYS/id': variables are not replaced here"),
    ("key_file: ~root/id", "f.yaml:6:15: 'key_file' is '~root/id': '~root' is not replaced here, only '~/'"),
    ("host_key_check: $CHECK", "f.yaml:6:21: 'host_key_check' is '$CHECK': variables are not replaced here"),
    ("host_key_check: no", "should be strict, accept-new or off; did you mean 'off'?"),
])
def test_notations_of_a_shell_and_of_yaml(case, setting, message):
    said = validate(case, "nodes:\n  - {address: a, chief: true}\n  - {address: b, ssh_config: g}\nssh:\n  g:\n"
                          f"    {setting}\n")
    assert message in said and len(said.splitlines()) == 2 and said.endswith("[2]\n"), said


@pytest.mark.parametrize("text, messages", [
    ("nodes:\n  - {address: a, chief: true}\n  - {address: b, ssh_confg: lab}\nssh:\n  lab: {}\n",
     ["f.yaml:3:18: unknown key 'ssh_confg' in a node; did you mean 'ssh_config'?"]),
    ("nodse:\n  - host: a\n", ["f.yaml:1:1: unknown key 'nodse' in the spec; did you mean 'nodes'?",
                              "f.yaml:2:5: unknown key 'host' in a node; did you mean 'address'?"]),
    ("nodes:\n  - {address: a, chief: true}\n  - {address: b, ssh_config: lab}\nssh:\n  lab: {user: ann}\n",
     ["f.yaml:5:9: unknown key 'user' in ssh group 'lab'; did you mean 'username'?"]),
])
def test_only_a_misspelt_key_is_reported(case, text, messages):
    assert validate(case, text).splitlines() == [*messages, "[2]"]


def test_a_misspelt_file(case):
    said = case(1, """
cp $1 cluster.yaml; autodist validate clustr.yaml; autodist run --spec custer.yaml -- true; echo "[$?]"
""")
    assert said.count("did you mean cluster.yaml?") == 2 and said.endswith("[2]\n"), said


FOREIGN = {
    "hosts": ("gpu1 slots=2\ngpu2 slots=2\n", "a list of hosts", {"gpu1": 2, "gpu2": 2}),
    "accelerate.yaml": ("compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\ngpu_ids: all\n"
                        "machine_rank: 0\nmain_process_ip: 10.0.0.1\nnum_machines: 2\nnum_processes: 8\n",
                        "an accelerate config, not a resource spec; it names only the first of 2 machines; "
                        "'autodist init --hosts 10.0.0.1:4,HOST2:4 --output", None),
    "ds.json": ('{"train_batch_size": 8, "zero_optimization": {"stage": 2}}\n', "a DeepSpeed configuration", None),
    "ray.yaml": ("cluster_name: default\nprovider:\n  type: local\n  head_ip: 10.0.0.1\n  worker_ips: [10.0.0.2]\n"
                 "auth:\n  ssh_user: ubuntu\n", "a Ray cluster configuration", {"10.0.0.1": 1, "10.0.0.2": 1}),
    "ray-aws.yaml": ("cluster_name: default\nprovider: {type: aws, region: us-west-2}\n",
                     "a Ray cluster configuration, not a resource spec; its machines are made by `ray up`; then: "
                     "(ray get-head-ip ray-aws.yaml", None),
    "sky.yaml": ("name: train\nresources:\n  accelerators: A100:8\nnum_nodes: 2\nrun: |\n  torchrun train.py\n",
                 "a SkyPilot task", None),
    "hccl.json": ('{"version": "1.0", "server_count": "2", "server_list": [\n'
                  '\t{"server_id": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "192.1.1.6", "rank_id": "0"},'
                  ' {"device_id": "2", "device_ip": "192.1.1.7", "rank_id": "1"}]},\n'
                  '\t{"server_id": "10.0.0.2", "device": [{"device_id": "3", "device_ip": "192.1.1.8", '
                  '"rank_id": "2"}]}]}\n',
                  "a rank table of HCCL", {"10.0.0.1": 2, "10.0.0.2": 1}),
    "job.yaml": ("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: x}\n---\n"
                 "apiVersion: v1\nkind: Service\n",
                 "a Kubernetes manifest (kind 'PyTorchJob')", None),
    "compose.yaml": ("services:\n  a: {image: x}\n", "a file of docker compose", None),
    "job.sh": ("#!/bin/bash\n#SBATCH -N 2\nsrun python3 train.py\n", "a batch script of Slurm", None),
    "pools.yaml": ("lab:\n  user: ann\n  identity_file: ~/.ssh/lab\n  hosts: [10.0.0.1, {ip: 10.0.0.2, user: bob}]\n",
                   "a list of SkyPilot's SSH node pools", {"10.0.0.1": 1, "10.0.0.2": 1}),
    "inventory.ini": ("[gpu]\ngpu1 ansible_user=ann\ngpu2\n", "a list of hosts", {"gpu1": 1, "gpu2": 1}),
    "tf.json": ('{"cluster": {"worker": ["a1:2222", "a2:2222"]}, "task": {"type": "worker", "index": 0}}\n',
                "a TF_CONFIG", {"a1": 1, "a2": 1}),
    "list.yaml": ("- gpu1\n- gpu2:4\n", "a list of hosts", {"gpu1": 1, "gpu2": 4}),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_programs(case, name):
    text, kind, hosts = FOREIGN[name]
    said = validate(case, text, name)
    assert said.startswith(f"autodist: error: {name}: this is {kind}") and said.endswith("[2]\n"), said
    assert len(said.splitlines()) == 2, said
    said = case(1, f"cat > {name} <<'C'\n{text}C\n"
                   f"autodist init --offline --from {name} 2>said; echo \"[$?]\"; cat said\n")
    if hosts is None:
        assert said.startswith("[2]\n") and f"{name}: this is {kind.split(',')[0]}" in said, said
    else:
        assert nodes(said) == hosts and "[0]\n" in said, said


def test_a_list_of_hosts_as_a_spec_is_used(case):
    said = case(2, r"""
printf '10.77.0.1 slots=1\n10.77.0.2 slots=2\n' > hosts
autodist run --spec hosts -- sh -c 'echo rank $RANK of $WORLD_SIZE'; echo "[$?]"
""")
    assert "hosts is a list of hosts; using its machines as with --hosts" in said, said
    assert "rank 2 of 3" in said and said.endswith("[0]\n"), said


def test_a_rank_table_keeps_its_numbers(case):
    text = FOREIGN["hccl.json"][0]
    said = case(1, f"cat > t.json <<'C'\n{text}C\n"
                   "autodist init --offline --from t.json > s.yaml; autodist validate s.yaml; cat s.yaml\n")
    assert "gpus: [0, 2]" in said and "device_ips: [192.1.1.6, 192.1.1.7]" in said and "valid" in said, said
