# shellcheck shell=sh
# Finds an installed program on a node. Others can write to /tmp, and perhaps to a folder of the
# cache, so every script that starts a program from there begins with this file and uses no other
# method.
#
# A script enters a folder first, then checks it as ".", and afterwards only uses names relative to
# it: so the folder cannot be replaced in between. For dash, busybox's ash and bash.

# own FOLDER: enters it. True if it belongs to the user and only the user can write to it; then its
# contents are trusted. What `ls` prints after the mode, such as the "+" of an access control list,
# does not matter: the mode includes the list's mask. On failure the script changes to /, so that no
# program is started from the wrong folder.
# shellcheck disable=SC3067,SC2012 # every such shell has -O, and the name is "."
own() {
  cd -P "$1" 2> /dev/null && [ -O . ] &&
  case $(ls -ld .) in d???[r-]-[xsS-][r-]-*) ;; *) false ;; esac || { cd /; false; };
};

# holds FILE [BYTES]: true if it is a program of that size in the current folder. The size differs
# if a power failure truncated the file.
holds() {
  [ -f "./$1" ] && [ -x "./$1" ] && size=$(wc -c < "./$1") &&
  [ "$size" -gt 0 ] && [ "$size" -eq "${2:-$size}" ];
};

# Each folder from .cache on belongs to the user.
in_home() {
  own "${HOME:-/dev/null}/.cache" && own ./autodist && own "./$1" && own "./$2";
};

# A file system that is mounted on a folder in /tmp, such as one of FUSE, can report any owner. So
# both folders must be on the file system of /tmp, by `stat`; without stat neither is entered.
on_tmp() {
  tmp_device=$(stat -c %d /tmp/. 2> /dev/null) &&
  [ "${tmp_device:-none}" = "$(stat -c %d . 2> /dev/null)" ] || { cd /; false; };
};

# In /tmp the name may be another user's link.
in_tmp() {
  own "/tmp/autodist-agent-$(id -u)" && on_tmp &&
  case $PWD in */"autodist-agent-$(id -u)") own "./$1" && on_tmp ;; *) cd /; false ;; esac;
};

# enter PLACE FILE [VERSION BYTES]...: enters the first folder of a version with the program:
# ~/.cache/autodist/PLACE/VERSION, else /tmp/autodist-agent-UID/VERSION.
enter() {
  place=$1 file=$2;
  shift 2;
  while [ $# -gt 0 ]; do
    if in_home "$place" "$1" && holds "$file" "$2"; then return 0; fi;
    if in_tmp "$1" && holds "$file" "$2"; then return 0; fi;
    shift 2;
  done;
  cd /;
  false;
};

# enter_other PLACE FILE: the same with any installed version, the newest first. Lists only folders
# that belong to the user.
# shellcheck disable=SC2012,SC2045 # names are ours: hexadecimal
enter_other() {
  for version in $(in_home "$1" . && ls -t); do
    if in_home "$1" "$version" && holds "$2"; then return 0; fi;
  done;
  for version in $(in_tmp . && ls -t); do
    if in_tmp "$version" && holds "$2"; then return 0; fi;
  done;
  cd /;
  false;
};
