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

// The agents have left; files that `run --fetch` copied are still in the log folder.
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
      "copy the files from the nodes; next time, `autodist run --fetch PATTERN` copies files when "
      "the job ends");
}

bool MeansAJob(const std::string& word) {
  return control::FindJob(word, control::KnownJobs(), control::NameOfJob).ok();
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
                 "Files of the working directory: '*', '?' and '[..]' match within a name, '**' "
                 "matches any folders; a folder includes its contents")
      ->check(FilePattern());
  app.add_option("--max-size", options->max_size,
                 "Max total size of the files of one node: 500M, 50G")
      ->transform(Size())
      ->default_str("10G");
  app.footer(R"(
Copies matching files from the working directory of a running job on its nodes
to the job's log folder, into one folder per node. Quote the patterns, so that
your shell does not expand them. Files that this machine shares with a node are
not copied. Permissions and times are kept; symbolic links are skipped. Ctrl-C
ends the copy; the job continues. For files at the end of a job use
`autodist run --fetch PATTERN`.

Examples:
  autodist fetch 'ckpt*'
  autodist fetch last 'ckpt*'
  autodist fetch 3fa9c1 'out/**/*.pt' core.1234
  autodist fetch sweep-3 profiles --max-size 50G)");
  return [options] { return Fetch(*options); };
}

}  // namespace autodist::cli
