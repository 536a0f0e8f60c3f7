# shellcheck shell=sh
# Runs autodist on a node. Follows own_folder.sh. $1 SHA-256 and $2 size of this autodist, $3 the
# process of the chief that the command is about or 0, $4 the path of this autodist on the machine
# that asks, then its arguments. Uses the chief's own program. Without it: this version, else the
# newest uploaded one, else one of this user at the same path, as on a shared file system, or an
# installed one.
k=$1 b=$2 p=/proc/$3 a=$4;
shift 4;
# shellcheck disable=SC3067 # every such shell has -O
case $(readlink "$p/exe" 2> /dev/null) in
  */autodist | */autodist\ \(deleted\)) if [ -O "$p" ]; then exec "$p/exe" "$@"; fi ;;
esac;
if enter chief autodist "$k" "$b" || enter_other chief autodist; then exec ./autodist "$@"; fi;
# shellcheck disable=SC3067
if [ -x "$a" ] && [ -O "$a" ]; then exec "$a" "$@"; fi;
a=$(command -v autodist);
if [ -x "$a" ]; then exec "$a" "$@"; fi;
# shellcheck disable=SC2016 # a command, as a message names it
echo 'autodist: error: there is no autodist on this node; `autodist run --chief-on` brings it' >&2;
exit 125
