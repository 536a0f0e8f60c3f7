// Leaves nodes out of a run.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// Removes the nodes of --exclude from the spec, and those that are remembered as faulty as far as
// spares or --min-nodes allow it; their number is taken from the spares of the request. Logs what
// it removes, and warns of faulty nodes that stay. kInvalidArgument: no such node, or none is left;
// with --health strict, kFailedPrecondition: a faulty node would stay.
Status LeaveOutNodes(const std::vector<std::string>& exclude, spec::ResourceSpec& spec,
                     v1::JobRequest& request);

}  // namespace autodist::cli
