#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include "cli/completion.h"

namespace autodist::cli {
namespace {

// A clean login shell of bash 4 has all that it needs; bash-completion completes the program's own
// words where it is there.
constexpr char kBashScript[] = R"SCRIPT(# bash completion of autodist, by `autodist completion bash`
# Not compgen -W, which runs what a word has in $(...).
_autodist_words() { _autodist_after '' "$@"; }
_autodist_after() {
  local before=$1 word
  shift
  COMPREPLY=()
  for word; do [[ $before$word == "$cur"* ]] && COMPREPLY+=("$before$word"); done
}
_autodist_any() { :; }
_autodist_files() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); }
_autodist_folders() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")); }
_autodist_variables() { COMPREPLY=($(compgen -e -- "$cur")); }
_autodist_jobs() {
  local jobs
  mapfile -t jobs < <(command autodist completion --jobs 2>/dev/null | cut -f1)
  _autodist_words last "${jobs[@]}"
}
_autodist_list() {
  local before=
  [[ $cur == *,* ]] && before=${cur%,*},
  _autodist_after "$before" "$@"
}

# The user's program begins at word $1.
_autodist_program() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)) && [[ $cur != */* ]]; then
    COMPREPLY=($(compgen -c -- "$cur"))
  else
    _autodist_files
  fi
}

# What stands for the value of "COMMAND OPTION", or as a word of "COMMAND": a function above, and
# its words. "none": nothing does.
_autodist_kind() {
  case $1 in
@KINDS@    *) kind=none ;;
  esac
}

_autodist_options() {
  case $1 in
@OPTIONS@  esac
}

_autodist() {
  local IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]} command= value= kind i word
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = && -n $value ]]; then
      continue
    elif [[ -n $value ]]; then
      value=
    elif [[ -z $command ]]; then
      [[ $word != -* ]] && command=$word
    elif [[ $word == -- ]]; then
      _autodist_program $((i + 1))
      return
    elif [[ $word == -* ]]; then
      _autodist_kind "$command $word"
      [[ $kind != none ]] && value=$kind
    elif [[ " @PROGRAMS@ " == *" $command "* ]]; then
      _autodist_program "$i"
      return
    fi
  done
  if [[ -n $value ]]; then
    [[ $cur == = ]] && cur=
    _autodist_$value
  elif [[ -z $command && $cur != -* ]]; then
    _autodist_words @COMMANDS@ help
  elif [[ $cur == -* ]]; then
    _autodist_words $(_autodist_options "$command")
  elif [[ $command == help ]]; then
    _autodist_words @COMMANDS@
  elif [[ " @PROGRAMS@ " == *" $command "* && -n $cur ]]; then
    _autodist_program "$COMP_CWORD"
  elif [[ " @PROGRAMS@ " == *" $command "* ]]; then
    _autodist_words $(_autodist_options "$command") --
  else
    _autodist_kind "$command"
    [[ $kind == none ]] && kind="words $(_autodist_options "$command")"
    _autodist_$kind
  fi
}

complete -F _autodist autodist
)SCRIPT";

std::string KindOf(const ValueKind& value) {
  const std::string choices = absl::StrJoin(value.choices, " ");
  switch (value.kind) {
    case ValueKind::kNone:
      return "none";
    case ValueKind::kAny:
      return "any";
    case ValueKind::kFile:
      return "files";
    case ValueKind::kFolder:
      return "folders";
    case ValueKind::kJob:
      return "jobs";
    case ValueKind::kCommand:
      return "words @COMMANDS@";
    case ValueKind::kVariable:
      return "variables";
    case ValueKind::kChoice:
    case ValueKind::kDialect:
      break;
  }
  return (value.list ? "list " : "words ") + choices;
}

std::string BashCase(const std::string& pattern, const std::string& action) {
  return "    " + pattern + ") " + action + " ;;\n";
}

std::string OptionNamesOf(const CommandEntry& command) {
  std::string names;
  for (const OptionEntry& option : command.options) {
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

}  // namespace

std::string BashCompletion(const CommandTree& tree) {
  std::string kinds;
  std::string options = BashCase("''", "echo '" + OptionNamesOf(tree.program) + "'");
  std::string commands;
  std::string programs;
  for (const CommandEntry& command : tree.commands) {
    commands += (commands.empty() ? "" : " ") + command.name;
    if (command.takes_program) programs += (programs.empty() ? "" : " ") + command.name;
    options += BashCase(command.name, "echo '" + OptionNamesOf(command) + "'");
    for (const OptionEntry& option : command.options) {
      if (option.value.kind == ValueKind::kNone || option.value.optional) continue;
      std::string pattern;
      for (const std::string& name : option.names) {
        pattern += (pattern.empty() ? "'" : " | '") + command.name + " " + name + "'";
      }
      kinds += BashCase(pattern, "kind='" + KindOf(option.value) + "'");
    }
    for (const OptionEntry& word : command.positionals) {
      kinds += BashCase(command.name, "kind='" + KindOf(word.value) + "'");
      break;
    }
  }
  std::string script = absl::StrReplaceAll(
      kBashScript, {{"@KINDS@", kinds}, {"@OPTIONS@", options}, {"@PROGRAMS@", programs}});
  return absl::StrReplaceAll(script, {{"@COMMANDS@", commands}});
}

}  // namespace autodist::cli
