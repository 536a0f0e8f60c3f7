# bash completion of autodist, printed by `autodist completion bash`. Needs bash 4; completes the
# arguments of the user's program with bash-completion, if installed.

# Completes the user's program, which begins at word $1.
_autodist_program() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)) && [[ $cur != */* ]]; then
    COMPREPLY=($(compgen -c -- "$cur"))
  else
    _autodist_paths -f
  fi
}

_autodist_paths() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$cur"))
}

_autodist() {
  local IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]} lines line
  COMPREPLY=()
  mapfile -t lines < <(command autodist complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ $cur == = ]] && cur=
  case ${lines[0]} in
    words) for line in "${lines[@]:1}"; do COMPREPLY+=("${line%%$'\t'*}"); done ;;
    files) _autodist_paths -f ;;
    folders) _autodist_paths -d ;;
    variables) COMPREPLY=($(compgen -e -- "$cur")) ;;
    program\ *) _autodist_program "${lines[0]#program }" ;;
  esac
}

complete -F _autodist autodist
