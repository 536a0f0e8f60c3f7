// autodist doctor [options] [-- PROGRAM [ARGUMENTS]]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/job_request.pb.h"
#include "base/exit_codes.h"
#include "base/fd.h"
#include "base/home_folder.h"
#include "chief/checks/doctor.h"
#include "chief/plan_job.h"
#include "chief/run_job.h"
#include "cli/bench_job.h"
#include "cli/chief_on.h"
#include "cli/commands.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/run_options.h"
#include "cli/values.h"
#include "diagnosis/burn_checks.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/diagnosis_text.h"
#include "json/proto_json.h"
#include "reach/resolve.h"
#include "slurm/steps.h"
#include "spec/resource_spec.h"
#include "transfer/folder_sync.h"
#include "transfer/sync_source.h"

namespace autodist::cli {
namespace {

using std::chrono::milliseconds;

// The job of `doctor`, with another program: it has its nodes and variables.
Result<EmbeddedJob> JobOf(const spec::ResourceSpec& spec, v1::JobRequest request,
                          const transfer::BenchPrograms& programs,
                          const std::vector<std::string>& command, const std::string& argument) {
  *request.mutable_program() = {command.begin(), command.end()};
  request.add_program(argument);
  request.clear_per();
  request.clear_framework();
  request.clear_sync();
  request.clear_json();
  request.set_no_preflight(true);  // doctor has just checked the nodes
  AD_ASSIGN_OR_RETURN(EmbeddedJob job, MakeEmbeddedJob(spec, std::move(request), programs));
  AD_ASSIGN_OR_RETURN(job.options.view.show, display::ShownRanks::Parse("none"));
  return job;
}

// Runs it, and calls `read` with the output of each rank and the file that contains it. Prints what
// fails, and returns 0 or an exit code.
template <typename Read>
int RunAndRead(Result<EmbeddedJob> job, const Read& read) {
  constexpr size_t kLongestResult = 64 << 10;
  if (!job.ok()) return Fail(job.status(), kExitCannotLaunch);
  const std::string folder = job->options.log_folder.path();
  const int exit_code = chief::RunJob(job->plan, std::move(job->options));
  if (exit_code != 0) return exit_code;
  for (const v1::NodePlan& node : job->plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      const std::string file = folder + "/rank-" + std::to_string(rank.rank()) + ".out";
      const auto line = base::ReadFile(file, kLongestResult);
      const Status status = line.ok() ? Annotate(read(node, rank, *line), file) : line.status();
      if (!status.ok()) return Fail(status, kExitCannotLaunch);
    }
  }
  return 0;
}

std::string NameOf(const v1::Device& device) {
  return (device.kind() == v1::DEVICE_KIND_GPU ? "GPU " : "CPU ") + std::to_string(device.index());
}

int LoadDevices(const spec::ResourceSpec& spec, const v1::JobRequest& doctor,
                const transfer::BenchPrograms& programs, milliseconds time,
                v1::Diagnosis& diagnosis) {
  const bool gpus =
      std::ranges::any_of(spec.nodes, [](const spec::Node& node) { return !node.gpus.empty(); });
  const auto& command = gpus ? programs.burn.for_gpus : programs.burn.for_cpus;
  return RunAndRead(
      JobOf(spec, doctor, programs, command, std::to_string(time.count())),
      [&](const v1::NodePlan& node, const v1::RankPlan& rank, const std::string& line) {
        v1::BurnedDevice& device = *diagnosis.add_burned();
        device.set_node(node.node_rank());
        device.set_rank(rank.rank());
        device.set_name(NameOf(rank.device()));
        return json::FromJson(line, *device.mutable_result());
      });
}

void AddRates(const v1::ExchangeResult& result, uint32_t node, uint32_t rank,
              v1::Diagnosis& diagnosis) {
  for (const v1::ExchangeRate& rate : result.pairs()) {
    const auto same = std::ranges::find_if(*diagnosis.mutable_links(), [&](const auto& link) {
      return link.node() == node && link.exchange().partner() == rate.partner();
    });
    if (same == diagnosis.mutable_links()->end()) {
      v1::MeasuredLink& link = *diagnosis.add_links();
      link.set_node(node);
      *link.mutable_exchange() = rate;
    } else {
      v1::ExchangeRate& exchange = *same->mutable_exchange();
      exchange.set_rate(exchange.rate() + rate.rate());
      exchange.set_wrong(exchange.wrong() + rate.wrong());
    }
  }
  if (!result.has_between_devices()) return;
  v1::BurnResult& device =
      *std::ranges::find(*diagnosis.mutable_burned(), rank, &v1::BurnedDevice::rank)
           ->mutable_result();
  v1::BurnRate& rate = *device.add_rates();
  rate.set_work(v1::BURN_WORK_BETWEEN_DEVICES);
  rate.set_rate(result.between_devices().rate());
  device.set_wrong(device.wrong() + result.between_devices().wrong());
}

int LoadLinks(const spec::ResourceSpec& spec, const v1::JobRequest& doctor,
              const transfer::BenchPrograms& programs, milliseconds time,
              v1::Diagnosis& diagnosis) {
  v1::BenchPlan bench;
  bench.set_backend(BackendOf(spec));
  const bool gpus = bench.backend() == v1::BACKEND_NCCL;
  const auto& command = gpus ? programs.bench.for_gpus : programs.bench.for_cpus;
  if (command.empty()) {
    base::Log(base::LogLevel::kWarning,
              "links are not measured, because this autodist was built without NCCL");
    return 0;
  }
  bench.set_exchange_ms(static_cast<uint32_t>(time.count()));
  return RunAndRead(
      JobOf(spec, doctor, programs, command, json::JsonText(bench)),
      [&](const v1::NodePlan& node, const v1::RankPlan& rank, const std::string& line) {
        v1::ExchangeResult result;
        AD_RETURN_IF_ERROR(json::FromJson(line, result));
        AddRates(result, node.node_rank(), rank.rank(), diagnosis);
        return OkStatus();
      });
}

bool HasLinks(const spec::ResourceSpec& spec) {
  return spec.nodes.size() > 1 || std::ranges::any_of(spec.nodes, [](const spec::Node& node) {
           return node.gpus.size() > 1;
         });
}

// Puts a load on all devices and on the links between them, for `doctor --burn`. Runs jobs that
// load each device and each link for this time in total, and adds their results and issues to the
// diagnosis. Prints what fails. Returns 0, or the exit code of a job that failed; the diagnosis
// then has what was measured before. Blocks. Call it in a process without other threads that take
// signals.
int Burn(const spec::ResourceSpec& spec, const v1::JobRequest& doctor, milliseconds time,
         v1::Diagnosis& diagnosis) {
  const auto programs = transfer::InstallBenchPrograms(base::HomeFolder());
  if (!programs.ok()) return Fail(programs.status(), kExitCannotLaunch);
  const milliseconds for_links = HasLinks(spec) ? time * 2 / 5 : milliseconds(0);
  int exit_code = LoadDevices(spec, doctor, *programs, time - for_links, diagnosis);
  if (exit_code == 0 && for_links.count() > 0)
    exit_code = LoadLinks(spec, doctor, *programs, for_links, diagnosis);
  diagnosis::JudgeDevices(diagnosis);
  diagnosis::JudgeLinks(diagnosis);
  return exit_code;
}

constexpr int kExitBad = 1;

struct DoctorOptions {
  v1::JobRequest request;
  std::vector<std::string> exclude;
  RunOptions of_run;  // those that do not concern a check, except for chief_on
  bool full_mesh = false;
  double burn_s = 0;  // 0: no load
};

bool ShowColours() { return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

int Doctor(const DoctorOptions& options) {
  const v1::JobRequest& request = options.request;
  auto spec = SpecOf(request);
  if (!spec) return kExitUsage;
  Status chosen = ExcludeNodes(options.exclude, *spec);
  if (chosen.ok() && options.of_run.request.has_chief_on()) chosen = LeaveChiefOut(*spec);
  if (!chosen.ok()) return Fail(chosen, kExitUsage);
  auto plan = chief::PlanJob(*spec, request);
  if (!plan.ok()) return Fail(plan.status(), kExitUsage);
  const Status here = reach::CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  chief::ProbeOptions probe;
  probe.full_mesh = options.full_mesh;
  std::shared_ptr<transfer::FolderSync> sync;
  if (request.sync()) {
    auto scanned = transfer::SyncOfWorkingDirectory(*plan, request, base::HomeFolder());
    if (!scanned.ok()) return Fail(scanned.status(), kExitCannotLaunch);
    sync = *std::move(scanned);
    if (sync) probe.synced = &sync->tree();
  }
  launch::LaunchOptions launch;
  launch.request = request;
  launch.request.set_grace(0);
  launch.connector = slurm::ConnectorFor(*plan, request.agent(), launch.lease());
  for (const spec::Node& node : spec->nodes) {
    if (!node.counted.ok()) probe.uncounted.emplace(node.address, node.counted);
  }
  auto diagnosis = chief::ProbeNodes(*plan, std::move(launch), probe);
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

void AddOwnOptions(CLI::App& app, DoctorOptions& options) {
  v1::JobRequest& request = options.request;
  AddNodes(app, request);
  app.remove_option(app.get_option("--exclude"));
  AddExclude(app, options.exclude);
  AddProgramOptions(app, request);
  AddField(app, request, group::kFiles, "--sync",
           "Assume `run --sync`: files that it copies may be missing on nodes");
  AddField(app, request, group::kFiles, "--log-dir", "The --log-dir of the run")
      ->check(NotEmpty("FOLDER"));
  AddField(app, request, group::kOptions, "--json", "Print the issues as JSON");
  app.add_flag("--full-mesh", options.full_mesh,
               "Connect each node to all others; default on more than 64 nodes: to a dozen");
  app.add_option("--burn", options.burn_s,
                 "If nothing prevents a run, also load all devices and the links between them for "
                 "this time, check their results and compare their speed")
      ->transform(Duration(1));
  AddPatience(app, request);
  AddFanOut(app, request);
  AddAgent(app, request);
}

// Accepts the options of `run`, so that a user can replace `run` by `doctor` in a line. Their
// values are checked. --kubernetes selects nodes that only `run` reaches. Those that concern a
// check are replaced by AddOwnOptions.
void AcceptOptionsOfRun(CLI::App& app, RunOptions& options) {
  AddRunOptions(app, options);
  app.remove_option(app.get_option("--kubernetes"));
  for (CLI::Option* option : app.get_options()) {
    if (option != app.get_help_ptr()) option->group(group::kUnlisted);
  }
}

}  // namespace

Command AddDoctor(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<DoctorOptions>();
  app.prefix_command();
  AcceptOptionsOfRun(app, options->of_run);
  AddOwnOptions(app, *options);
  app.footer(R"(
Checks all nodes in parallel and starts no rank. Reports everything that would
make a run fail, with hints. With the run's program after '--', also checks that
all nodes have the same files and, for Python, the same packages. With --burn,
also finds devices and links that are slow or yield wrong results. Other options
of `run` are accepted and change nothing. Exit code 1 if a run would fail.

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
