// How a node is reached: without SSH on this machine, by SSH, by another program, or by a
// call of its own.
#pragma once

#include "autodist/v1/plan.pb.h"
#include "plan/ssh_reach.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// What a container is made for.
struct ContainerUse {
  std::string job_id;
  uint32_t node_rank;
  std::string working_directory;  // as of the plan
};

// `group` is the one that the node names; that of the chief is not looked at.
v1::Reach MakeReach(const spec::Node& node, const spec::SshGroup& group, const NodeAddress& address,
                    const User& user, const ContainerUse& use);

}  // namespace autodist::plan
