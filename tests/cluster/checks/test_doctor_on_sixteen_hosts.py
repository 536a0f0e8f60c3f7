"""`autodist doctor` on sixteen hosts, nine of which are broken in different ways."""

import json
import subprocess
import time

import pytest
from hosts import SHARED, address, on_host
from jobs import processes

pytestmark = pytest.mark.hosts(16)

FOLDER = "/tmp/project"  # each host has its own
BROKEN = {
    2: ("login", "Connection refused"),
    3: ("login", "host key changed"),
    4: ("login", "key refused"),
    5: ("folder", f"working directory {FOLDER}: No such file or directory"),
    6: ("files", "model.py differs from the chief's"),
    7: ("venv", "/none/activate: No such file or directory"),
    8: ("program", "'python3' is not in PATH (/nowhere)"),
    9: ("devices", "no GPU there; the spec lists gpus [5]"),
    10: ("address", "no interface of this node has the address 10.77.0.250"),
}


@pytest.fixture
def project():
    """The same program on all hosts."""
    files = {"train.py": "import json\ntry:\n    import torchless_thing\nexcept ImportError:\n    pass\n"
                         "from model import Net\n", "model.py": "class Net: pass\n"}
    for host in range(1, 17):
        script = f"mkdir -p {FOLDER}; " + "".join(
            f"printf '{text}' > {FOLDER}/{name}; ".replace("\n", "\\n") for name, text in files.items())
        if host == 1:
            subprocess.run(["sh", "-c", script], check=True)
        else:
            on_host(host, script)
    yield FOLDER


def write_spec(path, broken):
    key = f"key_file: {SHARED}/user_ed25519"
    special = {}
    if broken:
        special = {2: "ssh_config: refused", 4: "ssh_config: stranger", 7: "ssh_config: bad_venv",
                   8: "ssh_config: no_path", 9: "gpus: [5], ssh_config: good",
                   10: "data_address: 10.77.0.250, ssh_config: good"}
    nodes = "".join(f"  - {{address: {address(host)}, {special.get(host, 'ssh_config: good')}}}\n"
                    for host in range(2, 17))
    path.write_text(f"""nodes:
  - {{address: {address(1)}, chief: true}}
{nodes}ssh:
  good: {{{key}}}
  refused: {{{key}, port: 1}}
  stranger: {{key_file: {path.parent}/stranger}}
  bad_venv: {{{key}, python_venv: 'source /none/activate'}}
  no_path: {{{key}, shared_envs: {{PATH: /nowhere}}}}
""")
    return path


def results(diagnosis):
    return {node["address"]: {check["check"]: check["result"] for check in node["checks"]}
            for node in diagnosis["nodes"]}


def test_nine_broken_hosts_are_all_found_in_one_run(autodist, project, folder, known_hosts, new_key):
    spec = write_spec(folder / "spec.yaml", broken=True)
    new_key("stranger")
    assert autodist("doctor", "--spec", write_spec(folder / "healthy.yaml", broken=False),
                    cwd=project).code == 0  # also installs the agent on all hosts
    other = known_hosts.read_text().splitlines()[3].split()[1:]
    known_hosts.write_text("".join(
        f"{address(3)} {' '.join(other)}\n" if line.startswith(f"{address(3)},") else line + "\n"
        for line in known_hosts.read_text().splitlines()))
    on_host(5, f"rm -r {FOLDER}")
    on_host(6, f"echo x = 1 >> {FOLDER}/model.py")

    started = time.monotonic()
    outcome = autodist("doctor", "--spec", spec, "--json", "--", "python3", "train.py", cwd=project,
                       env={"PATH": "/usr/bin:/bin:/usr/sbin"})  # the nodes have the same
    seconds = time.monotonic() - started
    assert outcome.code == 1, outcome.err
    diagnosis = json.loads(outcome.out)
    of_node = results(diagnosis)
    for host, (check, cause) in BROKEN.items():
        assert of_node[address(host)][check] == "bad", (host, check)
        reported = [issue for issue in diagnosis["issues"]
                    if issue["check"] == check and host - 1 in issue["nodes"]]
        assert any(cause in issue["what"] and issue["remedy"] for issue in reported), (host, reported)
    for host in (1, *range(11, 17)):
        bad = [check for check, result in of_node[address(host)].items() if result == "bad"]
        assert bad == [], (host, bad, diagnosis["issues"])
        for check in ("login", "address", "folder", "files", "program",
                      "network", "clock", "disk", "limits", "name"):
            assert of_node[address(host)][check] == "good", (host, check)
    assert seconds <= 5, seconds
    assert not processes()


def test_the_table(autodist, project, folder, known_hosts, new_key):
    new_key("stranger")
    on_host(6, f"echo x = 1 >> {FOLDER}/model.py")
    outcome = autodist("doctor", "--spec", write_spec(folder / "spec.yaml", broken=True), "--", "python3",
                       "train.py", cwd=project)
    assert outcome.code == 1
    head, *rows = outcome.out.split("\n\n")[0].splitlines()
    assert head.split()[:4] == ["node", "login", "agent", "address"]
    row = {line.split()[0]: line.split()[1:] for line in rows}
    assert len(row) == 16
    assert row[address(2)][0] == "✗" and set(row[address(2)][1:]) == {"–"}
    assert row[address(6)][head.split().index("files") - 1] == "✗"
    assert row[address(12)][:4] == ["✓"] * 4
    assert f"✗ {address(6)}: files\n    model.py differs" in outcome.out and "    hint: " in outcome.out
    assert "\x1b[" not in outcome.out
