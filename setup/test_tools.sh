#!/bin/sh
# Puts into FOLDER what tests need and this distribution does not have. Does nothing, quickly, when all
# of it is there.
# - bin/kubectl, at least 1.31, as src/exec/exec.cc demands: from Debian 13, where this is Debian 12.
# - py-spy/bin/py-spy, from PyPI, in a virtual environment of its own.
#
#   setup/test_tools.sh FOLDER
set -eu

folder=$1
py_spy=0.4.1
mkdir -p "$folder/bin"
folder=$(realpath "$folder")

is_new_enough() {
  minor=$("$1" version --client 2>/dev/null | sed -n 's/.*v1\.\([0-9]*\)\..*/\1/p' | head -n 1)
  [ "${minor:-0}" -ge 31 ]
}

# A package of Debian 13 by a source list of our own, so that the system's lists stay as they are.
get_kubectl() {
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^bookworm //p' | head -n 1)
  [ -n "$mirror" ] || { echo "setup/test_tools.sh: no mirror of Debian 12 is configured, so there is no kubectl" >&2; exit 1; }
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial"
  chmod 755 "$work"
  printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: %s\n' \
    "$mirror" /usr/share/keyrings/debian-archive-keyring.gpg >"$work/trixie.sources"
  set -- -q -o Dir::Etc::sourcelist="$work/trixie.sources" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache=
  apt-get "$@" update
  (cd "$work" && apt-get "$@" download kubectl/trixie)
  dpkg-deb -x "$work"/kubectl_*.deb "$work/kubectl"
  mv "$work/kubectl/usr/bin/kubectl" "$folder/bin/kubectl"
}

if ! is_new_enough kubectl && ! is_new_enough "$folder/bin/kubectl"; then
  get_kubectl
fi
if ! "$folder/py-spy/bin/py-spy" --version 2>/dev/null | grep -qx "py-spy $py_spy"; then
  rm -rf "$folder/py-spy"
  python3 -m venv "$folder/py-spy"
  "$folder/py-spy/bin/pip" install -q --no-input --disable-pip-version-check "py-spy==$py_spy"
fi
