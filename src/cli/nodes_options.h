// The nodes on the command line, of every command that reaches them.
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

// As the request says; without one of them that of $AUTODIST_SPEC, autodist.yaml in this folder,
// which it says then, or else this machine alone, one rank per GPU. Says what is wrong, and gives
// nullopt then. With --hosts and --slurm it asks the nodes for their devices, and blocks on that.
std::optional<spec::ResourceSpec> SpecOf(const v1::JobRequest& request);

// The same where no host is to be asked for its devices: of the file, or where that is empty of the
// one that is found; with no nodes where there is none.
std::optional<spec::ResourceSpec> SpecFileOf(const std::string& file);

// Of nodes whose devices do not matter, reached as ssh logs in to them.
std::optional<spec::ResourceSpec> SpecOfAddresses(const std::vector<std::string>& addresses);

// Says what is wrong with the file, and gives nullopt then.
std::optional<spec::ResourceSpec> ReadSpec(const std::string& file);

// "2 nodes, 16 ranks".
std::string SizeOf(const spec::ResourceSpec& spec);

// kInvalidArgument: the plan's chief is another machine.
Status CheckChiefIsHere(const v1::LaunchPlan& plan);

}  // namespace autodist::cli
