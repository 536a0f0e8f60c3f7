#include "cli/embedded_job.h"

#include "chief/plan_job.h"
#include "slurm/steps.h"
#include "transfer/sync_source.h"

namespace autodist::cli {
namespace {

constexpr double kGrace = 5;  // seconds; the programs exit immediately on SIGTERM

Result<v1::LaunchPlan> PlanWithoutPorts(const plan::Input& input, const plan::Replan& replan) {
  AD_ASSIGN_OR_RETURN(v1::LaunchPlan plan, chief::PlanAttempt(input, replan));
  for (v1::NodePlan& node : *plan.mutable_nodes()) node.clear_ports();  // not opened
  return plan;
}

}  // namespace

Result<EmbeddedJob> MakeEmbeddedJob(const spec::ResourceSpec& spec, v1::JobRequest request,
                                    const transfer::BenchPrograms& programs) {
  request.set_workdir(programs.on_nodes);
  request.set_grace(kGrace);
  request.set_sample_interval(0);  // sampling would disturb the measurement
  AD_ASSIGN_OR_RETURN(const plan::Input input, chief::InputOf(spec, request));
  EmbeddedJob job;
  AD_ASSIGN_OR_RETURN(job.plan, PlanWithoutPorts(input, {}));
  job.options.launch.request = request;
  job.options.launch.connector =
      slurm::ConnectorFor(job.plan, request.agent(), job.options.launch.lease());
  job.options.log_folder = request.log_dir() + "/" + job.plan.job_id();
  job.options.plan_attempt = [input](const plan::Replan& replan) {
    return PlanWithoutPorts(input, replan);
  };
  AD_ASSIGN_OR_RETURN(job.options.launch.sync, transfer::SyncOf(programs.folder, job.plan, ""));
  return job;
}

}  // namespace autodist::cli
