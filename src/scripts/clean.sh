# shellcheck shell=sh
# Ends what is left of jobs. Follows own_folder.sh. $1 nonce, $2 path of the agent's program or
# empty, $3... SHA-256 and size of this version's agents. An agent of another version, left by a job
# of that version, can do it too.
n=$1 a=$2 s=none;
shift 2;
printf '\nAUTODIST-CLEAN %s\n' "$n";
if [ -n "$a" ]; then
  "$a" clean;
  s=$?;
elif enter agent autodist-agent "$@" || enter_other agent autodist-agent; then
  ./autodist-agent clean;
  s=$?;
else
  h=$(uname -n);
  for e in "/tmp/autodist-$(id -u)" "$HOME/.cache/autodist/on-${h%%.*}"; do
    if own "$e"; then
      for d in ./*; do
        if [ -d "$d" ]; then printf 'left\t%s\n' "${d#./}"; fi;
      done;
    fi;
  done;
fi;
printf '\nAUTODIST-CLEANED %s %s\n' "$n" "$s"
