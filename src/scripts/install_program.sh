# shellcheck shell=sh
# Starts a program, and receives it first if the node lacks it. Follows own_folder.sh, and
# start_agent.sh or connect_back.sh.
#
# $1 nonce, $2 seconds for the upload, $3 folder, $4 file name; for each variant five arguments:
# machine, SHA-256, and in bytes the sizes of the unpacker, of the upload and of the program; then
# "-", and the arguments of run. The upload begins with the unpacker, and so is executable. The
# program is stored in the home folder or, if that is not writable or executable, in a folder of
# /tmp that belongs to the user. Only the complete program gets its final name; until then the name
# contains the session's nonce and the task, because several nodes may share a home folder. The
# upload has a time limit, because an sshd may not notice for hours that the network was cut.
#
# A node that has the program needs only what `enter` uses, and sleep, without which the main program
# of a created container (until_agent_ends.sh) would not wait.
# shellcheck disable=SC2034,SC3067,SC2088 # o is for run; such shells have -O; "~" is for people
n=$1 w=$2 k=$3 f=$4 o=$(umask) x='';
printf '\nAUTODIST-SHELL %s\n' "$n";
m=$(uname -m 2> /dev/null);
umask 077;
shift 4;
s=;
while [ "$1" != - ]; do
  [ "$1" != "$m" ] || s=$2 u=$3 z=$4 b=$5;
  shift 5;
done;
shift;
if [ -n "$s" ] && command -v sleep > /dev/null && enter "$k" "$f" "$s" "$b" 2> /dev/null; then run "$@"; fi;
for i in uname id ls wc mkdir rm mv chmod head timeout sleep; do
  command -v "$i" > /dev/null || x="$x${x:+, }$i";
done;
[ -z "$x" ] || {
  printf 'not in PATH: %s\nhint: install them there (coreutils or busybox), also in a container image\n' "$x" >&2;
  exit 1;
};

h="${HOME:-/dev/null}/.cache/autodist/$k/$s" t="./$f.$n${SLURM_PROCID-}";
p="$t.packed" r='' v=$(printf '\nx');
y='make one of these folders writable, with room, and not mounted noexec';
d="/tmp/autodist-agent-$(id -u)";

# no FOLDER WHY: rejects the folder.
no() {
  rm -f "$t";
  r="$r${r:+${v%x}}$1: $2";
  cd /;
  return 1;
};
# can FOLDER: whether the program can be written to the current folder, and run from it.
can() {
  e=$( (true > "$t") 2>&1) || {
    no "$1" "cannot be written to (${e##*: })";
    return;
  };
  e=$({ fallocate -l "$q" "$t" || head -c "$q" /dev/zero > "$t"; } 2>&1) || {
    no "$1" "no room for the $((q / 1000000 + 1)) MB of $f (${e##*: })";
    return;
  };
  true > "$t" && chmod 700 "$t" && [ -x "$t" ] ||
  no "$1" 'mounted noexec: no program can be started from it';
};
can_at_home() {
  e=$(mkdir -p "$h" 2>&1) || {
    no "$h" "cannot be made (${e##*: })";
    return;
  };
  in_home "$k" "$s" || {
    for i in "${h%/*/*/*}" "${h%/*/*}" "${h%/*}" "$h"; do own "$i" || break; done;
    y="~${i#"$HOME"}";
    [ -O "$i" ] && y="chmod go-w $y" || y="make $y your own (chown)";
    no "$i" 'not used: another user owns or can write to it';
    return;
  };
  can "$h";
};
can_in_tmp() {
  [ ! -h "$d" ] || {
    y="remove $d, or $y";
    no "$d" 'is a symbolic link';
    return;
  };
  e=$(mkdir "$d" 2>&1);
  in_tmp . && mkdir -p "./$s" && own "./$s" || {
    no "$d" "cannot be made or is not yours alone (${e##*: })";
    return;
  };
  can "$d";
};
q=$((z + b));
can_at_home || can_in_tmp || {
  printf '%s\nhint: %s\n' "$r" "$y" >&2;
  exit 1;
};
trap 'rm -f "$t" "$p"' EXIT &&
trap 'exit 1' HUP PIPE TERM &&
printf '\nAUTODIST-NEED %s %s\n' "$n" "$m" &&
skip &&
timeout "$w" head -c "$z" > "$p" &&
[ "$(wc -c < "$p")" -eq "$z" ] &&
chmod 700 "$p" &&
"$p" "$u" < "$p" > "$t" &&
[ "$(wc -c < "$t")" -eq "$b" ] &&
case "$(! command -v sha256sum > /dev/null || sha256sum < "$t")" in
  '' | "$s "*) ;;
  *) echo "$f is not what was sent" >&2; false ;;
esac &&
mv "$t" "./$f" &&
rm -f "$p" &&
trap - EXIT &&
run "$@"
