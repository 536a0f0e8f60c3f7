// autodist clean [JOB] [--spec FILE]
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/quantity.h"
#include "chief/checks/clean.h"
#include "chief/plan_job.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/nodes_options.h"
#include "control/job_record.h"
#include "control/jobs.h"
#include "control/prune.h"
#include "reach/resolve.h"
#include "slurm/steps.h"
#include "ssh/ssh_loop.h"
#include "transfer/node_program.h"

namespace autodist::cli {
namespace {

constexpr size_t kMaxShown = 100;  // jobs printed per node

std::string TextOf(const chief::CleanedJob& cleaned) {
  using What = chief::CleanedJob::What;
  // "20261120-173000-3fa9c1.2" → "20261120-173000-3fa9c1".
  const std::string job = cleaned.job.substr(0, cleaned.job.rfind('.'));
  switch (cleaned.what) {
    case What::kEnded:
      return "ended job " + job;
    case What::kRemoved:
      return "removed the folder of job " + job;
    case What::kInUse:
      return "left job " + job + " alone: its chief is running; `autodist stop " + job +
             "` ends it";
    case What::kLeft:
      break;
  }
  return "cannot remove the folder of job " + job + ": no agent on the node";
}

using Addresses = std::set<std::string>;

// Prints the answers and returns the nodes that are clean.
Addresses Report(const v1::LaunchPlan& plan,
                 const std::vector<Result<chief::CleanedNode>>& answers) {
  using What = chief::CleanedJob::What;
  Addresses clean;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::string& address = plan.nodes(static_cast<int>(i)).address();
    if (!answers[i].ok()) {
      base::LogFailure(Annotate(answers[i].status(), address));
      continue;
    }
    if (!answers[i]->has_agent && answers[i]->jobs.empty()) {
      std::printf("%s: no agent there: nothing to clean\n", address.c_str());
    }
    const auto& jobs = answers[i]->jobs;
    for (size_t job = 0; job < std::min(jobs.size(), kMaxShown); ++job) {
      std::printf("%s: %s\n", address.c_str(), TextOf(jobs[job]).c_str());
    }
    if (jobs.size() > kMaxShown) {
      std::printf("%s: and %zu jobs more\n", address.c_str(), jobs.size() - kMaxShown);
    }
    const bool left = std::ranges::any_of(jobs, [](const chief::CleanedJob& job) {
      return job.what == What::kInUse || job.what == What::kLeft;
    });
    if (!left) clean.insert(address);
  }
  if (!clean.empty()) {
    std::printf("cleaned %s\n", base::Count(clean.size(), "node").c_str());
  }
  return clean;
}

// Marks crashed jobs as ended if all of their nodes are clean.
void EndCrashedOn(const Addresses& clean) {
  for (const v1::JobStatus& job : control::ListJobs()) {
    const bool all = std::ranges::all_of(
        job.nodes(), [&](const v1::NodeStatus& node) { return clean.contains(node.address()); });
    if (!job.chief_gone() || job.nodes().empty() || !all) continue;
    const Status noted = control::EndCrashed(job, kExitCannotLaunch);
    if (!noted.ok()) base::LogFailure(Annotate(noted, "job " + job.job_id()));
  }
}

struct CleanOptions {
  std::string job;
  v1::JobRequest request;  // selects the nodes and the agent
};

bool NamesNodes(const v1::JobRequest& request) {
  return request.has_spec() || request.has_hosts() || request.slurm() ||
         request.has_nproc_per_node();
}

// Returns the addresses of the job's nodes from the job record.
Result<std::vector<std::string>> NodesOfJob(const std::string& word) {
  AD_ASSIGN_OR_RETURN(const v1::JobStatus job, NamedJob(word, "clean"));
  AD_RETURN_IF_ERROR(CheckIsOver(job));
  if (!control::IsRecorded(job)) {
    return WithRemedy(Error(StatusCode::kFailedPrecondition,
                            job.log_folder() + " is not the log folder of a recorded job, so its "
                                               "nodes are not logged in to"),
                      "name them: autodist clean --spec FILE");
  }
  std::vector<std::string> addresses;
  for (const v1::NodeStatus& node : job.nodes()) addresses.push_back(node.address());
  if (!addresses.empty()) return addresses;
  return WithRemedy(
      Error(StatusCode::kNotFound, "the nodes of job " + job.job_id() + " are unknown"),
      "name them: autodist clean --spec FILE");
}

// Logs the error and returns nullopt on failure.
std::optional<spec::ResourceSpec> SpecToClean(const CleanOptions& chosen) {
  if (chosen.job.empty() || NamesNodes(chosen.request)) return SpecOf(chosen.request);
  const auto addresses = NodesOfJob(chosen.job);
  if (addresses.ok()) return SpecOfAddresses(*addresses);
  base::LogFailure(addresses.status());
  return std::nullopt;
}

int Clean(const CleanOptions& chosen) {
  const v1::JobRequest& request = chosen.request;
  const auto spec = SpecToClean(chosen);
  if (!spec) return kExitUsage;
  auto plan = chief::PlanJob(*spec, request);
  if (!plan.ok()) return Fail(plan.status(), kExitUsage);
  // A container that was created for a job ends with the job's agent: clean outside of it.
  for (v1::NodePlan& node : *plan->mutable_nodes()) {
    if (node.reach().ssh().container().image().empty()) continue;
    node.mutable_reach()->mutable_ssh()->clear_container();
  }
  const Status here = reach::CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  auto agent = transfer::NodeProgram::OfAgent(request.agent());
  if (!agent.ok()) return Fail(agent.status(), kExitCannotLaunch);
  const auto connector = slurm::ConnectorFor(*plan, request.agent(), std::chrono::milliseconds(0));
  const auto loop = ssh::SshLoop::Create();
  if (!loop.ok()) return Fail(loop.status(), kExitCannotLaunch);
  const auto answers = chief::CleanNodes(
      static_cast<size_t>(plan->nodes_size()), [&](size_t i) -> Result<chief::NodeToClean> {
        const v1::Reach& reach = plan->nodes(static_cast<int>(i)).reach();
        AD_ASSIGN_OR_RETURN(auto transport, connector->TransportTo(reach, **loop));
        if (!reach.has_local()) {
          return chief::NodeToClean{std::move(transport), "", agent->Versions()};
        }
        AD_ASSIGN_OR_RETURN(std::string path, agent->PathHere());  // one node at most
        return chief::NodeToClean{std::move(transport), std::move(path), {}};
      });
  EndCrashedOn(Report(*plan, answers));
  const bool all_reached =
      std::ranges::all_of(answers, [](const auto& answer) { return answer.ok(); });
  return all_reached ? 0 : kExitCannotLaunch;
}

}  // namespace

Command AddClean(CLI::App& app) {
  auto options = std::make_shared<CleanOptions>();
  AddJob(app, options->job,
         "Clean the nodes of this crashed job; also give --spec if logins need its settings");
  AddNodes(app, options->request);
  AddAgent(app, options->request);
  app.footer(R"(
Ends, on all nodes in parallel, what your jobs left running after their chief
died: agents, ranks and their child processes, and their folders. Nodes do this
themselves when the job's --lease expires; this command does it now. Jobs with a
running chief are not touched. Exit code 125 if a node could not be cleaned.

Examples:
  autodist clean --spec cluster.yaml
  autodist clean 3fa9c1                  the nodes of this job
  autodist clean                         this machine)");
  return [options] { return Clean(*options); };
}

}  // namespace autodist::cli
