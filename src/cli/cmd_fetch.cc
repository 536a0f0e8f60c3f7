// autodist fetch [JOB] PATTERN...
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/exit_codes.h"
#include "base/host_name.h"
#include "base/shell_quote.h"
#include "chief/fetch/fetch_text.h"
#include "chief/fetch/job_fetch.h"
#include "chief/plan_job.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/nodes_options.h"
#include "cli/values.h"
#include "control/job_client.h"
#include "control/job_record.h"
#include "control/jobs.h"
#include "control/submissions.h"
#include "reach/resolve.h"
#include "slurm/steps.h"
#include "transfer/fetch_files.h"

namespace autodist::cli {
namespace {

struct FetchOptions {
  std::string job;
  std::vector<std::string> patterns;
  uint64_t max_size = transfer::kMaxFetchedBytes;
  // The beginning of a line that copies from here to the machine where it was typed; empty: here.
  std::string copy_by;
};

// "--fetch 'ckpt*' --fetch out"
std::string FetchOptionsFor(const v1::FetchRequest& request) {
  std::vector<std::string> argv;
  for (const std::string& pattern : request.patterns()) {
    argv.insert(argv.end(), {"--fetch", pattern});
  }
  return base::ShellLine(argv);
}

// The agents have left the nodes: logs in again.
Result<v1::JobFiles> FetchAfterEnd(const v1::JobStatus& job, const v1::FetchRequest& request) {
  auto nodes = control::ReadNodes(job);
  if (nodes.status().code() == StatusCode::kNotFound) {
    return WithRemedy(Error(StatusCode::kFailedPrecondition,
                            "it has ended, and how to log in to its nodes is not recorded (as for "
                            "all jobs of Slurm and Kubernetes)"),
                      "next time, `autodist run " + FetchOptionsFor(request) +
                          " ...` copies them when the job ends");
  }
  AD_RETURN_IF_ERROR(nodes.status());
  if (!base::IsThisHost(job.host())) {
    return WithRemedy(Error(StatusCode::kFailedPrecondition, "it ran from " + job.host()),
                      "run this command on " + job.host());
  }
  nodes->add_program("true");  // a plan has one
  const auto spec = SpecOf(*nodes);
  if (!spec) return Error(StatusCode::kDataLoss, std::string(control::kNodesFile) + " is damaged");
  AD_ASSIGN_OR_RETURN(const v1::LaunchPlan plan, chief::PlanJob(*spec, *nodes));
  AD_RETURN_IF_ERROR(reach::CheckChiefIsHere(plan));
  base::Log(base::LogLevel::kInfo, "job " + job.job_id() + " has ended; logging in to its nodes");
  launch::LaunchOptions launch;
  launch.request = *nodes;
  launch.request.set_grace(0);
  launch.connector = slurm::ConnectorFor(plan, nodes->agent(), launch.lease());
  return chief::FetchAfterEnd(plan, std::move(launch), job, request);
}

Result<v1::JobFiles> FetchWhileItRuns(const v1::JobStatus& job, const v1::FetchRequest& request) {
  AD_ASSIGN_OR_RETURN(const auto client, control::JobClient::Connect(job.job_id()));
  return client.Fetch(request);
}

Status FilesAreElsewhere(const v1::JobStatus& job, const FetchOptions& options) {
  std::vector<std::string> arguments = options.patterns;
  if (options.max_size != transfer::kMaxFetchedBytes) {
    arguments.insert(arguments.end(), {"--max-size", std::to_string(options.max_size)});
  }
  std::error_code error;
  const bool shared = std::filesystem::exists(job.log_folder(), error);
  return IsElsewhere(job, "fetch", arguments,
                     std::string("copies the files to its log folder") +
                         (shared ? "" : " there, and prints the command that copies them here"));
}

bool MeansAJob(const std::string& word) {
  const std::vector<v1::JobNote> jobs = control::NotesOf(control::KnownJobs());
  return control::FindJob(word, jobs, "").ok() ||
         std::ranges::any_of(control::SubmissionsWithout(jobs), [&](const v1::JobNote& submission) {
           return submission.slurm_job() == word;
         });
}

// Treats the first argument as a pattern if it names no job.
Status SortWords(FetchOptions& options) {
  const bool looks_like_files = options.job.find_first_of("*?[/") != std::string::npos;
  const bool only_one = options.patterns.empty() && !options.job.empty();
  if ((only_one || looks_like_files) && !MeansAJob(options.job)) {
    const std::string refusal = FilePattern()(options.job);
    if (!refusal.empty()) return Error(StatusCode::kInvalidArgument, "PATTERN: " + refusal);
    options.patterns.insert(options.patterns.begin(), std::exchange(options.job, ""));
  }
  if (!options.patterns.empty()) return OkStatus();
  return WithRemedy(Error(StatusCode::kInvalidArgument, "fetch: PATTERN is missing"),
                    "give files of the working directory, such as 'ckpt*'");
}

int Fetch(FetchOptions options) {
  const Status sorted = SortWords(options);
  if (!sorted.ok()) return Fail(sorted, kExitUsage);
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  if (job->elsewhere()) return Fail(FilesAreElsewhere(*job, options), kExitCannotLaunch);
  if (IsUnreachable(*job)) return FailUnreachable(*job);
  v1::FetchRequest request;
  *request.mutable_patterns() = {options.patterns.begin(), options.patterns.end()};
  request.set_most_bytes(options.max_size);
  const bool ended = job->phase() == v1::JOB_PHASE_ENDED;
  const auto files = ended ? FetchAfterEnd(*job, request) : FetchWhileItRuns(*job, request);
  if (!files.ok()) {
    return Fail(Annotate(files.status(), "job " + job->job_id()), kExitCannotLaunch);
  }
  for (const chief::FetchLine& line : chief::FetchText(*files)) {
    base::Log(line.level, line.text);
  }
  if (!options.copy_by.empty() && files->files() > 0) {
    base::Log(base::LogLevel::kInfo, "to copy them to your machine: " + options.copy_by +
                                         base::ShellQuote(files->folder()) + " .");
  }
  return files->failures().empty() ? 0 : kExitCannotLaunch;
}

}  // namespace

Command AddFetch(CLI::App& app) {
  auto options = std::make_shared<FetchOptions>();
  AddJob(app, options->job,
         "Job id (a unique prefix or suffix is enough), job name, Slurm job number, or "
         "'last'; default: the job of this folder that runs, or else its last one");
  app.add_option("PATTERN", options->patterns,
                 "Files of the working directory: '*', '?' and '[..]' match within a name, '**' "
                 "matches any folders; a folder includes its contents")
      ->check(FilePattern());
  app.add_option("--max-size", options->max_size,
                 "Max total size of the files of one node: 500M, 50G")
      ->transform(Size())
      ->default_str("10G");
  app.add_option("--copy-by", options->copy_by)->group("");
  app.footer(R"(
Copies matching files that the job has changed from its working directory on the
nodes to the job's log folder, into one folder per node. Logs in to the nodes
again if the job has ended. Quote the patterns, so that your shell does not
expand them. Files that this machine shares with a node are not copied.
Permissions and times are kept; symbolic links are skipped. Ctrl-C ends the
copy; the job continues. `autodist run --fetch PATTERN` copies files when the
job ends. With --chief-on, the folder is on that node.

Examples:
  autodist fetch 'ckpt*'
  autodist fetch last 'ckpt*'
  autodist fetch 3fa9c1 'out/**/*.pt' core.1234
  autodist fetch sweep-3 profiles --max-size 50G)");
  return [options] { return Fetch(*options); };
}

}  // namespace autodist::cli
