# shellcheck shell=sh
# Prints what this machine says about its GPUs: entries of the driver's list, device files, whether
# the PCI bus has a device of NVIDIA's (asked if nvidia-smi fails), the exit code of nvidia-smi or
# 256; then the number of CPUs and the identity of the machine; then the lines of nvidia-smi. The
# driver's list is right without any tool; some containers only have nvidia-smi, others only the
# device files. $1: the time for nvidia-smi, in seconds.
n=0;
for d in /proc/driver/nvidia/gpus/*/; do
  if [ -d "$d" ]; then n=$((n + 1)); fi;
done;
f=0;
for d in /dev/nvidia[0-9]*; do
  if [ -e "$d" ]; then f=$((f + 1)); fi;
done;
b=0;
s=256;
l=;
if [ "$n" -eq 0 ] && command -v nvidia-smi > /dev/null; then
  t=;
  if command -v timeout > /dev/null; then t="timeout -k 1 $1"; fi;
  # shellcheck disable=SC2086 # words
  l=$($t nvidia-smi -L 2>&1);
  s=$?;
  if [ "$s" -ne 0 ] && grep -qs 0x10de /sys/bus/pci/devices/*/vendor; then b=1; fi;
fi;
m="$(uname -n)/$(cat /proc/sys/kernel/random/boot_id)";
printf '\nAUTODIST-DEVICES %s %s %s %s %d %s\n' "$n" "$f" "$b" "$s" "$(getconf _NPROCESSORS_ONLN)" "$m";
printf '%s\nAUTODIST-END\n' "$l"
