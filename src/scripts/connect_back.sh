# shellcheck shell=sh disable=SC2154 # set by install_program.sh, which comes behind this
# Runs in a task of a Slurm step. Slurm's variables have the name of the node and the address of
# srun, that is, the chief. stdin begins with the key. All tasks have the same stdin: a task that
# already has the program must consume it, or the others would not receive it. The key passes through
# a pipe, as some shells write a here-document to a file; so this shell stays, and passes on SIGTERM,
# which Slurm may send to it alone. $1 seconds, $2 the chief's port, then the addresses of the chief.
l=;
run() {
  umask "$o";
  c=${SLURM_LAUNCH_NODE_IPADDR-};
  t=$1 i=$2;
  shift 2;
  case $c in '') ;; *:*) c="[$c]:$i" ;; *) c="$c:$i" ;; esac;
  set -- connect-back "$SLURMD_NODENAME" "$t" ${c:+"$c"} "$@";
  [ -n "$l" ] || {
    skip;
    exec 3<&0;
    timeout "$w" cat <&3 > /dev/null 2>&1 3<&- &
    exec 3<&-;
  };
  exec < /dev/null;
  trap : HUP INT PIPE USR1 USR2;
  e='' p='';
  trap 'e=1; end' TERM;
  printf '%s\n' "$l" | exec "./$f" "$@" &
  p=$!;
  end;
  while :; do
    wait "$p";
    s=$?;
    kill -0 "$p" 2> /dev/null || exit "$s";
  done;
};
end() { [ -z "$e" ] || [ -z "$p" ] || kill "$p"; };
skip() { IFS= read -r l; };
