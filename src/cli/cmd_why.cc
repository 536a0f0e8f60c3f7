// autodist why [JOB] [--json]
// autodist stacks [JOB] [--rank R]...
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/typed_command.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/stacks_notice.h"
#include "control/diagnose_job.h"
#include "control/job_client.h"
#include "why/diagnosis.h"
#include "why/stack_groups.h"

namespace autodist::cli {
namespace {

constexpr int kExitWrong = 3;
constexpr int kExitCannotTell = 4;

int ExitCodeOf(const v1::JobDiagnosis& diagnosis) {
  if (diagnosis.kind() == v1::JobDiagnosis::KIND_ISSUE) return kExitWrong;
  return diagnosis.kind() == v1::JobDiagnosis::KIND_OK ? 0 : kExitCannotTell;
}

struct WhyOptions {
  bool json = false;
};

int Why(const WhyOptions& options, const v1::JobStatus& job) {
  if (IsUnreachable(job)) return FailUnreachable(job);
  std::optional<StacksNotice> notice(job);
  const auto diagnosis = control::DiagnoseJob(job);
  notice.reset();
  if (!diagnosis.ok()) {
    return Fail(Annotate(diagnosis.status(), "job " + job.job_id()), kExitCannotLaunch);
  }
  const std::string text = options.json ? control::DiagnosisJson(job.job_id(), *diagnosis)
                                        : why::DiagnosisText(*diagnosis);
  std::fputs(text.c_str(), stdout);
  return ExitCodeOf(*diagnosis);
}

struct StacksOptions {
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

int Stacks(const StacksOptions& options, const v1::JobStatus& job) {
  const Status right = CheckRanks(options.ranks, job);
  if (!right.ok()) return Fail(right, kExitUsage);
  if (IsUnreachable(job)) return FailUnreachable(job);
  if (job.phase() == v1::JOB_PHASE_ENDED) {
    return Fail(
        WithRemedy(Error(StatusCode::kFailedPrecondition, "job " + job.job_id() + " has ended"),
                   base::TypedCommand("status " + job.job_id()) + " shows why, " +
                       base::TypedCommand("logs " + job.job_id()) + " the output"),
        kExitCannotLaunch);
  }
  std::optional<StacksNotice> notice(job);
  const auto client = control::JobClient::Connect(job.job_id());
  const auto stacks = client.ok() ? client->GetStacks(options.ranks, true) : client.status();
  notice.reset();
  if (!stacks.ok()) {
    return Fail(Annotate(stacks.status(), "job " + job.job_id()), kExitCannotLaunch);
  }
  std::printf("%s\n", base::PrintableLines(why::GroupsText(stacks->groups())).c_str());
  PrintWhole(options.ranks, *stacks);
  std::fflush(stdout);
  if (stacks->file().empty()) {
    base::Log(base::LogLevel::kWarning, "the stacks could not be written: " + stacks->file_error());
  } else {
    base::Log(base::LogLevel::kInfo, "the stacks are in " + stacks->file());
  }
  return 0;
}

}  // namespace

JobCommand AddWhy(CLI::App& app) {
  auto options = std::make_shared<WhyOptions>();
  app.add_flag("--json", options->json, "Print a JSON object");
  app.footer(R"(
Collects everything that is known of a job and prints one diagnosis: which rank
the others wait for and what it does instead, or which node or GPU is slow and
why. It can also be that the job is in order, or that the cause is unknown. The
output includes the evidence, its source, and what was ruled out.

Takes about 5 seconds; up to 15 on GPUs, and up to a minute with gdb or with many
ranks on a node. Processes stop for a moment, as with `autodist stacks`; the job
continues. Clients that ask within ten seconds share an answer.

Exit code: 0 no issue, 3 an issue, 4 the cause is unknown, 125 the job does not
answer, 2 wrong usage.

Examples:
  autodist why
  autodist why 3fa9c1
  autodist why last --json | jq -r .issue.what)");
  return {[options](const v1::JobStatus& job) { return Why(*options, job); }};
}

JobCommand AddStacks(CLI::App& app) {
  auto options = std::make_shared<StacksOptions>();
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
  return {[options](const v1::JobStatus& job) { return Stacks(*options, job); }};
}

}  // namespace autodist::cli
