// The options of `autodist bench`, the measurement plan that they select, and jobs of programs that
// autodist contains.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/bench.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/job.h"
#include "spec/resource_spec.h"
#include "transfer/bench_programs.h"

namespace autodist::cli {

struct BenchOptions {
  std::vector<std::string> collectives;  // empty: all
  std::string backend = "auto";
  uint64_t from = 8;  // bytes
  uint64_t to = uint64_t{1} << 30;
  uint32_t factor = 8;
  uint32_t iterations = 100;
  uint32_t warmup = 5;
  double budget_s = 1;   // max time for the iterations of one size
  std::string csv_file;  // absolute; empty: no file
};

// "all-reduce", "send-recv" and so on.
std::vector<std::string> CollectiveNames();

// NCCL supports only GPUs, and all ranks must use the same backend.
v1::Backend BackendOf(const spec::ResourceSpec& spec);

// kInvalidArgument: the options contradict each other, or the spec.
Result<v1::BenchPlan> MakeBenchPlan(const BenchOptions& options, const spec::ResourceSpec& spec);

// A job whose ranks run a program that autodist contains.
struct EmbeddedJob {
  v1::LaunchPlan plan;
  chief::JobOptions options;
};

// `request`: with the program. Copies the folder of the programs to the nodes at the start. A
// failure of kInvalidArgument is a mistake of the user.
Result<EmbeddedJob> MakeEmbeddedJob(const spec::ResourceSpec& spec, v1::JobRequest request,
                                    const transfer::BenchPrograms& programs);

}  // namespace autodist::cli
