// How a node is reached: directly on this machine, by SSH, by another program, or by connecting
// back.
#pragma once

#include "autodist/v1/plan.pb.h"
#include "plan/ssh_reach.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// The job that a container is created for.
struct ContainerUse {
  std::string job_id;
  uint32_t node_rank;
  std::string working_directory;  // the plan's
};

// `group` is the one that the node names; it is ignored for the chief.
v1::Reach MakeReach(const spec::Node& node, const spec::SshGroup& group, const NodeAddress& address,
                    const User& user, const ContainerUse& use);

}  // namespace autodist::plan
