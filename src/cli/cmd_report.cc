// autodist report [JOB] [--output FILE] [--markdown]
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/values.h"
#include "control/snapshot_client.h"
#include "report/contents.h"
#include "report/html.h"
#include "report/markdown.h"
#include "snapshot/derived.h"

namespace autodist::cli {
namespace {

constexpr int kMaxFailed = 8;          // ranks of which the last lines are shown
constexpr off_t kLastBytes = 4 << 10;  // of what each wrote

struct ReportOptions {
  std::string job;
  std::string output;  // empty: stdout
  bool markdown = false;
  bool force = false;
};

// Whole lines of its end; empty: there is none, or it cannot be read.
std::string EndOfFile(const std::string& path) {
  const auto file = base::OpenOwnFile(path);
  struct stat is {};
  if (!file.ok() || fstat(file->get(), &is) != 0) return "";
  std::string text(static_cast<size_t>(std::min(is.st_size, kLastBytes)), '\0');
  const ssize_t size =
      pread(file->get(), text.data(), text.size(), is.st_size - std::min(is.st_size, kLastBytes));
  text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  const size_t line = is.st_size > kLastBytes ? text.find('\n') : std::string::npos;
  return line == std::string::npos ? text : text.substr(line + 1);
}

// What ranks that failed have written to stderr, or else to stdout.
std::vector<report::LastLines> LastLinesOf(const v1::JobSnapshot& snapshot) {
  std::vector<report::LastLines> lines;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.state() != v1::RANK_STATE_FAILED || lines.size() >= kMaxFailed) continue;
    const std::string file =
        snapshot.job().attempt_folder() + "/rank-" + std::to_string(rank.rank());
    for (const char* stream : {".err", ".out"}) {
      std::string text = EndOfFile(file + stream);
      if (text.empty()) continue;
      lines.push_back({rank.rank(), file + stream, std::move(text)});
      break;
    }
  }
  return lines;
}

// Of a job that no snapshot tells of, all that its record does.
Result<report::JobFacts> FactsOf(const v1::JobStatus& job) {
  report::JobFacts facts;
  control::SnapshotClient reader(job.job_id());
  const auto snapshot = reader.Snapshot();
  if (snapshot.ok()) {
    facts.snapshot = **snapshot;
  } else if (snapshot.status().code() != StatusCode::kNotFound) {
    return snapshot.status();
  }
  // What became of it later than the snapshot that was kept.
  const bool over = job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone();
  if (!snapshot.ok() || over) snapshot::SetStatus(job, facts.snapshot);
  if (facts.snapshot.time_ms() == 0 || !over)
    facts.snapshot.set_time_ms(base::MillisecondsSince1970());
  auto history = reader.History();
  if (history.ok()) facts.history = *std::move(history);
  facts.last_lines = LastLinesOf(facts.snapshot);
  return facts;
}

int Report(const ReportOptions& options) {
  if (options.output.empty() && !options.markdown && isatty(STDOUT_FILENO) == 1) {
    return Fail(WithRemedy(Error(StatusCode::kInvalidArgument, "HTML is not for a terminal"),
                           "write it to a file: --output report.html; or print --markdown"),
                kExitUsage);
  }
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  const auto facts = FactsOf(*job);
  if (!facts.ok()) {
    return Fail(Annotate(facts.status(), "job " + job->job_id()), kExitCannotLaunch);
  }
  const report::Document document = report::ContentsOf(*facts);
  const Status written = WriteOutput(
      options.output, options.markdown ? report::MarkdownOf(document) : report::HtmlOf(document),
      options.force);
  const bool exists = written.code() == StatusCode::kAlreadyExists;
  if (!written.ok()) return Fail(written, exists ? kExitUsage : kExitCannotLaunch);
  if (!options.output.empty()) base::Log(base::LogLevel::kInfo, "wrote " + options.output);
  return 0;
}

}  // namespace

Command AddReport(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  AddJob(app, options->job);
  app.add_option("--output", options->output, "Write it to this file; default: stdout")
      ->check(NotEmpty("FILE"));
  app.add_flag("--markdown", options->markdown, "Markdown in place of HTML");
  app.add_flag("--force", options->force, "Replace a file that is there");
  app.footer(R"(
Tells how a job was, or is: how it ended and why, where its time went, its attempts, curves of its
loss, rate and GPU use, the ranks that failed and what they wrote last, the slowest ranks, nodes, and
what happened. One page of HTML that needs nothing else and runs no script, to be sent or kept; or
Markdown, for an issue or a pull request. It has what ranks wrote and the command line in it: look
through it before it goes to others.

Exit code: 0; 125 if the job's autodist does not answer, or the file cannot be written; 2 for wrong
usage.

Examples:
  autodist report last --output report.html
  autodist report 3fa9c1 --markdown | gh issue create --title 'It failed' --body-file -)");
  return [options] { return Report(*options); };
}

}  // namespace autodist::cli
