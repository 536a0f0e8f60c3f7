# shellcheck shell=sh disable=SC2154 # set by install_program.sh, which comes behind this
# run: starts the program $f of the current folder, with the umask of the login.
run() {
  umask "$o";
  exec "./$f" "$@";
};
# skip: leaves the program's input on stdin unchanged.
skip() { :; };
