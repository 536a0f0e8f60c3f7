# shellcheck shell=sh
# Prints the numbers of GPUs and CPUs and the identity of the machine. The driver's list is right
# without any tool; some containers only have nvidia-smi, others only the device files. "hangs"
# replaces the answer of a tool that hangs.
n=0;
for d in /proc/driver/nvidia/gpus/*/; do
  if [ -d "$d" ]; then n=$((n + 1)); fi;
done;
if [ "$n" -eq 0 ] && command -v nvidia-smi > /dev/null; then
  t=;
  if command -v timeout > /dev/null; then t='timeout -k 1 5'; fi;
  # shellcheck disable=SC2086 # words
  l=$($t nvidia-smi -L 2> /dev/null);
  s=$?;
  n=$(printf '%s\n' "$l" | grep -c '^GPU ');
  case $s in 124 | 137) n=hangs ;; esac;
fi;
if [ "$n" = 0 ]; then
  for d in /dev/nvidia[0-9]*; do
    if [ -e "$d" ]; then n=$((n + 1)); fi;
  done;
fi;
m="$(uname -n)/$(cat /proc/sys/kernel/random/boot_id)";
printf '\nAUTODIST-DEVICES %s %d %s\n' "$n" "$(getconf _NPROCESSORS_ONLN)" "$m"
