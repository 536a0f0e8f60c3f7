# shellcheck shell=sh
# Runs a command in the job's container, and creates the container if it is missing, unless the command
# resumes with a running agent (an argument is `resume`). Removes the container after the last agent.
# $1 runtime, $2 container, $3 image, $4 working directory, $5 arguments of `run` (none has a space),
# $6 the main program of the container, $7 the test for an agent in it, then the command.
#
# The container uses the network, the IPC, the user and the home folder's name of the node. Sources
# of the arguments: podman-run(1), `docker run --help`.
e=$1 c=$2 i=$3 w=$4 r=$5 k=$6 a=$7;
shift 7;
# shellcheck disable=SC2088 # as the plan has it
case $w in '~/'*) w="$HOME/${w#??}" ;; esac;
d=;
[ "$e" = docker ] || d=--detach-keys=;
m=1;
for l in "$@"; do [ "$l" != resume ] || m=; done;
if [ -n "$m" ] && ! "$e" container inspect "$c" > /dev/null 2>&1; then
  set -f;
  [ -d "$w" ] || mkdir -p "$w";
  if [ "$(id -u)" != 0 ]; then
    if [ "$e" = docker ]; then r="--user $(id -u):$(id -g) $r"; else r="--userns=keep-id $r"; fi;
  fi;
  [ ! -d /dev/infiniband ] || r="--device /dev/infiniband --ulimit memlock=-1 $r";
  r="-d --rm --network host --ipc host $r";
  # shellcheck disable=SC2086 # words
  "$e" run --name "$c" -e HOME="$HOME" -v "$w:$w" $r "$i" sh -c "$k" sh "$a" > /dev/null || exit;
fi;
# shellcheck disable=SC2086 # it may be nothing
"$e" exec -i $d "$c" "$@";
s=$?;
"$e" exec "$c" sh -c "$a" > /dev/null 2>&1;
[ $? != 3 ] || "$e" rm -f "$c" > /dev/null 2>&1;
exit $s
