// Jobs whose ranks run a program that autodist contains.
#pragma once

#include <functional>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "chief/job.h"
#include "spec/resource_spec.h"
#include "transfer/bench_programs.h"

namespace autodist::cli {

struct EmbeddedJob {
  v1::LaunchPlan plan;
  chief::JobOptions options;
};

// `request`: with the program. Copies the folder of the programs to the nodes at the start. A
// failure of kInvalidArgument is a mistake of the user.
Result<EmbeddedJob> MakeEmbeddedJob(const spec::ResourceSpec& spec, v1::JobRequest request,
                                    const transfer::BenchPrograms& programs);

}  // namespace autodist::cli
