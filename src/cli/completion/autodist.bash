# bash completion of autodist, by `autodist completion bash`. bash 4 has all that it needs; where
# bash-completion is there, it completes the program's own words.

# The user's program begins at word $1.
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
