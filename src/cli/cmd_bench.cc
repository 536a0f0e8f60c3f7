// autodist bench [options]

#include <cstdio>
#include <filesystem>

#include "base/exit_codes.h"
#include "base/home_folder.h"
#include "chief/plan_job.h"
#include "chief/run_job.h"
#include "cli/bench_options.h"
#include "cli/commands.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/values.h"
#include "json/proto_json.h"
#include "reach/this_machine.h"
#include "slurm/steps.h"
#include "transfer/bench_program.h"
#include "transfer/sync_source.h"

namespace autodist::cli {
namespace {

constexpr double kBenchGrace = 5;  // seconds; the program leaves at once when it is told to

struct BenchCommand {
  v1::JobRequest request;
  BenchOptions bench;
};

// So that nothing is measured for a file that cannot be written.
Status CheckWritable(const std::string& file) {
  if (file.empty()) return OkStatus();
  std::FILE* const opened = std::fopen(file.c_str(), "a");
  if (!opened) return ErrnoError(errno, "--csv " + file);
  std::fclose(opened);
  return OkStatus();
}

// The job that measures: what was asked for, with the program for it.
Result<v1::JobRequest> JobThatMeasures(v1::JobRequest request, const v1::BenchPlan& bench,
                                       const transfer::BenchProgram& program) {
  const auto json = json::ToJson(bench, json::Layout::kOneLine);
  if (!json.ok()) {
    return Error(StatusCode::kInvalidArgument, "the name of the --csv file is not valid UTF-8");
  }
  const auto& worker = bench.backend() == v1::BACKEND_NCCL ? program.for_gpus : program.for_cpus;
  if (worker.empty()) {
    return WithRemedy(Error(StatusCode::kUnimplemented, "this autodist was built without NCCL"),
                      "build it where NCCL and the CUDA toolkit are installed, or measure the CPUs "
                      "with --backend gloo");
  }
  *request.mutable_program() = {worker.begin(), worker.end()};
  request.add_program(*json);
  request.set_workdir(program.on_nodes);
  request.set_grace(kBenchGrace);
  request.set_sample_interval(0);  // nothing is to run beside what is measured
  return request;
}

Result<v1::LaunchPlan> PlanBench(const plan::Input& input, const plan::Replan& replan) {
  AD_ASSIGN_OR_RETURN(v1::LaunchPlan plan, chief::PlanAttempt(input, replan));
  for (v1::NodePlan& node : *plan.mutable_nodes()) node.clear_ports();  // it opens none of them
  return plan;
}

Result<chief::JobOptions> BenchJobOptions(const plan::Input& input, const v1::LaunchPlan& plan,
                                          const transfer::BenchProgram& program) {
  chief::JobOptions job;
  job.launch.request = input.request;
  job.launch.connector = slurm::ConnectorFor(plan, input.request.agent(), job.launch.lease());
  job.log_folder = input.request.log_dir() + "/" + plan.job_id();
  job.plan_attempt = [input](const plan::Replan& replan) { return PlanBench(input, replan); };
  job.view.plain_stdout = true;  // the table alone on stdout
  AD_ASSIGN_OR_RETURN(job.launch.sync, transfer::SyncOf(program.folder, plan, ""));
  return job;
}

int Bench(const BenchCommand& options) {
  const auto spec = SpecOf(options.request);
  if (!spec) return kExitUsage;
  BenchOptions wanted = options.bench;
  if (!wanted.csv_file.empty()) wanted.csv_file = std::filesystem::absolute(wanted.csv_file);
  const auto bench = MakeBenchPlan(wanted, *spec);
  if (!bench.ok()) return Fail(bench.status(), kExitUsage);
  const Status writable = CheckWritable(wanted.csv_file);
  if (!writable.ok()) return Fail(writable, kExitUsage);
  const auto program = transfer::InstallBenchProgram(base::HomeFolder());
  if (!program.ok()) return Fail(program.status(), kExitCannotLaunch);
  const auto request = JobThatMeasures(options.request, *bench, *program);
  const auto input = request.ok() ? chief::InputOf(*spec, *request) : request.status();
  const auto plan = input.ok() ? PlanBench(*input, {}) : input.status();
  if (!plan.ok()) return Fail(plan.status(), kExitUsage);
  const Status here = CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  auto job = BenchJobOptions(*input, *plan, *program);
  if (!job.ok()) return Fail(job.status(), kExitCannotLaunch);
  return chief::RunJob(*plan, *std::move(job));
}

void AddMeasurements(CLI::App& app, BenchOptions& options) {
  app.add_option("--collective", options.collectives, "Only these operations, with commas between")
      ->delimiter(',')
      ->check(OneOf(CollectiveNames()));
  app.add_option("--from", options.from, "The smallest size, in bytes; 4K, 1M")
      ->transform(Size())
      ->default_str("8");
  app.add_option("--to", options.to, "The largest size")->transform(Size())->default_str("1G");
  app.add_option("--factor", options.factor, "From one size to the next")
      ->check(WholeNumber(2, 1 << 20))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "Calls that are timed, at most")
      ->check(WholeNumber(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--warmup", options.warmup, "Calls before them, at most")
      ->check(WholeNumber(0, 1'000'000))
      ->capture_default_str();
  app.add_option(
         "--budget", options.budget_s,
         "The time for the timed calls of a size, out of place and in place each; large sizes "
         "get fewer calls, one at least")
      ->transform(Duration(0.001))
      ->default_str(base::DurationText(options.budget_s));
  app.add_option("--backend", options.backend,
                 "nccl, gloo, or auto: NCCL where every node has GPUs in the spec")
      ->check(OneOf({"auto", "nccl", "gloo"}))
      ->capture_default_str();
  app.add_option("--csv", options.csv_file, "Write the rows to this file, too")
      ->check(NotEmpty("FILE"));
}

}  // namespace

Command AddBench(CLI::App& app) {
  auto options = std::make_shared<BenchCommand>();
  AddNodes(app, options->request);
  AddMeasurements(app, options->bench);
  AddField(app, options->request, group::kOptions, "--log-dir",
           "Where the job's folder with its logs is made")
      ->check(NotEmpty("FOLDER"));
  AddFanOut(app, options->request);
  AddAgent(app, options->request);
  app.footer(R"(
Measures how fast data goes between the devices of the spec: all-reduce, all-gather, reduce-scatter,
broadcast, all-to-all, and from each rank to the next around a ring; of sizes from 8 bytes to a
gigabyte, out of place and in place, by NCCL or Gloo. Prints times and bandwidths as nccl-tests
defines them, and checks the results: exit code 1 if one was wrong. Nothing needs to be installed on
the nodes but NCCL and the CUDA runtime, for GPUs.

Examples:
  autodist bench --spec cluster.yaml
  autodist bench --spec cluster.yaml --collective all-reduce --from 1M --factor 2 --csv ring.csv
  autodist bench --spec cluster.yaml --backend gloo --to 64M)");
  return [options] { return Bench(*options); };
}

}  // namespace autodist::cli
