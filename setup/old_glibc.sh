#!/bin/sh
# Makes build/old-glibc: a sysroot to link programs for glibc 2.31, as in Debian 11 and Ubuntu 20.04.
# Nothing in it is executed. Needs a mirror of Debian 11.
set -eu
cd "$(dirname "$0")/.."

root=$PWD/build/old-glibc
[ ! -e "$root/made" ] || exit 0
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
  sed -n 's/^bookworm //p' | head -n 1)
rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bullseye main" >"$root/apt/sources.list"
: >"$root/apt/status"
apt() {
  apt-get -q -o "Dir::Etc::SourceList=$root/apt/sources.list" -o Dir::Etc::SourceParts=- \
    -o "Dir::State=$root/apt" -o "Dir::State::status=$root/apt/status" -o "Dir::Cache=$root/apt/cache" \
    -o APT::Sandbox::User=root "$@"
}
apt update
(cd "$root/apt" && apt download libc6 libc6-dev)
for package in "$root"/apt/*.deb; do dpkg-deb -x "$package" "$root"; done
rm -r "$root/apt"
# Absolute links are meant for a root directory: make them relative.
find "$root" -type l -lname '/*' | while read -r link; do
  ln -srf "$root$(readlink "$link")" "$link"
done
touch "$root/made"
