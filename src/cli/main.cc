// autodist: the command line. A table of subcommands; each lives in its own file.
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
#include "base/home_folder.h"
#include "base/name_service.h"
#include "base/shell_quote.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "chief/remote_controller/controller.h"
#include "chief/remote_controller/run_remote.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/config_defaults.h"
#include "cli/help_text.h"
#include "cli/remote_command.h"
#include "cli/version.h"
#include "rpc/settings.h"
#include "ssh/crypto.h"

namespace autodist::cli {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autodist run -- ./train                        on this machine, one rank per GPU
  autodist run --spec cluster.yaml -- ./train    on every device of every node of the spec
  autodist run --spec cluster.yaml -- python train.py --lr 0.1
  autodist run --spec cluster.yaml --dry-run -- ./train
  autodist run --spec cluster.yaml --framework jax -- python train.py
  autodist run --spec cluster.yaml --per node -- torchrun train.py
  autodist validate cluster.yaml
  autodist init --hosts gpu1,gpu2 --output cluster.yaml
  autodist doctor --spec cluster.yaml -- python train.py
  autodist bench --spec cluster.yaml             measure data rates between devices
  autodist ps                                    the jobs that are running
  autodist attach last                           the output of the job started last
  autodist top                                   watch the job in the terminal
  autodist why                                   explain what is wrong with it
  autodist report last --output report.html      write a report of it

Exit code of run: that of the first rank that failed, 128+n if a signal ended it; 126 or 127 if
the program cannot be executed or found; 125 if a node cannot run the job or was lost; 124 after
--timeout or --hang-timeout; 130 after Ctrl-C, 143 after SIGTERM or autodist stop; 2 for wrong usage
or a wrong spec, before there is a job. Of doctor: 1 if a run would fail.)";

constexpr char kNoConfig[] = "--no-config";

// What an autodist elsewhere, a scheduler or a shell runs.
void AddHidden(CLI::App& app, const CommandLine& line, std::map<CLI::App*, Command>& commands) {
  CLI::App* const controller = app.add_subcommand("remote-controller")->group("");
  auto nonce = std::make_shared<std::string>();
  controller->add_option("NONCE", *nonce)->required();
  commands[controller] = [nonce] { return chief::StartRemoteController(*nonce); };
  CLI::App* const request = app.add_subcommand("run-request")->group("");
  commands[request] = AddRunRequest(*request);
  CLI::App* const complete = app.add_subcommand("complete")->group("");
  commands[complete] = AddComplete(*complete, line.program);
}

bool IsFromElsewhere(int argc, char** argv) {
  return argc == 3 && std::string_view(argv[1]) == "exec-remote";
}

// `exec-remote ENCODED` is a command line that has come by way of a login shell.
Result<std::vector<std::string>> ArgvOf(int argc, char** argv) {
  std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  if (!IsFromElsewhere(argc, argv)) return given;
  // Not where the program is: a login begins in the home folder.
  (void)!chdir(base::HomeFolder().c_str());
  if (isatty(STDIN_FILENO) == 0) chief::EndWithInput();
  auto decoded = chief::DecodeArgv(argv[2]);
  // The defaults are those of the machine where it was typed.
  if (decoded.ok() && !decoded->empty()) decoded->insert(decoded->begin() + 1, kNoConfig);
  return decoded;
}

// Adds what the user's file has for the command, as options that follow it, and returns these.
Result<std::vector<std::string>> AddDefaults(const CLI::App& app, std::vector<std::string>& argv) {
  const bool asks_for_help =
      argv.front().starts_with('-') ||
      std::ranges::count(argv, "--help") + std::ranges::count(argv, "-h") > 0;
  const bool hidden =
      !app.get_subcommands([&](const CLI::App* command) {
            return command->get_name() == argv.front() && command->get_group().empty();
          })
           .empty();
  if (std::erase(argv, kNoConfig) > 0 || asks_for_help || hidden) {
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

using Commands = std::map<CLI::App*, Command>;

// All that help lists.
void AddCommands(CLI::App& app, CommandLine& line, bool& no_config, Commands& commands) {
  const auto add = [&](const char* name, const char* purpose, auto add_options,
                       const auto&... more) {
    CLI::App* command = app.add_subcommand(name, purpose);
    commands[command] = add_options(*command, more...);
    command->add_flag(kNoConfig, no_config,
                      "Leave out the defaults of ~/.config/autodist/config.toml");
  };
  // Of a job that may be elsewhere.
  const auto add_for_job = [&](const char* name, const char* purpose, auto add_options) {
    add(name, purpose,
        [&](CLI::App& command) { return OrRemote(command, line, add_options(command)); });
  };
  add("run", "Run a program on every device of the nodes", AddRun, line.program);
  add("submit", "Submit a job to Slurm or Kubernetes", AddSubmit, line.program);
  add("doctor", "Check all nodes for what would make a run fail", AddDoctor, line.program);
  add("bench", "Measure data rates between the devices", AddBench);
  add("validate", "Check a resource spec", AddValidate);
  add("init", "Write a resource spec from a list of hosts", AddInit);
  add_for_job("ps", "List jobs", AddPs);
  add_for_job("status", "Show the state of a job and its nodes", AddStatus);
  add_for_job("top", "Watch a job: nodes, GPUs, ranks and issues", AddTop);
  add_for_job("logs", "Print the output of a job's ranks", AddLogs);
  add_for_job("web", "Show jobs in a browser", AddWeb);
  add_for_job("attach", "Show a job's output until it ends", AddAttach);
  add_for_job("stacks", "Show what each rank of a job is doing now", AddStacks);
  add_for_job("why", "Explain what is wrong with a job", AddWhy);
  add("report", "Write a report of a job as HTML or Markdown", AddReport);
  add("fetch", "Copy files from the nodes of a job", AddFetch);
  add_for_job("stop", "Stop a job", AddStop);
  add("clean", "End what jobs left running on nodes", AddClean);
  add("prune", "Remove the logs of ended jobs", AddPrune);
  add("frameworks", "List the frameworks and the variables that they get", AddFrameworks);
  add("completion", "Print a shell's completion script", AddCompletion);
  add("man", "Print a manual page", AddMan);
}

int Main(const std::vector<std::string>& words, bool from_elsewhere) {
  CLI::App app("Runs one training program on every device of many machines, as plainly as on one.",
               "autodist");
  app.formatter(std::make_shared<HelpText>(TerminalWidth()));
  CommandLine line;
  bool no_config = false;  // has been taken out of the words
  app.set_version_flag("-V,--version", VersionText);
  app.footer(kExamples);
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
  // A limit on the size of files (ulimit -f) is a full disk, not our end.
  signal(SIGXFSZ, SIG_IGN);
  // Nor what a node or a reader closes while something is sent to it. Programs that are started
  // have the default again (process/spawn.cc).
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
    // Of a thread without which no program starts; those of a job's course have a status.
    if (error.code() != std::errc::resource_unavailable_try_again) {
      return autodist::cli::InternalError(error);
    }
    return autodist::cli::Fail(autodist::base::NoThread(error), autodist::kExitCannotLaunch);
  } catch (const std::exception& error) {
    return autodist::cli::InternalError(error);
  }
}
