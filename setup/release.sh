#!/bin/sh
# Builds the release into dist/: for this machine and for each of MACHINES, the program, a tarball, a Debian
# package, a Python wheel, a tarball and a Debian package of the worker library; and the digests of all. Each
# program has agents for all of these machines. The build is reproducible: a commit makes the same bytes in
# any folder at any time.
#
#   [MACHINES="aarch64"] setup/release.sh     other machines; MACHINES= for none
set -eu
cd "$(dirname "$0")/.."

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC0
umask 022
# The compiler cache may return objects that contain the name of another folder.
export CCACHE_DISABLE=1
this=$(uname -m)
machines=${MACHINES-aarch64}

# agents MACHINE: the value of AUTODIST_AGENTS for MACHINE.
agents() {
  list=""
  for each in "$this" $machines; do
    folder=$PWD/build/$each/bin
    [ "$each" != "$this" ] || folder=$PWD/build/package/bin
    [ "$each" = "$1" ] || list="$list;$each=$folder"
  done
  echo "${list#;}"
}
# pack MACHINE BUILD: makes the files of dist/ from BUILD.
pack() {
  rm -rf "$2/stage" "$2/cpack"
  cpack --config "$2/CPackConfig.cmake" -B "$PWD/$2/cpack" >/dev/null
  cp "$2"/cpack/*.tar.gz "$2"/cpack/*.deb dist/
  cmake --install "$2" --strip --prefix "$2/stage" --component autodist >/dev/null
  cp "$2/stage/bin/autodist" "dist/autodist-linux-$1"
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$2/CMakeCache.txt")
  python3 setup/wheel.py "$2/stage" dist "$1" "$version"
}

rm -rf dist
mkdir dist
for machine in $machines; do setup/cross.sh "$machine" autodist-agent autodist-unpack; done
setup/old_glibc.sh
cmake --preset package -D AUTODIST_AGENTS="$(agents "$this")" -D AUTODIST_OLD_GLIBC="$PWD/build/old-glibc" >/dev/null
cmake --build --preset package --target autodist_share autodist_worker
pack "$this" build/package
for machine in $machines; do
  AGENTS=$(agents "$machine") setup/cross.sh "$machine" autodist_share autodist_worker
  pack "$machine" "build/$machine"
done
lintian --fail-on error,warning --suppress-tags-from-file setup/lintian.txt dist/*.deb
(cd dist && sums=$(sha256sum -- *) && echo "$sums" >SHA256SUMS)
cat dist/SHA256SUMS
