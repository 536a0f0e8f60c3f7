// The options of `autodist bench`, and the measurement plan that they select.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/bench.pb.h"
#include "spec/resource_spec.h"

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

}  // namespace autodist::cli
