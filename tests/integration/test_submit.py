"""Output of `autodist submit --kubernetes`, and its messages when it cannot submit."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from kubernetes_schema import faults

# The CustomResourceDefinition of a JobSet release, config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml.
CRD = os.environ.get("JOBSET_CRD")
WAYS = {
    "one": [],
    "cpus": ["--nodes", 3, "--ntasks-per-node", 4, "--cpus", "500m", "--memory", "64Gi"],
    "gpus": ["--nodes", 4, "--gpus-per-node", 8, "--grace", "0.5"],
    "all": ["--nodes", 2, "--gpus-per-node", 1, "--autodist-image", "a", "--volume", "d:/d:ro", "--volume", "r:/r",
            "--env-from", "s", "--env-from", "t", "--pull-secret", "p", "--name", "Sweep_3", "--max-restarts", 3,
            "--env", "A=b c"],
}


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys())
def printed(request, autodist):
    """The printed objects by kind, with some options."""
    outcome = autodist("submit", "--kubernetes", "--image", "i", *request.param, "--print", "--", "./train")
    assert outcome.code == 0, outcome.err
    objects = list(yaml.safe_load_all(outcome.out))
    return {it["kind"]: it for it in objects}


def pods(jobset):
    return [job["template"]["spec"]["template"]["spec"] for job in jobset["spec"]["replicatedJobs"]]


def test_names_agree(printed):
    jobset = printed["JobSet"]
    name = jobset["metadata"]["name"]
    assert {it["metadata"]["name"] for it in printed.values()} == {name}
    selector = {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": name}}
    policy = printed["NetworkPolicy"]["spec"]
    assert policy["podSelector"] == selector and policy["ingress"] == [{"from": [{"podSelector": selector}]}]
    assert jobset["spec"]["network"] == {"enableDNSHostnames": True, "subdomain": name}
    [chief, *workers] = pods(jobset)
    for pod in workers:
        environment = {it["name"]: it["value"] for it in pod["containers"][0]["env"]}
        assert environment["AUTODIST_KUBERNETES_CHIEF"].split(":")[0] == f"{name}-chief-0-0.{name}"
        assert pod["containers"][0]["command"] == chief["containers"][0]["command"]
    for pod in pods(jobset):
        mounted = {it["name"] for container in pod["containers"] for it in container["volumeMounts"]}
        assert mounted == {it["name"] for it in pod["volumes"]}


def test_only_the_chief_decides_the_outcome(printed):
    spec = printed["JobSet"]["spec"]
    [chief, *workers] = [job["template"]["spec"] for job in spec["replicatedJobs"]]
    assert spec["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["chief"]}
    assert spec["failurePolicy"] == {"maxRestarts": 0}
    assert chief["backoffLimit"] == 0 and chief["completions"] == chief["parallelism"] == 1
    assert all(job["backoffLimit"] == 2**31 - 1 and job["completions"] == job["parallelism"] for job in workers)
    assert all(pod["restartPolicy"] == "Never" for pod in pods(printed["JobSet"]))


def test_keys_are_only_in_the_secret(printed):
    keys = {name: line.split() for name, line in printed["Secret"]["stringData"].items() if name != "request"}
    workers = [name for name in keys if name != "chief"]
    count = sum(job["template"]["spec"]["completions"] for job in printed["JobSet"]["spec"]["replicatedJobs"][1:])
    assert workers == [f"worker-{i}" for i in range(count)]
    assert keys["chief"][0] == "autodist-job-key" and {keys[name][0] for name in workers} <= {"autodist-node-key"}
    assert len({key for _, key in keys.values()}) == len(keys)
    assert all(key not in yaml.safe_dump(printed["JobSet"]) for _, key in keys.values())


def test_too_many_pods(autodist):
    outcome = autodist("submit", "--kubernetes", "--image", "i", "--nodes", 10_001, "--print", "--", "true")
    assert outcome.code == 2 and "10000 pods" in outcome.err, outcome.err


@pytest.mark.skipif(not CRD, reason="JOBSET_CRD names no CustomResourceDefinition; neither Debian nor PyPI has that of JobSet")
def test_the_schema_has_all_of_it(printed):
    crd = Path(CRD).read_text()
    assert faults(crd, printed["JobSet"]) == []
    printed["JobSet"]["spec"]["failurePolicy"]["maxRestart"] = 0
    assert faults(crd, printed["JobSet"])


def request_in(manifest):
    return json.loads(next(it for it in yaml.safe_load_all(manifest) if it["kind"] == "Secret")["stringData"]["request"])


def test_arguments_stay_strings(autodist):
    """Under the rules of YAML 1.1, which Kubernetes' programs use."""
    words = ["yes", "No", "null", "~", "1", "1e3", "0x1f", "1:30", "- a", "a: b", "a #b", "*a", "'", '"', "\\", "a\nb\n", "\t",
             "\x7f", "\x85", "\u2028", "ü 字 😀", "$RANK", "=", "<<", ".5", "--no", "{rank}", ""]
    outcome = autodist("submit", "--kubernetes", "--image", "i", "--print", "--", *words)
    jobset = list(yaml.safe_load_all(outcome.out))[-1]
    assert pods(jobset)[0]["containers"][0]["command"] == ["autodist", "run-request", "/etc/autodist/request"]
    assert request_in(outcome.out) == {"program": words, "kubernetes": True, "display": {}}


BATCH = ("--max-restarts", 3, "--grace", "2m", "--on-busy", "wait", "--per", "node", "--framework", "torch,jax", "--env", "A=b c", "--env", "B='",
         "--stop-signal", "USR1", "--output-buffer", "2G", "--fetch", "a*", "--fetch", "b*", "--hang-timeout", "auto", "--prefix", "time", "--web",
         "--no-preflight", "--sync-topology", "direct", "--workdir", "/a b")


def test_a_batch_script_has_the_same_request_as_kubernetes(autodist, tmp_path):
    """The script has the request that Kubernetes gets, quoted for a shell."""
    words = ["echo", "$HOME `id`", "END", "a\nEND\n", "\\", "'", "ü"]
    outcome = autodist("submit", "--slurm", *BATCH, "--print", "--", *words)
    assert outcome.code == 0, outcome.err
    program = next(line for line in outcome.out.splitlines() if line.startswith("exec ")).split()[1]
    script = tmp_path / "script"
    script.write_text(outcome.out.replace(f"exec {program} run-request /dev/stdin", "exec cat"))
    request = json.loads(subprocess.run(["sh", script], check=True, capture_output=True, text=True).stdout)
    assert request.pop("slurm") and request["program"] == words
    assert request["grace"] == 120 and request["stop_signal"] == signal.SIGUSR1 and request["output_buffer"] == str(2 << 30)
    assert request["on_busy"] == "ON_BUSY_WAIT" and request["web"] == "" and request["display"] == {"prefix": "PREFIX_TIME"}
    assert request["framework"] == ["torch", "jax"] and request["env"] == ["A=b c", "B='"] and request["fetch"] == ["a*", "b*"]
    manifest = autodist("submit", "--kubernetes", "--image", "i", *BATCH, "--print", "--", *words).out
    assert request_in(manifest) == {**request, "kubernetes": True}


@pytest.mark.parametrize("change, complaint", [
    ({"grace": -5}, "grace: '-5' is not a duration"), ({"graze": 5}, "graze"), ({"on_busy": "perhaps"}, "perhaps"), ({"name": "a b"}, "name"),
    ({"metrics": "nowhere"}, "metrics"), ({"program": []}, "request: program: it is missing or empty"), ({"display": {"show": "x-"}}, "show"),
])
def test_a_modified_request_is_validated(autodist, tmp_path, change, complaint):
    file = tmp_path / "request"
    file.write_text(json.dumps({"program": ["true"], "nproc_per_node": 1, **change}))
    outcome = autodist("run-request", file)
    assert outcome.code == 2 and complaint in outcome.err, outcome.err


def test_a_request_is_run(autodist, tmp_path):
    file = tmp_path / "request"
    file.write_text(json.dumps({"program": ["sh", "-c", "echo $RANK of $WORLD_SIZE $A"], "nproc_per_node": 2, "env": ["A=b c"]}))
    outcome = autodist("run-request", file)
    assert outcome.code == 0 and all(f"] {rank} of 2 b c" in outcome.out for rank in range(2)), outcome.err


@pytest.mark.parametrize("arguments, complaint", [
    ("--kubernetes", "no image"),
    ("--slurm --kubernetes", "--slurm and --kubernetes are mutually exclusive"),
    ("--slurm --image i", "--image requires --kubernetes"),
    ("--kubernetes --image i --partition p", "--partition requires --slurm"),
    ("--kubernetes --image i --gpus-per-node a100:8", "'a100:8' is not a whole number"),
    ("--kubernetes --image i --cpus many", "not a Kubernetes quantity"),
    ("--kubernetes --image i --volume data", "not CLAIM:/PATH"),
])
def test_wrong_usage(autodist, arguments, complaint):
    outcome = autodist("submit", *arguments.split(), "--", "true")
    assert outcome.code == 2 and complaint in outcome.err and not outcome.out, outcome.err


KUBECTL = """#!/bin/sh
case "$*" in
  version*) echo 'Client Version: v1.32.0' ;;
  *delete*) echo "$*" >> log; exit {delete} ;;
  *jsonpath*) cat > jobset; echo "$*" >> log; printf 1-2-3 ;;
  *) cat > rest; echo "$*" >> log; echo 'Error from server (Forbidden): secrets is forbidden' >&2; exit 1 ;;
esac
"""


@pytest.mark.parametrize("delete", [0, 1], ids=["deleted", "not deleted"])
def test_a_failed_submission_leaves_no_objects(autodist, tmp_path, delete):
    """When the Secret cannot be created."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL.format(delete=delete))
    kubectl.chmod(0o755)
    outcome = autodist("submit", "--kubernetes", "--image", "i", "--nodes", 2, "--context", "lab", "--namespace", "ml", "--", "true",
                       env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert outcome.code == 1 and "secrets is forbidden" in outcome.err and not outcome.out
    name = yaml.safe_load((tmp_path / "jobset").read_text())["metadata"]["name"]
    calls = (tmp_path / "log").read_text().splitlines()
    assert all(call.startswith("--context=lab --namespace=ml ") for call in calls)
    assert calls[-1].endswith(f"delete jobset {name} --wait=false")
    assert ("the job was removed again" in outcome.err) == (delete == 0)
    assert delete == 0 or f"kubectl --context=lab --namespace=ml delete jobset {name}" in outcome.err
    assert {it["metadata"]["ownerReferences"][0]["uid"] for it in yaml.safe_load_all((tmp_path / "rest").read_text())} == {"1-2-3"}


def test_without_kubectl(autodist, tmp_path):
    outcome = autodist("submit", "--kubernetes", "--image", "i", "--", "true", env={"PATH": str(tmp_path)})
    assert outcome.code == 1 and "install kubectl 1.31 or newer" in outcome.err
    (tmp_path / "kubectl").write_text("#!/bin/sh\necho Client Version: v1.28.1\n")
    (tmp_path / "kubectl").chmod(0o755)
    outcome = autodist("submit", "--kubernetes", "--image", "i", "--", "true", env={"PATH": str(tmp_path)})
    assert outcome.code == 1 and "kubectl is 1.28" in outcome.err


POD = {"AUTODIST_KUBERNETES_ROLE": "chief", "AUTODIST_KUBERNETES_CHIEF": "s-chief-0-0.s:7420", "AUTODIST_KUBERNETES_NODES": "3",
       "AUTODIST_KUBERNETES_GPUS": "2", "JOB_COMPLETION_INDEX": "0"}


def test_the_plan_of_the_chiefs_pod(autodist):
    outcome = autodist("run", "--kubernetes", "--dry-run", "--verbose", "--", "true", env=POD)
    assert outcome.code == 0, outcome.err
    for part in ("chief", "a call by worker-0", "a call by worker-1", "WORLD_SIZE=6", "CUDA_VISIBLE_DEVICES=0,1"):
        assert part in outcome.out, outcome.out


def test_a_worker_pod_connects_to_the_chief(autodist, tmp_path):
    """When the key is missing, the message names its file."""
    outcome = autodist("run", "--kubernetes", "--", "true", env={**POD, "AUTODIST_KUBERNETES_ROLE": "worker", "JOB_COMPLETION_INDEX": "1"})
    assert outcome.code == 125 and "worker-1 connects to the chief, s-chief-0-0.s:7420" in outcome.err
    assert "the job's key, /etc/autodist/key: No such file or directory\n" in outcome.err
    assert "hint: mount the key from the job's Secret there" in outcome.err


@pytest.mark.parametrize("name, value", [("AUTODIST_KUBERNETES_ROLE", ""), ("AUTODIST_KUBERNETES_CHIEF", "s:0"), ("AUTODIST_KUBERNETES_NODES", "0"),
                                         ("AUTODIST_KUBERNETES_GPUS", "x")])
def test_invalid_pod_variables(autodist, name, value):
    outcome = autodist("run", "--kubernetes", "--", "true", env={**POD, name: value})
    assert outcome.code == 2 and f"{name} is {repr(value) if value else 'not set'}" in outcome.err, outcome.err
    assert value != "s:0" or "'s:0', whose port is not from 1 to 65535" in outcome.err, outcome.err
