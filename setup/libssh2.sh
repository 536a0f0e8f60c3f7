#!/bin/sh
# Makes libssh2 >= 1.11.1 available: nothing to do where the distribution has it; on Debian 12,
# which has 1.10 (no RSA keys with SHA-2, no AES-GCM), builds Debian 13's patched source package
# into PREFIX. The patches matter: they close holes that a hostile server could use.
#
#   setup/libssh2.sh PREFIX
set -eu

prefix=$1
wanted=1.11.1

distribution=$(apt-cache show --no-all-versions libssh2-1-dev 2>/dev/null |
  sed -n 's/^Version: //p')
if [ -n "$distribution" ] && dpkg --compare-versions "$distribution" ge $wanted; then
  dpkg-query -W libssh2-1-dev >/dev/null 2>&1 && exit 0
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get install -y -q --no-install-recommends libssh2-1-dev
  exit 0
fi
[ -e "$prefix/lib/libssh2.a" ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/source"
chmod 755 "$work" "$work/source"

# Source lists of our own, on the mirrors this system already uses, so that the system's lists
# stay as they are. apt verifies the chain from the signed release file to the source package.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirrors=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sort -u)
main=$(echo "$mirrors" | sed -n 's/^bookworm //p' | head -n 1)
security=$(echo "$mirrors" | sed -n 's/^bookworm-security //p' | head -n 1)
if [ -z "$main" ]; then
  echo "setup/libssh2.sh: no Debian 12 package mirror is configured, so libssh2 >= $wanted" \
    "cannot be fetched; install it yourself and pass -DCMAKE_PREFIX_PATH to cmake" >&2
  exit 1
fi
for source in "trixie $main" ${security:+"trixie-security $security"}; do
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' \
    "${source#* }" "${source%% *}" "$keyring"
done >"$work/trixie.sources"

get() {
  apt-get -q -o Dir::Etc::sourcelist="$work/trixie.sources" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root \
    -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= "$@"
}
get update
(cd "$work/source" && get source --download-only libssh2)
# The package's signer is not in Debian 12's keyring; apt's own chain was checked above.
dpkg-source -x --no-check "$work"/source/libssh2_*.dsc "$work/libssh2"

cmake -S "$work/libssh2" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCRYPTO_BACKEND=OpenSSL \
  -DENABLE_ZLIB_COMPRESSION=OFF -DBUILD_SHARED_LIBS=OFF -DBUILD_EXAMPLES=OFF \
  -DBUILD_TESTING=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON
cmake --build "$work/build" --target install
