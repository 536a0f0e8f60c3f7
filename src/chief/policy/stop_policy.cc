#include "chief/policy/stop_policy.h"

#include <signal.h>

#include <utility>

namespace autodist::chief {

StopPolicy::Action StopPolicy::Interrupted(int signal, Time now, bool asked) {
  if (now < killed_until_ || (now < same_until_ && !asked)) return Action::kNone;
  if (signal == SIGHUP && signal_ != 0) return Action::kNone;
  const bool first = std::exchange(signal_, signal) == 0;
  if (first) same_until_ = now + kSameRequest;
  if (first) must_end_ = now + grace_ + kEndLimit - kOwnTime;
  const bool graceful = may_restart_ || signal != SIGINT;
  if (first && graceful && began_ && level_ == Action::kStop) return Action::kNone;
  switch (level_) {
    case Action::kNone:
      level_ = Action::kStop;
      break;
    case Action::kStop:
      level_ = Action::kKill;
      killed_until_ = now + kSameSignal;
      must_end_ = std::min(must_end_, now + kEndLimit - kOwnTime);
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

void StopPolicy::BeginEnd(Time now, bool leave) {
  leave_ = leave;
  end_limit_ = now + (overdue_ ? kEndLimit : grace_ + kEndLimit);
  lost_by_ = end_limit_ + lease_;
}

void StopPolicy::PutOff(Time now) {
  end_limit_ = std::max(end_limit_, now + kEndLimit);
  must_end_ = std::max(must_end_, now + kEndLimit);
}

bool StopPolicy::EndIsOverdue(Time now, const Progress& progress) {
  const bool writing =
      std::exchange(output_.written, progress.output_written) != progress.output_written;
  if (writing || !std::exchange(output_.waits, progress.output_waits)) output_.since = now;
  if (writing || output_.waits) end_limit_ = std::max(end_limit_, now + kEndLimit);
  if (output_.waits && now - output_.since >= kBlocked) PutOff(now);
  if (progress.reconnecting) {  // it has not received the order yet
    end_limit_ = std::max(end_limit_, std::min(now + grace_ + kEndLimit, lost_by_));
  }
  return now >= end_limit();
}

}  // namespace autodist::chief
