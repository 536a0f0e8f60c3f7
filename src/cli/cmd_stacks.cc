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

// Prints all stacks of the requested ranks.
void PrintWhole(const std::vector<uint32_t>& ranks, const v1::JobStacks& stacks) {
  for (const uint32_t rank : ranks) {
    const auto found = std::ranges::find(stacks.stacks(), rank, &v1::WholeStack::rank);
    std::printf("\n==== rank %u\n%s", rank,
                found == stacks.stacks().end() ? "no answer from this rank\n"
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
        WithRemedy(Error(StatusCode::kFailedPrecondition, "job " + job->job_id() + " has ended"),
                   "`autodist status " + job->job_id() + "` shows why, `autodist logs " +
                       job->job_id() + "` the output"),
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
  app.add_option("--rank", options->ranks, "Also print all stacks of this rank; repeatable")
      ->allow_extra_args(false)
      ->type_name("R");
  app.footer(R"(
Shows what each rank of a running job is doing, with identical ranks grouped. If
most ranks are in one place, the others come first. py-spy (Python) or gdb on the
node stops the processes for a moment; without them, the stacks contain only what
the kernel reports. The job continues. The log folder receives the stacks of all
threads. Takes a few seconds, at most 40. Ranks without an answer are listed with
the cause.

Examples:
  autodist stacks last
  autodist stacks 3fa9c1 --rank 2 --rank 3)");
  return [options] { return Stacks(*options); };
}

}  // namespace autodist::cli
