// autodist fetch [JOB] PATTERN...
#include <filesystem>
#include <utility>

#include "base/exit_codes.h"
#include "base/quantity.h"
#include "chief/fetch/fetch_text.h"
#include "chief/fetch/job_fetch.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/values.h"
#include "control/job_client.h"
#include "transfer/fetch_files.h"

namespace autodist::cli {
namespace {

struct FetchOptions {
  std::string job;
  std::vector<std::string> patterns;
  uint64_t max_size = transfer::kMaxFetchedBytes;
};

// There is nobody left to ask; what `run --fetch` has brought is still here.
Status HasEnded(const v1::JobStatus& job) {
  std::error_code error;
  size_t nodes = 0;
  for (const v1::NodeStatus& node : job.nodes()) {
    if (std::filesystem::is_directory(job.log_folder() + "/" + chief::FolderNameOf(node.address()),
                                      error)) {
      ++nodes;
    }
  }
  const std::string what =
      nodes == 0 ? "" : "; files of " + base::Count(nodes, "node") + " are in " + job.log_folder();
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            "job " + job.job_id() + " has ended, and its agents have left the nodes" + what),
      "`autodist run --fetch PATTERN` brings files at the end of a job; for this one, copy them "
      "from the nodes");
}

bool MeansAJob(const std::string& word) {
  return control::FindJob(word, control::KnownJobs(), control::NameOfJob).ok();
}

// The first word is a pattern where no job is named.
Status SortWords(FetchOptions& options) {
  const bool looks_like_files = options.job.find_first_of("*?[/") != std::string::npos;
  const bool only_one = options.patterns.empty() && !options.job.empty();
  if ((only_one || looks_like_files) && !MeansAJob(options.job)) {
    const std::string refusal = FilePattern()(options.job);
    if (!refusal.empty()) return Error(StatusCode::kInvalidArgument, "PATTERN: " + refusal);
    options.patterns.insert(options.patterns.begin(), std::exchange(options.job, ""));
  }
  if (!options.patterns.empty()) return OkStatus();
  return WithRemedy(Error(StatusCode::kInvalidArgument, "fetch: which PATTERN?"),
                    "name files of the working directory, as 'ckpt*'");
}

int Fetch(FetchOptions options) {
  const Status sorted = SortWords(options);
  if (!sorted.ok()) return Fail(sorted, kExitUsage);
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  if (job->chief_gone()) return FailCrashed(*job);
  if (job->phase() == v1::JOB_PHASE_ENDED) return Fail(HasEnded(*job), kExitCannotLaunch);
  v1::FetchRequest request;
  *request.mutable_patterns() = {options.patterns.begin(), options.patterns.end()};
  request.set_most_bytes(options.max_size);
  const auto client = control::JobClient::Connect(job->job_id());
  const auto files = client.ok() ? client->Fetch(request) : client.status();
  if (!files.ok()) {
    return Fail(Annotate(files.status(), "job " + job->job_id()), kExitCannotLaunch);
  }
  for (const chief::FetchLine& line : chief::FetchText(*files)) {
    base::Log(line.level, line.text);
  }
  return files->failures().empty() ? 0 : kExitCannotLaunch;
}

}  // namespace

Command AddFetch(CLI::App& app) {
  auto options = std::make_shared<FetchOptions>();
  AddJob(app, options->job);
  app.add_option("PATTERN", options->patterns,
                 "Files of the working directory: '*', '?' and '[..]' stay within a name, '**' "
                 "stands for any folders; a folder's name means all that is in it")
      ->check(FilePattern());
  app.add_option("--max-size", options->max_size,
                 "The files of one node may have so many bytes: 500M, 50G")
      ->transform(Size())
      ->default_str("10G");
  app.footer(R"(
Brings what matches in a running job's working directory on its nodes into the job's log folder,
where each node has a folder of its address. Quote the patterns, or the shell here looks for them.
A node that has the same folder as this machine, by NFS say, is not asked for what is here already.
Files keep their permissions and times; symbolic links are neither followed nor brought. Ctrl-C ends
the fetching, and the job goes on. For a job that has ended it is too late: `autodist run --fetch
PATTERN` brings files when the ranks have ended, also after a failure.

Examples:
  autodist fetch 'ckpt*'
  autodist fetch last 'ckpt*'
  autodist fetch 3fa9c1 'out/**/*.pt' core.1234
  autodist fetch sweep-3 profiles --max-size 50G)");
  return [options] { return Fetch(*options); };
}

}  // namespace autodist::cli
