#!/bin/sh
# waiting_rank.sh MARKER: a rank that starts at once, and ends with 0 on SIGUSR2.
trap 'exit 0' USR2
echo "ready ${AUTODIST_RANK:-$RANK} $$"
sleep 1000 &
wait
