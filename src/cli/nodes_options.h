// Options that select nodes, for all commands that connect to nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
#include "cli/app.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// --spec, --hosts, --slurm and -n.
void AddNodes(CLI::App& app, v1::JobRequest& request);
void AddKubernetes(CLI::App& app, v1::JobRequest& request);
void AddAgent(CLI::App& app, v1::JobRequest& request);
// --start-timeout and --wait-for-nodes.
void AddPatience(CLI::App& app, v1::JobRequest& request);
void AddFanOut(CLI::App& app, v1::JobRequest& request);

// Returns the spec that the request selects; default: $AUTODIST_SPEC or autodist.yaml in this
// folder, which it logs, or else this machine with one rank per GPU. Logs an error and returns
// nullopt on failure. With --hosts and --slurm, blocks while it queries the nodes for devices.
std::optional<spec::ResourceSpec> SpecOf(const v1::JobRequest& request);

// Like SpecOf, but queries no host: reads the file or, if `file` is empty, the default spec.
// Returns a spec without nodes if no default exists.
std::optional<spec::ResourceSpec> SpecFileOf(const std::string& file);

// Returns a spec of nodes without known devices, with logins as ssh is configured.
std::optional<spec::ResourceSpec> SpecOfAddresses(const std::vector<std::string>& addresses);

// Prints the issues of the file and returns nullopt if it is invalid.
std::optional<spec::ResourceSpec> ReadSpec(const std::string& file);

// "2 nodes, 16 ranks".
std::string SizeOf(const spec::ResourceSpec& spec);

// kInvalidArgument: the plan's chief is another machine.
Status CheckChiefIsHere(const v1::LaunchPlan& plan);

}  // namespace autodist::cli
