// Starts the chief of a run on a node, from a machine that is not a node and may disconnect.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/checks/reported_addresses.h"
#include "launch/launch_options.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

using HostKeys = std::map<std::string, std::vector<std::string>>;  // by the address in the spec

// Rewrites a spec for the node to which the chief moves: makes node `chief` the chief; users and
// variables of ranks stay as in the plan, which was made outside. Other nodes are reached by their
// addresses between ranks, without jump hosts, and must show the host keys that are known here, if
// any.
spec::ResourceSpec RewriteSpec(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                               const std::string& chief, const DataAddresses& reported,
                               const HostKeys& host_keys);

// Removes key files that do not exist or are not readable here, for example in the home folder: the
// node's own keys are tried instead.
void UseKeysOfThisMachine(spec::ResourceSpec& spec);

// The options with which other commands reach the chief on that node: "--spec FILE --chief-on
// NODE"; without a spec, as with the default one, for "".
std::string ChiefOnOptions(const std::string& spec, const std::string& node);

// Returns the node of the plan that a user means by "first" or an address; fails if it cannot run
// the chief.
Result<std::string> NodeForChief(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                                 const std::string& wanted);

// `chief`: a node of the plan, by its address. Prepares all nodes, asks them for their addresses,
// copies this program to the chief's node and starts it there; shows its messages until the ranks
// run. Sends no private keys. Returns the exit code. Blocks until the ranks run, or the start
// failed. Call it before any other thread is started.
int StartRemote(const plan::Input& input, const v1::LaunchPlan& plan,
                const launch::LaunchOptions& options, const std::string& chief);

}  // namespace autodist::chief
