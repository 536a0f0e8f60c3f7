// Options that select nodes, for all commands that connect to nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
#include "cli/app.h"
#include "spec/issue.h"
#include "spec/resource_spec.h"

namespace autodist::cli {

// --spec, --hosts, --slurm and -n.
void AddNodes(CLI::App& app, v1::JobRequest& request);
// --host-key-check, which AddNodes adds, too.
void AddHostKeyCheck(CLI::App& app, v1::JobRequest& request, const std::string& group);
void AddKubernetes(CLI::App& app, v1::JobRequest& request);
// --exclude.
void AddExclude(CLI::App& app, std::vector<std::string>& addresses);
void AddAgent(CLI::App& app, v1::JobRequest& request);
// --start-timeout and --wait-for-nodes.
void AddPatience(CLI::App& app, v1::JobRequest& request);
void AddFanOut(CLI::App& app, v1::JobRequest& request);

// Returns the spec that the request selects; default: $AUTODIST_SPEC or autodist.yaml in this
// folder, which it logs, or else this machine with one rank per GPU. Logs an error and returns
// nullopt on failure. With --hosts and --slurm, blocks while it queries the nodes for devices; a
// node may not be able to count them (spec::Node::counted).
std::optional<spec::ResourceSpec> SpecOf(const v1::JobRequest& request);

// Removes the nodes from the spec. kInvalidArgument: no such node, or none is left.
Status ExcludeNodes(const std::vector<std::string>& addresses, spec::ResourceSpec& spec);

// Warns if the hosts are also the name of a file. `option`: the one that takes the file.
void WarnOfFile(const std::string& hosts, const std::string& option);

// The file of the default spec; "": none.
Result<std::string> DefaultSpecFile();

// Like SpecOf, but queries no host and does not log which file it uses: reads the file or, if
// `file` is empty, the default spec. Returns a spec without nodes if no default exists.
std::optional<spec::ResourceSpec> SpecFileOf(const std::string& file);

// Returns a spec of nodes without known devices, with logins as ssh is configured.
std::optional<spec::ResourceSpec> SpecOfAddresses(const std::vector<std::string>& addresses);

// Prints issues of lines as "FILE:LINE:COLUMN: ...", and logs other ones as errors.
void PrintIssues(const std::vector<spec::Issue>& issues);

// Prints the issues of the file and returns nullopt if it is invalid.
std::optional<spec::ResourceSpec> ReadSpec(const std::string& file);

// "2 nodes, 16 ranks".
std::string SizeOf(const spec::ResourceSpec& spec);

// Fails if devices of nodes could not be counted: "CONSEQUENCE, because 1 of 2 nodes did not report
// the devices:", with the reasons below.
Status CheckDevicesCounted(const spec::ResourceSpec& spec, const std::string& consequence,
                           const std::string& remedy);

// The same for commands that start ranks, which never start a guessed number of them.
Status CheckDevicesToStart(const spec::ResourceSpec& spec, const v1::JobRequest& request);

}  // namespace autodist::cli
