// autodist: the command line. A table of subcommands; each lives in its own file.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>

#include "base/fd.h"
#include "cli/commands.h"

namespace {

constexpr char kExamples[] = R"(
Examples:
  autodist run -- ./train                        on this machine, one rank per GPU
  autodist run --spec cluster.yaml -- ./train    on every device of every node of the spec
  autodist run --spec cluster.yaml -- python train.py --lr 0.1
  autodist run --spec cluster.yaml --dry-run -- ./train
  autodist run --spec cluster.yaml --dialect jax -- python train.py
  autodist run --spec cluster.yaml --per node -- torchrun train.py
  autodist validate cluster.yaml
  autodist init --hosts gpu1,gpu2 --output cluster.yaml
  autodist doctor --spec cluster.yaml -- python train.py
  autodist bench --spec cluster.yaml             how fast the devices exchange data
  autodist ps                                    the jobs that are running
  autodist attach last                           the output of the job started last

Exit code of run: that of the first rank that failed, 128+n if a signal ended it; 126 or 127 if
the program cannot be executed or found; 125 if a node cannot run the job or was lost; 2 for wrong
usage or a wrong spec; 130 after Ctrl-C.)";

int Main(int argc, char** argv) {
  // What follows "--" is the user's program, passed on untouched.
  char** const end = argv + argc;
  char** const dashes =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  const std::vector<std::string> program(dashes == end ? end : dashes + 1, end);

  CLI::App app("Runs one training program on every device of many machines, as plainly as on one.",
               "autodist");
  app.set_version_flag("--version", "autodist " AUTODIST_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);

  CLI::App* run = app.add_subcommand("run", "Run a program on every device of a spec's nodes");
  CLI::App* doctor =
      app.add_subcommand("doctor", "Find out what would keep a run from working, on all nodes");
  CLI::App* bench = app.add_subcommand("bench", "Measure how fast data goes between the devices");
  CLI::App* validate = app.add_subcommand("validate", "Check a resource spec");
  CLI::App* init = app.add_subcommand("init", "Write a resource spec from a list of hosts");
  CLI::App* ps = app.add_subcommand("ps", "List jobs");
  CLI::App* status = app.add_subcommand("status", "Show how a job and its nodes are");
  CLI::App* logs = app.add_subcommand("logs", "Print what the ranks of a job have written");
  CLI::App* attach = app.add_subcommand("attach", "Show a job's output until the job ends");
  CLI::App* stop = app.add_subcommand("stop", "End a job");
  CLI::App* clean = app.add_subcommand("clean", "End what jobs have left on nodes");
  CLI::App* dialects =
      app.add_subcommand("dialects", "List what each framework's programs are told, and how");
  const std::map<CLI::App*, autodist::cli::Command> commands = {
      {run, autodist::cli::AddRun(*run, program)},
      {doctor, autodist::cli::AddDoctor(*doctor, program)},
      {bench, autodist::cli::AddBench(*bench)},
      {validate, autodist::cli::AddValidate(*validate)},
      {init, autodist::cli::AddInit(*init)},
      {ps, autodist::cli::AddPs(*ps)},
      {status, autodist::cli::AddStatus(*status)},
      {logs, autodist::cli::AddLogs(*logs)},
      {attach, autodist::cli::AddAttach(*attach)},
      {stop, autodist::cli::AddStop(*stop)},
      {clean, autodist::cli::AddClean(*clean)},
      {dialects, autodist::cli::AddDialects(*dialects)},
  };
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : autodist::cli::kExitUsage;
  }
  return commands.at(app.get_subcommands().front())();
}

}  // namespace

int main(int argc, char** argv) {
  autodist::base::OpenStandardStreams();
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "autodist: internal error: %s\n", error.what());
    return 125;
  }
}
