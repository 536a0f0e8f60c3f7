// autodist doctor [options] [-- PROGRAM [ARGUMENTS]]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/home_folder.h"
#include "chief/attempt/exit_codes.h"
#include "chief/checks/doctor.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/program_options.h"
#include "cli/values.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/diagnosis_text.h"
#include "launch/slurm_steps.h"
#include "launch/sync_source.h"
#include "reach/this_machine.h"

namespace autodist::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLease{60'000};  // of agents that end with the command anyway
constexpr int kExitBad = 1;

struct DoctorOptions {
  NodesOptions nodes;
  ProgramOptions program;
  std::string log_dir = "autodist-runs";
  bool json = false;
  bool full_mesh = false;
  bool sync = false;
};

bool ShowColours() { return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

int Doctor(const DoctorOptions& options) {
  const auto spec = SpecOf(options.nodes);
  if (!spec) return kExitUsage;
  const auto program = ProgramOf(options.program);
  auto plan = program.ok() ? chief::PlanJob(*spec, *program) : program.status();
  if (!plan.ok()) return Fail(plan.status(), kExitUsage);
  const Status here = CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  if (options.sync) {
    const auto sync = launch::SyncOfWorkingDirectory(*plan, options.log_dir, base::HomeFolder(),
                                                     launch::SyncFrom::kFirstNode);
    if (!sync.ok()) return Fail(sync.status(), chief::kExitCannotLaunch);
  }
  launch::LaunchOptions launch;
  launch.agent_path = options.nodes.agent;
  launch.logins = launch::LoginsFor(*plan, launch.agent_path, kLease);
  launch.lease = kLease;
  launch.grace = milliseconds(0);
  launch.fan_out = options.nodes.fan_out;
  SetPatience(options.nodes, launch);
  const chief::Intended intended = {options.full_mesh, options.sync,
                                    options.program.program.master_port, options.log_dir};
  const auto diagnosis = chief::ExamineNodes(*plan, std::move(launch), intended);
  if (!diagnosis.ok()) {
    const bool interrupted = diagnosis.status().code() == StatusCode::kCancelled;
    return Fail(diagnosis.status(), interrupted ? 130 : chief::kExitCannotLaunch);
  }
  const std::string text = options.json ? diagnosis::DiagnosisAsJson(*diagnosis)
                                        : diagnosis::DiagnosisAsText(*diagnosis, ShowColours());
  std::fputs(text.c_str(), stdout);
  return diagnosis::IsBad(*diagnosis) ? kExitBad : 0;
}

}  // namespace

Command AddDoctor(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<DoctorOptions>();
  app.prefix_command();
  AddNodes(app, options->nodes);
  AddProgramOptions(app, options->program);
  app.add_flag("--sync", options->sync,
               "As with `run --sync`: what it would copy to the nodes need not be there")
      ->group(group::kFiles);
  app.add_option("--log-dir", options->log_dir, "Where `run` would make the job's folder of logs")
      ->check(NotEmpty())
      ->type_name("FOLDER")
      ->capture_default_str()
      ->group(group::kFiles);
  app.add_flag("--json", options->json, "Print the findings as JSON");
  app.add_flag("--full-mesh", options->full_mesh,
               "Every node connects to every other, on more than 64 nodes, too: there each tries "
               "a dozen others");
  AddPatience(app, options->nodes);
  AddFanOut(app, options->nodes);
  AddAgent(app, options->nodes);
  app.footer(R"(
Looks at every node at the same time, starts no rank, and tells everything that would keep a run
from working, with what to do about it. With the program of the run after '--' it also looks whether
the nodes have the same files, and for Python the same packages. Exit code 1 if a run would fail.

Examples:
  autodist doctor --spec cluster.yaml
  autodist doctor --spec cluster.yaml -- python train.py --config big.yaml
  autodist doctor --spec cluster.yaml --sync -- ./train
  autodist doctor --spec cluster.yaml --json | jq '.findings[]')");
  return [options, &program] {
    options->program.program.command = program;
    return Doctor(*options);
  };
}

}  // namespace autodist::cli
