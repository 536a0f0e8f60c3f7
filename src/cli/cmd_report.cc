// autodist report [JOB] [--output FILE] [--markdown]
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/report_format.h"
#include "cli/values.h"
#include "control/snapshot_client.h"
#include "report/contents.h"
#include "report/html.h"
#include "report/markdown.h"
#include "snapshot/derived.h"

namespace autodist::cli {
namespace {

constexpr int kMaxFailed = 8;          // failed ranks with excerpts
constexpr off_t kLastBytes = 4 << 10;  // excerpt of each rank

struct ReportOptions {
  std::string output;  // empty: stdout
  bool markdown = false;
  bool force = false;
};

// Returns the last whole lines of the file; empty if it is missing or unreadable.
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

// Returns the last stderr output of failed ranks, or their stdout if stderr is empty.
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

// Uses only the job record if the job has no snapshot.
Result<report::JobFacts> FactsOf(const v1::JobStatus& job) {
  report::JobFacts facts;
  control::SnapshotClient reader(job.job_id(), job.log_folder());
  const auto snapshot = reader.Snapshot();
  if (snapshot.ok()) {
    facts.snapshot = **snapshot;
  } else if (snapshot.status().code() != StatusCode::kNotFound) {
    return snapshot.status();
  }
  // The end of the job may be newer than the stored snapshot.
  const bool over = job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone();
  if (!snapshot.ok() || over) snapshot::SetStatus(job, facts.snapshot);
  if (facts.snapshot.time_ms() == 0 || !over)
    facts.snapshot.set_time_ms(base::MillisecondsSince1970());
  auto history = reader.History();
  if (history.ok()) facts.history = *std::move(history);
  facts.last_lines = LastLinesOf(facts.snapshot);
  return facts;
}

int Report(const ReportOptions& options, const v1::JobStatus& job) {
  if (options.output.empty() && !options.markdown && isatty(STDOUT_FILENO) == 1) {
    return Fail(
        WithRemedy(Error(StatusCode::kInvalidArgument, "refusing to print HTML to a terminal"),
                   "give --output report.html, or --markdown"),
        kExitUsage);
  }
  const auto format = FormatOfReport(options.output, options.markdown);
  if (!format.ok()) return Fail(format.status(), kExitUsage);
  const auto facts = FactsOf(job);
  if (!facts.ok()) {
    return Fail(Annotate(facts.status(), "job " + job.job_id()), kExitCannotLaunch);
  }
  const report::Document document = report::ContentsOf(*facts);
  const std::string text =
      *format == ReportFormat::kMarkdown ? report::MarkdownOf(document) : report::HtmlOf(document);
  const Status written = WriteOutput(options.output, text, options.force);
  const bool exists = written.code() == StatusCode::kAlreadyExists;
  if (!written.ok()) return Fail(written, exists ? kExitUsage : kExitCannotLaunch);
  if (!options.output.empty()) base::Log(base::LogLevel::kInfo, "wrote " + options.output);
  return 0;
}

}  // namespace

JobCommand AddReport(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  app.add_option("-o,--output", options->output,
                 "Write to this file, as HTML (.html) or Markdown (.md); default: stdout")
      ->check(NotEmpty("FILE"));
  app.add_flag("--markdown", options->markdown, "Markdown, whatever the name of the file");
  app.add_flag("--force", options->force, "Replace an existing file");
  app.footer(R"(
Writes a report of a running or ended job: the outcome and its cause, where the
time went, attempts, and curves of loss, rate and GPU use. It lists failed ranks
with their last output, the slowest ranks, nodes, and events. HTML is one file without scripts
and without external resources; Markdown suits issues and pull requests. The
report contains the command line and output of ranks: read it before you share
it.

Exit code: 125 if the job does not answer, or the file cannot be written.

Examples:
  autodist report last --output report.html
  autodist report last --output report.md
  autodist report 3fa9c1 --markdown | gh issue create -t 'It failed' -F -)");
  return {[options](const v1::JobStatus& job) { return Report(*options, job); }};
}

}  // namespace autodist::cli
