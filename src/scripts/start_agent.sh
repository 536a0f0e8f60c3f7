# shellcheck shell=sh disable=SC2154 # set by install_program.sh, which comes behind this
# run: starts the program $f of the folder that the script is in, with the umask of the login.
run() {
  umask "$o";
  exec "./$f" "$@";
};
# skip: leaves what comes before the program on stdin.
skip() { :; };
