#compdef autodist
# zsh completion of autodist, printed by `autodist completion zsh`
_autodist() {
  local -a lines names shown
  local line
  lines=("${(@f)$(command autodist complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case $lines[1] in
    words)
      for line in "${(@)lines[2,-1]}"; do
        names+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
      done
      compadd -l -d shown -a -- names ;;
    files) compset -P '--*='; _files ;;
    folders) compset -P '--*='; _files -/ ;;
    variables) compset -P '--*='; _parameters -g '*export*' ;;
    program\ *)
      shift ${lines[1]#program } words
      ((CURRENT -= ${lines[1]#program }))
      _normal ;;
  esac
}

if [[ $funcstack[1] == _autodist ]]; then
  _autodist "$@"
else
  compdef _autodist autodist
fi
