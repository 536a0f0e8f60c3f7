# shellcheck shell=sh
# Runs autodist on a node. Follows own_folder.sh. $1 SHA-256 and $2 size of this autodist, then its
# arguments. Without this version it uses the newest uploaded one, or an installed one.
k=$1 b=$2;
shift 2;
if enter chief autodist "$k" "$b" || enter_other chief autodist; then exec ./autodist "$@"; fi;
a=$(command -v autodist);
if [ -x "$a" ]; then exec "$a" "$@"; fi;
# shellcheck disable=SC2016 # a command, as a message names it
echo 'autodist: error: there is no autodist on this node; `autodist run --chief-on` brings it' >&2;
exit 125
