#include "cli/command_line.h"

#include <absl/strings/str_join.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/did_you_mean.h"
#include "base/shell_quote.h"
#include "cli/help_text.h"
#include "cli/other_launchers.h"
#include "process/spawn.h"
#include "spec/scalars.h"

namespace autodist::cli {
namespace {

using Argv = std::vector<std::string>;

Status Refuse(const std::string& what, const std::string& remedy) {
  return WithRemedy(Error(StatusCode::kInvalidArgument, what), remedy);
}

bool IsOption(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

std::string WithoutValue(const std::string& word) { return word.substr(0, word.find('=')); }

const CLI::App* CommandOf(const CLI::App& app, const std::string& name) {
  const auto named =
      app.get_subcommands([&](const CLI::App* it) { return it->get_name() == name; });
  return named.empty() ? nullptr : named.front();
}

Argv CommandNames(const CLI::App& app) {
  Argv names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

Argv OptionNames(const CLI::App& command) {
  Argv names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Spells an option as autodist does: with '-' for '_', without its value.
std::string OurSpelling(const std::string& word) {
  std::string spelling = WithoutValue(word);
  std::ranges::replace(spelling, '_', '-');
  return spelling;
}

std::string Respelled(const std::string& word) {
  return OurSpelling(word) + word.substr(WithoutValue(word).size());
}

// Accepts both spellings, as torchrun does.
const CLI::Option* Find(const CLI::App& command, const std::string& word) {
  if (const auto* option = command.get_option_no_throw(OurSpelling(word))) return option;
  // -n4, but not mpirun's -np
  const bool short_one = !word.starts_with("--") && std::isalpha(word[2]) == 0;
  return short_one ? command.get_option_no_throw(word.substr(0, 2)) : nullptr;
}

// Whether the word is only the option's name, without a value as in --lease=4 and -n4.
bool IsNameOf(const CLI::Option& option, const std::string& word) {
  return word == WithoutValue(word) && option.check_name(OurSpelling(word));
}

// Whether `next` is the value of the option.
bool TakesNext(const CLI::App& command, const CLI::Option& option, const std::string& word,
               const std::string& next) {
  const bool must = option.get_items_expected_min() > 0;
  const bool is_value = !IsOption(next) || (must && !Find(command, next));
  return option.get_items_expected_max() > 0 && IsNameOf(option, word) && !next.empty() && is_value;
}

// Refuses an empty value, which an unset shell variable leaves.
Status CheckHasNoEmptyValue(const CLI::App& command, const CLI::Option& option,
                            Argv::const_iterator word, Argv::const_iterator end) {
  const auto next = std::next(word);
  const bool is_empty =
      IsNameOf(option, *word) ? next != end && next->empty() : *word == WithoutValue(*word) + "=";
  if (option.get_items_expected_max() == 0 || !is_empty) return OkStatus();
  return Refuse(command.get_name() + ": " + OurSpelling(*word) + ": the value is empty",
                "give it a value, or leave the option out");
}

std::string Help(const std::string& command) { return "`autodist " + command + " --help`"; }

// Whether the words may be a program with its arguments: a path, a file or a module.
bool LooksLikeProgram(const Argv& argv) {
  return std::ranges::any_of(argv, [](const std::string& word) {
    return word == "-m" || word.find_first_of("/.") != std::string::npos;
  });
}

Status UnknownCommand(const CLI::App& app, const Argv& argv) {
  const std::string what = "there is no command '" + argv.front() + "'";
  const std::string here = CommandHere(argv.front());
  if (!here.empty()) return Refuse(what, here);
  const std::string nearest = base::Nearest(argv.front(), CommandNames(app));
  if (!nearest.empty()) return Refuse(what, "did you mean `autodist " + nearest + "`?");
  const std::string list = "`autodist --help` lists the commands";
  if (LooksLikeProgram(argv)) {
    return Refuse(what,
                  "to run a program: `autodist run -- " + base::ShellLine(argv) + "`; " + list);
  }
  const std::string known = CommandHere(base::Nearest(argv.front(), CommandsOfOthers()));
  return Refuse(what, known.empty() ? list : known);
}

// Returns the first command that has the option, `preferred` before all others.
std::string CommandWith(const CLI::App& app, const CLI::App& preferred, const std::string& option) {
  if (Find(preferred, option)) return preferred.get_name();
  for (const CLI::App* command : app.get_subcommands({})) {
    if (Find(*command, option)) return command->get_name();
  }
  return preferred.get_name();
}

// Returns what to write for another launcher's option; "" if the option is unknown. `before`: the
// autodist options that precede it, each after a space.
std::string SameOptionHere(const CLI::App& app, const CLI::App& command, const std::string& word,
                           const std::string& next, const std::string& before = "") {
  if (!Find(command, "--hosts")) return "";  // the command uses no nodes
  const auto here = OptionOfAnotherLauncher(word, next);
  if (!here) return "";
  const std::string whose = "it is " + here->launcher + "'s; ";
  if (here->option.empty()) return whose + "leave it out: " + here->more;
  const std::string option = here->option.substr(0, here->option.find(' '));
  return whose + "write `autodist " + CommandWith(app, command, option) +
         (option == "--" ? before : "") + " " + here->option + "`" + here->more;
}

// Reports an option before the command.
Status MisplacedOption(const CLI::App& app, const std::string& word, const std::string& next) {
  const std::string what = "'" + word + "' must follow a command";
  Argv having;
  for (const CLI::App* command : app.get_subcommands({})) {
    const CLI::Option* const option = Find(*command, word);
    if (option && IsListed(*option))
      having.push_back("`autodist " + command->get_name() + " " + Respelled(word) + "`");
  }
  if (having.empty()) {
    const std::string here = SameOptionHere(app, *CommandOf(app, "run"), word, next);
    return Refuse("autodist has no option '" + word + "'",
                  here.empty() ? "`autodist --help` lists the commands" : here);
  }
  return Refuse(what, "write it after: " + base::Alternatives(having));
}

// Returns the command's option for the name that other programs use; "" if it has none.
std::string MeantOption(const CLI::App& command, const std::string& word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kMeant = {
      {{"--all", "--keep"},
       {"--force", "--now"},
       {"-9", "--now"},
       {"-n", "--tail"},
       {"--lines", "--tail"},
       {"-t", "--timestamps"},
       {"--dry-run", "--print"},
       {"--restart", "--max-restarts"},
       {"--restarts", "--max-restarts"},
       {"--retries", "--max-restarts"},
       {"--dir", "--workdir"},
       {"--cwd", "--workdir"},
       {"--port", "--listen"},
       {"--html", "--output"},
       {"--env-file", "--pass-env"}}};
  for (const auto& [other, ours] : kMeant) {
    if (WithoutValue(word) == other && Find(command, std::string(ours))) return std::string(ours);
  }
  return "";
}

// Whether the word begins a program as torchrun has it: "-m MODULE".
bool IsModule(const CLI::App& command, const std::string& word) {
  return word == "-m" && !Find(command, word);
}

struct Unknown {
  std::string word;
  std::string next;
};

// Returns the unknown options from `word` to the first word that cannot be an option or its value.
std::vector<Unknown> UnknownOptions(const CLI::App& command, Argv::const_iterator word,
                                    Argv::const_iterator end) {
  std::vector<Unknown> unknown;
  for (; word != end && IsOption(*word) && !IsModule(command, *word); ++word) {
    const std::string next = std::next(word) == end ? "" : *std::next(word);
    const CLI::Option* option = Find(command, *word);
    bool takes_next = option && TakesNext(command, *option, *word, next);
    if (!option) {
      unknown.push_back({*word, next});
      takes_next = TakesValue(*word, next);
    }
    if (takes_next) ++word;
  }
  return unknown;
}

// Options of other launchers that select nodes, or the number of ranks.
bool SelectsNodes(const Unknown& one) {
  const auto here = OptionOfAnotherLauncher(one.word, one.next);
  return here && here->option.starts_with("--hosts ");
}
bool SetsNumberOfRanks(const Unknown& one) {
  const auto here = OptionOfAnotherLauncher(one.word, one.next);
  return here && here->option.starts_with("-n ");
}

// Answers several options of other launchers, one per line; nullopt if there is only one, or
// no launcher has one of them.
std::optional<Status> OptionsOfOthers(const CLI::App& app, const CLI::App& command,
                                      const std::vector<Unknown>& unknown,
                                      const std::string& before) {
  Argv names;
  std::string advice;
  const bool with_nodes = std::ranges::any_of(unknown, SelectsNodes);
  for (const Unknown& one : unknown) {
    const std::string here = with_nodes && SetsNumberOfRanks(one)
                                 ? "leave it out; --hosts HOST1:N,HOST2:N gives the number per host"
                                 : SameOptionHere(app, command, one.word, one.next, before);
    if (here.empty()) return std::nullopt;
    names.push_back("'" + WithoutValue(one.word) + "'");
    advice += "\n      " + WithoutValue(one.word) + ": " + here;
  }
  if (names.size() < 2) return std::nullopt;
  return Refuse(command.get_name() + " has no options " + base::Alternatives(names),
                "use instead:" + advice);
}

// Returns what to write for an option of sbatch; "" if a short one is unknown.
std::string SbatchOptionHere(const CLI::App& command, const std::string& word,
                             const std::string& next) {
  const bool is_short = !word.starts_with("--");
  const std::string name = is_short ? LongSbatchOption(word) : WithoutValue(word);
  if (name.empty()) return "";
  const size_t equals = word.find('=');
  const std::string value = equals != std::string::npos      ? word.substr(equals + 1)
                            : is_short && word.size() > 2    ? word.substr(2)
                            : next.empty() || IsOption(next) ? ""
                                                             : next;
  if (Find(command, name)) {
    return "write `" + name + " " + value + "`";
  }
  return "for sbatch: `--sbatch=" + name + (value.empty() ? "" : "=" + value) + "`";
}

// Returns what to write for an option of init, which sets a key of the spec; "": it is none.
std::string KeyOfSpec(std::string_view option) {
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kKeys = {
      {{"--python-venv",
        "write `python_venv` in the spec, or run the environment's own program, such as `-- "
        "venv/bin/python3`"},
       {"--shared-env", "write `shared_envs` in the spec, or --env NAME=VALUE"},
       {"--key-file", "write `key_file` in the spec, or IdentityFile in ~/.ssh/config"},
       {"--user", "write `username` in the spec, USER@HOST in --hosts, or User in ~/.ssh/config"}}};
  const auto found = std::ranges::find(kKeys, option, [](const auto& key) { return key.first; });
  return found == kKeys.end() ? "" : found->second;
}

Status UnknownOption(const CLI::App& app, const CLI::App& command, const std::string& word,
                     const std::string& next, const std::string& before) {
  const std::string& name = command.get_name();
  const std::string what = name + " has no option '" + WithoutValue(word) + "'";
  const std::string here = SameOptionHere(app, command, word, next, before);
  if (!here.empty()) return Refuse(what, here);
  const std::string of_sbatch =
      Find(command, "--sbatch") ? SbatchOptionHere(command, word, next) : "";
  if (!of_sbatch.empty() && !word.starts_with("--")) return Refuse(what, of_sbatch);
  if (const std::string meant = MeantOption(command, word); !meant.empty()) {
    return Refuse(what, "did you mean " + meant + "? " + Help(name));
  }
  if (const std::string key = KeyOfSpec(WithoutValue(word));
      !key.empty() && Find(command, "--spec")) {
    return Refuse(what, key);
  }
  Argv others;
  for (const CLI::App* other : app.get_subcommands({})) {
    const bool of_jobs = Find(*other, "JOB") && others.size() < 3;
    if (of_jobs && Find(*other, word))
      others.push_back("`autodist " + other->get_name() + " " + word + "`");
  }
  if (!others.empty()) return Refuse(what, "use " + base::Alternatives(others));
  for (const CLI::App* other : app.get_subcommands({})) {
    if (Find(*other, word))
      return Refuse(what, "it belongs to `autodist " + other->get_name() + "`");
  }
  const std::string nearest = base::Nearest(WithoutValue(word), OptionNames(command));
  if (!of_sbatch.empty()) {
    return Refuse(what, (nearest.empty() ? "" : "did you mean " + nearest + "? or, ") + of_sbatch);
  }
  if (!nearest.empty()) return Refuse(what, "did you mean " + nearest + "? " + Help(name));
  return Refuse(
      what,
      Help(name) + " lists the options" +
          (command.get_prefix_command() ? "; options of your program follow the program" : ""));
}

// {"--rank", "0-1"} from "Could not convert: --rank = 0-1".
std::pair<std::string, std::string> NotConverted(const std::string& what) {
  constexpr std::string_view kIs = " = ";
  const size_t is = what.find(kIs);
  const size_t begin = what.find(": ") + 2;
  if (is == std::string::npos || is < begin) return {what, ""};
  return {what.substr(begin, is - begin), what.substr(is + kIs.size())};
}

// Joins the words, each after a space.
std::string Joined(Argv::const_iterator begin, Argv::const_iterator end) {
  return begin == end ? "" : " " + base::ShellLine({begin, end});
}

// Whether it is "NAME=VALUE".
bool IsAssignment(const std::string& word) {
  const size_t equals = word.find('=');
  return equals != std::string::npos && spec::CheckVariableName(word.substr(0, equals)).ok();
}

std::string RepeatEnv(const std::string& word) {
  return "give each variable its own option: --env " + base::ShellQuote(word);
}

struct Given {
  std::string option;  // "": none
  std::string value;
};

// The option before the word, if it has a value.
Given OptionBefore(const Argv& argv, Argv::const_iterator word) {
  const auto last = std::prev(word);  // at least the command
  if (last == argv.begin()) return {};
  if (const size_t equals = last->find('='); IsOption(*last) && equals != std::string::npos) {
    return {OurSpelling(*last), last->substr(equals + 1)};
  }
  const auto option = std::prev(last);
  if (option == argv.begin() || IsOption(*last) || !IsOption(*option)) return {};
  return {OurSpelling(*option), *last};
}

// Whether two hosts differ only in digits, as gpu1 and gpu2 do.
bool AreAlike(std::string host, std::string other) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (host == other || std::erase_if(other, is_digit) == 0) return false;
  std::erase_if(host, is_digit);
  return host == other;
}

// Whether the word is a file, and `run` cannot start it.
bool IsPlainFile(const std::string& word) {
  struct stat info {};
  const char* const path = std::getenv("PATH");
  return stat(word.c_str(), &info) == 0 && S_ISREG(info.st_mode) && !word.ends_with(".py") &&
         !process::FindProgram(word, path ? path : "", ".").ok();
}

// Refuses words that belong to the value of the option before them. `dashes`: "--" follows, so that
// the word is no program.
Status CheckIsNoValue(const Argv& argv, Argv::const_iterator found, bool dashes) {
  const std::string what = "'" + *found + "' is not an option";
  const Given before = OptionBefore(argv, found);
  const std::string last_host = before.value.substr(before.value.rfind(',') + 1);
  if (before.option == "--hosts" && !before.value.ends_with(',') &&
      (dashes || AreAlike(last_host, *found))) {
    std::string hosts = before.value;
    for (auto word = found; word != argv.end() && !IsOption(*word) &&
                            (word == found || dashes || AreAlike(last_host, *word));
         ++word) {
      hosts += "," + *word;
    }
    return Refuse(what, "separate hosts by commas: --hosts " + base::ShellQuote(hosts));
  }
  const bool may_be_expanded =
      before.option == "--fetch" && before.value.find_first_of("*?[") == std::string::npos;
  if (may_be_expanded && (dashes || IsPlainFile(*found))) {
    return Refuse(what,
                  "quote the pattern, so that your shell does not expand it: --fetch 'out/*'");
  }
  return OkStatus();
}

// `found`: the first word that is not an option; `dashes`: "--" follows it, so it is misplaced.
Status CheckBeginning(const Argv& argv, Argv::const_iterator found, bool dashes) {
  AD_RETURN_IF_ERROR(CheckIsNoValue(argv, found, dashes));
  if (!dashes) return OkStatus();
  const std::string& word = *found;
  const std::string what = "'" + word + "' is not an option";
  if (IsAssignment(word)) return Refuse(what, RepeatEnv(word));
  if (word.ends_with(".yaml") || word.ends_with(".yml")) {
    return Refuse(what, "give a spec with --spec: autodist " + argv.front() + " --spec " + word);
  }
  const auto before = std::prev(found);  // at least the command
  if (before->ends_with(',')) {
    return Refuse(what, "write the list without spaces: " + *before + word);
  }
  return Refuse(what, "only options may precede '--'; the program follows it");
}

// Refuses a program that begins with an option, autodist's or another launcher's, or with a
// variable. `own`: autodist's words, the command first.
Status CheckProgram(const CLI::App& app, const CLI::App& command, const Argv& own,
                    const Argv& program) {
  if (program.empty()) return OkStatus();
  const std::string& word = program.front();
  if (IsModule(command, word)) {
    if (program.size() > 1 && !IsOption(program[1])) return OkStatus();
    return Refuse("'-m' has no module",
                  "name it: `autodist " + command.get_name() + " -- -m MODULE`");
  }
  const std::string what = "'" + word + "' is not a program";
  if (IsAssignment(word) && Find(command, "--env")) return Refuse(what, RepeatEnv(word));
  if (!IsOption(word)) return OkStatus();
  const std::string before = Joined(own.cbegin() + 1, own.cend());
  const auto unknown = UnknownOptions(command, program.cbegin(), program.cend());
  if (!unknown.empty()) {
    if (auto refusal = OptionsOfOthers(app, command, unknown, before)) return *refusal;
    return UnknownOption(app, command, unknown[0].word, unknown[0].next, before);
  }
  Argv options;
  auto at = program.cbegin();
  for (; at != program.cend() && IsOption(*at) && !IsModule(command, *at); ++at) {
    const std::string next = std::next(at) == program.cend() ? "" : *std::next(at);
    options.push_back(Respelled(*at));
    if (TakesNext(command, *Find(command, *at), *at, next)) options.push_back(*++at);
  }
  return Refuse(what, "write options before '--': `autodist " + command.get_name() + before + " " +
                          base::ShellLine(options) + " --" + Joined(at, program.cend()) + "`");
}

}  // namespace

Result<CommandLine> ReadCommandLine(const CLI::App& app, const Argv& argv) {
  const auto dashes = std::ranges::find(argv, "--");
  CommandLine line{{argv.begin(), dashes}, {}, false};
  if (dashes != argv.end()) line.program.assign(dashes + 1, argv.end());
  Argv& own = line.argv;
  if (own.empty() && !line.program.empty()) {
    return Refuse("no command before '--'", "to run a program: autodist run -- ...");
  }
  if (own.empty()) own = {"--help"};
  if (own.size() == 1 && own.front() == "version") own = {"--version"};
  if (own.front() == "help") {
    if (own.size() == 2 && FindHelpTopic(own[1])) return line;
    std::rotate(own.begin(), own.begin() + 1, own.end());
    own.back() = "--help";
  }
  if (IsOption(own.front())) {
    if (Find(app, own.front())) return line;
    return MisplacedOption(app, own.front(), own.size() > 1 ? own[1] : "");
  }
  const auto help = std::ranges::find(own, "--help");
  line.help_all = own.end() - help > 1 && help[1] == "all";
  if (line.help_all) own.erase(help + 1);
  const CLI::App* command = CommandOf(app, own.front());
  if (!command) return UnknownCommand(app, own);

  for (auto word = own.begin() + 1; word != own.end(); ++word) {
    const bool begins_program = command->get_prefix_command() && IsModule(*command, *word);
    if (!IsOption(*word) || begins_program) {
      if (!command->get_prefix_command()) continue;
      AD_RETURN_IF_ERROR(CheckBeginning(own, word, dashes != argv.end()));
      line.program.assign(word, own.end());
      own.erase(word, own.end());
      break;
    }
    const CLI::Option* option = Find(*command, *word);
    const std::string next = std::next(word) == own.end() ? "" : *std::next(word);
    if (!option) {
      const std::string before = Joined(own.cbegin() + 1, word);
      const auto unknown = UnknownOptions(*command, word, own.cend());
      if (auto refusal = OptionsOfOthers(app, *command, unknown, before)) return *refusal;
      return UnknownOption(app, *command, *word, next, before);
    }
    AD_RETURN_IF_ERROR(CheckHasNoEmptyValue(*command, *option, word, own.cend()));
    const bool takes_next = TakesNext(*command, *option, *word, next);
    *word = Respelled(*word);
    if (takes_next) ++word;
  }
  if (command->get_prefix_command()) {
    AD_RETURN_IF_ERROR(CheckProgram(app, *command, own, line.program));
  } else if (!command->get_allow_extras()) {
    const auto option = std::ranges::find_if(line.program, IsOption);
    if (option != line.program.end()) {
      return Refuse("'" + *option + "' is not an argument", "write options before '--'");
    }
    own.insert(own.end(), line.program.begin(), line.program.end());
    line.program.clear();
  }
  return line;
}

std::vector<Argument> ArgumentsOf(const CLI::App& command, const Argv& argv) {
  std::vector<Argument> arguments;
  for (size_t i = 1; i < argv.size(); ++i) {
    const CLI::Option* const option = IsOption(argv[i]) ? Find(command, argv[i]) : nullptr;
    arguments.push_back({option ? option->get_name() : "", {argv[i]}});
    if (!option || i + 1 == argv.size()) continue;
    if (TakesNext(command, *option, argv[i], argv[i + 1])) {
      arguments.back().words.push_back(argv[++i]);
    }
  }
  return arguments;
}

// Names the help that lists the option with which CLI11's text begins. `doctor` accepts options of
// `run` that its own help does not list.
std::string HelpOn(const CLI::App& app, const CLI::App& command, const std::string& text) {
  const std::string word =
      IsOption(text) ? text.substr(0, text.find_first_of(": ")) : NotConverted(text).first;
  const auto lists = [&](const CLI::App* candidate) {
    const CLI::Option* const option = IsOption(word) ? Find(*candidate, word) : nullptr;
    return option && IsListed(*option);
  };
  const auto commands = app.get_subcommands({});
  if (lists(&command)) return Help(command.get_name());
  const auto other = std::ranges::find_if(commands, lists);
  return Help((other == commands.end() ? &command : *other)->get_name());
}

Status WhyRefused(const CLI::App& app, const CLI::ParseError& error) {
  const auto commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  const std::string of = commands.empty() ? "" : command.get_name() + ": ";
  std::string what = error.what();
  std::string remedy = "see " + HelpOn(app, command, what);
  if (const auto* missing = dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    what = std::string(missing->what());
    const bool twice = what.find(": At Most") != std::string::npos;
    what = what.substr(0, what.find(':')) + (twice ? " is given twice" : " needs a value");
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const Argv extra = app.remaining(true);
    what = "unexpected argument: '" + (extra.empty() ? "" : extra.front()) + "'";
    if (Find(command, "JOB")) what += "; give one job";
    if (Find(command, "--hosts")) {
      const CLI::Option& hosts = *command.get_option("--hosts");
      const std::string given = hosts.count() > 0 ? hosts.as<std::string>() + "," : "";
      remedy = "give hosts with `autodist " + command.get_name() + " --hosts " +
               base::ShellQuote(given + absl::StrJoin(extra, ",")) + "`";
    }
  } else if (dynamic_cast<const CLI::ConversionError*>(&error)) {
    const auto [option, value] = NotConverted(what);
    what = option + ": '" + value + "' is not a number";
    if (option == "--rank" && Find(command, "--show")) {
      remedy = "for several ranks: --show " + value;
    }
  } else if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    what = what.substr(0, what.find(' ')) + " is missing";
  }
  return Refuse(of + what, remedy);
}

}  // namespace autodist::cli
