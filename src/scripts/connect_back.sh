# shellcheck shell=sh disable=SC2154 # set by install_program.sh, which comes behind this
# As a task of a step of Slurm, which says what the node is called and where its srun is, the
# chief. On stdin the key comes first. All tasks have the same stdin: one that has the program
# takes what is sent to the others, or none would get any more. $1 seconds, $2 the chief's port,
# then its addresses.
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
  exec "./$f" "$@" << E
$l
E
};
skip() { IFS= read -r l; };
