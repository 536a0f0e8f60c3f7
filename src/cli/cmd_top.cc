// autodist top [JOB] [--once] [--interval DURATION] [--sort BY] [--cells FACT]

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/exit_codes.h"
#include "base/typed_command.h"
#include "cli/commands.h"
#include "cli/values.h"
#include "top/render.h"
#include "top/top.h"
#include "why/diagnosis.h"
#include "why/stack_groups.h"

namespace autodist::cli {
namespace {

constexpr int kPlainColumns = 120;  // if the width is unknown

struct TopCommandOptions {
  bool once = false;
  double interval = std::chrono::duration<double>(top::kDefaultInterval).count();
  std::string sort = top::kSortNames[0];
  std::string cells = top::kFactNames[0];
};

template <typename Enum, typename Names>
Enum ValueNamed(const std::string& name, const Names& names) {
  return static_cast<Enum>(std::ranges::find(names, name) - names.begin());
}

// Returns the width in $COLUMNS, or else of the terminal.
int PlainColumns() {
  constexpr int kMaxColumns = 1000;
  const std::string_view text = std::getenv("COLUMNS") ? std::getenv("COLUMNS") : "";
  int columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  winsize size{};
  if (columns <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (columns <= 0) return kPlainColumns;
  return std::clamp(columns, top::kMinColumns, kMaxColumns);
}

int PrintOnce(top::TopOptions options) {
  options.view.columns = PlainColumns();
  const auto text = top::TopOnce(options);
  if (!text.ok()) {
    const std::string known = Remedy(text.status());
    return Fail(
        WithRemedy(Annotate(text.status(), "job " + options.job_id),
                   known.empty() ? base::TypedCommand("status " + options.job_id) + " shows the job"
                                 : known),
        kExitCannotLaunch);
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

int Top(const TopCommandOptions& chosen, const v1::JobStatus& job) {
  constexpr int kSignalled = 128;
  top::TopOptions options{.job_id = job.job_id()};
  options.interval = std::chrono::milliseconds(static_cast<int64_t>(chosen.interval * 1000));
  options.view.sort = ValueNamed<top::Sort>(chosen.sort, top::kSortNames);
  options.view.fact = ValueNamed<top::Fact>(chosen.cells, top::kFactNames);
  options.stacks_text = [](const v1::JobStacks& stacks) {
    return why::GroupsText(stacks.groups());
  };
  options.why_text = why::DiagnosisText;
  if (chosen.once) return PrintOnce(std::move(options));
  const auto signal = top::ShowTop(options);
  if (signal.ok()) return *signal == 0 ? 0 : kSignalled + *signal;
  if (signal.status().code() != StatusCode::kFailedPrecondition) {
    return Fail(signal.status(), kExitCannotLaunch);
  }
  base::Log(base::LogLevel::kInfo, Message(signal.status()) + ": printing once, as with --once");
  return PrintOnce(std::move(options));
}

}  // namespace

JobCommand AddTop(CLI::App& app) {
  auto options = std::make_shared<TopCommandOptions>();
  app.add_flag("--once", options->once,
               "Print once as plain text, as wide as COLUMNS or the terminal, or 120");
  app.add_option("--interval", options->interval, "Time between updates")
      ->transform(Duration(0.1))
      ->default_str(base::DurationText(options->interval));
  app.add_option("--sort", options->sort, "Initial order of ranks")
      ->check(OneOf({top::kSortNames.begin(), top::kSortNames.end()}));
  app.add_option("--cells", options->cells, "Initial content of GPU cells")
      ->check(OneOf({top::kFactNames.begin(), top::kFactNames.end()}));
  app.footer(R"(
Shows a job on the whole terminal: progress, issues and their causes, ranks with
their last lines, curves, and events. Each GPU is a cell, or each rank where GPUs
are unknown. An ended job is shown as it was at its end.

Keys: j and k choose a rank, Enter opens its log, s sorts, / filters, m changes
what cells show. Press w to find out why the job makes no progress, and e to show
the evidence of issues. x takes stacks, S stops the job after a question, ? lists
all keys, q leaves. The job continues when you leave.

Examples:
  autodist top                       the running job
  autodist top 3fa9c1 --sort silent  the longest silent ranks first
  autodist top --cells power
  autodist top last --once | head -5)");
  return {[options](const v1::JobStatus& job) { return Top(*options, job); }};
}

}  // namespace autodist::cli
