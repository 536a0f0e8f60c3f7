#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include "cli/completion.h"

namespace autodist::cli {
namespace {

constexpr char kZshScript[] = R"SCRIPT(#compdef autodist
# zsh completion of autodist, by `autodist completion zsh`
_autodist_jobs() {
  local -a jobs
  jobs=('last:the job started last' ${(f)"$(command autodist completion --jobs 2>/dev/null | tr '\t' :)"})
  _describe -t jobs job jobs
}

_autodist_commands() {
  local -a commands
  commands=(
@COMMANDS@  )
  _describe -t commands 'autodist command' commands
}

_autodist() {
  local curcontext=$curcontext state line ret=1
  typeset -A opt_args
  _arguments -C @PROGRAM@ '1: :_autodist_commands' '*:: :->words' && ret=0
  [[ $state == words ]] || return ret
  case $words[1] in
    help) _arguments '1: :_autodist_commands' && ret=0 ;;
@CASES@  esac
  return ret
}

if [[ $funcstack[1] == _autodist ]]; then
  _autodist "$@"
else
  compdef _autodist autodist
fi
)SCRIPT";

std::string QuotedForZsh(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"'", "'\\''"}}) + "'";
}

// Within a specification, where these say where a part of it ends.
std::string Part(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {":", "\\:"}, {"[", "\\["}, {"]", "\\]"}});
}

std::string ActionOf(const ValueKind& value) {
  const std::string choices = absl::StrJoin(value.choices, " ");
  switch (value.kind) {
    case ValueKind::kNone:
    case ValueKind::kAny:
      return " ";
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kFolder:
      return "_files -/";
    case ValueKind::kJob:
      return "_autodist_jobs";
    case ValueKind::kCommand:
      return "_autodist_commands";
    case ValueKind::kVariable:
      return "_parameters -g '*export*'";
    case ValueKind::kChoice:
    case ValueKind::kDialect:
      break;
  }
  return value.list ? " _values -s , " + value.name + " " + choices : "(" + choices + ")";
}

// "'(-n --nproc-per-node)'{-n+,--nproc-per-node=}'[help]:N: '"
std::string OptionSpec(const OptionEntry& option) {
  const bool flag = option.value.kind == ValueKind::kNone;
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    const char* const mark = flag ? "" : name.starts_with("--") ? "=" : "+";
    names.push_back(name + mark);
  }
  std::string rest = "[" + Part(Brief(option.text)) + "]";
  if (!flag) {
    rest += (option.value.optional ? "::" : ":") +
            Part(option.value.kind == ValueKind::kChoice ? "value" : option.value.name) + ":" +
            ActionOf(option.value);
  }
  if (names.size() == 1) {
    return QuotedForZsh((option.repeated ? "*" : "") + names[0] + rest);
  }
  const std::string before =
      option.repeated ? "'*'" : QuotedForZsh("(" + absl::StrJoin(option.names, " ") + ")");
  return before + "{" + absl::StrJoin(names, ",") + "}" + QuotedForZsh(rest);
}

std::string SpecsOf(const CommandEntry& command) {
  std::string specs;
  for (const OptionEntry& option : command.options) {
    specs += (specs.empty() ? "" : " \\\n      ") + OptionSpec(option);
  }
  return specs;
}

std::string CaseOf(const CommandEntry& command) {
  // What is behind the first word that is no option is the program's, and completed as such.
  std::string specs = SpecsOf(command);
  if (command.takes_program) specs += " \\\n      '(-)1: :_command_names -e' '*:: :_normal'";
  for (const OptionEntry& word : command.positionals) {
    specs += " \\\n      " + QuotedForZsh(std::string(word.value.optional ? "::" : ":") +
                                          Part(word.value.name) + ":" + ActionOf(word.value));
  }
  return "    " + command.name + ") _arguments -S" + (command.takes_program ? " -A '-*'" : "") +
         " \\\n      " + specs + " && ret=0 ;;\n";
}

}  // namespace

std::string ZshCompletion(const CommandTree& tree) {
  std::string commands;
  std::string cases;
  for (const CommandEntry& command : tree.commands) {
    commands += "    " + QuotedForZsh(command.name + ":" + Brief(command.text)) + "\n";
    cases += CaseOf(command);
  }
  return absl::StrReplaceAll(
      kZshScript,
      {{"@COMMANDS@", commands}, {"@PROGRAM@", SpecsOf(tree.program)}, {"@CASES@", cases}});
}

}  // namespace autodist::cli
