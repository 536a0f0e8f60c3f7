"""The JSON that commands print, events.jsonl and the page's API, against docs/reference/schemas; and
that the reference pages name every field, event and metric that the code has."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from jobs import BUILD, LIMIT_S, seconds_until
from web import Web, events, own_session

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in sorted((REFERENCE / "schemas").glob("*.json"))}
METRICS = "\n".join(path.read_text() for path in sorted((ROOT / "src/metrics").glob("*.cc")))
EXPORTED = (ROOT / "tests/golden/metrics.txt").read_text()
STEPS = 'for i in 1 2 3; do echo "step $i/3 loss 0.$i"; sleep 0.6; done'
FAILS = 'test $RANK != 1 || { echo "no data" >&2; exit 3; }; sleep 20'
ISSUE, UNKNOWN, NOT_FOUND, STOPPED = 3, 4, 127, 143
# Objects that are no message, and what others have besides the fields of theirs.
OF_NO_MESSAGE = {"run/output", "run/end", "status/stalled", "why", "web/jobs", "web/hits", "web/hits/hits",
                 "web/tail", "web/error", "web/stop"}
MORE = {"status": {"progress", "stalled", "ranks"}, "ps": {"progress"}, "run/start": {"type"},
        "run/event": {"type"}, "run/progress": {"type"}}
EVENT = {"attempt": 0, "node": "", "rank": None, "job_phase": None, "node_phase": None, "what": ""}


@pytest.fixture(autouse=True)
def session(tmp_path, monkeypatch):
    own_session(tmp_path, monkeypatch)


def faults(value, name, definition=None):
    """What a schema, or the named definition in it, has against a value."""
    schema = SCHEMAS[name]
    if definition:
        schema = {"$defs": schema["$defs"], "$ref": f"#/$defs/{definition}"}
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
            for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]


def checked(text, name, definition=None):
    """The JSON text, which the schema takes."""
    value = json.loads(text)
    assert faults(value, name, definition) == [], text
    return value


def checked_lines(text, name):
    return [checked(line, name) for line in text.splitlines()]


def objects(schema, name=""):
    """Every schema of an object within one, by where it is."""
    if "properties" in schema or schema.get("type") == "object":
        yield name, schema
    for key, inner in {**schema.get("$defs", {}), **schema.get("properties", {})}.items():
        yield from objects(inner, f"{name}/{key}")
    if "items" in schema:
        yield from objects(schema["items"], name)


OBJECTS = [pytest.param(name, schema, id=name) for stem, whole in SCHEMAS.items()
           for name, schema in objects(whole, stem)]


# The schemas.

@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_one(name):
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name, schema", OBJECTS)
def test_every_field_is_described_and_no_other_is_allowed(name, schema):
    assert schema["additionalProperties"] is False
    for key, value in schema.get("properties", {}).items():
        assert value["description"].endswith("."), key


def messages():
    """{message: [field, ...]} of proto/."""
    found, within = {}, []
    for path in (ROOT / "proto/autodist/v1").glob("*.proto"):
        text = re.sub(r"//.*", "", path.read_text())
        for token in re.findall(r"\w+ \w+ \{|[\w.]+\s+\w+\s*=\s*\d+|\{|\}", text):
            if token == "}":
                within.pop()
            elif token.endswith("{"):
                kind, _, name = token[:-1].strip().partition(" ")
                within.append((kind, name))
                if kind == "message":
                    found[name] = []
            elif within[-1][0] in ("message", "oneof"):
                [*_, owner] = [name for kind, name in within if kind == "message"]
                found[owner].append(re.split(r"\s+", token)[1].partition("=")[0])
    return found


FIELDS = messages()


@pytest.mark.parametrize("name, schema", OBJECTS)
def test_objects_have_the_fields_of_their_messages(name, schema):
    comment = schema.get("$comment")
    assert bool(comment) != (name in OF_NO_MESSAGE)
    if not comment:
        return
    fields = {"state" if field == "phase" else field for field in FIELDS[comment.removeprefix("message ")]}
    assert set(schema.get("properties", {})) == fields | MORE.get(name, set())


def test_a_field_that_is_not_described_is_refused():
    event = {**EVENT, "time_ms": 1, "job_phase": "running"}
    assert faults(event, "events") == []
    assert faults({**event, "color": "red"}, "events") != []
    assert faults(without(event, "rank"), "events") != []


# What commands print.

def without(value, *keys):
    return {key: inner for key, inner in value.items() if key not in keys}


def log_folder(tmp_path):
    [folder] = (tmp_path / "autodist-runs").glob("2*")
    return folder


def test_a_job_that_ends_well(autodist, tmp_path):
    outcome = autodist("run", "-n", 2, "--json", "--", "sh", "-c", STEPS)
    lines = checked_lines(outcome.out, "run")
    assert [lines[0]["type"], lines[-1]["type"]] == ["start", "end"]
    assert {line["type"] for line in lines} == {"start", "output", "event", "progress", "end"}
    assert lines[-1]["exit_code"] == outcome.code == 0 and lines[-1]["outcome"] == "ended"
    recorded = checked_lines((log_folder(tmp_path) / "events.jsonl").read_text(), "events")
    shown = [without(line, "type", "time_ms") for line in lines if line["type"] == "event"]
    assert [without(event, "time_ms") for event in recorded] == [*shown, {**EVENT, "job_phase": "ended"}]

    status = checked(autodist("status", "--json").out, "status")
    [job] = checked_lines(autodist("ps", "--all", "--json").out, "ps")
    assert job == without(status, "stalled", "ranks")
    assert [rank["exit_code"] for rank in status["ranks"]] == [0, 0]
    assert status["state"] == "ended" and status["exit_code"] == 0
    why = autodist("why", "--json")
    assert checked(why.out, "why")["diagnosis"] == "ok" and why.code == 0


def test_a_job_that_fails(autodist, tmp_path):
    options = ["-n", 2, "--json", "--name", "failing", "--max-restarts", 1]
    outcome = autodist("run", *options, "--", "sh", "-c", FAILS)
    end = checked_lines(outcome.out, "run")[-1]
    assert end["exit_code"] == outcome.code == 3 and end["outcome"] == "failed" and "no data" in end["report"]
    recorded = checked_lines((log_folder(tmp_path) / "events.jsonl").read_text(), "events")
    assert {event["attempt"] for event in recorded} == {0, 1}
    assert {"restarting", "stopping", "ended"} <= {event["job_phase"] for event in recorded}
    status = checked(autodist("status", "failing", "--json").out, "status")
    assert status["report"] == end["report"] and status["attempt"] == 1
    assert [(rank["state"], rank["exit_code"]) for rank in status["ranks"]] == [("ended", STOPPED), ("failed", 3)]
    assert len({rank["pid"] for rank in status["ranks"]} - {None}) == 2
    why = autodist("why", "--json")
    diagnosis = checked(why.out, "why")
    assert why.code == ISSUE and diagnosis["diagnosis"] == "issue" and diagnosis["issue"]["kind"] == "failed"


def test_a_job_that_does_not_start(autodist, tmp_path):
    outcome = autodist("run", "-n", 2, "--json", "--", "./missing")
    end = checked_lines(outcome.out, "run")[-1]
    assert end["exit_code"] == outcome.code == NOT_FOUND and end["outcome"] == "not started"
    assert not (tmp_path / "autodist-runs").exists()


def test_wrong_usage_prints_no_json(autodist):
    outcome = autodist("run", "-n", 2, "--json", "--lrr", "--", "true")
    assert outcome.code == 2 and outcome.out == ""


def test_a_job_that_runs(autodist):
    program = 'for i in $(seq 600); do echo "step $i/600 loss 0.5"; sleep 0.1; done'
    assert autodist("run", "--detach", "-n", 2, "--", "sh", "-c", program).code == 0
    try:
        seconds_until(lambda: json.loads(autodist("status", "--json").out)["progress"], 20)
        status = checked(autodist("status", "--json").out, "status")
        assert status["state"] == "running" and status["exit_code"] is None
        assert status["progress"]["total"] == 600
        assert [(rank["state"], rank["exit_code"]) for rank in status["ranks"]] == [("running", None)] * 2
        assert all(Path(f"/proc/{rank['pid']}").exists() for rank in status["ranks"])
        [job] = checked_lines(autodist("ps", "--json").out, "ps")
        assert job["state"] == "running" and job["nodes"][0]["running_ranks"] == 2
        why = autodist("why", "--json")
        # Other programs may take the cores that the ranks need.
        diagnosis = checked(why.out, "why")["diagnosis"]
        assert why.code == {"ok": 0, "issue": ISSUE}.get(diagnosis, UNKNOWN)
    finally:
        assert autodist("stop", "--now").code == 0
    assert checked(autodist("status", "--json").out, "status")["exit_code"] == STOPPED


def test_plans(autodist, tmp_path):
    key = tmp_path / "key"
    key.write_text("not a key\n")
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"""
nodes:
  - {{address: 198.51.100.1, gpus: [0, 1], ssh_config: lab}}
  - {{address: 198.51.100.2, gpus: [0, 1], ssh_config: gate, shared_envs: {{A: $HOME/a}}}}
ssh:
  lab: {{key_file: {key}, via: podman, image: 'registry.example/train:1'}}
  gate: {{key_file: {key}, proxy_jump: ann@gate.example, python_venv: source v}}
""")
    for options in (["-n", 2], ["-n", 2, "--per", "node"], ["-n", 2, "--stdin-rank", 0, "--env", "TOKEN=x"],
                    ["-n", 2, "--framework", "mindspore"], ["-n", 2, "--framework", "jax"],
                    ["--spec", spec], ["--spec", spec, "--show-env-values", "--max-restarts", 2]):
        outcome = autodist("run", *options, "--dry-run", "--json", "--", "python3", "train.py")
        assert outcome.code == 0, outcome.err
        plan = checked(outcome.out, "run_dry_run")
        assert plan["world_size"] == sum(len(node["devices"]) for node in plan["nodes"])


def test_what_doctor_finds(autodist):
    outcome = autodist("doctor", "-n", 2, "--json", "--", "true")
    found = checked(outcome.out, "doctor")
    assert outcome.code == 0 and {check["check"] for check in found["nodes"][0]["checks"]} == set(
        SCHEMAS["doctor"]["$defs"]["check_outcome"]["properties"]["check"]["enum"])
    outcome = autodist("doctor", "-n", 2, "--json", "--", "./missing")
    [issue] = checked(outcome.out, "doctor")["issues"]
    assert outcome.code == 1 and issue["check"] == "program" and issue["result"] == "bad"


# The page's API.

def test_what_the_page_is_answered(autodist, tmp_path):
    assert autodist("run", "--detach", "-n", 2, "--", "sh", "-c", "echo step 1/9 loss 2; sleep 100").code == 0
    web = Web("--allow-actions", cwd=tmp_path)
    try:
        web.enter()

        def ask(path, definition, **options):
            status, _, text = web.ask(path, **options)
            assert status == 200, text
            return checked(text, "web", definition)
        [listed] = ask("/api/jobs", "jobs")["jobs"]
        job = listed["status"]["job_id"]
        seconds_until(lambda: web.json(f"/api/jobs/{job}/history").get("points"), 20)
        seconds_until(lambda: web.json(f"/api/jobs/{job}/snapshot")["nodes"][0].get("sample"), 20)
        assert ask(f"/api/jobs/{job}/snapshot", "job_snapshot")["ranks"][1]["last_line"] == "step 1/9 loss 2"
        ask(f"/api/jobs/{job}/history", "history")
        found = ask(f"/api/jobs/{job}/search/0?q=loss", "hits")["hits"]
        assert found == [{"line": 0, "text": "step 1/9 loss 2"}]
        for path, kind, definition in ((f"/api/jobs/{job}/log/1/follow?from=0", "tail", "tail"),
                                       (f"/api/jobs/{job}/events", "snapshot", "job_snapshot")):
            with web.open(path) as stream:
                name, value = next(events(stream))
                assert name == kind and faults(value, "web", definition) == []
        status, _, text = web.ask("/api/jobs/none/snapshot")
        assert status == 404 and checked(text, "web", "error")
        post = {"method": "POST", "headers": {"X-Autodist": "1"}}
        stacks = ask(f"/api/stacks?job={job}&rank=0", "job_stacks", **post)
        assert sorted(rank for group in stacks["groups"] for rank in group["ranks"]) == [0, 1]
        ask(f"/api/stop?job={job}", "stop", **post)
    finally:
        web.end()
        assert autodist("stop", "--now").code == 0


# The pages.

def rows(page):
    """{first cell without its marks: row} of the page's tables."""
    found = {}
    for line in (REFERENCE / page).read_text().splitlines():
        match = re.match(r"\| (.+?) \|", line)
        for name in re.findall(r"`([^`]+)`", match[1]) if match else []:
            found[name] = line
    return found


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "events"])
def test_the_json_page_names_every_field(name):
    page = (REFERENCE / "json.md").read_text()
    assert f"schemas/{name}.json" in page
    parts = dict(objects(SCHEMAS[name], name))
    if name == "web":  # its schema alone has the parts of a snapshot, which the page's script reads
        parts = {f"web/{part}": parts[f"web/{part}"] for part in (
            "jobs", "job", "hits", "tail", "error", "job_stacks", "job_snapshot", "history")}
    parts.pop("run_dry_run/slurm_step", None)
    fields = {field for schema in parts.values() for field in schema.get("properties", {})}
    named = set(re.findall(r"[a-z][a-z0-9_]*", " ".join(re.findall(r"`([^`\n]+)`", page))))
    assert fields - named == set()


def values(enum):
    """The words of an enum of job.proto."""
    text = (ROOT / "proto/autodist/v1/job.proto").read_text()
    body = re.search(rf"enum {enum} \{{(.*?)\}}", text, re.DOTALL)[1]
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", enum).upper() + "_"
    return {value.removeprefix(prefix).lower() for value in re.findall(r"\w+(?= =)", body)} - {"unspecified"}


def test_the_events_page_names_every_field_and_phase():
    page, named = (REFERENCE / "events.md").read_text(), rows("events.md")
    assert set(FIELDS["JobEvent"]) <= set(named)
    for field, enum in (("job_phase", "JobPhase"), ("node_phase", "NodePhase")):
        for value in values(enum):
            assert f"`{field}` `{value}`" in page, value


def test_the_events_page_has_the_texts_of_the_code():
    texts = {text for path in (ROOT / "src/chief").rglob("*.cc")
             for text in re.findall(r'Record\("([^"]+)"', path.read_text())}
    ends = re.findall(r'return "([^"]+)" \+ std::to_string|return "([^"]+)" \+ base::SignalName',
                      (ROOT / "src/chief/attempt/cause.cc").read_text())
    texts |= {text for pair in ends for text in pair if text}
    assert len(texts) >= 4
    page = (REFERENCE / "events.md").read_text()
    assert {text for text in texts if text.strip() not in page} == set()


def test_the_metrics_page_has_every_metric_with_its_type_and_labels():
    types = {name: kind.lower() for kind, name in
             re.findall(r'set\.(Gauge|Counter|Untyped)\(\s*"(\w+)"', METRICS)}
    for name, more in re.findall(r'\{"\w+",\s*"((?:autodist|DCGM)_\w+)",\s*"[^"]*"([^}]*)\}', METRICS):
        types[name] = (re.findall(r"Type::k(\w+)", more) or ["gauge"])[0].lower()
    assert set(types) >= set(re.findall(r"^# TYPE (\w+)", EXPORTED, re.MULTILINE))
    named = {name: row for name, row in rows("metrics.md").items() if re.match(r"autodist_|DCGM_", name)}
    assert set(named) == set(types)
    for name, kind in types.items():
        assert f"| {kind} |" in named[name], name
    common = {"job_id", "hpc_job", "Hostname", "device"}
    for name, labels in re.findall(r"^(\w+)\{(.*)\} ", EXPORTED, re.MULTILINE):
        for label in set(re.findall(r'(\w+)="', labels)) - common:
            assert f"`{label}`" in named[name].split("|")[3], f"{name}: {label}"


@pytest.fixture
def script(tmp_path):
    """Runs a script of docs/how-to/script_autodist.md by the name in the usage line."""
    page = (ROOT / "docs/how-to/script_autodist.md").read_text()
    found = {re.search(r"Usage: (\S+)", text)[1]: (kind, text)
             for kind, text in re.findall(r"```(sh|python)\n(#!.*?)```", page, re.DOTALL)}
    assert set(found) == {"retry.sh", "watch.sh", "follow.py"}

    def run(name, *arguments, **environment):
        kind, text = found[name]
        if kind == "sh" and not shutil.which("jq"):
            pytest.skip("no jq here")
        (tmp_path / name).write_text(text)
        path = f"{BUILD}:{os.environ['PATH']}"
        return subprocess.run([sys.executable if kind == "python" else "sh", name, *arguments], cwd=tmp_path,
                              env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
    return run


def test_the_script_that_retries(script):
    done = script("retry.sh", "sh", "-c", "exit 3", RUN_OPTIONS="-n 2")
    assert done.returncode == 3 and "try 1: failed, exit code 3\n" in done.stderr
    done = script("retry.sh", "true", RUN_OPTIONS="-n 1")
    assert done.returncode == 0 and "try 1: ended, exit code 0\n" in done.stderr
    done = script("retry.sh", "true", RUN_OPTIONS="-n 1 --workdir /missing")
    assert done.returncode == 125 and "try 3: not started, exit code 125\n" in done.stderr
    assert script("retry.sh", "true", RUN_OPTIONS="--lrr").returncode == 2


def test_the_script_that_watches(script, autodist):
    program = STEPS + "; sleep 2; exit 4"
    assert autodist("run", "--detach", "--name", "sweep", "-n", 2, "--", "sh", "-c", program).code == 0
    done = script("watch.sh", "sweep", "0.1")
    assert done.returncode == 4 and "exited with code 4" in done.stderr
    assert re.search(r"^running, step [123] of 3$", done.stdout, re.MULTILINE)
    assert script("watch.sh", "missing").returncode == 2


def test_the_script_that_follows(script):
    done = script("follow.py", "10", "-n", "2", "--", "sh", "-c", STEPS)
    assert done.returncode == 0 and re.search(r"step [23]: .*\nended, exit code 0\n$", done.stdout)
    done = script("follow.py", "0.15", "-n", "2", "--", "sh", "-c", STEPS + "; sleep 60")
    assert done.returncode == STOPPED and "stopped, exit code 143\n" in done.stdout
    done = script("follow.py", "10", "-n", "2", "--", "./missing")
    assert done.returncode == 1 and "program: './missing' does not exist; hint: " in done.stderr
