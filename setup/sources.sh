#!/bin/sh
# Builds two libraries from Debian's source packages into PREFIX:
# - libssh2 >= 1.11.1 where the distribution's is older, as in Debian 12 (no RSA keys with SHA-2, no
#   AES-GCM). Debian's patches matter: they fix vulnerabilities that a hostile server could use.
# - cpp-httplib's header as its author ships it: the packages have a shared library instead.
# setup/pins.txt has the digests of the upstream tarballs; apt verifies the packages and their patches.
# Both are built again when the pins change. Does nothing, quickly, when they are up to date.
#
#   setup/sources.sh PREFIX
set -eu

prefix=$1
pins=$(dirname "$0")/pins.txt
wanted=1.11.1

if ! cmp -s "$pins" "$prefix/pins.txt"; then
  rm -f "$prefix/include/httplib.h" "$prefix/lib/libssh2.a"
fi

sources=""
[ -e "$prefix/include/httplib.h" ] || sources=cpp-httplib
distribution=$(apt-cache show --no-all-versions libssh2-1-dev 2>/dev/null |
  sed -n 's/^Version: //p')
if [ -n "$distribution" ] && dpkg --compare-versions "$distribution" ge $wanted; then
  if ! dpkg-query -W libssh2-1-dev >/dev/null 2>&1; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get install -y -q --no-install-recommends libssh2-1-dev
  fi
elif [ ! -e "$prefix/lib/libssh2.a" ]; then
  sources="$sources libssh2"
fi
[ -n "$sources" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/source"
chmod 755 "$work" "$work/source"

# Separate source lists, on the mirrors that this system uses, so that the system's lists stay
# unchanged. apt verifies the chain from the signed release file to the source package.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
newer=$release
[ "$release" != bookworm ] || newer=trixie
components=main
[ "$(. /etc/os-release && echo "$ID")" != ubuntu ] || components="main universe"
keyring=/usr/share/keyrings/$(. /etc/os-release && echo "$ID")-archive-keyring.gpg
mirrors=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sort -u)
main=$(echo "$mirrors" | sed -n "s/^$release //p" | head -n 1)
security=$(echo "$mirrors" | sed -n "s/^$release-security //p" | head -n 1)
if [ -z "$main" ]; then
  echo "setup/sources.sh: no package mirror of $release is configured, so the sources of" $sources \
    "cannot be fetched" >&2
  exit 1
fi
for source in "$newer $main" ${security:+"$newer-security $security"}; do
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: %s\nSigned-By: %s\n\n' \
    "${source#* }" "${source%% *}" "$components" "$keyring"
done >"$work/source.sources"

get() {
  apt-get -q -o Dir::Etc::sourcelist="$work/source.sources" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root \
    -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= "$@"
}
get update
for source in $sources; do
  (cd "$work/source" && get source --download-only "$source")
  tarball=$(cd "$work/source" && ls "$source"_*.orig.tar.?z)
  if pin=$(grep -F "  $tarball" "$pins"); then
    (cd "$work/source" && echo "$pin" | sha256sum --check --quiet)
  else
    echo "setup/sources.sh: warning: $tarball has no digest in setup/pins.txt" >&2
  fi
  # The package's signer is not in this system's keyring; apt's own chain was checked above.
  dpkg-source -x --no-check "$work/source/${source}"_*.dsc "$work/$source"
done

# The version and the copyright file, for setup/licenses.py.
document() {
  mkdir -p "$prefix/share/doc/$1"
  cp "$work/$1/debian/copyright" "$prefix/share/doc/$1/"
  dpkg-parsechangelog -l "$work/$1/debian/changelog" -S Version >"$prefix/share/doc/$1/version"
}

if [ -e "$work/cpp-httplib" ]; then
  document cpp-httplib
  mkdir -p "$prefix/include"
  cp "$work/cpp-httplib/httplib.h" "$prefix/include/httplib.h.new"
  mv "$prefix/include/httplib.h.new" "$prefix/include/httplib.h"
fi
if [ -e "$work/libssh2" ]; then
  document libssh2
  cmake -S "$work/libssh2" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCRYPTO_BACKEND=OpenSSL -DBUILD_EXAMPLES=OFF \
    -DENABLE_ZLIB_COMPRESSION=OFF -DBUILD_TESTING=OFF
  cmake --build "$work/build" --target install
fi
cp "$pins" "$prefix/pins.txt"
