#!/bin/sh
# Builds the release into dist/: the program, a tarball, a Debian package, a Python wheel, a tarball and
# a Debian package of the worker library, and their digests. The build is reproducible: a commit makes
# the same bytes in any folder at any time.
#
#   [AGENTS="aarch64"] setup/release.sh     additional architectures of agents; AGENTS= for none
set -eu
cd "$(dirname "$0")/.."

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC0
umask 022
# The compiler cache may return objects that contain the name of another folder.
export CCACHE_DISABLE=1

build=build/package
rm -rf dist "$build/stage"
agents=""
for machine in ${AGENTS-aarch64}; do
  setup/agent.sh "$machine"
  agents="$agents;$PWD/build/agents/$machine"
done
setup/old_glibc.sh
cmake --preset package -D AUTODIST_AGENTS="${agents#;}" -D AUTODIST_OLD_GLIBC="$PWD/build/old-glibc" >/dev/null
cmake --build --preset package --target autodist_share autodist_worker
mkdir dist
(cd "$build" && cpack -B "$PWD/cpack" >/dev/null)
cp "$build"/cpack/*.tar.gz "$build"/cpack/*.deb dist/
cmake --install "$build" --strip --prefix "$build/stage" --component autodist >/dev/null
cp "$build/stage/bin/autodist" "dist/autodist-linux-$(uname -m)"
python3 setup/wheel.py "$build/stage" dist
(cd dist && sums=$(sha256sum -- *) && echo "$sums" >SHA256SUMS)
cat dist/SHA256SUMS
