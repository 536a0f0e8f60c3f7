// Sections of the job's time and events.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/quantity.h"
#include "base/split.h"
#include "base/wall_clock.h"
#include "report/sections.h"
#include "snapshot/events.h"
#include "snapshot/goodput_accounting.h"
#include "snapshot/recovery_times.h"

namespace autodist::report {
namespace {

struct AttemptTimes {
  uint32_t number;
  int64_t began_ms = 0;
  int64_t ended_ms = 0;  // its ranks are asked to end, or have ended
  std::string cause;     // of the attempt's end
};

// Derived from the events; later ones describe the cause better.
std::vector<AttemptTimes> AttemptsOf(const v1::JobSnapshot& snapshot) {
  std::vector<AttemptTimes> attempts;
  for (const v1::JobEvent& event : snapshot.events()) {
    if (event.job_phase() == v1::JOB_PHASE_RUNNING) {
      attempts.push_back({event.attempt(), event.time_ms(), 0, ""});
    } else if (event.job_phase() == v1::JOB_PHASE_STOPPING ||
               event.job_phase() == v1::JOB_PHASE_RESTARTING ||
               event.job_phase() == v1::JOB_PHASE_ENDED) {
      if (attempts.empty()) continue;
      AttemptTimes& last = attempts.back();
      if (last.ended_ms == 0) last.ended_ms = event.time_ms();
      if (!event.what().empty()) last.cause = base::FirstLine(event.what());
    }
  }
  return attempts;
}

void AddRecovery(const v1::Recovery& recovery, Section& section) {
  const int64_t total = snapshot::Total(recovery);
  if (total <= 0) return;
  const auto text = [](int64_t time) {
    return base::ExactlyElapsed(std::chrono::milliseconds(time));
  };
  constexpr std::array kTones{Severity::kPlain, Severity::kSlow};  // of neighbours
  Shares shares;
  for (const snapshot::RecoveryPart& part : snapshot::PartsOf(recovery)) {
    shares.parts.push_back({part.name, static_cast<double>(part.time) / static_cast<double>(total),
                            text(part.time), kTones[shares.parts.size() % kTones.size()]});
  }
  section.blocks.emplace_back(Paragraph{
      "Restart as attempt " + std::to_string(recovery.attempt() + 1) + ": " + text(total)});
  section.blocks.emplace_back(std::move(shares));
}

std::string WhoseEvent(const v1::JobEvent& event) {
  if (event.has_rank()) {
    const std::string rank = "rank " + std::to_string(event.rank());
    return event.node().empty() ? rank : rank + " (" + event.node() + ")";
  }
  return event.node().empty() ? "job" : event.node();
}

}  // namespace

Section TimeSection(const v1::JobSnapshot& snapshot) {
  const v1::GoodputParts& spent = snapshot.goodput_parts();
  const int64_t total = snapshot::Total(spent);
  if (total <= 0) return {};
  struct Part {
    const char* name;
    int64_t time;
    Severity tone;
  };
  const std::array<Part, 6> parts{{{"training", spent.training(), Severity::kRunning},
                                   {"lost steps", spent.lost_steps(), Severity::kBad},
                                   {"stalled", spent.stalled(), Severity::kAway},
                                   {"start-up", spent.start_up(), Severity::kPlain},
                                   {"restarting", spent.restarting(), Severity::kSlow},
                                   {"stopping", spent.stopping(), Severity::kPlain}}};
  Shares shares;
  for (const Part& part : parts) {
    if (part.time <= 0) continue;
    const double share = static_cast<double>(part.time) / static_cast<double>(total);
    shares.parts.push_back({part.name, share, SpanText(part.time), part.tone});
  }
  return {"Where the time went", {std::move(shares)}};
}

Section AttemptsSection(const v1::JobSnapshot& snapshot) {
  const std::vector<AttemptTimes> attempts = AttemptsOf(snapshot);
  if (attempts.size() < 2) return {};
  Table table{{{"attempt"}, {"began"}, Number("ran for"), {"ended, because"}}, {}};
  for (const AttemptTimes& attempt : attempts) {
    const int64_t ended = attempt.ended_ms > 0 ? attempt.ended_ms : EndOf(snapshot);
    table.rows.push_back({{std::to_string(attempt.number + 1)},
                          {TimeText(attempt.began_ms)},
                          Number(SpanText(ended - attempt.began_ms)),
                          {attempt.cause}});
  }
  Section section{"Attempts", {std::move(table)}};
  constexpr int kMaxRecoveries = 8;  // the last ones
  const int count = snapshot.recoveries_size();
  for (int i = std::max(count - kMaxRecoveries, 0); i < count; ++i) {
    AddRecovery(snapshot.recoveries(i), section);
  }
  return section;
}

Section EventsSection(const v1::JobSnapshot& snapshot) {
  if (snapshot.events().empty()) return {};
  Table table{{{"time"}, {"who"}, {"what"}}, {}};
  bool stopping = false;
  for (const v1::JobEvent& event : snapshot.events()) {
    if (event.job_phase() == v1::JOB_PHASE_RUNNING) stopping = false;
    if (event.job_phase() == v1::JOB_PHASE_STOPPING) stopping = true;
    std::string what = snapshot::PhaseText(event);
    if (!event.what().empty())
      what += (what.empty() ? "" : ": ") + std::string(base::FirstLine(event.what()));
    // Ends of ranks that were being stopped are no issue.
    const bool means_nothing = event.has_rank() && stopping;
    const Severity tone = means_nothing ? Severity::kPlain : ToneOf(snapshot::MarkOf(event));
    table.rows.push_back({{TimeText(event.time_ms())},
                          {WhoseEvent(event), Cell::Kind::kText, tone},
                          {std::move(what)}});
  }
  return {"What happened", {std::move(table)}};
}

std::string TimeText(int64_t time_ms) {
  return time_ms > 0 ? base::LocalTime("%Y-%m-%d %H:%M:%S", time_ms / 1000) : "";
}

std::string SpanText(int64_t milliseconds) {
  return base::Elapsed(std::chrono::milliseconds(std::max<int64_t>(milliseconds, 0)));
}

std::string NumberText(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

int64_t EndOf(const v1::JobSnapshot& snapshot) {
  return snapshot.job().ended_ms() > 0 ? snapshot.job().ended_ms() : snapshot.time_ms();
}

}  // namespace autodist::report
