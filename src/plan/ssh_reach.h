// How a node is reached over SSH: what the spec says, else what OpenSSH's configuration says, else
// OpenSSH's defaults.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// What is known about a node before the plan is made.
struct NodeAddress {
  std::string ssh;    // IP address that SSH connects to; empty where only `ssh` finds it
  std::string data;   // IP address under which the ranks of other nodes reach it
  std::string error;  // why the node cannot take part
  // What `ssh -G` says of the node, values by keyword; empty where the configuration is without
  // effect.
  std::multimap<std::string, std::string> openssh;
  bool ask = false;         // the node is to say its data address; `data` is what is expected
  std::string no_ssh = {};  // why `ssh` is empty
  // Why only the `ssh` program can log in: what is configured that our own logins cannot do, or the
  // connection that is open already. Jump hosts and ProxyCommand need not be among it.
  std::vector<std::string> left_to_ssh = {};
};

// Of the user who runs autodist.
struct User {
  std::string username;
  std::string home;
  std::string working_directory;  // of autodist itself, absolute
  std::string agent_socket;       // SSH_AUTH_SOCK; empty: none
};

// `group` is the one that the node names.
v1::SshReach MakeSshReach(const spec::Node& node, const spec::SshGroup& group,
                          const NodeAddress& address, const User& user);

}  // namespace autodist::plan
