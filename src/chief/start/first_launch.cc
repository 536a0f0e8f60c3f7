#include "chief/start/first_launch.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "chief/start/checkpoints.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/diagnosis_text.h"

namespace autodist::chief {

Result<std::unique_ptr<launch::Launcher>> FirstLaunch::Begin(const Attempt& attempt) {
  launch::LaunchOptions options = job_.options.launch;
  lacks_program_here_ = LacksProgramHere(job_.plan);
  if (!job_.options.request().no_preflight()) {
    // Its destructor deletes files.
    const bool health = job_.options.request().health() != v1::HEALTH_OFF;
    const auto& sync = job_.options.launch.sync;
    preflight_.reset(
        new Preflight(job_.plan, false, health, sync ? &sync->tree() : nullptr),
        [&loop = job_.loop](Preflight* ended) { loop.InBackground([ended] { delete ended; }); });
    options.probe = preflight_->probe();
  }
  options.pmix = attempt.pmix();
  options.checkpoints = CheckpointsToCompare(job_.options.request(), attempt.nodes().size());
  options.progress = waits_.progress();
  options.greeting = [this](uint32_t node) { return job_.nodes.node(node).Greeting(); };
  AD_ASSIGN_OR_RETURN(std::unique_ptr<launch::Launcher> launcher,
                      job_.options.make_launcher(job_.plan, std::move(options)));
  waits_.Begin(attempt.nodes());
  launcher->Start(results_.Taker(job_.loop, [this](const launch::LaunchedNode& node) {
    waits_.Turned(node.node_rank);
    if (node.link) job_.nodes.Add(node.node_rank, node.link);
  }));
  return launcher;
}

const NodeResults::Nodes& FirstLaunch::Results() {
  for (launch::LaunchedNode& node : results_.nodes()) {
    const Status& lost = job_.nodes.lost_because(node.node_rank);
    if (node.status.ok() && !lost.ok()) node.status = lost;
  }
  return results_.nodes();
}

Status FirstLaunch::Check(const std::set<uint32_t>& without) const {
  if (!preflight_) return OkStatus();
  v1::Diagnosis diagnosis = Diagnose();
  auto& issues = *diagnosis.mutable_issues();
  issues.erase(std::remove_if(issues.begin(), issues.end(),
                              [&](const v1::DiagnosedIssue& issue) {
                                return !issue.nodes().empty() &&
                                       std::ranges::all_of(issue.nodes(), [&](uint32_t node) {
                                         return without.contains(node);
                                       });
                              }),
               issues.end());
  if (diagnosis::IsBad(diagnosis)) {
    const std::string doctor = CommandForNodes("doctor", job_.options.request());
    return WithRemedy(Error(StatusCode::kFailedPrecondition,
                            "no rank was started, because preflight checks failed:\n" +
                                diagnosis::IssuesAsText(diagnosis, v1::CHECK_RESULT_BAD)),
                      doctor.empty() ? "" : "run `" + doctor + "` for more checks");
  }
  const std::string warnings = diagnosis::IssuesAsText(diagnosis, v1::CHECK_RESULT_WARNING);
  if (!warnings.empty()) {
    job_.console.Log(base::LogLevel::kWarning, "preflight checks:\n" + warnings);
  }
  return OkStatus();
}

v1::Diagnosis FirstLaunch::Diagnose() const {
  diagnosis::Evidence evidence = preflight_ ? preflight_->EvidenceFrom(results_.nodes())
                                            : EvidenceOf(job_.plan, results_.nodes());
  evidence.synced = job_.options.launch.sync != nullptr;
  evidence.lacks_program_here = lacks_program_here_;
  if (!preflight_) return diagnosis::DiagnoseLaunch(evidence);
  // Without --on-busy, only busy GPUs cause a warning: jobs may share CPUs.
  const v1::JobRequest& request = job_.options.request();
  evidence.cpus_can_be_busy = request.has_on_busy();
  if (request.on_busy() == v1::ON_BUSY_REFUSE) evidence.busy_devices = v1::CHECK_RESULT_BAD;
  if (request.on_busy() == v1::ON_BUSY_WAIT) evidence.busy_devices = v1::CHECK_RESULT_UNSPECIFIED;
  evidence.health = request.health();
  return diagnosis::Diagnose(evidence);
}

std::shared_ptr<const Attempt::MissingVariables> FirstLaunch::missing_variables() const {
  if (!preflight_) return nullptr;
  auto missing = std::make_shared<Attempt::MissingVariables>();
  for (const launch::LaunchedNode& node : results_.nodes()) {
    const auto& names = node.prepared.facts().missing_variables();
    const std::set<std::string> reported(names.begin(), names.end());
    for (const std::string& name : preflight_->probe().chief_variables()) {
      if (reported.contains(name)) (*missing)[node.node_rank].push_back(name);
    }
  }
  return missing;
}

}  // namespace autodist::chief
