# shellcheck shell=sh
# Ends with 0 where an agent is there, with 3 where none is: a container runtime has other codes. A
# zombie is none.
for p in /proc/[0-9]*/stat; do
  if read -r _ n z _ < "$p"; then
    case $n$z in *Z) ;; '(autodist-'*) exit 0 ;; esac;
  fi;
done 2> /dev/null;
exit 3
