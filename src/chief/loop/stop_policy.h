// How a job is ended: what a signal, a failure or a time limit leads to, and when what is ending
// has had its time. Pure logic.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "chief/loop/loop.h"

namespace autodist::chief {

// One escalation: what ends is asked to, then killed, then waited for no longer.
class StopPolicy {
 public:
  using Time = Loop::Time;
  enum class Action {
    kNone,
    kStop,    // the stop signal to all ranks, SIGKILL after the grace period
    kKill,    // SIGKILL to all ranks
    kGiveUp,  // wait no longer
  };

  // How long agents may take to end what is left once the grace period is over.
  static constexpr std::chrono::milliseconds kEndLimit{10'000};
  // Signals that come sooner after the one that kills mean the same; later ones, that autodist is
  // to wait no longer.
  static constexpr std::chrono::milliseconds kSameSignal{2'000};

  // `may_restart`: a first signal while an attempt ends keeps the job from being started again, and
  // does nothing else.
  StopPolicy(std::chrono::milliseconds grace, bool may_restart)
      : grace_(grace), may_restart_(may_restart) {}

  // Each returns what to do because of it.
  Action Interrupted(int signal, Time now);
  Action TimedOut();  // --timeout
  // The attempt's first failure has ended, or will end, all of its ranks.
  void AttemptEnds() { level_ = std::max(level_, Action::kStop); }
  // The ranks of a new attempt start, or the first ones.
  void AttemptBegins() {
    level_ = Action::kNone;
    began_ = true;
  }

  // The signal that was received last; 0: none.
  int signal() const { return signal_; }
  // Whether nothing is to be started any more.
  bool requested() const { return signal_ != 0 || timed_out_; }
  bool killing() const { return level_ >= Action::kKill; }
  bool given_up() const { return level_ == Action::kGiveUp; }

  // What is running has been told to end: the time that it has for that begins.
  void BeginEnd(Time now) { end_limit_ = now + (overdue_ ? kEndLimit : grace_ + kEndLimit); }
  // As far as is known now.
  Time end_limit() const { return end_limit_; }

  struct Progress {
    bool output_waits = false;    // for a terminal or a disk of the chief's
    uint64_t output_written = 0;  // bytes so far
    bool reconnecting = false;    // a node that cannot have heard that it is to end
  };
  // Whether what is ending has had its time. As long as output arrives or waits for the terminal,
  // it is not the agents that are slow; and a node that is cut off may come back.
  bool EndIsOverdue(Time now, const Progress& progress);
  // SIGKILL does not end the ranks: there is no use in another grace period.
  void GraceIsOver() { overdue_ = true; }
  // The chief itself has been stopped until now.
  void Resumed(Time now) { end_limit_ = std::max(end_limit_, now + kEndLimit); }

 private:
  const std::chrono::milliseconds grace_;
  const bool may_restart_;
  Action level_ = Action::kNone;
  int signal_ = 0;
  bool timed_out_ = false;
  bool began_ = false;  // ranks have started
  bool overdue_ = false;
  Time killed_until_{};  // signals that come before belong to the one that kills
  Time end_limit_ = Time::max();
  uint64_t written_ = 0;  // when the limit was set
};

}  // namespace autodist::chief
