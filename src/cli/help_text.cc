#include "cli/help_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/split.h"
#include "cli/commands.h"
#include "spec/node_entry.h"
#include "spec/ssh_section.h"
#include "spec/yaml_reader.h"

namespace autodist::cli {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kNameColumn = 26;  // for names and the space after them
constexpr size_t kCommandColumn = 13;
constexpr size_t kMinWidth = 60;
constexpr size_t kMaxWidth = 120;
constexpr size_t kWithoutTerminal = 80;

// Wraps the text at spaces to lines of `width` characters; longer words get a longer line.
std::string Wrapped(std::string_view text, size_t width, const std::string& line_break) {
  std::string lines;
  size_t column = 0;
  for (const std::string_view word : base::Split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > width) {
      lines += line_break;
      column = 0;
    } else if (!lines.empty()) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

constexpr size_t kWidth = 80;  // characters
constexpr size_t kKeyColumn = 18;

constexpr char kSpecIntroduction[] =
    R"(A resource spec is a YAML file that lists the machines of a job.

  nodes:
    - address: 10.0.0.1
      gpus: [0, 1, 2, 3]
      chief: true              # if you run autodist on this node
    - address: 10.0.0.2
      gpus: [0, 1, 2, 3]
      ssh_config: lab
  ssh:
    lab:
      username: ubuntu
      key_file: ~/.ssh/id_ed25519

`autodist init` writes one, `autodist validate` checks one. `run` uses the file
of --spec, or of $AUTODIST_SPEC, or autodist.yaml in the current folder.
)";

constexpr char kExitCodes[] = R"(run, and submit's jobs:
  0            all ranks exited with 0
  1 to 255     the exit code of the first rank that failed; 128 + n if signal n
               ended it (134 SIGABRT, 137 SIGKILL, 139 SIGSEGV, 143 SIGTERM)
  2            wrong usage or an invalid spec; there is no job
  123          --restart-policy act: another attempt could hardly succeed
  124          --timeout or --hang-timeout expired
  125          a node cannot be reached, cannot run the job, or was lost
  126          the program exists on a node but cannot be executed
  127          the program was not found on a node
  129, 130     autodist received SIGHUP, or SIGINT (Ctrl-C)
  143          autodist received SIGTERM, or `autodist stop`

Other commands:
  doctor       0: a run would start; 1: it would fail; 125: it could not check
  attach       the job's; 130: you left with Ctrl-C and the job continues;
               125: the job has crashed
  why          0: no issue; 3: an issue was found; 4: the cause is not known;
               125: the job does not answer
  stop, stacks
               125: the job has crashed or does not answer
  report       125: the job does not answer, or the file cannot be written
  clean        125: a node could not be cleaned
  init         125: the devices of a host are unknown
  submit       1: sbatch or kubectl refused the job
  all          2: wrong usage, an invalid spec, or no such job

A program can exit with 2 or 123 to 143 itself. To distinguish the two, read the
last lines of the output, `autodist status JOB --json`, or AUTODIST_OUTCOME in
the command of --on-exit.
)";

constexpr char kEnvironment[] = R"(Variables of every rank:
  AUTODIST_JOB_ID                id of the job; also the name of the log folder
  AUTODIST_RANK                  number of this rank, from 0
  AUTODIST_WORLD_SIZE            number of ranks
  AUTODIST_LOCAL_RANK            number of this rank on its node
  AUTODIST_LOCAL_WORLD_SIZE      number of ranks on this node
  AUTODIST_NODE_RANK             number of this node, from 0
  AUTODIST_NODE_COUNT            number of nodes
  AUTODIST_NODE_ADDRESS          IP address of this node
  AUTODIST_NODE_ADDRESSES        IP addresses of all nodes
  AUTODIST_CHIEF_ADDRESS         IP address of node 0
  AUTODIST_RESTART_COUNT         number of attempts before this one
  AUTODIST_DEVICE                gpu or cpu
  AUTODIST_PROGRESS              file for progress, one JSON object per line
  AUTODIST_AGENT_SOCKET          socket of the node's agent (worker library)

Each framework adds its own, such as RANK, WORLD_SIZE and MASTER_ADDR for torch:
`autodist frameworks` lists them, `run --framework` chooses. `run --dry-run
--verbose` prints the environment of each rank.

Variables of the command of --on-exit:
  AUTODIST_JOB_ID                id of the job
  AUTODIST_JOB_NAME              its name; empty without --name
  AUTODIST_OUTCOME               ended (success), failed, stopped or not started
  AUTODIST_EXIT_CODE             exit code of run
  AUTODIST_CAUSE                 first line of the report; empty after success
  AUTODIST_ELAPSED_S             seconds from the start of run to the end
  AUTODIST_WORLD_SIZE            number of ranks of the last attempt
  AUTODIST_LOG_FOLDER            absolute path of the log folder

Variables that autodist reads:
  AUTODIST_SPEC                  the spec to use without --spec
  NO_COLOR                       no colors, unless --color is given
  SSH_AUTH_SOCK                  the SSH agent that holds your keys
  XDG_CONFIG_HOME                folder of autodist/config.toml [~/.config]
  XDG_STATE_HOME                 folder of the list of jobs [~/.local/state]
)";

constexpr char kOutput[] =
    R"(autodist prints the ranks' stdout on its stdout and their stderr on its stderr,
line by line. Its own messages begin with "autodist: " and go to stderr.

  [gpu1:0] loss 0.41             a line of rank 0 on node gpu1

Options of run, attach and logs:
  --show 0,8-15                  only these ranks
  --show local0                  the first rank of each node
  --show node:gpu3               the ranks of one node
  --prefix none|rank|node|time   prefix of each line
  --color auto|always|never

The log folder, autodist-runs/JOB, contains all output, independent of --show:
  rank-N.out, rank-N.err         output of rank N, unchanged
  events.jsonl                   events, one JSON object per line
  restart-N/                     the same for restart N

Commands:
  autodist logs last -f          print and follow the output of the last job
  autodist logs last --rank 3    the bytes of rank 3
  autodist attach last           the last lines, then what follows
  autodist run --json            output and events as JSON lines on stdout
)";

// Removes Markdown markup: the docs use the same tables of keys.
std::string PlainText(const std::string& markdown) {
  std::string text;
  for (size_t at = 0; at < markdown.size(); ++at) {
    if (markdown[at] == '\\' && at + 1 < markdown.size()) {
      text += markdown[++at];
    } else if (markdown.compare(at, 2, "](") == 0) {
      at = markdown.find(')', at);
    } else if (markdown[at] != '`' && markdown[at] != '[') {
      text += markdown[at];
    }
  }
  return text;
}

std::string KeyTable(const std::string& heading, const std::vector<spec::KeyText>& keys) {
  std::string table = "\n" + heading + ":\n";
  for (const spec::KeyText& key : keys) {
    const std::string meaning = std::string(key.value) + ". " + key.meaning;
    table += HelpEntry(key.name, PlainText(meaning), kKeyColumn, kWidth);
  }
  return table;
}

std::string SpecText() {
  return kSpecIntroduction + KeyTable("Keys of the file", spec::SpecKeyTexts()) +
         KeyTable("Keys of a node", spec::NodeKeyTexts()) +
         KeyTable("Keys of an ssh group", spec::GroupKeyTexts());
}

// Shown by the short help of `run`.
constexpr auto kCommon = std::to_array<std::string_view>(
    {"--help",         "--spec",    "--hosts", "--nproc-per-node", "--slurm",        "--per",
     "--framework",    "--workdir", "--env",   "--pass-env",       "--max-restarts", "--timeout",
     "--hang-timeout", "--name",    "--show",  "--log-dir",        "--detach",       "--web",
     "--dry-run",      "--sync",    "--fetch"});
// Shown by the short help of `submit`, in addition.
constexpr auto kCommonOfSubmit = std::to_array<std::string_view>(
    {"--nodes", "--gpus-per-node", "--ntasks-per-node", "--print", "--kubernetes", "--time",
     "--partition", "--account", "--sbatch", "--image", "--cpus", "--memory", "--volume",
     "--namespace"});

bool IsCommon(const CLI::App& command, const CLI::Option& option) {
  const std::string name = "--" + (option.get_lnames().empty() ? "" : option.get_lnames().front());
  return std::ranges::count(kCommon, name) > 0 ||
         (command.get_name() == "submit" && std::ranges::count(kCommonOfSubmit, name) > 0);
}

}  // namespace

// Returns "NAME" of "TEXT:NAME": a validator's name is more specific than the type's.
std::string ValueName(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  const std::string value = type.substr(type.rfind(':') + 1);
  return value.empty() ? "TEXT" : value;
}

std::string HelpOf(const CLI::Option& option) {
  const std::string& preset = option.get_default_str();
  return option.get_description() + (preset.empty() ? "" : " [" + preset + "]");
}

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWithoutTerminal;
  return std::clamp<size_t>(size.ws_col, kMinWidth, kMaxWidth);
}

std::string HelpEntry(const std::string& name, const std::string& text, size_t column,
                      size_t width) {
  std::string lines = std::string(kIndent, ' ') + name;
  const std::string margin(kIndent + column, ' ');
  if (lines.size() < margin.size()) {
    lines.resize(margin.size(), ' ');
  } else {
    lines += "\n" + margin;
  }
  return lines + Wrapped(text, width - margin.size(), "\n" + margin) + "\n";
}

std::string HelpText::make_group(std::string name, bool is_positional,
                                 std::vector<const CLI::Option*> options) const {
  if (name == group::kUnlisted) return "";
  return CLI::Formatter::make_group(std::move(name), is_positional, std::move(options));
}

std::string HelpText::make_option(const CLI::Option* option, bool is_positional) const {
  std::string value = is_positional ? "" : ValueName(*option);
  if (!value.empty() && option->get_items_expected_min() == 0) value = "[" + value + "]";
  return HelpEntry(make_option_name(option, is_positional) + (value.empty() ? "" : " " + value),
                   HelpOf(*option), kNameColumn, width_);
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
  return HelpEntry(command->get_name(), command->get_description(), kCommandColumn, width_);
}

// Wraps paragraphs; leaves indented lines unchanged.
std::string HelpText::make_footer(const CLI::App* app) const {
  std::string lines;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) lines += Wrapped(paragraph, width_, "\n") + "\n";
    paragraph.clear();
  };
  const std::string text = app->get_footer();
  for (const std::string_view line : base::Split(text, '\n')) {
    if (!line.empty() && line.front() != ' ') {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      continue;
    }
    end_paragraph();
    if (!lines.empty() || !line.empty()) lines.append(line) += '\n';
  }
  end_paragraph();
  return lines;
}

std::string HelpText::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = Formatter::make_option_name(option, is_positional);
  if (const size_t comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
  return name;
}

std::string HelpText::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = Formatter::make_usage(app, std::move(name));
  if (app->get_prefix_command()) usage.insert(usage.size() - 1, " -- PROGRAM [ARGUMENTS]");
  return usage;
}

const std::vector<HelpTopic>& HelpTopics() {
  static const std::vector<HelpTopic> topics = {
      {"spec", "The resource spec: which machines, and how to log in", SpecText},
      {"exit-codes", "Exit codes of all commands", [] { return std::string(kExitCodes); }},
      {"environment", "Environment variables of ranks and of autodist",
       [] { return std::string(kEnvironment); }},
      {"output", "What is printed, and what the log folder contains",
       [] { return std::string(kOutput); }}};
  return topics;
}

const HelpTopic* FindHelpTopic(std::string_view name) {
  const auto topic = std::ranges::find(HelpTopics(), name, &HelpTopic::name);
  return topic == HelpTopics().end() ? nullptr : &*topic;
}

void HideUncommonOptions(CLI::App& command) {
  if (command.get_name() != "run" && command.get_name() != "submit") return;
  size_t shown = 0;
  size_t hidden = 0;
  for (CLI::Option* const option : command.get_options()) {
    if (!IsListed(*option)) continue;
    if (IsCommon(command, *option)) {
      ++shown;
      continue;
    }
    option->group("");
    ++hidden;
  }
  const std::string all = std::to_string(shown + hidden);
  command.footer("\n`autodist " + command.get_name() + " --help all` shows all " + all +
                 " options.\n" + command.get_footer());
}

Command AddHelp(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("TOPIC", *name, "The topic")->required();
  return [name] {
    // Other names are read as commands (ReadCommandLine).
    const Status written = WriteOutput("", FindHelpTopic(*name)->text(), /*force=*/false);
    return written.ok() ? 0 : Fail(written, kExitCannotLaunch);
  };
}

}  // namespace autodist::cli
