#include "metrics/scrapes.h"

#include "metrics/snapshot_metrics.h"

namespace autodist::metrics {
namespace {

constexpr std::chrono::seconds kFresh{1};

int64_t Now() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Scrapes::Read(Clock::time_point now) {
  const auto snapshot = read_snapshot_();
  if (!snapshot.ok()) {
    families_ = snapshot.status();
  } else if (!*snapshot) {
    families_ = Error(StatusCode::kUnavailable, "nothing is known of the job yet");
  } else {
    families_ = MetricsOf(**snapshot, Now());
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
