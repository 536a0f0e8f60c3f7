#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include "cli/completion.h"

namespace autodist::cli {
namespace {

constexpr char kFishScript[] = R"(# fish completion of autodist, by `autodist completion fish`
function __autodist_in
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- "$words[2]" $argv
end

function __autodist_without_command
    test (count (commandline -opc)) -eq 1
end

function __autodist_after_dashes
    contains -- -- (commandline -opc)
end

# Of the user's own program, as if it stood alone.
function __autodist_program
    set -l words (commandline -opc)
    set -e words[1..(contains -i -- -- $words)]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

function __autodist_jobs
    printf 'last\tthe job started last\n'
    command autodist completion --jobs 2>/dev/null
end

# Words with commas between.
function __autodist_list
    set -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string replace -r '[^,]*$' '')
    for word in $argv
        echo $before$word
    end
end

complete -c autodist -f
)";

std::string QuotedForFish(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

// The arguments of `complete` that say what a value is.
std::string ValueOf(const ValueKind& value) {
  const std::string choices = absl::StrJoin(value.choices, " ");
  switch (value.kind) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kAny:
      return " -x";
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kJob:
      return " -x -a '(__autodist_jobs)'";
    case ValueKind::kCommand:
      return " -x -a '@COMMANDS@'";
    case ValueKind::kVariable:
      return " -x -a '(set -nx)'";
    case ValueKind::kChoice:
    case ValueKind::kDialect:
      break;
  }
  return value.list ? " -x -a '(__autodist_list " + choices + ")'" : " -x -a '" + choices + "'";
}

std::string Complete(const std::string& condition, const std::string& rest) {
  return "complete -c autodist -n " + QuotedForFish(condition) + rest + "\n";
}

std::string FishOptionsOf(const CommandEntry& command, const std::string& condition) {
  std::string lines;
  for (const OptionEntry& option : command.options) {
    std::string names;
    for (const std::string& name : option.names) {
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    const std::string value = option.value.optional ? "" : ValueOf(option.value);
    lines += Complete(condition, names + value + " -d " + QuotedForFish(Brief(option.text)));
  }
  return lines;
}

}  // namespace

std::string FishCompletion(const CommandTree& tree) {
  std::string script = kFishScript + FishOptionsOf(tree.program, "__autodist_without_command");
  std::vector<std::string> commands;
  for (const CommandEntry& command : tree.commands) {
    commands.push_back(command.name);
    script += Complete("__autodist_without_command",
                       " -a " + command.name + " -d " + QuotedForFish(Brief(command.text)));
  }
  for (const CommandEntry& command : tree.commands) {
    const std::string in = "__autodist_in " + command.name;
    script += FishOptionsOf(command, in);
    if (command.takes_program) {
      script += Complete(in + "; and __autodist_after_dashes", " -a '(__autodist_program)'");
      script +=
          Complete(in + "; and not __autodist_after_dashes", " -a '(__fish_complete_command)'");
    }
    for (const OptionEntry& word : command.positionals) script += Complete(in, ValueOf(word.value));
  }
  script += Complete("__autodist_in help", " -a '@COMMANDS@'");
  return absl::StrReplaceAll(script, {{"@COMMANDS@", absl::StrJoin(commands, " ")}});
}

}  // namespace autodist::cli
