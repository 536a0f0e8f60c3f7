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
  // Once it was told to stop, a job ends within the grace period and kEndLimit, whatever nodes do.
  // So much of it is left for agents to leave that could not end their ranks, and for autodist.
  static constexpr std::chrono::milliseconds kLeaveTime{3'000};
  static constexpr std::chrono::milliseconds kOwnTime{1'000};
  // A terminal or disk that has taken nothing for so long is blocked.
  static constexpr std::chrono::milliseconds kBlocked{1'000};
  // Signals that come sooner after the first one are the same request: the kernel, the shell and a
  // scheduler each send one for a window that is closed or a job that is cancelled, and a wrapper
  // passes Ctrl-C on. A person needs longer to ask again.
  static constexpr std::chrono::milliseconds kSameRequest{1'000};
  // Signals that come sooner after the one that kills mean the same; later ones, that autodist is
  // to wait no longer.
  static constexpr std::chrono::milliseconds kSameSignal{2'000};

  // `lease`: a node that reconnects is lost then.
  // `may_restart`: a first signal while an attempt ends keeps the job from being started again, and
  // does nothing else. Nor does a first SIGTERM or SIGHUP do more: what ends a whole job may have
  // sent it to the ranks as well, of which one has failed by it; and a window that is closed is no
  // request to hurry. SIGHUP never is one.
  StopPolicy(std::chrono::milliseconds grace, std::chrono::milliseconds lease, bool may_restart)
      : grace_(grace), lease_(lease), may_restart_(may_restart) {}

  // Each returns what to do because of it. `asked`: by a command or a key, each of which counts.
  Action Interrupted(int signal, Time now, bool asked = false);
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

  // What is running has been told to end: the time that it has for that begins. `leave`: so have
  // the agents, and nothing follows.
  void BeginEnd(Time now, bool leave);
  // As far as is known now.
  Time end_limit() const {
    if (must_end_ == Time::max()) return end_limit_;
    return std::min(end_limit_, leave_ ? must_end_ : must_end_ - kLeaveTime);
  }
  // When a job that was told to stop has to have ended, whatever nodes do.
  Time must_end() const { return must_end_; }
  // Whether nothing is waited for any more.
  bool WaitsNoLonger(Time now) const { return given_up() || now >= waits_until(); }
  Time waits_until() const { return must_end_ - kLeaveTime; }

  struct Progress {
    bool output_waits = false;    // for a terminal or a disk of the chief's
    uint64_t output_written = 0;  // bytes so far
    bool reconnecting = false;    // a node that cannot have heard that it is to end
  };
  // Whether what is ending has had its time. As long as output arrives or waits for the terminal,
  // it is not the agents that are slow; and a node that is cut off may come back until it is lost.
  // For a job that was told to stop only a terminal or disk of the chief's counts that is blocked.
  bool EndIsOverdue(Time now, const Progress& progress);
  // SIGKILL does not end the ranks: there is no use in another grace period.
  void GraceIsOver() { overdue_ = true; }
  // Until now the chief itself was stopped, or was asked to do something else first.
  void Resumed(Time now) { PutOff(now); }

 private:
  void PutOff(Time now);

  const std::chrono::milliseconds grace_;
  const std::chrono::milliseconds lease_;
  const bool may_restart_;
  Action level_ = Action::kNone;
  int signal_ = 0;
  bool timed_out_ = false;
  bool began_ = false;  // ranks have started
  bool overdue_ = false;
  Time same_until_{};    // signals that come before are the request of the first
  Time killed_until_{};  // signals that come before belong to the one that kills
  bool leave_ = false;
  Time end_limit_ = Time::max();
  Time lost_by_ = Time::max();  // what reconnects
  Time must_end_ = Time::max();
  struct {
    uint64_t written = 0;
    bool waits = false;
    Time since{};  // it waits, and nothing was written
  } output_;
};

}  // namespace autodist::chief
