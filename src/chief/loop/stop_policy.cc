#include "chief/loop/stop_policy.h"

#include <utility>

namespace autodist::chief {

StopPolicy::Action StopPolicy::Interrupted(int signal, Time now) {
  if (now < killed_until_) return Action::kNone;
  const bool first = std::exchange(signal_, signal) == 0;
  if (first && may_restart_ && began_ && level_ == Action::kStop) return Action::kNone;
  switch (level_) {
    case Action::kNone:
      level_ = Action::kStop;
      break;
    case Action::kStop:
      level_ = Action::kKill;
      killed_until_ = now + kSameSignal;
      break;
    case Action::kKill:
    case Action::kGiveUp:
      level_ = Action::kGiveUp;
      break;
  }
  return level_;
}

StopPolicy::Action StopPolicy::TimedOut() {
  timed_out_ = true;
  if (level_ != Action::kNone) return Action::kNone;
  level_ = Action::kStop;
  return level_;
}

bool StopPolicy::EndIsOverdue(Time now, const Progress& progress) {
  if (progress.output_waits || progress.output_written != written_) {
    written_ = progress.output_written;
    end_limit_ = std::max(end_limit_, now + kEndLimit);
  }
  if (progress.reconnecting) end_limit_ = now + grace_ + kEndLimit;  // it has not been told yet
  return now >= end_limit_;
}

}  // namespace autodist::chief
