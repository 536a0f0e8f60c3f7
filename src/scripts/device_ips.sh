# shellcheck shell=sh
# Prints the addresses of NPUs on the NPUs' network. $1... device numbers. The tool prints
# "ipaddr:192.168.100.101" first. Its folder is rarely in a login's PATH.
PATH=$PATH:/usr/local/Ascend/driver/tools:/usr/local/bin;
printf '\nAUTODIST-DEVICE-IPS\n';
for d in "$@"; do
  ip=$(hccn_tool -i "$d" -ip -g 2> /dev/null | head -n 1 | cut -d : -f 2 | tr -d ' ');
  if [ -z "$ip" ]; then ip=$(sed -n "s/^address_$d=//p" /etc/hccn.conf 2> /dev/null | head -n 1); fi;
  printf '%s\n' "$ip";
done;
printf 'AUTODIST-END\n'
