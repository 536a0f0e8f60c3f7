"""Jobs submitted by the real kubectl to a simulated Kubernetes, with containers on these hosts as pods."""

import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hosts import address, in_host
from jobs import seconds_until
from jobset_cluster import Cluster
from podman import IMAGE

HOSTS = (1, 2, 3)
TOLD_LIMIT_S = 2
RETURN_LIMIT_S = 30
SAVES = ["sh", "-c", "trap 'sleep 1; echo saved; touch /data/saved.$RANK; exit 0' TERM; echo up; while :; do sleep 0.05; done"]

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl; setup/test_tools.sh brings it")


@pytest.fixture
def cluster(folder, monkeypatch):
    with Cluster(folder, HOSTS) as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        yield running


@pytest.fixture
def submit(autodist, cluster):
    """Submits a job; gives the JobSet's name."""
    def run(*arguments):
        outcome = autodist("submit", "--kubernetes", "--image", IMAGE, "--nodes", len(HOSTS), "--ntasks-per-node", 2, "--volume", "claim:/data",
                           *arguments, cwd=cluster.folder)
        assert outcome.code == 0, outcome.err
        return outcome.out.strip()
    return run


@pytest.mark.smoke
def test_ranks_meet_and_the_job_is_over(submit, cluster):
    name = submit("--name", "Sweep_1", "--", "sh", "-c", "echo \"$RANK of $WORLD_SIZE at $MASTER_ADDR, $(readlink /bin/ls)\" '$(HOME) $$'")
    assert name.startswith("sweep-1-")
    cluster.await_end()
    log = cluster.pod("chief").log()
    for rank in range(6):
        node = "chief" if rank < 2 else f"worker-{rank // 2 - 1}"
        assert f"[{node}:{rank}] {rank} of 6 at 10.77.0.1, busybox $(HOME) $$" in log, log
    assert cluster.result == "Completed" and [pod.code for pod in cluster.all_pods] == [0, 0, 0], cluster.logs()
    policy = cluster.objects["networkpolicies", name]
    uid = cluster.objects["jobsets", name]["metadata"]["uid"]
    assert policy["metadata"]["ownerReferences"][0]["uid"] == uid


def test_the_exit_code_is_the_chiefs(submit, cluster):
    submit("--", "sh", "-c", "[ $RANK = 4 ] && exit 7; exec sleep 1000")
    cluster.await_end()
    assert cluster.pod("chief").code == 7 and cluster.result == "Failed", cluster.logs()
    assert "rank 4 on worker-1" in cluster.pod("chief").log()


def test_a_killed_pod_fails_the_job(submit, cluster):
    """The pod is not replaced."""
    cluster.backoff_s = 1000
    submit("--", "sh", "-c", "echo up; exec sleep 1000")
    cluster.await_log("chief", "] up", 6)
    cluster.pod("worker-0-1").podman("kill", cluster.pod("worker-0-1").container)
    cluster.await_log("chief", "worker-1 was lost", limit=TOLD_LIMIT_S)
    cluster.await_end()
    assert cluster.pod("chief").code == 125, cluster.logs()


def test_a_job_continues_with_a_replacement_pod(submit, cluster):
    """The replacement comes after more than a lease."""
    cluster.backoff_s = 4
    submit("--max-restarts", 1, "--lease", 2, "--", "sh", "-c", "echo up; [ $AUTODIST_RESTART_COUNT = 1 ] || exec sleep 1000")
    cluster.await_log("chief", "] up", 6)
    lost = cluster.pod("worker-0-0")
    lost.podman("kill", lost.container)
    cluster.await_end()
    log = cluster.pod("chief").log()
    assert cluster.result == "Completed" and log.count("] up") == 12, cluster.logs()
    assert len(cluster.all_pods) == 4


def test_a_spare_pod_takes_the_place_of_a_lost_one(submit, cluster):
    """The replacement of the lost pod becomes a spare."""
    cluster.backoff_s = 1
    submit("--spares", 1, "--lease", 2, "--", "sh", "-c",
           "echo up; [ $AUTODIST_RESTART_COUNT = 1 ] || exec sleep 1000; until [ -e /data/end ]; do sleep 0.05; done")
    cluster.await_log("chief", "] up", 4)
    lost = cluster.pod("worker-0-0")
    lost.podman("kill", lost.container)
    cluster.await_log("chief", "[worker-1:2] up", 1)
    cluster.await_log("chief", "worker-0 is back; a restart can use it", 1, limit=RETURN_LIMIT_S)
    (cluster.folder / "end").touch()
    cluster.await_end()
    assert cluster.result == "Completed" and cluster.pod("chief").log().count("] up") == 8, cluster.logs()


def test_ranks_save_when_the_job_is_deleted(submit, cluster):
    name = submit("--", *SAVES)
    cluster.await_log("chief", "] up", 6)
    subprocess.run(["kubectl", "delete", "jobset", name, "--wait=false"], check=True, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    cluster.await_end()
    assert time.monotonic() - began < 20, cluster.logs()
    assert len(list(cluster.folder.glob("saved.*"))) == 6, cluster.logs()
    assert not cluster.objects
    assert cluster.pod("chief").code == 143


def test_a_forbidden_secret_leaves_no_objects(autodist, cluster):
    cluster.forbidden.add("Secret")
    outcome = autodist("submit", "--kubernetes", "--image", IMAGE, "--nodes", 2, "--", "true", cwd=cluster.folder)
    assert outcome.code == 1 and "secrets is forbidden" in outcome.err and "the job was removed again" in outcome.err
    assert not cluster.objects and not cluster.pods


def test_an_evicted_pod(submit, cluster):
    """As when a node is drained: all ranks save, and the job continues with the replacement pod."""
    submit("--max-restarts", 1, "--", "sh", "-c",
           "[ $AUTODIST_RESTART_COUNT = 0 ] || { echo again; sleep 3; exit 0; }; trap 'touch /data/saved.$RANK; exit 0' TERM; echo up; "
           "while :; do sleep 0.05; done")
    cluster.await_log("chief", "] up", 6)
    cluster.pod("worker-0-1").stop()
    cluster.await_end()
    assert cluster.result == "Completed", cluster.logs()
    assert len(cluster.all_pods) == 4 and len(list(cluster.folder.glob("saved.*"))) == 6, cluster.logs()


# Exits once the file exists.
ENDS_WHEN_TOLD = ["sh", "-c", "trap 'exit 0' TERM; echo up $AUTODIST_RESTART_COUNT; until [ -e /data/end ]; do sleep 0.05; done"]


# A second, and the time of podman on a busy machine.
@pytest.mark.parametrize("fault, limit_s", [(("kill",), 3), (("kill", "--signal", "TERM"), 3)], ids=["killed", "evicted"])
def test_a_spare_pod_takes_over_at_once(submit, cluster, fault, limit_s):
    cluster.backoff_s = 1000
    submit("--spares", 1, "--", "sh", "-c",
           "trap 'exit 0' TERM; touch /data/$RANK.$AUTODIST_RESTART_COUNT; until [ -e /data/end ]; do sleep 0.05; done")
    ranks = range(4)
    seconds_until(lambda: all((cluster.folder / f"{rank}.0").exists() for rank in ranks), 60)
    lost = cluster.pod("worker-0-0")
    began = time.time()
    lost.podman(*fault, lost.container)
    seconds_until(lambda: all((cluster.folder / f"{rank}.1").exists() for rank in ranks), 60)
    took = max((cluster.folder / f"{rank}.1").stat().st_mtime for rank in ranks) - began
    print(f"all ranks ran again after {took:.2f} s")
    (cluster.folder / "end").touch()
    cluster.await_end()
    assert cluster.result == "Completed", cluster.logs()
    assert took < limit_s


def test_a_spare_waits_for_a_pod_whose_connections_are_reset(submit, cluster):
    """A reset does not show that the pod has ended: something between may send it."""
    lease_s = 20
    submit("--spares", 1, "--lease", lease_s, "--", "sh", "-c",
           "touch /data/$RANK.$AUTODIST_RESTART_COUNT; "
           "until [ -e /data/end ]; do sleep 0.05; done")
    ranks = range(4)
    seconds_until(lambda: all((cluster.folder / f"{rank}.0").exists() for rank in ranks), 60)
    host = cluster.pod("worker-0-0").host
    in_host(host, "nft", "add table ip resets; add chain ip resets in { type filter hook input priority 0; }; "
                         f"add rule ip resets in ip saddr {address(1)} meta l4proto tcp reject with tcp reset")
    began = time.time()
    try:
        seconds_until(lambda: all((cluster.folder / f"{rank}.1").exists() for rank in ranks), 60)
        took = max((cluster.folder / f"{rank}.1").stat().st_mtime for rank in ranks) - began
        print(f"all ranks ran again after {took:.2f} s")
    finally:
        in_host(host, "nft", "delete table ip resets")
    (cluster.folder / "end").touch()
    cluster.await_end()
    assert cluster.result == "Completed", cluster.logs()
    assert lease_s / 2 < took < lease_s + 3


def test_two_evicted_pods(submit, cluster):
    """podman may stop one of them when the job runs again without the other."""
    submit("--max-restarts", 2, "--", *ENDS_WHEN_TOLD)
    cluster.await_log("chief", "] up 0", 6)
    with ThreadPoolExecutor() as both:
        list(both.map(lambda name: cluster.pod(name).stop(), ("worker-0-0", "worker-0-1")))
    cluster.await_log("chief", "] up 1", 6)
    (cluster.folder / "end").touch()
    cluster.await_end()
    assert cluster.result == "Completed", cluster.logs()


def test_a_job_continues_without_an_evicted_pod(submit, cluster):
    cluster.backoff_s = 1000
    submit("--min-nodes", 2, "--", *ENDS_WHEN_TOLD)
    cluster.await_log("chief", "] up 0", 6)
    cluster.pod("worker-0-1").stop()
    cluster.await_log("chief", "] up 1", 4)
    (cluster.folder / "end").touch()
    cluster.await_end()
    assert cluster.result == "Completed", cluster.logs()
