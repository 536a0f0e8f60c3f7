// The nodes on the command line, of every command that reaches them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "cli/app.h"
#include "launch/launch_options.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// The nodes, and how they are reached.
struct NodesOptions {
  std::string spec_file;
  std::string hosts;
  std::optional<uint32_t> ranks;                   // on this machine
  bool slurm = false;                              // the allocation that we are in
  bool kubernetes = false;                         // the pods of the JobSet that we are in
  std::optional<v1::HostKeyCheck> host_key_check;  // of `hosts`
  std::string agent;
  std::optional<double> start_timeout_s;
  double wait_for_nodes_s = 0;
  uint32_t fan_out = launch::LaunchOptions().fan_out;
};

// --spec, --hosts, --slurm and -n.
void AddNodes(CLI::App& app, NodesOptions& options);
void AddKubernetes(CLI::App& app, NodesOptions& options);
void AddAgent(CLI::App& app, NodesOptions& options);
// --start-timeout and --wait-for-nodes.
void AddPatience(CLI::App& app, NodesOptions& options);
void SetPatience(const NodesOptions& options, launch::LaunchOptions& launch);
void AddFanOut(CLI::App& app, NodesOptions& options);

// As the options say; without one of them that of $AUTODIST_SPEC, autodist.yaml in this folder,
// which it says then, or else this machine alone, one rank per GPU. Says what is wrong, and gives
// nullopt then. With --hosts and --slurm it asks the nodes for their devices, and blocks on that.
std::optional<spec::ResourceSpec> SpecOf(const NodesOptions& options);

// The same where no host is to be asked for its devices: of the file, which is named or found; with
// no nodes where there is none.
std::optional<spec::ResourceSpec> SpecFileOf(const NodesOptions& options);

// Of nodes whose devices do not matter, reached as ssh logs in to them.
std::optional<spec::ResourceSpec> SpecOfAddresses(const std::vector<std::string>& addresses);

// Says what is wrong with the file, and gives nullopt then.
std::optional<spec::ResourceSpec> ReadSpec(const std::string& file);

// "2 nodes, 16 ranks".
std::string SizeOf(const spec::ResourceSpec& spec);

// kInvalidArgument: the plan's chief is another machine.
Status CheckChiefIsHere(const v1::LaunchPlan& plan);

}  // namespace autodist::cli
