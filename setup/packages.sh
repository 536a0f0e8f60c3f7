#!/bin/sh
# Installs the packages for building, testing and the demo from the distribution (Debian 12 or newer,
# Ubuntu 24.04 or newer). Does nothing, quickly, if all are installed.
#
#   packages.sh [check | check-full | docs | frameworks | release]
#
# An argument adds the packages for that target of make (frameworks: check-frameworks); docs: only those.
set -eu

packages="
  g++ cmake ninja-build make pkg-config ca-certificates dpkg-dev
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libyaml-cpp-dev libspdlog-dev libfmt-dev libcli11-dev libssl-dev libsodium-dev libexpat1-dev zlib1g-dev
  zstd libzstd-dev musl-tools
  nlohmann-json3-dev libre2-dev libpmix-dev libevent-dev libhwloc-dev
  libgloo-dev libgtest-dev libgmock-dev
  openssh-client openssh-server iproute2 util-linux python3 procps"
case ${1:-} in check | check-full | frameworks) packages="$packages
  clang libclang-rt-dev clang-format clang-tidy clang-tools shellcheck eslint valgrind
  python3-pytest python3-pyte python3-tqdm python3-jsonschema python3-yaml python3-torch python3-venv git nftables pdsh
  bash-completion zsh fish mandoc gdb e2fsprogs
  chromium chromium-driver python3-selenium prometheus
  podman runc conmon docker.io python3-websockets
  slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
  busybox-static clustershell openmpi-bin libopenmpi-dev python3-mpi4py" ;;
esac
case ${1:-} in check-full | release) packages="$packages debootstrap qemu-user-static binutils-aarch64-linux-gnu" ;; esac
[ "${1:-}" != release ] || packages="$packages lintian"
[ "${1:-}" != docs ] || packages="python3 python3-venv"
# Horovod is compiled for Debian's torch.
[ "${1:-}" = frameworks ] && packages="$packages
  libtorch-dev pybind11-dev python3-dev python3-cloudpickle python3-packaging python3-psutil"

missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done

if [ -n "$missing" ]; then
  echo "installing:$missing"
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -q
  # RUNLEVEL=1 keeps the packages from starting services such as sshd and Prometheus.
  $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -q --no-install-recommends $missing
fi
