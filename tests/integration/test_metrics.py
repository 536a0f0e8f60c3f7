"""Metrics of `run --metrics`, read by curl, promtool and a Prometheus on this machine."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml
from jobs import BUILD, LIMIT_S, seconds_until

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "examples" / "monitoring"
EXPORTED = (ROOT / "tests" / "golden" / "metrics.txt").read_text()
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"

pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="no prometheus here")


def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=LIMIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def promtool(*arguments, text=None):
    done = subprocess.run(["promtool", *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr


def names(text):
    return set(re.findall(r"\b(?:autodist|DCGM_FI_DEV)_\w+", text))


def url_of(running):
    seconds_until(lambda: b"metrics at http" in running.err, LIMIT_S)
    return re.search(r"metrics at (\S+)", running.err.decode())[1]


# The command line.

def test_a_job_is_scraped_while_it_runs(start, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    job = start("run", "--metrics", "127.0.0.1:0", "--name", "sweep-3", "--", "sh", "-c", "read line < pipe")
    url = url_of(job)
    seconds_until(lambda: 'autodist_job_phase{' in get(url)[1] and
                  re.search(r'autodist_job_ranks\{.*state="running"\} 1\n', get(url)[1]), LIMIT_S)
    status, text = get(url)
    assert status == 200 and 'name="sweep-3"' in text and 'command="sh -c read line < pipe"' in text
    promtool("check", "metrics", text=text)
    assert get(url, Accept=OPEN_METRICS)[1].endswith("\n# EOF\n")
    assert get(url.replace("/metrics", "/-/healthy"))[0] == 200
    with open(tmp_path / "pipe", "w") as pipe:
        pipe.write("go on\n")
    assert job.finish().code == 0
    with pytest.raises(urllib.error.URLError):
        get(url)


@pytest.mark.parametrize("options", [[], ["--detach"]])
def test_an_address_in_use_is_reported_before_anything_starts(autodist, tmp_path, options):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        outcome = autodist("run", *options, "--metrics", address, "--", "touch", tmp_path / "ran")
    assert outcome.code == 125
    assert f"--metrics: {address}: Address already in use" in outcome.err
    assert not (tmp_path / "ran").exists()


def test_an_invalid_address_is_wrong_usage(autodist):
    outcome = autodist("run", "--metrics", "gpu1:9464", "--", "true")
    assert outcome.code == 2 and "'gpu1:9464' is not ADDRESS:PORT, as in 127.0.0.1:9464" in outcome.err


# The examples.

def test_every_metric_of_the_dashboard_and_the_alerts_is_exported():
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [variable["definition"] for variable in dashboard["templating"]["list"] if "definition" in variable]
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    expressions += [rule["expr"] for group in rules for rule in group["rules"]]
    exported = names(EXPORTED)
    assert len(expressions) > 40
    assert {expression: names(expression) - exported for expression in expressions if names(expression) - exported} == {}
    for expression in expressions:
        assert names(expression), expression


def test_panels_do_not_overlap():
    taken = set()
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells


def test_every_alert_is_tested(tmp_path):
    shutil.copytree(MONITORING, tmp_path / "monitoring")
    promtool("check", "config", tmp_path / "monitoring" / "prometheus.yml")
    promtool("check", "rules", tmp_path / "monitoring" / "alerts.yml")
    promtool("test", "rules", tmp_path / "monitoring" / "alerts_test.yml")
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    tests = yaml.safe_load((MONITORING / "alerts_test.yml").read_text())["tests"]
    fired = {rule["alertname"] for test in tests for rule in test["alert_rule_test"] if rule.get("exp_alerts")}
    assert fired == {rule["alert"] for group in rules for rule in group["rules"]}


def test_promtool_accepts_all_metrics():
    promtool("check", "metrics", text=EXPORTED)


# A Prometheus.

class MovingJob:
    """A job that tests/programs/metrics_server serves and the test moves on."""

    def __init__(self, folder):
        self.file = folder / "snapshot.json"
        self.update(step=0)
        self.process = subprocess.Popen([BUILD / "metrics_server", self.file], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def update(self, step, state="RANK_STATE_RUNNING"):
        snapshot = {"version": str(step + 1), "job": {"jobId": "job-1", "phase": "JOB_PHASE_RUNNING"},
                 "progress": {"step": str(step), "metrics": [{"name": "loss", "value": 1 / (step + 1)}]},
                 "nodes": [{"address": "10.0.0.1", "phase": "NODE_PHASE_RUNNING", "sample": {
                     "gpus": [{"index": 0, "uuid": "GPU-0a", "use": 0.5, "power": 650.5}]}}],
                 "ranks": [{"rank": 0, "state": state}]}
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(snapshot))
        new.replace(self.file)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(LIMIT_S) == 0


@pytest.fixture
def moving_job(tmp_path):
    job = MovingJob(tmp_path)
    yield job
    job.end()


@pytest.fixture
def prometheus(tmp_path, moving_job):
    """A Prometheus that scrapes every second; yields a function for queries."""
    target = urllib.parse.urlsplit(moving_job.url).netloc
    folder = tmp_path / "prometheus"
    shutil.copytree(MONITORING, folder)
    config = yaml.safe_load((folder / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    # Prometheus cannot report a port that it chose, so a free one is used; a race is possible.
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
         f"--web.listen-address={address}"], stderr=(folder / "log").open("w"))

    def ready():
        assert process.poll() is None, (folder / "log").read_text()
        try:
            return get(f"http://{address}/-/ready")[0] == 200
        except urllib.error.URLError:
            return False

    def ask(path, **parameters):
        status, text = get(f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        assert status == 200, text
        return json.loads(text)["data"]
    try:
        seconds_until(ready, LIMIT_S)
        yield ask
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT_S)


def test_a_prometheus_scrapes_and_answers_queries(prometheus, moving_job):
    def value(query):
        found = prometheus("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else None

    for step in range(1, 6):
        moving_job.update(step)
        seconds_until(lambda: value("autodist_training_step") == step, LIMIT_S)
    assert value("min_over_time(up[1m])") == 1
    assert value("changes(autodist_training_step[1m])") >= 4
    assert value('autodist_training_metric{name="loss"}') == pytest.approx(1 / 6)
    assert value('sum by (Hostname) (DCGM_FI_DEV_GPU_UTIL{gpu="0", device="nvidia0", UUID="GPU-0a"})') == 50
    [target] = prometheus("targets")["activeTargets"]
    assert target["lastError"] == "" and target["health"] == "up"
    # Prometheus asks for OpenMetrics first, where a counter's family has its name without the suffix.
    types = prometheus("targets/metadata", match_target='{job="autodist"}')
    assert {(entry["metric"], entry["type"]) for entry in types} >= {
        ("autodist_job_restarts", "counter"), ("DCGM_FI_DEV_POWER_USAGE", "gauge")}

    moving_job.update(6, "RANK_STATE_FAILED")
    seconds_until(lambda: any(alert["labels"]["alertname"] == "AutodistRankFailed"
                              for alert in prometheus("alerts")["alerts"]), LIMIT_S)
    # The state before ends at once, not after five minutes.
    assert value('autodist_rank_state{state="running"}') is None
