// autodist submit --slurm [options] -- PROGRAM [ARGUMENTS]
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/shell_quote.h"
#include "cli/commands.h"
#include "cli/given_options.h"
#include "cli/help_text.h"
#include "cli/run_options.h"
#include "cli/values.h"
#include "spec/host_list.h"
#include "transport/local.h"

namespace autodist::cli {
namespace {

constexpr std::chrono::seconds kSubmitLimit{60};  // a busy slurmctld makes sbatch wait
constexpr size_t kMostSaid = 64 << 10;            // bytes
constexpr uint32_t kMostMachines = 100'000;

struct SubmitOptions {
  uint32_t nodes = 1;
  std::string gpus;
  uint32_t ranks = 0;
  std::string time;
  std::string partition;
  std::string account;
  std::string signal;
  std::vector<std::string> others;  // words of sbatch
  bool print = false;
  RunOptions run;
};

// Options of `run`: Slurm says which nodes there are; a batch job has no terminal, and is no dry
// run.
constexpr const char* kNotInBatch[] = {"--spec",   "--hosts",       "--nproc-per-node",
                                       "--detach", "--chief-on",    "--dry-run",
                                       "--json",   "--show-values", "--stdin-rank"};

// A line of a batch script ends at a line feed, and its words at spaces.
CLI::Validator SbatchWord() {
  return {[](const std::string& text) -> std::string {
            const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
              return std::isgraph(c) && c != '"' && c != '\'' && c != '\\' && c != '#';
            });
            return plain ? ""
                         : "'" + text +
                               "' cannot stand in a batch script: no spaces, quotes, # or \\";
          },
          ""};
}

CLI::Validator SbatchOption() {
  return {[](const std::string& text) -> std::string {
            if (text.starts_with("--") && text.size() > 2) return "";
            return "'" + text + "' is no option of sbatch, such as --constraint=a100";
          },
          ""};
}

std::string ScriptOf(const SubmitOptions& options, const std::vector<std::string>& given) {
  std::string script = "#!/bin/sh\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) script += "#SBATCH --" + name + "=" + value + "\n";
  };
  add("job-name", options.run.name.empty() ? "autodist" : options.run.name);
  add("nodes", std::to_string(options.nodes));
  add("ntasks-per-node", std::to_string(std::max(options.ranks, 1U)));
  add("gpus-per-node", options.gpus);
  add("time", options.time);
  add("partition", options.partition);
  add("account", options.account);
  add("signal", options.signal.empty() ? "" : "B:" + options.signal);
  for (const std::string& word : options.others) script += "#SBATCH " + word + "\n";
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words = {error ? "autodist" : self.string(), "run"};
  words.insert(words.end(), given.begin(), given.end());
  words.emplace_back("--");
  const auto& program = options.run.program.program.command;
  words.insert(words.end(), program.begin(), program.end());
  // exec: Slurm signals the script's own process alone.
  return script + "exec " + base::ShellLine(words) + "\n";
}

// What sbatch says of a script: the job's number.
Result<std::string> Submit(const std::string& script) {
  AD_ASSIGN_OR_RETURN(const auto sbatch, transport::StartProgram({"sbatch", "--parsable"}));
  const base::Deadline deadline = base::Deadline::After(kSubmitLimit);
  const base::UniqueFd socket = sbatch->TakeSocket();
  // One that has ended already says why.
  (void)base::WriteAll(socket.get(), script, deadline).ok();
  shutdown(socket.get(), SHUT_WR);
  std::string said;
  char buffer[4096];
  for (;;) {
    const auto got = base::ReadSome(socket.get(), buffer, sizeof buffer, deadline);
    if (!got.ok() || *got == 0 || said.size() > kMostSaid) break;
    said.append(buffer, *got);
  }
  sbatch->WaitClosed(deadline);
  if (sbatch->ExitStatus() == 0) return said.substr(0, said.find_first_of(";\n"));
  std::string why = sbatch->StderrTail();
  while (why.ends_with('\n')) why.pop_back();
  return WithRemedy(Error(StatusCode::kInvalidArgument, "sbatch refuses the script: " + why),
                    "--print shows it");
}

int SubmitToSlurm(const SubmitOptions& options, const std::vector<std::string>& given) {
  const auto wrong = [](const std::string& what) {
    return Fail(Error(StatusCode::kInvalidArgument, what), kExitUsage);
  };
  if (!options.run.nodes.slurm) return wrong("submit needs to know the engine: --slurm");
  if (options.run.program.program.command.empty()) {
    return wrong(
        "no program; it comes after the options: autodist submit --slurm --nodes 4 -- ./train");
  }
  const std::string script = ScriptOf(options, given);
  if (options.print) {
    std::fputs(script.c_str(), stdout);
    return 0;
  }
  const auto job = Submit(script);
  if (!job.ok()) return Fail(job.status(), 1);
  base::Log(base::LogLevel::kInfo, "submitted as job " + *job + " of Slurm; squeue --jobs=" + *job +
                                       " tells how it is, scancel " + *job + " ends it");
  std::printf("%s\n", job->c_str());
  return 0;
}

void AddSlurmOptions(CLI::App& app, SubmitOptions& options) {
  app.add_option("--nodes", options.nodes, "How many machines")
      ->check(WholeNumber(1, kMostMachines))
      ->capture_default_str()
      ->group(group::kSlurm);
  app.add_option("--gpus-per-node", options.gpus,
                 "GPUs of each, a rank for each: 8, or a100:8 for a type")
      ->check(SbatchWord())
      ->type_name("N")
      ->group(group::kSlurm);
  app.add_option("--ntasks-per-node", options.ranks, "Ranks on each where there are no GPUs")
      ->check(WholeNumber(1, spec::kMostSlots))
      ->group(group::kSlurm);
  app.add_option("--time", options.time,
                 "After which Slurm ends the job: 30 (minutes), 2:00:00, 1-12")
      ->check(SbatchWord())
      ->type_name("TIME")
      ->group(group::kSlurm);
  app.add_option("--signal", options.signal,
                 "A signal for all ranks before that time, such as USR1@120: 120 seconds before")
      ->check(SbatchWord())
      ->type_name("SIGNAL@SECONDS")
      ->group(group::kSlurm);
  app.add_option("--partition", options.partition, "Where the machines are from")
      ->check(SbatchWord())
      ->group(group::kSlurm);
  app.add_option("--account", options.account, "Who pays")
      ->check(SbatchWord())
      ->group(group::kSlurm);
  app.add_option("--sbatch", options.others,
                 "A further option of sbatch's, such as --constraint=a100; may be given again")
      ->check(SbatchWord())
      ->check(SbatchOption())
      ->allow_extra_args(false)
      ->type_name("OPTION")
      ->group(group::kSlurm);
  app.add_flag("--print", options.print, "Only show the batch script")->group(group::kSlurm);
}

}  // namespace

Command AddSubmit(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<SubmitOptions>();
  app.prefix_command();
  AddSlurmOptions(app, *options);
  const size_t own = app.get_options().size();
  AddRunOptions(app, options->run);
  for (const char* name : kNotInBatch) app.remove_option(app.get_option(name));
  const auto all = std::as_const(app).get_options();
  const std::vector<const CLI::Option*> of_run(all.begin() + static_cast<ptrdiff_t>(own),
                                               all.end());
  app.footer(R"(
Writes a batch script in which `autodist run` has the allocation's nodes, and gives it to sbatch. All
options of `run` that tell how to run go into it, but for those that say where.

Examples:
  autodist submit --slurm --nodes 4 --gpus-per-node 8 --time 12:00:00 -- python train.py
  autodist submit --slurm --nodes 4 --gpus-per-node a100:4 --partition long --max-restarts 3 -- ./train
  autodist submit --slurm --nodes 2 --ntasks-per-node 16 -- ./train           ranks on CPUs
  autodist submit --slurm --nodes 2 --gpus-per-node 8 --time 60 --signal USR1@120 -- ./train
  autodist submit --slurm --nodes 2 --sbatch=--exclusive --sbatch=--requeue -- ./train
  autodist submit --slurm --nodes 2 --print -- ./train                        only show the script)");
  return [options, of_run, &program] {
    options->run.program.program.command = program;
    return SubmitToSlurm(*options, Given(of_run));
  };
}

}  // namespace autodist::cli
