#!/bin/sh
# Installs tools that tests need and this distribution lacks into FOLDER. Does nothing, quickly, if all
# are present.
# - bin/kubectl, at least 1.31, which src/exec/exec.cc requires: on Debian 12, from Debian 13.
# - py-spy/bin/py-spy, from PyPI, in its own virtual environment.
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

# Gets a package of Debian 13 through a separate source list, so that the system's lists stay unchanged.
get_kubectl() {
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^bookworm //p' | head -n 1)
  [ -n "$mirror" ] || { echo "setup/test_tools.sh: no mirror of Debian 12 is configured: cannot install kubectl" >&2; exit 1; }
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
