"""The parts of a Kubernetes cluster that a JobSet of `autodist submit` needs: an API server for the real
kubectl, the controllers of JobSets and Jobs, and kubelets. Pods are podman containers on the virtual hosts:
the chief's on host 1, that of worker N on host N + 2, each in its host's network."""

import http
import json
import re
import subprocess
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hosts import address
from jobs import AUTODIST
from podman import Podman

KINDS = {"jobsets": "JobSet", "secrets": "Secret", "networkpolicies": "NetworkPolicy"}
GROUPS = {"jobset.x-k8s.io/v1alpha2": ["jobsets"], "networking.k8s.io/v1": ["networkpolicies"], "v1": ["secrets"]}
LIMIT_S = 60
FIELD = re.compile(r"\$\$|\$\(([^)]*)\)")


def path_of(group):
    return f"/api/{group}" if group == "v1" else f"/apis/{group}"


def resources(group):
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": [
        {"name": name, "singularName": KINDS[name].lower(), "namespaced": True, "kind": KINDS[name],
         "verbs": ["create", "delete", "get", "list", "patch"]} for name in GROUPS[group]]}


def openapi(group):
    """A schema that lets the server validate fields."""
    name, _, version = group.rpartition("/")
    return {"openapi": "3.0.0", "info": {"title": "", "version": ""}, "paths": {
        f"{path_of(group)}/namespaces/{{namespace}}/{resource}/{{name}}": {"patch": {
            "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}], "responses": {},
            "x-kubernetes-group-version-kind": {"group": name, "version": version, "kind": KINDS[resource]}}}
        for resource in GROUPS[group]}}


FIXED = {
    "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
        {"name": group.split("/")[0], "versions": [{"groupVersion": group, "version": group.split("/")[1]}],
         "preferredVersion": {"groupVersion": group, "version": group.split("/")[1]}} for group in GROUPS if "/" in group]},
    "/openapi/v3": {"paths": {path_of(group)[1:]: {"serverRelativeURL": f"/openapi/v3{path_of(group)}"} for group in GROUPS}},
    **{path_of(group): resources(group) for group in GROUPS},
    **{f"/openapi/v3{path_of(group)}": openapi(group) for group in GROUPS},
}


def expanded(word, variables):
    """Expands variables like the kubelet, which keeps unknown ones."""
    return FIELD.sub(lambda it: "$" if it[0] == "$$" else variables.get(it[1], it[0]), word)


class Pod:
    """A container of the cluster; `name` is the name of the Job, with an index."""

    def __init__(self, cluster, name, host, spec, index):
        self.cluster, self.name, self.host, self.index = cluster, name, host, index
        self.container = f"{name}-{uuid.uuid4().hex[:5]}"
        self.grace = spec["terminationGracePeriodSeconds"]
        self.spec, self.code = spec, None

    def start(self):
        [container] = self.spec["containers"]
        variables = {it["name"]: it["value"] for it in container["env"]} | {"JOB_COMPLETION_INDEX": str(self.index)}
        sources = {volume["name"]: volume for volume in self.spec["volumes"]}
        options = []
        for mount in container["volumeMounts"]:
            volume = sources[mount["name"]]
            path, mode = mount["mountPath"], ":ro" if mount.get("readOnly") else ""
            part = mount.get("subPath") or expanded(mount.get("subPathExpr", ""), variables)
            if "secret" in volume:
                options += ["-v", f"{self.cluster.secret(volume['secret']) / part}:{path}{mode}"]
            elif "persistentVolumeClaim" in volume:
                options += ["-v", f"{self.cluster.folder}:{path}{mode}"]
            else:
                options += ["--mount", f"type=tmpfs,destination={path}"]
        options += [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        command = [expanded(word, variables) for word in container["command"]]
        self.cluster.podmans[self.host](
            "run", "-d", "--init=false", "--network", "host", "--name", self.container,
            "-v", f"{AUTODIST}:/usr/local/bin/autodist:ro", "--add-host", f"{self.cluster.chief_name}:{address(1)}",
            *options, container["image"], *command)
        threading.Thread(target=self._await_end, daemon=True).start()

    def _await_end(self):
        self.code = int(self.cluster.podmans[self.host]("wait", self.container).split()[-1])
        self.cluster.ended(self)

    def podman(self, *arguments):
        return self.cluster.podmans[self.host](*arguments)

    def log(self):
        return self.podman("logs", self.container)

    def stop(self):
        """Sends SIGTERM, and SIGKILL after the grace period."""
        if self.code is None:
            self.podman("stop", "-t", str(self.grace), self.container)


class Cluster:
    """A running cluster. `pods`: the current ones, by the name that their Job gives them."""

    def __init__(self, folder, hosts):
        self.folder, self.hosts = folder, hosts
        self.objects, self.pods, self.all_pods = {}, {}, []
        self.podmans, self.result, self.chief_name, self.forbidden = {}, None, "", set()
        self.lock = threading.RLock()
        self.backoff_s = 0  # delay before a pod is replaced

    def __enter__(self):
        for host in self.hosts:
            self.podmans[host] = Podman(host, self.folder)
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one(self):
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                status, answer = cluster.answer(self.command, self.path.split("?")[0], body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = handle_one

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = self.folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server.server_address[1]}"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}]}))
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        with self.lock:
            self.result = self.result or "deleted"
        for podman in self.podmans.values():
            podman.remove()

    def answer(self, method, path, body):
        if path in FIXED and method == "GET":
            return http.HTTPStatus.OK, FIXED[path]
        match = re.fullmatch(r"/.*/namespaces/[^/]+/(\w+)(?:/([^/]+))?", path)
        if match and match[1] in KINDS:
            name = match[2] or body["metadata"]["name"]
            key = (match[1], name)
            if method == "POST" and KINDS[match[1]] in self.forbidden:
                return self._status(http.HTTPStatus.FORBIDDEN, "Forbidden", f"{match[1]} is forbidden")
            if method == "POST":
                body["metadata"] |= {"uid": str(uuid.uuid4()), "namespace": "default"}
                self.objects[key] = body
                self._reconcile()
                return http.HTTPStatus.CREATED, body
            if method == "GET" and key in self.objects:
                return http.HTTPStatus.OK, self.objects[key]
            if method == "DELETE" and key in self.objects:
                self._delete(key)
                return self._status(http.HTTPStatus.OK, "", "")
        return self._status(http.HTTPStatus.NOT_FOUND, "NotFound", path)

    @staticmethod
    def _status(code, reason, message):
        status = "Success" if code == http.HTTPStatus.OK else "Failure"
        return code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": status, "code": code, "reason": reason,
                      "message": message}

    def secret(self, source):
        folder = self.folder / f"secret-{source['secretName']}"
        folder.mkdir(exist_ok=True)
        for name, text in self.objects["secrets", source["secretName"]]["stringData"].items():
            (folder / name).write_text(text)
            (folder / name).chmod(source["defaultMode"])
        return folder

    def _reconcile(self):
        """Creates pods once the objects that they mount exist."""
        with self.lock:
            for (kind, name), jobset in list(self.objects.items()):
                if kind == "jobsets" and not self.pods and ("secrets", name) in self.objects:
                    self.chief_name = f"{name}-chief-0-0.{jobset['spec']['network']['subdomain']}"
                    for job in jobset["spec"]["replicatedJobs"]:
                        spec = job["template"]["spec"]
                        for index in range(spec["completions"]):
                            host = 1 if job["name"] == "chief" else index + 2
                            self._make(f"{name}-{job['name']}-0-{index}", host, spec["template"]["spec"], index)

    def _make(self, name, host, spec, index):
        if self.result:
            return
        pod = Pod(self, name, host, spec, index)
        self.pods[name] = pod
        self.all_pods.append(pod)
        threading.Thread(target=pod.start, daemon=True).start()

    def ended(self, pod):
        """Updates the Job and the JobSet for an ended pod."""
        with self.lock:
            if self.result:
                return
            if "-chief-" in pod.name:
                self.result = "Completed" if pod.code == 0 else "Failed"
                others = [it for it in self.pods.values() if it is not pod]
            elif pod.code != 0:
                timer = threading.Timer(self.backoff_s, self._make, (pod.name, pod.host, pod.spec, pod.index))
                timer.daemon = True
                timer.start()
                return
            else:
                return
        for other in others:
            other.stop()

    def _delete(self, key):
        with self.lock:
            self.result = self.result or "deleted"
            owned = [it for it, object in self.objects.items()
                     if it == key or any(owner["uid"] == self.objects[key]["metadata"]["uid"]
                                         for owner in object["metadata"].get("ownerReferences", []))]
            for it in owned:
                del self.objects[it]
            pods = list(self.pods.values())
        for pod in pods:  # all at the same time
            threading.Thread(target=pod.stop, daemon=True).start()

    def pod(self, part):
        [found] = [pod for name, pod in self.pods.items() if part in name]
        return found

    def await_true(self, what, holds, limit=LIMIT_S):
        end = time.monotonic() + limit
        while not holds():
            assert time.monotonic() < end, f"{what}: not within {limit} s\n" + self.logs()
            time.sleep(0.05)

    def logs(self):
        texts = []
        for pod in self.all_pods:
            try:
                texts.append(f"{pod.container} ({pod.code}):\n{pod.log()}")
            except subprocess.CalledProcessError as error:
                texts.append(f"{pod.container}: {error.output}")
        return "\n".join(texts)

    def await_log(self, part, text, count=1, limit=LIMIT_S):
        """Waits until the pod has written the text; returns its whole log."""
        def holds():
            try:
                return self.pod(part).log().count(text) >= count
            except subprocess.CalledProcessError:
                return False
        self.await_true(f"{count} times {text!r} of {part}", holds, limit)
        return self.pod(part).log()

    def await_end(self, limit=LIMIT_S):
        self.await_true("the end", lambda: self.result and all(pod.code is not None for pod in self.pods.values()), limit)
