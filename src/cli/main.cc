// The autodist command line: a table of subcommands, each in its own file.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/exit_codes.h"
#include "base/fd.h"
#include "base/name_service.h"
#include "base/shell_quote.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "chief/remote_controller/controller.h"
#include "chief/remote_controller/run_remote.h"
#include "cli/chief_on.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/config_defaults.h"
#include "cli/help_text.h"
#include "cli/version.h"
#include "rpc/settings.h"
#include "ssh/crypto.h"

namespace autodist::cli {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autodist run -- ./train                      on this machine, one rank per GPU
  autodist run --spec cluster.yaml -- ./train  on every device of every node
  autodist init --hosts gpu1,gpu2 --output cluster.yaml
  autodist doctor --spec cluster.yaml -- python3 train.py
  autodist run --spec cluster.yaml --detach -- python3 train.py
  autodist top                                 watch the last job
  autodist why                                 explain what is wrong with it

`autodist help COMMAND` shows a command's options, `autodist help TOPIC` one of
these topics:
)";

constexpr char kNoConfig[] = "--no-config";

// Adds the commands that an autodist on another machine, a scheduler or a shell runs.
void AddHidden(CLI::App& app, const CommandLine& line, std::map<CLI::App*, Command>& commands) {
  CLI::App* const controller = app.add_subcommand("remote-controller")->group("");
  auto nonce = std::make_shared<std::string>();
  controller->add_option("NONCE", *nonce)->required();
  commands[controller] = [nonce] { return chief::StartRemoteController(*nonce); };
  CLI::App* const request = app.add_subcommand("run-request")->group("");
  commands[request] = AddRunRequest(*request);
  CLI::App* const help = app.add_subcommand("help")->group("");
  commands[help] = AddHelp(*help);
  CLI::App* const complete = app.add_subcommand("complete")->group("");
  commands[complete] = AddComplete(*complete, line.program);
}

bool IsFromElsewhere(int argc, char** argv) {
  return argc == 3 && std::string_view(argv[1]) == "exec-remote";
}

// `exec-remote ENCODED` is a command line that passed through a login shell.
Result<std::vector<std::string>> ArgvOf(int argc, char** argv) {
  std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  if (!IsFromElsewhere(argc, argv)) return given;
  // Not the folder of the program. "/" is no folder of jobs, so that `last` is the newest one.
  (void)!chdir("/");
  if (isatty(STDIN_FILENO) == 0) chief::EndWithInput();
  auto decoded = chief::DecodeArgv(argv[2]);
  // The machine where it was typed has added the defaults.
  if (decoded.ok() && !decoded->empty()) decoded->insert(decoded->begin() + 1, kNoConfig);
  return decoded;
}

bool AsksForHelp(const std::vector<std::string>& argv) {
  return argv.front().starts_with('-') ||
         std::ranges::count(argv, "--help") + std::ranges::count(argv, "-h") > 0;
}

// Inserts the defaults of config.toml after the command and returns them.
Result<std::vector<std::string>> AddDefaults(const CLI::App& app, std::vector<std::string>& argv) {
  const bool hidden =
      !app.get_subcommands([&](const CLI::App* command) {
            return command->get_name() == argv.front() && command->get_group().empty();
          })
           .empty();
  if (std::erase(argv, kNoConfig) > 0 || AsksForHelp(argv) || hidden) {
    return std::vector<std::string>();
  }
  const std::string path = ConfigPath();
  const auto settings = ReadConfig(path);
  auto defaults = settings.ok() ? DefaultArgv(app, argv, *settings) : settings.status();
  if (!defaults.ok()) return Annotate(defaults.status(), path);
  argv.insert(argv.begin() + 1, defaults->begin(), defaults->end());
  const bool shown = std::ranges::count(argv, "--dry-run") > 0;
  if (shown && std::ranges::count(argv, "--verbose") > 0 && !defaults->empty()) {
    base::Log(base::LogLevel::kInfo, "from " + path + ": " + base::ShellLine(*defaults));
  }
  return defaults;
}

constexpr size_t kTopicColumn = 13;

std::string MainFooter() {
  std::string text = kExamples;
  for (const HelpTopic& topic : HelpTopics()) {
    text += HelpEntry(topic.name, topic.summary, kTopicColumn, TerminalWidth());
  }
  return text;
}

using Commands = std::map<CLI::App*, Command>;

// Adds the commands that the help lists, by group.
void AddCommands(CLI::App& app, CommandLine& line, bool& no_config, Commands& commands) {
  std::string group;
  const auto add = [&](const char* name, const char* purpose, auto add_options,
                       const auto&... more) {
    CLI::App* command = app.add_subcommand(name, purpose)->group(group);
    commands[command] = add_options(*command, more...);
    command->add_flag(kNoConfig, no_config, "Ignore ~/.config/autodist/config.toml");
  };
  // For jobs that may be controlled by a chief on another machine.
  const auto add_for_jobs = [&](const char* name, const char* purpose, auto add_options) {
    add(name, purpose,
        [&](CLI::App& command) { return OrRemote(command, line, add_options(command)); });
  };
  const auto add_for_job = [&](const char* name, const char* purpose, auto add_options) {
    add(name, purpose, [&](CLI::App& command) { return ForJob(command, line, add_options); });
  };
  group = "Start jobs";
  add("run", "Run a program on every device of the nodes", AddRun, line.program);
  add("submit", "Submit a job to Slurm or Kubernetes", AddSubmit, line.program);
  group = "Prepare nodes";
  add("init", "Write a resource spec from a list of hosts", AddInit);
  add("validate", "Check a resource spec", AddValidate);
  add("doctor", "Check that nodes can run a job", AddDoctor, line.program);
  add("bench", "Measure bandwidth between devices", AddBench);
  add("nodes", "List nodes that are remembered as faulty", AddNodesCommand);
  group = "Watch jobs";
  add_for_jobs("ps", "List jobs", AddPs);
  add_for_job("status", "Show the state of a job and its nodes", AddStatus);
  add_for_job("top", "Watch a job: nodes, GPUs, ranks and issues", AddTop);
  add_for_jobs("web", "Show jobs in a browser", AddWeb);
  add_for_job("logs", "Print the output of a job's ranks", AddLogs);
  add_for_job("attach", "Show a job's output until it ends", AddAttach);
  group = "Diagnose jobs";
  add_for_job("why", "Explain what is wrong with a job", AddWhy);
  add_for_job("stacks", "Show the stacks of all ranks", AddStacks);
  add_for_job("report", "Write a report of a job as HTML or Markdown", AddReport);
  group = "Finish jobs";
  add_for_job("stop", "Stop a job", AddStop);
  add_for_jobs("fetch", "Copy files from the nodes of a job", AddFetch);
  add("clean", "Kill processes that crashed jobs left on nodes", AddClean);
  add("prune", "Remove the logs of ended jobs", AddPrune);
  group = "Other";
  add("frameworks", "List frameworks and their environment variables", AddFrameworks);
  add("completion", "Print a shell's completion script", AddCompletion);
  add("licenses", "Print the licences of all components", AddLicenses);
  add("man", "Print a manual page", AddMan);
}

int Main(const std::vector<std::string>& words, bool from_elsewhere) {
  CLI::App app("Launch distributed training on many machines: one process per device", "autodist");
  app.formatter(std::make_shared<HelpText>(TerminalWidth()));
  CommandLine line;
  bool no_config = false;  // unused: AddDefaults removes the flag
  app.set_version_flag("-V,--version", VersionText);
  app.footer(MainFooter());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.require_subcommand(1);

  Commands commands;
  AddCommands(app, line, no_config, commands);
  AddHidden(app, line, commands);
  auto read = ReadCommandLine(app, words);
  if (!read.ok()) return Fail(read.status(), kExitUsage);
  line = *std::move(read);
  line.from_elsewhere = from_elsewhere;
  const auto defaults = AddDefaults(app, line.argv);
  if (!defaults.ok()) return Fail(defaults.status(), kExitUsage);
  if (AsksForHelp(line.argv) && !line.help_all) {
    for (CLI::App* const command : app.get_subcommands({})) HideUncommonOptions(*command);
  }
  try {
    app.parse(std::vector<std::string>(line.argv.rbegin(), line.argv.rend()));
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    const Status why = WhyRefused(app, error);
    const bool of_file = std::ranges::any_of(*defaults, [&](const std::string& word) {
      return Message(why).find(word.substr(0, word.find('=')) + ":") != std::string::npos;
    });
    return Fail(of_file ? Annotate(why, ConfigPath()) : why, kExitUsage);
  }
  return commands.at(app.get_subcommands().front())();
}

int InternalError(const std::exception& error) {
  std::fprintf(stderr, "autodist: internal error: %s\n", base::Printable(error.what()).c_str());
  return kExitCannotLaunch;
}

}  // namespace
}  // namespace autodist::cli

int main(int argc, char** argv) {
  autodist::base::OpenStandardStreams();
  // Treats a file size limit (ulimit -f) like a full disk instead of being killed.
  signal(SIGXFSZ, SIG_IGN);
  // Reports a closed connection or pipe as an error. Started programs get the default action again
  // (process/spawn.cc).
  signal(SIGPIPE, SIG_IGN);
  autodist::base::UseFilesAndDns();
  autodist::ssh::UseBuiltInCrypto();
  autodist::rpc::BeginProgram();
  try {
    const auto given = autodist::cli::ArgvOf(argc, argv);
    if (!given.ok()) return autodist::cli::Fail(given.status(), autodist::kExitUsage);
    const int code = autodist::cli::Main(*given, autodist::cli::IsFromElsewhere(argc, argv));
    autodist::chief::MarkEnd(code);
    return code;
  } catch (const std::system_error& error) {
    // No thread could be created at startup; later failures of this kind return a Status.
    if (error.code() != std::errc::resource_unavailable_try_again) {
      return autodist::cli::InternalError(error);
    }
    return autodist::cli::Fail(autodist::base::NoThread(error), autodist::kExitCannotLaunch);
  } catch (const std::exception& error) {
    return autodist::cli::InternalError(error);
  }
}
