# shellcheck shell=sh
# Prints what this machine says about its GPUs: entries of the driver's list, device files, whether
# the PCI bus has a GPU of NVIDIA's, whether there are accelerators of another maker, the exit code
# of nvidia-smi or 256; then the number of CPUs and the identity of the machine; then the lines of
# nvidia-smi. The driver's list is right without any tool; some containers only have nvidia-smi,
# others only the device files. $1: the time for nvidia-smi, in seconds.
PATH=$PATH:/usr/bin:/usr/lib/wsl/lib;
# The libraries of a job may include a stub of the driver's; some containers have the driver's only
# there. The rule is that of agent/prepare/gpus.cc.
j=$LD_LIBRARY_PATH;
k=$LD_PRELOAD;
unset LD_LIBRARY_PATH LD_PRELOAD;
n=0;
for d in /proc/driver/nvidia/gpus/*/; do
  if [ -d "$d" ]; then n=$((n + 1)); fi;
done;
f=0;
for d in /dev/nvidia[0-9]*; do
  if [ -e "$d" ]; then f=$((f + 1)); fi;
done;
b=0;
o=0;
s=256;
l=;
if [ "$n" -eq 0 ]; then
  if command -v nvidia-smi > /dev/null; then
    t=;
    if command -v timeout > /dev/null; then t="timeout -k 1 $1"; fi;
    # shellcheck disable=SC2086 # words
    l=$($t nvidia-smi -L 2>&1);
    s=$?;
    # 14 is a warning; after the last three, the time has passed.
    case $s in 0 | 14 | 124 | 137 | 143) ;;
    *)
      # shellcheck disable=SC2086 # words
      if [ -n "$j$k" ] && p=$(LD_LIBRARY_PATH=$j LD_PRELOAD=$k $t nvidia-smi -L 2>&1); then l=$p s=0; fi;
    esac;
  fi;
  if [ "$s" -ne 0 ]; then
    # Other devices of NVIDIA's are sound devices, switches, and bridges in CPUs.
    for d in $(grep -ls 0x10de /sys/bus/pci/devices/*/vendor); do
      if grep -qs '^0x03' "${d%vendor}class"; then b=1; fi;
    done;
  fi;
  # As in src/health/accelerator.cc, without display adapters (dri), which many CPUs have.
  for d in /dev/kfd /dev/davinci* /dev/hl[0-9]* /dev/neuron[0-9]* /dev/cambricon* /dev/accel*; do
    if [ -e "$d" ]; then o=1; fi;
  done;
fi;
m="$(uname -n)/$(cat /proc/sys/kernel/random/boot_id)";
printf '\nAUTODIST-DEVICES %s %s %s %s %s %d %s\n' "$n" "$f" "$b" "$o" "$s" "$(getconf _NPROCESSORS_ONLN)" "$m";
printf '%s\nAUTODIST-END\n' "$l"
