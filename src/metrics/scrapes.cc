#include "metrics/scrapes.h"

#include "base/wall_clock.h"
#include "metrics/snapshot_metrics.h"

namespace autodist::metrics {
namespace {

constexpr std::chrono::seconds kFresh{1};

}  // namespace

void Scrapes::Read(Clock::time_point now) {
  const auto snapshot = read_snapshot_();
  if (!snapshot.ok()) {
    families_ = snapshot.status();
  } else if (!*snapshot) {
    families_ = Error(StatusCode::kUnavailable, "no snapshot of the job yet");
  } else {
    families_ = MetricsOf(**snapshot, base::MillisecondsSince1970());
  }
  read_at_ = now;
}

Result<std::string> Scrapes::Scrape(Format format, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!read_at_ || now - *read_at_ >= kFresh) Read(now);
  if (!families_.ok()) return families_.status();
  return AsText(*families_, format);
}

}  // namespace autodist::metrics
