"""The single file on various systems: a root with only busybox, and the roots that tests/roots makes with
debootstrap. In each it is the chief of jobs, and the sshd of another host uses it as root. One may be for
another CPU architecture, which qemu emulates."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hosts import SHARED, address, in_host, spec_of
from jobs import AUTODIST, BUILD

pytestmark = pytest.mark.hosts(2)

ROOTS = Path(os.environ["ROOTS"]) if os.environ.get("ROOTS") else None
BUSYBOX = "busybox"
OTHER_MACHINES = {"aarch64"}
MUSL = Path("/usr/lib/x86_64-linux-musl/libc.so")
# As on Ubuntu desktops, and with SSSD: modules for another C library, which abort a static program that loads
# them.
NAME_SERVICES = {
    "desktop": "passwd: files systemd\ngroup: files systemd\n"
               "hosts: files mdns4_minimal [NOTFOUND=return] dns mymachines\n",
    "sssd": "passwd: files sss\ngroup: files sss\nservices: files sss\nnetgroup: sss\n"
            "hosts: files dns myhostname\n",
}
HOST = 2
ROOT = Path("/mnt")  # sshd requires a path that only root may write
SAY = "echo $RANK of $WORLD_SIZE on $(. /etc/os-release && echo $ID)"


def make_busybox_root(root):
    """The same as Alpine: musl, busybox, no bash, no getent."""
    for name in ("bin", "etc", "lib"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin" / "busybox")
    subprocess.run(["/usr/sbin/chroot", root, "/bin/busybox", "--install", "-s", "/bin"], check=True)
    shutil.copy(MUSL, root / "lib" / "ld-musl-x86_64.so.1")
    (root / "etc" / "os-release").write_text("ID=busybox\n")


SYSTEMS = [BUSYBOX, *sorted(os.listdir(ROOTS) if ROOTS else [])]


@pytest.fixture(params=SYSTEMS)
def system(request):
    return request.param


@pytest.fixture
def program(system):
    """The autodist that runs in the root."""
    return BUILD.parent / system / "bin" / "autodist" if system in OTHER_MACHINES else AUTODIST


@pytest.fixture
def root(system, program, folder):
    """The system's root, mounted on both hosts; each host has its own home and /tmp in it."""
    source = ROOTS / system if system != BUSYBOX else SHARED / f"root-{folder.name}"
    if system == BUSYBOX:
        make_busybox_root(source)
    for host in (1, HOST):
        in_host(host, "sh", "-euc", f"""
            mount --bind {source} {ROOT} && cd {ROOT}
            mkdir -p proc dev tmp root
            mount -t proc proc proc
            mount --rbind /dev dev
            mount -t tmpfs -o mode=1777 tmpfs tmp
            mount -t tmpfs -o mode=700 tmpfs root
            mkdir -p .{folder}
            mount --bind {folder} .{folder}
            mkdir -m 700 root/.ssh root/run
            cp {program} root/autodist
            cp {SHARED}/known_hosts {SHARED}/user_ed25519 root/.ssh/
            sed 's#:/bin/bash$#:/bin/sh#' /etc/passwd > /run/passwd
            cp /run/passwd /etc/hosts etc/
            mount --bind /run/passwd /etc/passwd""")
    yield ROOT
    for host in (1, HOST):
        in_host(host, "sh", "-euc", f"umount /etc/passwd; umount --recursive --lazy {ROOT}")


@pytest.fixture(params=NAME_SERVICES)
def name_services(request, root):
    (root / "etc" / "nsswitch.conf").write_text(NAME_SERVICES[request.param])


@pytest.fixture
def says(system):
    return "busybox" if system in {BUSYBOX, *OTHER_MACHINES} else "debian"


@pytest.fixture
def autodist_in(root, folder):
    """Runs `autodist ARGUMENTS...` in the root."""
    def run(*arguments):
        return subprocess.run(
            ["/usr/sbin/chroot", root, "/bin/sh", "-c", 'cd "$1"; shift; exec "$@"', "sh", folder, "/root/autodist",
             *map(str, arguments)],
            env={"PATH": "/usr/bin:/bin", "HOME": "/root", "XDG_RUNTIME_DIR": "/root/run"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return run


@pytest.fixture
def spec_with(root, folder, sshd, known_hosts):
    """Makes a spec of the chief and of the host with such an sshd."""
    def make(**settings):
        server = sshd(HOST, **settings)
        entry = f"[{address(HOST)}]:{server.port} " + (SHARED / f"host{HOST}" / "host_key.pub").read_text()
        for path in (known_hosts, root / "root" / ".ssh" / "known_hosts"):
            path.write_text(path.read_text() + entry)
        return spec_of(folder / "spec.yaml", address(HOST),
                       ssh=f"username: root\nport: {server.port}\nkey_file: ~/.ssh/user_ed25519")
    return make


@pytest.fixture
def spec(spec_with, root):
    """A spec of the chief and of the host whose sshd uses the root."""
    return spec_with(ChrootDirectory=root)


def test_as_a_chief_without_nodes(name_services, autodist_in, says):
    version = autodist_in("--version")
    assert version.returncode == 0 and version.stdout.startswith("autodist "), version
    job = autodist_in("run", "-n", "2", "--", "sh", "-c", SAY)
    assert job.returncode == 0, job.stderr
    assert sorted(job.stdout.splitlines()) == [f"[localhost:{rank}] {rank} of 2 on {says}" for rank in range(2)]
    failed = autodist_in("run", "--hosts", "no-such-host.local", "--", "true")
    assert failed.returncode == 125
    assert "name does not resolve: 'no-such-host.local'" in failed.stderr


def test_as_chief_and_node_over_ssh(name_services, autodist_in, spec, says):
    for _ in range(2):  # the second time, the agent is installed
        job = autodist_in("run", "--spec", spec, "--", "sh", "-c", SAY)
        assert job.returncode == 0, job.stderr
        assert sorted(job.stdout.splitlines()) == [f"[{address(rank + 1)}:{rank}] {rank} of 2 on {says}"
                                                   for rank in range(2)]


@pytest.mark.smoke
def test_as_a_node_of_another_system(system, autodist, spec, says):
    shutil.copy(SHARED / "user_ed25519", Path.home() / ".ssh" / "user_ed25519")
    job = autodist("run", "--spec", spec, "--", "sh", "-c", SAY)
    assert job.code == 0, job.err
    assert f"[{address(2)}:1] 1 of 2 on {says}" in job.out
    if system != BUSYBOX:
        return
    spec.write_text(spec.read_text() + "    python_venv: source /opt/venv/bin/activate\n")
    job = autodist("run", "--spec", spec, "--", "true")
    assert job.code == 125
    assert "python_venv needs bash: 'bash' is not in PATH" in job.err


ON_MACHINE = "echo $RANK of $WORLD_SIZE on $(uname -m)"


@pytest.mark.parametrize("system", sorted(OTHER_MACHINES & set(SYSTEMS)))
def test_a_chief_of_another_kind(system, autodist_in, spec_with):
    assert f"agent for {os.uname().machine}" in autodist_in("--version").stdout
    spec = spec_with()
    for _ in range(2):
        job = autodist_in("run", "--spec", spec, "--", "sh", "-c", ON_MACHINE)
        assert job.returncode == 0, job.stderr
        assert sorted(job.stdout.splitlines()) == [f"[{address(1)}:0] 0 of 2 on {system}",
                                                   f"[{address(2)}:1] 1 of 2 on {os.uname().machine}"]


@pytest.mark.parametrize("system", sorted(OTHER_MACHINES & set(SYSTEMS)))
def test_a_node_of_another_kind(system, autodist, spec):
    assert f"agent for {system}" in autodist("--version").out
    shutil.copy(SHARED / "user_ed25519", Path.home() / ".ssh" / "user_ed25519")
    for _ in range(2):
        job = autodist("run", "--spec", spec, "--", "sh", "-c", ON_MACHINE)
        assert job.code == 0, job.err
        assert sorted(job.out.splitlines()) == [f"[{address(1)}:0] 0 of 2 on {os.uname().machine}",
                                                f"[{address(2)}:1] 1 of 2 on {system}"]
    job = autodist("run", "--spec", spec, "--", "sh", "-c", "[ $RANK = 0 ] || exit 7; exec sleep 600")
    assert job.code == 7, job.err
