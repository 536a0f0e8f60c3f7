// How a node is reached: directly on this machine, by SSH, by another program, or by connecting
// back.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// The addresses of a node before the plan is made.
struct NodeAddress {
  std::string ssh;    // IP address that SSH connects to; empty if only `ssh` can resolve it
  std::string data;   // IP address by which the ranks of other nodes reach it
  std::string error;  // why the node cannot be used
  // The output of `ssh -G` for the node, values by keyword; empty if the configuration has no
  // effect.
  std::multimap<std::string, std::string> openssh;
  bool ask = false;         // the node reports its data address; `data` is the expected one
  std::string no_ssh = {};  // why `ssh` is empty
  // Why only the `ssh` program can log in: settings that the built-in client does not support, or
  // an open shared connection. Jump hosts and ProxyCommand may be missing here.
  std::vector<std::string> left_to_ssh = {};
  std::string hint = {};                 // what to do about `error` or `no_ssh`
  std::vector<std::string> others = {};  // further addresses of the name of `ssh`
};

// The user who runs autodist.
struct User {
  std::string username;
  std::string home;
  std::string working_directory;  // of autodist itself, absolute
  std::string agent_socket;       // SSH_AUTH_SOCK; empty: none
};

// The time for a login, and for its shell to start a program, without --start-timeout.
inline constexpr std::chrono::milliseconds kDefaultStartLimit{60'000};
std::chrono::milliseconds StartLimitOf(const v1::JobRequest& request);

// `group` is the one that the node names; `limit`: for the login.
v1::SshReach MakeSshReach(const spec::Node& node, const spec::SshGroup& group,
                          const NodeAddress& address, const User& user,
                          std::chrono::milliseconds limit = kDefaultStartLimit);

// The job that a container is created for.
struct ContainerUse {
  std::string job_id;
  uint32_t node_rank;
  std::string working_directory;  // the plan's
};

// `group` is the one that the node names; it is ignored for the chief.
v1::Reach MakeReach(const spec::Node& node, const spec::SshGroup& group, const NodeAddress& address,
                    const User& user, const ContainerUse& use,
                    std::chrono::milliseconds limit = kDefaultStartLimit);

}  // namespace autodist::plan
