"""docs/resource_spec.schema.json, which editors use, agrees with the spec reader."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/resource_spec.schema.json").read_text())
EXAMPLES = sorted((ROOT / "examples/resource_specs").glob("*.yaml"))


class Yaml12Loader(yaml.SafeLoader):
    """YAML 1.2, as editors and autodist read it: `off` is a string, and so are dates."""


Yaml12Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers
            if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Yaml12Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def faults(text):
    """Errors that the schema reports for a spec."""
    validator = jsonschema.Draft7Validator(SCHEMA)
    # Converts keys to strings.
    return [error.message for error in
            validator.iter_errors(json.loads(json.dumps(yaml.load(text, Yaml12Loader))))]


def test_the_schema_is_valid():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def values(schema):
    """All schemas nested in a schema, and itself."""
    yield schema
    for name in ("properties", "definitions"):
        for inner in schema.get(name, {}).values():
            yield from values(inner)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from values(schema[name])


def test_every_key_has_a_description_and_valid_examples():
    for schema in values(SCHEMA):
        for key, value in schema.get("properties", {}).items():
            assert value.get("description"), key
            for example in value.get("examples", []):
                jsonschema.Draft7Validator(value).validate(example)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_valid(autodist, path):
    assert faults(path.read_text()) == []
    outcome = autodist("validate", path)
    assert outcome.code == 0, outcome.err
    # The key files that they name are not on this machine.
    assert all(": key_file " in line for line in outcome.err.splitlines()), outcome.err


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_name_the_schema(path):
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text())
    assert (path.parent / named[1]).resolve() == ROOT / "docs/resource_spec.schema.json"


NODE = "nodes: [{address: localhost}]\n"
SPECS = [
    # Valid and invalid specs; schema and reader have to agree on each.
    (True, "nodes: [{address: fd00::2}]"),
    (True, "nodes: [{address: '[fd00::2]:2222'}]"),
    (True, "nodes: [{address: '[host]'}]"),
    (True, "nodes: [{address: fe80::1%eth0, interface: eth0.100, data_address: node-1}]"),
    (True, "nodes: [{address: h, chief: true}, {address: 'gpu[01-16,20]n[1-2].x', ssh_config: a}]\nssh: {a: }"),
    (True, "nodes: [{address: h, chief: true}, {address: '[gpu[1-2]]:22', data_address: '10.0.0.[1-2]', "
           "ssh_config: a}]\nssh: {a: }"),
    (True, NODE + "ssh: {a: , b: {}, 3: {username: 1000}}"),
    (True, NODE + "ssh: {a: {host_key_check: off}}"),
    (True, NODE + "ssh: {a: {host_key_check: accept-new, proxy_jump: none}}"),
    (True, NODE + "ssh: {a: {via: podman, container: train}, b: {via: [my-exec, '{node}', --]}}"),
    (True, NODE + "ssh: {a: {proxy_jump: 'ann@gate:22,[fd00::1]:2222,[host]'}}"),
    (True, NODE + "ssh: {a: {shared_envs: {A: 1, B: true, C: , D: x, _e: 1.5}}}"),
    (True, NODE + "shared_paths: [/a, /b]"),
    (True, "nodes: [{address: h, python_venv: source v, shared_envs: {A: 1, B: }}]"),
    (True, "nodes: [{address: h, gpus: [GPU-8932f937, 3, MIG-a2b3c4d5-0000, MIG-GPU-89/1/0]}]"),
    (False, "nodes: [{address: h, gpus: [GPU-x]}]"),
    (False, "nodes: [{address: h, gpus: all}]"),
    (False, "nodes: [{address: h, cpus: [GPU-89]}]"),
    (False, "nodes: [{address: h, python_venv: []}]"),
    (False, "nodes: [{address: h, shared_envs: {1X: a}}]"),
    (True, "x-a: &a {address: h}\n.b: 1\nnodes: [{<<: *a, gpus: [0]}]"),
    (True, "nodes: [{address: h, chief: true}, {address: i}]\nssh: {username: ann, shared_envs: {A: b}}"),
    (False, "nodes: [{address: h, chief: true}, {address: i}]\nssh: {username: ann, lab: {}}"),
    (False, "[]"),
    (False, "nodes"),
    (False, "nodes: []"),
    (False, "nodes: {}"),
    (False, "nodes: [host]"),
    (False, "nodes: [{}]"),
    (False, "ssh: {}"),
    (False, NODE + "shh: {}"),
    (False, "nodes: [{adress: localhost}]"),
    (False, "nodes: [{address: }]"),
    (False, "nodes: [{address: [fd00::2]}]"),
    (False, "nodes: [{address: 'host:22'}]"),
    (False, "nodes: [{address: '10.0.0.2:22'}]"),
    (False, "nodes: [{address: '[host]:0'}]"),
    (False, "nodes: [{address: '[host'}]"),
    (False, "nodes: [{address: a b}]"),
    (False, "nodes: [{address: 'a[1-'}]"),
    (False, "nodes: [{address: 'a[]'}]"),
    (False, "nodes: [{address: 'a[x]'}]"),
    (False, "nodes: [{address: h, data_address: 'a[1-2'}]"),
    (False, "nodes: [{address: -a}]"),
    (False, "nodes: [{address: h, gpus: 2}]"),
    (False, "nodes: [{address: h, gpus: [x]}]"),
    (False, "nodes: [{address: h, gpus: [-1]}]"),
    (False, "nodes: [{address: h, gpus: [4096]}]"),
    (False, "nodes: [{address: h, cpus: [0, 0]}]"),
    (False, "nodes: [{address: h, cpus: [0.5]}]"),
    (False, "nodes: [{address: h, chief: maybe}]"),
    (False, "nodes: [{address: h, ssh_config: {}}]"),
    (False, "nodes: [{address: h, ssh_config: ''}]"),
    (False, "nodes: [{address: h, network_bandwidth: 0}]"),
    (False, "nodes: [{address: h, network_bandwidth: fast}]"),
    (False, "nodes: [{address: h, interface: a/b}]"),
    (False, "nodes: [{address: h, interface: '..'}]"),
    (False, "nodes: [{address: h, interface: an-interface-name}]"),
    (False, "nodes: [{address: h, data_address: '[h]:22'}]"),
    (False, "nodes: [{address: h, data_address: 'h:22'}]"),
    (False, NODE + "ssh: []"),
    (False, NODE + "ssh: {'': {}}"),
    (False, NODE + "ssh: {a: []}"),
    (False, NODE + "ssh: {a: {keyfile: k}}"),
    (False, NODE + "ssh: {a: {key_file: ''}}"),
    (False, NODE + "ssh: {a: {key_file: [k]}}"),
    (False, NODE + "ssh: {a: {username: }}"),
    (False, NODE + "ssh: {a: {port: 0}}"),
    (False, NODE + "ssh: {a: {port: 65536}}"),
    (False, NODE + "ssh: {a: {port: ssh}}"),
    (False, NODE + "ssh: {a: {port: 22.5}}"),
    (True, NODE + "ssh: {a: {via: podman, image: 'r.example:5000/i:1', run_options: [-v, '/d:/d']}}"),
    (False, NODE + "ssh: {a: {via: podman, image: '-i'}}"),
    (False, NODE + "ssh: {a: {via: podman, image: i, run_options: ['a b']}}"),
    (False, NODE + "ssh: {a: {via: lxc}}"),
    (False, NODE + "ssh: {a: {via: docker, container: -x}}"),
    (False, NODE + "ssh: {a: {proxy_jump: -oX}}"),
    (False, NODE + "ssh: {a: {proxy_jump: -a@gate}}"),
    (False, NODE + "ssh: {a: {proxy_jump: 'a, b'}}"),
    (False, NODE + "ssh: {a: {proxy_jump: 'gate:0'}}"),
    (False, NODE + "ssh: {a: {proxy_jump: 'fd00::1'}}"),
    (False, NODE + "ssh: {a: {proxy_jump: '@gate'}}"),
    (False, NODE + "ssh: {a: {proxy_jump: [gate]}}"),
    (False, NODE + "ssh: {a: {host_key_check: yes}}"),
    (False, NODE + "ssh: {a: {host_key_check: true}}"),
    (False, NODE + "ssh: {a: {host_key_check: Strict}}"),
    (False, NODE + "ssh: {a: {python_venv: []}}"),
    (False, NODE + "ssh: {a: {shared_envs: [A]}}"),
    (False, NODE + "ssh: {a: {shared_envs: {1X: a}}}"),
    (False, NODE + "ssh: {a: {shared_envs: {A: [1]}}}"),
    (False, NODE + "shared_paths: /a"),
    (False, NODE + "shared_paths: [a]"),
    (False, NODE + "shared_paths: [/a, /a]"),
    (False, NODE + "shared_paths: [{}]"),
]


def test_schema_and_reader_agree(autodist, tmp_path):
    spec = tmp_path / "spec.yaml"
    for right, text in SPECS:
        spec.write_text(text)
        outcome = autodist("validate", spec)
        assert (outcome.code == 0) == right, text + "\n" + outcome.err
        assert (faults(text) == []) == right, f"{text}\n{faults(text)}"


@pytest.mark.parametrize("text, schema", [
    (NODE + "{unknown}: 1", SCHEMA),
    ("nodes: [{{address: h, {unknown}: 1}}]", SCHEMA["definitions"]["node"]),
    (NODE + "ssh: {{a: {{{unknown}: 1}}}}", SCHEMA["definitions"]["ssh_group"]),
], ids=["spec", "node", "ssh group"])
def test_schema_and_reader_know_the_same_keys(autodist, tmp_path, text, schema):
    unknown = "x" * 40  # similar to no key, so that the message lists all keys
    text = text.replace("{{", "{").replace("}}", "}").replace("{unknown}", unknown)
    spec = tmp_path / "spec.yaml"
    spec.write_text(text)
    [keys] = re.findall(rf"unknown key '{unknown}' in .*; known keys are (.*)\n",
                        autodist("validate", spec).err)
    assert set(re.split(", | or ", keys)) == set(schema["properties"])
