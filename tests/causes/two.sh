# shellcheck shell=sh
# Two ranks of PyTorch on each node, started by a shell; the second one on node 2 sleeps: two.sh FOLDER
here=$(dirname "$0")
nodes=$AUTODIST_NODE_COUNT node=$AUTODIST_NODE_RANK
for local in 0 1; do
  rank=$((node * 2 + local))
  cause=well
  [ $rank = 5 ] && cause=asleep
  RANK=$rank WORLD_SIZE=$((nodes * 2)) /usr/bin/python3 "$here/two.py" $cause &
done
wait
