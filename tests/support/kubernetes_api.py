#!/usr/bin/python3
"""The parts of a Kubernetes API server that `kubectl exec` of 1.31 and newer needs:

  kubernetes_api.py COMMAND...     prints the port that it listens at, on 127.0.0.1

Every pod for which COMMAND succeeds exists. A program in it runs as COMMAND, in which {pod} is its name,
followed by the program. As with a kubelet, the program outlives its connection, and its input ends then. The
protocol is v5.channel.k8s.io:
https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
"""

import asyncio
import http
import json
import sys
import urllib.parse

import websockets.legacy.http
from websockets.legacy.server import serve

websockets.legacy.http.MAX_LINE = 64 << 10  # the request line has the whole argv; Go accepts 1 MB of headers
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
COMMAND = sys.argv[1:]
RESOURCES = {
    "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"],
         "shortNames": ["po"]}]},
}


def answer(body, status=http.HTTPStatus.OK):
    data = json.dumps(body).encode()
    return status, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))], data


async def plain(path, _headers):
    """Answers requests other than exec."""
    path = urllib.parse.urlsplit(path).path
    if path.endswith("/exec"):
        return None
    if path in RESOURCES:
        return answer(RESOURCES[path])
    parts = path.split("/")
    if "pods" in parts[:-1]:
        pod = parts[parts.index("pods") + 1]
        there = await asyncio.create_subprocess_exec(*words(pod), "true", stdout=asyncio.subprocess.DEVNULL,
                                                     stderr=asyncio.subprocess.DEVNULL)
        if await there.wait() == 0:
            return answer({"kind": "Pod", "apiVersion": "v1",
                           "metadata": {"name": pod, "namespace": "default", "uid": pod},
                           "spec": {"containers": [{"name": "main", "image": "box"}]},
                           "status": {"phase": "Running"}})
        path = f'pods "{pod}" not found'
    return answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
                   "message": path}, http.HTTPStatus.NOT_FOUND)


def words(pod):
    return [word.replace("{pod}", pod) for word in COMMAND]


async def run(socket, path):
    url = urllib.parse.urlsplit(path)
    argv = words(url.path.split("/")[-2]) + urllib.parse.parse_qs(url.query)["command"]
    program = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    for channel in (STDIN, STDOUT, STDERR):
        await socket.send(bytes([channel]))  # as the kubelet does when it is ready

    async def pass_out(channel, pipe):
        while data := await pipe.read(32768):
            await socket.send(bytes([channel]) + data)

    async def pass_in():
        try:
            async for message in socket:
                if message[0] == STDIN:
                    program.stdin.write(message[1:])
                    await program.stdin.drain()
                elif message[0] == CLOSE and message[1] == STDIN:
                    program.stdin.close()
        finally:
            program.stdin.close()

    reader = asyncio.create_task(pass_in())
    await asyncio.gather(pass_out(STDOUT, program.stdout), pass_out(STDERR, program.stderr))
    code = await program.wait()
    status = {"status": "Success", "metadata": {}} if code == 0 else {
        "status": "Failure", "reason": "NonZeroExitCode", "metadata": {},
        "message": f"command terminated with non-zero exit code {code}",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}
    await socket.send(bytes([ERROR]) + json.dumps(status).encode())
    await socket.close()
    reader.cancel()


async def main():
    async with serve(run, "127.0.0.1", 0, process_request=plain, subprotocols=["v5.channel.k8s.io"],
                     compression=None, max_size=None, ping_interval=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()


asyncio.run(main())
