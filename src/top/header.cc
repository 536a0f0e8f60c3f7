// Draws the title and the progress.
#include <algorithm>
#include <cmath>

#include "base/quantity.h"
#include "snapshot/goodput_accounting.h"
#include "snapshot/lookup.h"
#include "top/layout.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

constexpr int kWideTitle = 120;  // columns

// The command as the user wrote it, without the interpreter of a script.
std::string CommandText(const v1::JobStatus& job) {
  int first = 0;
  if (job.command_size() > 1 && !job.command(1).starts_with('-')) {
    const std::string& program = job.command(0);
    const size_t slash = program.rfind('/');
    const std::string name = slash == std::string::npos ? program : program.substr(slash + 1);
    if (name.starts_with("python")) first = 1;
  }
  std::string text;
  for (int i = first; i < job.command_size(); ++i) {
    if (!text.empty()) text += ' ';
    text += job.command(i);
  }
  return text;
}

std::string SizeText(const Facts& facts) {
  const size_t nodes = facts.nodes.size();
  std::string text = std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
  if (facts.most_slots > 0) {
    text += " × " + std::to_string(facts.most_slots) + (facts.gpus ? " GPU" : " rank");
    if (facts.most_slots != 1) text += "s";
  }
  return text;
}

std::string AttemptText(const v1::JobStatus& job) {
  if (job.attempt() == 0) return "";
  std::string text = "attempt " + std::to_string(job.attempt() + 1);
  if (job.max_restarts() > 0) {
    text +=
        ", restart " + std::to_string(job.attempt()) + " of " + std::to_string(job.max_restarts());
  }
  return text;
}

// The row of facts, labels and values in turn; drops those that do not fit.
class FactRow {
 public:
  FactRow(const Area& area, int row, int gap) : area_(area), row_(row), gap_(gap) {}

  void Add(const std::string& label, const std::string& value, const std::string& unit,
           const std::string& more = "", const Style& more_style = kLabel) {
    const auto spaced = [](const std::string& text) { return text.empty() ? text : " " + text; };
    const int width = WidthOf(label) + (label.empty() ? 0 : 1) + WidthOf(value) +
                      WidthOf(spaced(unit)) + WidthOf(spaced(more));
    const int start = column_ == 1 ? 1 : column_ + gap_;
    if (start + width > area_.columns()) return;
    column_ = start;
    if (!label.empty()) column_ = area_.Put(row_, column_, label + " ", kLabel);
    column_ = area_.Put(row_, column_, value, kStrong);
    column_ = area_.Put(row_, column_, spaced(unit), kLabel);
    column_ = area_.Put(row_, column_, spaced(more), more_style);
  }

 private:
  const Area& area_;
  const int row_;
  const int gap_;
  int column_ = 1;
};

// How much slower the job is than before the issue that made it slow.
std::string Slowdown(const Scene& scene) {
  constexpr double kNoticeable = 0.05;
  const auto& issues = scene.snapshot.issues();
  const auto slow = std::ranges::find(issues, v1::Issue::KIND_SLOW, &v1::Issue::kind);
  if (slow == issues.end() || slow->since_ms() <= 0) return "";
  double sum = 0;
  int count = 0;
  for (const v1::HistoryPoint& point : scene.history.points()) {
    if (!point.has_rate() || point.time_ms() >= slow->since_ms()) continue;
    sum += point.rate();
    ++count;
  }
  if (count == 0 || !(sum > 0)) return "";
  const double less = 1 - scene.snapshot.progress().rate() / (sum / count);
  if (!(less > kNoticeable)) return "";
  return "▼ " + Percent(less) + " % since " + ClockMinute(slow->since_ms());
}

void DrawBar(const Area& area, const Scene& scene) {
  const v1::Progress& progress = scene.snapshot.progress();
  const double share = static_cast<double>(progress.step()) / static_cast<double>(progress.total());
  const bool ended = scene.snapshot.job().phase() == v1::JOB_PHASE_ENDED;
  std::string right = Short(std::min(share, 1.0) * 100) + " %";
  if (!ended && progress.has_eta() && progress.eta() >= 0) {
    constexpr double kLongest = 1e10;  // seconds; NaN is not less
    if (progress.eta() < kLongest) {
      const auto left = static_cast<int64_t>(progress.eta() * 1000);
      right += "  ETA " + Span(left);
      if (area.columns() >= kWideTitle) right += " at " + ClockMinute(scene.now_ms() + left);
    }
  }
  int column = area.Put(0, 1, base::Thousands(progress.step()), kStrong);
  column = area.Put(0, column, " / " + base::Thousands(progress.total()) + "  ");
  const int end = std::max(area.columns() - 3 - WidthOf(right), column);
  const int filled = area.Put(0, column, BarText(share, end - column), kAccent);
  for (int i = filled; i < end; ++i) area.Set(0, i, U'─', kLabel);
  area.Put(0, end + 2, right, kStrong);
}

// A step whose total is unknown.
void AddSteps(FactRow& row, const v1::Progress& progress) {
  if (progress.has_step() && progress.total() == 0) {
    row.Add("step", base::Thousands(progress.step()), "");
  }
}

void DrawFacts(const Area& area, int at, const Scene& scene) {
  constexpr int kGap = 3;
  constexpr int kWideGap = 6;
  const v1::JobStatus& job = scene.snapshot.job();
  const v1::Progress& progress = scene.snapshot.progress();
  const bool wide = area.columns() >= kWideTitle;
  FactRow row(area, at, wide ? kWideGap : kGap);
  AddSteps(row, progress);
  if (progress.has_rate()) {
    row.Add(wide ? "rate" : "", Short(progress.rate()), "steps/s", Slowdown(scene),
            StyleOf(v1::MARK_SLOW));
  }
  constexpr int kMaxMetrics = 4;
  int shown = 0;
  for (const v1::Metric& metric : progress.metrics()) {
    if (shown++ < (wide ? kMaxMetrics : 1)) row.Add(metric.name(), MetricText(metric.value()), "");
  }
  const v1::GoodputParts& spent = scene.snapshot.goodput_parts();
  if (const auto goodput = snapshot::Goodput(spent)) {
    row.Add("goodput", Short(*goodput * 100), "%", spent.steps_known() ? "" : "steps unknown");
  }
  if (job.started_ms() > 0) {
    row.Add(job.ended_ms() > 0 ? "took" : "up", Span(scene.end_ms() - job.started_ms()), "");
  }
  if (!wide) row.Add("", AttemptText(job), "");
  if (!wide) row.Add("", SizeText(scene.facts), "");
}

bool HasBar(const Scene& scene) {
  return scene.snapshot.progress().has_step() && scene.snapshot.progress().total() > 0;
}

// "2", "0.5": seconds.
std::string IntervalText(uint32_t milliseconds) { return MetricText(milliseconds / 1000.0); }

// The time of the snapshot, or for how long the job has not answered.
std::string AgeText(const Scene& scene) {
  constexpr std::chrono::seconds kLate{3};
  const ViewState& view = scene.view;
  std::string clock = Clock(scene.end_ms());
  if (view.chief_silence < kLate || scene.snapshot.job().ended_ms() > 0) return clock;
  return "no answer for " + Span(view.chief_silence.count()) + " · as of " + clock;
}

// "running, slow", "stalled 41 s".
std::string StateText(const Scene& scene) {
  const v1::Issue* const standstill = snapshot::StandstillIn(scene.snapshot);
  if (scene.snapshot.mark() != v1::MARK_STALLED || !standstill) return scene.snapshot.state();
  return scene.snapshot.state() + " " + Span(scene.now_ms() - standstill->since_ms());
}

}  // namespace

std::string ShortId(const std::string& job_id) { return job_id.substr(job_id.rfind('-') + 1); }

void DrawTitle(const Area& area, const Scene& scene) {
  const v1::JobStatus& job = scene.snapshot.job();
  const v1::Mark mark = scene.snapshot.mark();
  const bool wide = area.columns() >= kWideTitle;
  area.Paint(0, 0, area.columns(), {.reverse = true});
  const Style title{.reverse = true};
  Style badge = StyleOf(mark);
  badge.reverse = true;
  badge.bold = true;
  if (mark <= v1::MARK_STARTING) badge.fore = kPlain;
  badge.faint = false;
  std::string word = " ";
  AppendCharacter(word, mark == v1::MARK_NONE ? U'●' : GlyphOf(mark));
  const int badge_end = area.Put(0, 0, word + " " + StateText(scene) + " ", badge);

  std::string right = AgeText(scene) + " ";
  if (wide && scene.snapshot.sample_ms() > 0) {
    right = "every " + IntervalText(scene.snapshot.sample_ms()) + " s · " + right;
  }
  if (wide && !job.host().empty()) right = job.host() + " · " + right;
  const int end = area.columns() - WidthOf(right);
  area.Put(0, end, right, title);
  std::string text = " " + (wide ? job.job_id() : ShortId(job.job_id())) + "  ";
  if (!job.name().empty()) text += job.name() + "  ";
  std::string tail;
  if (wide) tail = "   " + SizeText(scene.facts);
  if (wide && job.attempt() > 0) tail += "   " + AttemptText(job);
  const int start = area.PutWithin(0, badge_end, end - 1, text, title);
  const int command_end = std::max(end - 2 - WidthOf(tail), start);
  const int behind = area.PutWithin(0, start, command_end, CommandText(job), title);
  area.PutWithin(0, behind, end - 1, tail, title);
}

int ProgressRows(const Scene& scene) { return HasBar(scene) ? 2 : 1; }

void DrawProgress(const Area& area, const Scene& scene) {
  if (HasBar(scene)) DrawBar(area, scene);
  DrawFacts(area, HasBar(scene) ? 1 : 0, scene);
}

}  // namespace autodist::top
