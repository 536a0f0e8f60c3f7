// autodist stacks [JOB] [--rank R]...
#include <algorithm>
#include <cstdio>

#include "base/exit_codes.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "control/job_client.h"
#include "why/stack_groups.h"

namespace autodist::cli {
namespace {

struct StacksOptions {
  std::string job;
  std::vector<uint32_t> ranks;
};

// Of the ranks that were asked for.
void PrintWhole(const std::vector<uint32_t>& ranks, const v1::JobStacks& stacks) {
  for (const uint32_t rank : ranks) {
    const auto found = std::ranges::find(stacks.stacks(), rank, &v1::WholeStack::rank);
    std::printf("\n==== rank %u\n%s", rank,
                found == stacks.stacks().end() ? "nothing has come of it\n"
                                               : base::PrintableLines(found->text()).c_str());
  }
}

int Stacks(const StacksOptions& options) {
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  const Status right = CheckRanks(options.ranks, *job);
  if (!right.ok()) return Fail(right, kExitUsage);
  if (job->chief_gone()) return FailCrashed(*job);
  if (job->phase() == v1::JOB_PHASE_ENDED) {
    return Fail(
        WithRemedy(Error(StatusCode::kFailedPrecondition,
                         "job " + job->job_id() + " has ended: no rank of it runs"),
                   "`autodist status " + job->job_id() + "` tells why, and `autodist logs " +
                       job->job_id() + "` what its ranks wrote"),
        kExitCannotLaunch);
  }
  const auto client = control::JobClient::Connect(job->job_id());
  const auto stacks = client.ok() ? client->GetStacks(options.ranks, true) : client.status();
  if (!stacks.ok()) {
    return Fail(Annotate(stacks.status(), "job " + job->job_id()), kExitCannotLaunch);
  }
  std::printf("%s\n", base::PrintableLines(why::GroupsText(stacks->groups())).c_str());
  PrintWhole(options.ranks, *stacks);
  std::fflush(stdout);
  if (stacks->file().empty()) {
    base::Log(base::LogLevel::kWarning, "the stacks could not be written: " + stacks->file_error());
  } else {
    base::Log(base::LogLevel::kInfo, "all stacks are in " + stacks->file());
  }
  return 0;
}

}  // namespace

Command AddStacks(CLI::App& app) {
  auto options = std::make_shared<StacksOptions>();
  AddJob(app, options->job);
  app.add_option("--rank", options->ranks, "Also print all stacks of this rank; may be given again")
      ->allow_extra_args(false);
  app.footer(R"(
Tells what each rank of a running job is doing now, those together that are doing the same; where
most ranks are in one place, first those that are not. The job goes on: its processes are stopped for
a moment, while py-spy (of a Python) or gdb looks at them, whichever the node has; without them there
is only what the kernel tells. The stacks of all threads of all ranks are written into the job's log
folder. Takes a few seconds, 40 at most; what is not known by then is told with the cause.

Examples:
  autodist stacks last
  autodist stacks 3fa9c1 --rank 2 --rank 3)");
  return [options] { return Stacks(*options); };
}

}  // namespace autodist::cli
