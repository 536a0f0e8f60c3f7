# shellcheck shell=sh
# The part of our shell scripts that finds a program of ours on a node. Others can write in /tmp,
# and perhaps in a folder of the cache, so every script that starts what it finds there begins with
# this text and with no other way to look for it.
#
# A script enters a folder first, then checks it as ".", and from there on uses names in it alone:
# nobody can put another folder into its place in between. For dash, busybox's ash and bash.

# own FOLDER: enters it. True if it is the user's and nobody else can write in it; then all that is
# in it is the user's own doing, and names in it can be trusted. What `ls` shows behind the mode,
# such as the "+" of an access control list, does not matter: the list's mask is in the mode.
# Else the script is in / afterwards, so that no program is taken from the wrong folder.
# shellcheck disable=SC3067,SC2012 # every such shell has -O, and the name is "."
own() {
  cd -P "$1" 2> /dev/null && [ -O . ] &&
  case $(ls -ld .) in d???[r-]-[xsS-][r-]-*) ;; *) false ;; esac || { cd /; false; };
};

# holds FILE [BYTES]: true if it is a program of that size, in the folder that we are in. One that
# was cut off, by a machine that lost power, has another size.
holds() {
  [ -f "./$1" ] && [ -x "./$1" ] && size=$(wc -c < "./$1") &&
  [ "$size" -gt 0 ] && [ "$size" -eq "${2:-$size}" ];
};

# Each folder from .cache on is the user's own.
in_home() {
  own "${HOME:-/dev/null}/.cache" && own ./autodist && own "./$1" && own "./$2";
};

# A file system that is mounted on a folder of /tmp, such as one of FUSE, can claim any owner for its
# files: both folders must be on the file system of /tmp, by `stat`, without which neither is entered.
on_tmp() {
  tmp_device=$(stat -c %d /tmp/. 2> /dev/null) &&
  [ "${tmp_device:-none}" = "$(stat -c %d . 2> /dev/null)" ] || { cd /; false; };
};

# A link of the name in /tmp is another user's.
in_tmp() {
  own "/tmp/autodist-agent-$(id -u)" && on_tmp &&
  case $PWD in */"autodist-agent-$(id -u)") own "./$1" && on_tmp ;; *) cd /; false ;; esac;
};

# enter PLACE FILE [VERSION BYTES]...: enters the first folder of a version that holds the program:
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

# enter_other PLACE FILE: the same with any version that is there, the newest first. The names are
# read only in folders of the user's own.
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
