#!/bin/sh
# Builds targets for another architecture in build/MACHINE, with Debian's cross compilers and the
# architecture's packages in a separate root directory, in which this folder is mounted: this system stays
# unchanged. Needs root, debootstrap, qemu-user-static, and a mirror of Debian 12.
#
#   [AGENTS="MACHINE=FOLDER;..."] setup/cross.sh aarch64 TARGET...    AGENTS: see src/bundle/CMakeLists.txt
set -eu
cd "$(dirname "$0")/.."

machine=$1
shift
case $machine in
  aarch64) debian=arm64 ;;
  *) echo "setup/cross.sh: '$machine' is not aarch64" >&2; exit 2 ;;
esac
root=$PWD/build/cross/$machine

if [ "${INSIDE:-}" = "$machine" ]; then
  export CMAKE_TOOLCHAIN_FILE=/toolchain.cmake
  setup/sources.sh "build/cross/deps-$machine"
  cmake --preset package -B "build/$machine" -D AUTODIST_DEPS="$PWD/build/cross/deps-$machine" \
    -D BUILD_TESTING=ON -D AUTODIST_COMMIT="$COMMIT" -D AUTODIST_AGENTS="$AGENTS"
  exec cmake --build "build/$machine" --target "$@"
fi

if [ ! -e "$root/made" ]; then
  mirrors=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sort -u)
  mirror=$(echo "$mirrors" | sed -n 's/^bookworm //p' | head -n 1)
  security=$(echo "$mirrors" | sed -n 's/^bookworm-security //p' | head -n 1)
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase bookworm "$root" "$mirror"
  echo "deb $mirror bookworm main" >"$root/etc/apt/sources.list"
  [ -z "$security" ] || echo "deb $security bookworm-security main" >>"$root/etc/apt/sources.list"
  cp /etc/resolv.conf "$root/etc/"
  chroot "$root" dpkg --add-architecture "$debian"
  chroot "$root" apt-get update -q
  packages="g++-aarch64-linux-gnu cmake ninja-build pkg-config dpkg-dev python3 zstd protobuf-compiler
    protobuf-compiler-grpc libcli11-dev nlohmann-json3-dev"
  for library in grpc++ protobuf yaml-cpp spdlog fmt ssl sodium expat1 re2 pmix event hwloc zstd gloo gtest gmock; do
    packages="$packages lib$library-dev:$debian"
  done
  chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    $packages "zlib1g-dev:$debian" "musl-dev:$debian" "libstdc++-12-dev:$debian"
  touch "$root/made"
fi

cat >"$root/toolchain.cmake" <<EOF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $machine)
set(CMAKE_C_COMPILER $machine-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER $machine-linux-gnu-g++)
set(CMAKE_ASM_COMPILER $machine-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE $machine-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/$machine-linux-gnu/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/qemu-$machine-static)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE $debian)
set(musl_gcc $machine-linux-gnu-gcc -specs /usr/lib/$machine-linux-musl/musl-gcc.specs)
EOF
cp "/usr/bin/qemu-$machine-static" "$root/usr/bin/"
mkdir -p "$root$PWD"
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
# The mounts end with this process.
exec unshare --mount sh -euc '
  root=$1
  shift
  mount --bind "$PWD" "$root$PWD"
  mount -t proc proc "$root/proc"
  exec chroot "$root" "$@"' sh "$root" \
  env INSIDE="$machine" COMMIT="$commit" AGENTS="${AGENTS:-}" sh "$PWD/setup/cross.sh" "$machine" "$@"
