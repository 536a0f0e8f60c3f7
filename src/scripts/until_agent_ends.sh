# shellcheck shell=sh
# What a container does that was made for a job. $1 is agent_is_there.sh. It ends some seconds after
# the agent in it, or if none has come in six minutes, which is more than sending one may take: so
# nobody has to remove it, whoever is killed. As process 1 it reaps what others leave.
trap 'exit 0' TERM;
i=0 s=360;
while [ $i -lt $s ]; do
  i=$((i + 1));
  if (eval "$1"); then i=0 s=3; fi;
  sleep 1 &
  wait $!;
done
