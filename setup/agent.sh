#!/bin/sh
# Builds the agent for another architecture, with Debian's cross compilers and the architecture's
# packages in a separate root directory: this system stays unchanged. Needs root, debootstrap, and a
# mirror of Debian 12.
#
#   setup/agent.sh aarch64                  makes build/agents/aarch64, for AUTODIST_AGENTS
set -eu
cd "$(dirname "$0")/.."

machine=$1
case $machine in
  aarch64) debian=arm64 ;;
  *) echo "setup/agent.sh: '$machine' is not aarch64" >&2; exit 2 ;;
esac
triplet=$machine-linux-gnu
root=$PWD/build/agents/root-$machine
result=$PWD/build/agents/$machine
mirrors=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sort -u)
mirror=$(echo "$mirrors" | sed -n 's/^bookworm //p' | head -n 1)
security=$(echo "$mirrors" | sed -n 's/^bookworm-security //p' | head -n 1)

if [ ! -e "$root/made" ]; then
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase bookworm "$root" "$mirror"
  echo "deb $mirror bookworm main" >"$root/etc/apt/sources.list"
  [ -z "$security" ] || echo "deb $security bookworm-security main" >>"$root/etc/apt/sources.list"
  cp /etc/resolv.conf "$root/etc/"
  chroot "$root" dpkg --add-architecture "$debian"
  chroot "$root" apt-get update -q
  packages="g++-aarch64-linux-gnu cmake ninja-build pkg-config protobuf-compiler
    protobuf-compiler-grpc zstd libcli11-dev"
  for library in grpc++ protobuf yaml-cpp spdlog fmt ssl sodium nlohmann-json3 pmix event hwloc zstd; do
    case $library in nlohmann-json3) packages="$packages $library-dev" ;;
      *) packages="$packages lib$library-dev:$debian" ;; esac
  done
  chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    $packages "zlib1g-dev:$debian" "musl-dev:$debian" "libgloo-dev:$debian"
  touch "$root/made"
fi

cat >"$root/toolchain.cmake" <<EOF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $machine)
set(CMAKE_C_COMPILER $triplet-gcc)
set(CMAKE_CXX_COMPILER $triplet-g++)
set(CMAKE_ASM_COMPILER $triplet-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE $triplet)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(musl_gcc $triplet-gcc -specs /usr/lib/$machine-linux-musl/musl-gcc.specs)
EOF
# Copies the sources, committed or not, and the headers of setup/sources.sh. The agent does not link
# those libraries, so an empty file replaces libssh2.a.
rm -rf "$root/sources"
mkdir -p "$root/sources/build/deps/lib"
git ls-files -z | xargs -0 cp --parents -t "$root/sources"
cp -r build/deps/include "$root/sources/build/deps/"
touch "$root/sources/build/deps/lib/libssh2.a"
chroot "$root" sh -euc '
  cd /sources
  cmake -S . -B /build -G Ninja -DCMAKE_TOOLCHAIN_FILE=/toolchain.cmake -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 -DBUILD_TESTING=OFF
  cmake --build /build --target autodist-agent autodist-unpack'
mkdir -p "$result"
cp "$root/build/bin/autodist-agent" "$root/build/bin/autodist-unpack" "$result/"
ls -l "$result"
