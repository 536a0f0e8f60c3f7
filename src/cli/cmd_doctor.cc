// autodist doctor [options] [-- PROGRAM [ARGUMENTS]]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/exit_codes.h"
#include "base/home_folder.h"
#include "chief/checks/doctor.h"
#include "chief/plan_job.h"
#include "cli/burn.h"
#include "cli/commands.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/run_options.h"
#include "cli/values.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/diagnosis_text.h"
#include "slurm/steps.h"
#include "transfer/sync_source.h"

namespace autodist::cli {
namespace {

constexpr int kExitBad = 1;

struct DoctorOptions {
  v1::JobRequest request;
  bool full_mesh = false;
  double burn_s = 0;  // 0: no load
};

bool ShowColours() { return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

int Doctor(const DoctorOptions& options) {
  const v1::JobRequest& request = options.request;
  const auto spec = SpecOf(request);
  if (!spec) return kExitUsage;
  auto plan = chief::PlanJob(*spec, request);
  if (!plan.ok()) return Fail(plan.status(), kExitUsage);
  const Status here = CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  if (request.sync()) {
    const auto sync = transfer::SyncOfWorkingDirectory(*plan, request, base::HomeFolder());
    if (!sync.ok()) return Fail(sync.status(), kExitCannotLaunch);
  }
  launch::LaunchOptions launch;
  launch.request = request;
  launch.request.set_grace(0);
  launch.connector = slurm::ConnectorFor(*plan, request.agent(), launch.lease());
  auto diagnosis = chief::ProbeNodes(*plan, std::move(launch), options.full_mesh);
  if (!diagnosis.ok()) {
    const bool interrupted = diagnosis.status().code() == StatusCode::kCancelled;
    return Fail(diagnosis.status(), interrupted ? 130 : kExitCannotLaunch);
  }
  int exit_code = 0;
  if (options.burn_s > 0 && !diagnosis::IsBad(*diagnosis)) {
    const std::chrono::duration<double> time(options.burn_s);
    exit_code = Burn(*spec, request, std::chrono::duration_cast<std::chrono::milliseconds>(time),
                     *diagnosis);
  }
  const std::string text = request.json() ? diagnosis::DiagnosisAsJson(*diagnosis)
                                          : diagnosis::DiagnosisAsText(*diagnosis, ShowColours());
  std::fputs(text.c_str(), stdout);
  if (exit_code != 0) return exit_code;
  return diagnosis::IsBad(*diagnosis) ? kExitBad : 0;
}

}  // namespace

Command AddDoctor(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<DoctorOptions>();
  app.prefix_command();
  v1::JobRequest& request = options->request;
  AddNodes(app, request);
  AddProgramOptions(app, request);
  AddField(app, request, group::kFiles, "--sync",
           "Assume `run --sync`: files that it copies may be missing on nodes");
  AddField(app, request, group::kFiles, "--log-dir", "The --log-dir of the run")
      ->check(NotEmpty("FOLDER"));
  AddField(app, request, group::kOptions, "--json", "Print the issues as JSON");
  app.add_flag("--full-mesh", options->full_mesh,
               "Connect each node to all others; default on more than 64 nodes: to a dozen");
  app.add_option("--burn", options->burn_s,
                 "If nothing prevents a run, also load all devices and the links between them for "
                 "this time, check their results and compare their speed")
      ->transform(Duration(1));
  AddPatience(app, request);
  AddFanOut(app, request);
  AddAgent(app, request);
  app.footer(R"(
Checks all nodes in parallel and starts no rank. Reports everything that would
make a run fail, with hints. With the run's program after '--', also checks that
all nodes have the same files and, for Python, the same packages. With --burn,
also finds devices and links that are slow or yield wrong results. Exit code 1 if a run
would fail.

Examples:
  autodist doctor --spec cluster.yaml
  autodist doctor --spec cluster.yaml -- python3 train.py --config big.yaml
  autodist doctor --spec cluster.yaml --sync -- ./train
  autodist doctor --spec cluster.yaml --burn 20
  autodist doctor --spec cluster.yaml --json | jq '.issues[]')");
  return [options, &program] {
    *options->request.mutable_program() = {program.begin(), program.end()};
    return Doctor(*options);
  };
}

}  // namespace autodist::cli
