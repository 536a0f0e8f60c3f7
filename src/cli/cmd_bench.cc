// autodist bench [options]

#include <cstdio>
#include <filesystem>

#include "base/exit_codes.h"
#include "base/home_folder.h"
#include "chief/run_job.h"
#include "cli/bench_job.h"
#include "cli/commands.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/nodes_options.h"
#include "cli/other_launchers.h"
#include "cli/values.h"
#include "json/proto_json.h"
#include "reach/resolve.h"
#include "transfer/bench_programs.h"

namespace autodist::cli {
namespace {

struct BenchCommand {
  v1::JobRequest request;
  BenchOptions bench;
};

// Reports a file that cannot be written before the measurement.
Status CheckWritable(const std::string& file) {
  if (file.empty()) return OkStatus();
  std::FILE* const opened = std::fopen(file.c_str(), "a");
  if (!opened) return ErrnoError(errno, "--csv " + file);
  std::fclose(opened);
  return OkStatus();
}

// Adds the benchmark program to the request.
Result<v1::JobRequest> JobThatMeasures(v1::JobRequest request, const v1::BenchPlan& bench,
                                       const transfer::BenchCommand& program) {
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
  return request;
}

int Bench(const BenchCommand& options) {
  const Status once = CheckStartedOnce();
  if (!once.ok()) return Fail(once, kExitUsage);
  const auto spec = SpecOf(options.request);
  if (!spec) return kExitUsage;
  const Status counted = CheckDevicesToStart(*spec, options.request);
  if (!counted.ok()) return Fail(counted, kExitCannotLaunch);
  BenchOptions wanted = options.bench;
  if (!wanted.csv_file.empty()) wanted.csv_file = std::filesystem::absolute(wanted.csv_file);
  const auto bench = MakeBenchPlan(wanted, *spec);
  if (!bench.ok()) return Fail(bench.status(), kExitUsage);
  const Status writable = CheckWritable(wanted.csv_file);
  if (!writable.ok()) return Fail(writable, kExitUsage);
  const auto programs = transfer::InstallBenchPrograms(base::HomeFolder());
  if (!programs.ok()) return Fail(programs.status(), kExitCannotLaunch);
  const auto request = JobThatMeasures(options.request, *bench, programs->bench);
  if (!request.ok()) return Fail(request.status(), kExitUsage);
  auto job = MakeEmbeddedJob(*spec, *request, *programs);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  const Status here = reach::CheckChiefIsHere(job->plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  job->options.view.plain_stdout = true;  // only the table goes to stdout
  job->options.measures_goodput = false;
  return chief::RunJob(job->plan, std::move(job->options));
}

void AddMeasurements(CLI::App& app, BenchOptions& options) {
  app.add_option("--collective", options.collectives, "Only these operations, separated by commas")
      ->delimiter(',')
      ->check(OneOf(CollectiveNames()));
  app.add_option("--from", options.from, "Min size in bytes: 8, 4K, 1M")
      ->transform(Size())
      ->default_str("8");
  app.add_option("--to", options.to, "Max size")->transform(Size())->default_str("1G");
  app.add_option("--factor", options.factor, "Factor between sizes")
      ->check(WholeNumber(2, 1 << 20))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "Max number of timed calls")
      ->check(WholeNumber(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--warmup", options.warmup, "Max number of calls before them")
      ->check(WholeNumber(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--budget", options.budget_s,
                 "Max time for the timed calls of a size, in place and out of place each; at least "
                 "one call is made")
      ->transform(Duration(0.001))
      ->default_str(base::DurationText(options.budget_s));
  app.add_option("--backend", options.backend,
                 "nccl, gloo, or auto: nccl if each node of the spec has GPUs")
      ->check(OneOf({"auto", "nccl", "gloo"}))
      ->capture_default_str();
  app.add_option("--csv", options.csv_file, "Also write the rows to this file")
      ->check(NotEmpty("FILE"));
}

}  // namespace

Command AddBench(CLI::App& app) {
  auto options = std::make_shared<BenchCommand>();
  AddNodes(app, options->request);
  AddMeasurements(app, options->bench);
  AddField(app, options->request, group::kOptions, "--log-dir",
           "Folder that receives the job's log folder")
      ->check(NotEmpty("FOLDER"));
  AddFanOut(app, options->request);
  AddAgent(app, options->request);
  app.footer(R"(
Measures all-reduce, all-gather, reduce-scatter, broadcast, all-to-all and
ring send-receive between the devices of the spec, from 8 bytes to 1 GB, in
place and out of place, with NCCL or Gloo. Prints times and bandwidths as
nccl-tests defines them and checks the results; exit code 1 if one is wrong.
The nodes need NCCL and the CUDA runtime for GPUs, and nothing for CPUs.

Examples:
  autodist bench --spec cluster.yaml
  autodist bench --spec cluster.yaml --collective all-reduce --csv ring.csv
  autodist bench --spec cluster.yaml --from 1M --to 64M --factor 2
  autodist bench --spec cluster.yaml --backend gloo --to 64M)");
  return [options] { return Bench(*options); };
}

}  // namespace autodist::cli
