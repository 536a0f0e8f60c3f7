// The end of a job: the effect of a signal, a failure or a time limit, and the time limits of the
// shutdown. Pure logic.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "chief/loop/loop.h"

namespace autodist::chief {

// Escalates: asks the ranks to end, then kills them, then waits no longer.
class StopPolicy {
 public:
  using Time = Loop::Time;
  enum class Action {
    kNone,
    kStop,    // stop signal to all ranks, SIGKILL after the grace period
    kKill,    // SIGKILL to all ranks
    kGiveUp,  // wait no longer
  };

  // The time for agents to end what is left after the grace period.
  static constexpr std::chrono::milliseconds kEndLimit{10'000};
  // After a request to stop, a job ends within the grace period and kEndLimit, whatever nodes do.
  // These parts of that time are for agents that could not end their ranks to leave, and for
  // autodist itself.
  static constexpr std::chrono::milliseconds kLeaveTime{3'000};
  static constexpr std::chrono::milliseconds kOwnTime{1'000};
  // A terminal or disk that has accepted nothing for this time is blocked.
  static constexpr std::chrono::milliseconds kBlocked{1'000};
  // Signals within this time after the first are the same request: the kernel, the shell and a
  // scheduler each send one when a window is closed or a job is cancelled, and a wrapper passes
  // Ctrl-C on. A person needs longer for a second request.
  static constexpr std::chrono::milliseconds kSameRequest{1'000};
  // Signals within this time after the one that kills are the same request; later ones ask autodist
  // to wait no longer.
  static constexpr std::chrono::milliseconds kSameSignal{2'000};

  // `lease`: the time after which a reconnecting node is lost.
  // `may_restart`: a first signal while an attempt ends only prevents a restart. The same holds for
  // a first SIGTERM or SIGHUP without it: a scheduler may have sent SIGTERM to the ranks as well,
  // and so made one fail, and closing a window is no request to hurry. A later SIGHUP is ignored.
  StopPolicy(std::chrono::milliseconds grace, std::chrono::milliseconds lease, bool may_restart)
      : grace_(grace), lease_(lease), may_restart_(may_restart) {}

  // Each returns the action to take. `asked`: by a command or a key, each of which counts.
  Action Interrupted(int signal, Time now, bool asked = false);
  Action TimedOut();  // --timeout
  // The attempt's first failure has ended, or will end, all ranks.
  void AttemptEnds() { level_ = std::max(level_, Action::kStop); }
  // The ranks of a new attempt start, also of the first one.
  void AttemptBegins() {
    level_ = Action::kNone;
    began_ = true;
  }

  // The last received signal; 0: none.
  int signal() const { return signal_; }
  // Returns whether nothing may be started any more.
  bool requested() const { return signal_ != 0 || timed_out_; }
  // Returns whether ranks have started.
  bool began() const { return began_; }
  bool killing() const { return level_ >= Action::kKill; }
  bool given_up() const { return level_ == Action::kGiveUp; }

  // Starts the time limit for everything that was asked to end. `leave`: the agents were asked to
  // exit as well, and no other stage follows.
  void BeginEnd(Time now, bool leave);
  // As far as is known now.
  Time end_limit() const {
    if (must_end_ == Time::max()) return end_limit_;
    return std::min(end_limit_, leave_ ? must_end_ : must_end_ - kLeaveTime);
  }
  // The limit for the end of a job that was asked to stop, whatever nodes do.
  Time must_end() const { return must_end_; }
  // The limit of a wait, as messages name it: the end of a job that was asked to stop, or else that
  // of everything that was asked to end. `reconnecting`: as in Progress.
  Time named_limit(bool reconnecting) const {
    if (must_end_ != Time::max()) return must_end_ + kOwnTime;
    return reconnecting ? std::max(end_limit_, lost_by_) : end_limit_;
  }
  // Returns whether nothing is waited for any more.
  bool WaitsNoLonger(Time now) const { return given_up() || now >= waits_until(); }
  Time waits_until() const { return must_end_ - kLeaveTime; }

  struct Progress {
    bool output_waits = false;    // for a terminal or disk of the chief
    uint64_t output_written = 0;  // bytes so far
    bool reconnecting = false;    // a node that cannot have received the order to end
  };
  // Returns whether the time limit is over. It is extended while output arrives or waits for the
  // terminal, because then the agents are not slow, and while a disconnected node may return. After
  // a request to stop, only a blocked terminal or disk of the chief extends it.
  bool EndIsOverdue(Time now, const Progress& progress);
  // SIGKILL did not end the ranks; another grace period is of no use.
  void GraceIsOver() { overdue_ = true; }
  // Extends the limits, because the chief was stopped or busy with another request until now.
  void Resumed(Time now) { PutOff(now); }

 private:
  void PutOff(Time now);

  const std::chrono::milliseconds grace_;
  const std::chrono::milliseconds lease_;
  const bool may_restart_;
  Action level_ = Action::kNone;
  int signal_ = 0;
  bool timed_out_ = false;
  bool began_ = false;
  bool overdue_ = false;
  Time same_until_{};    // earlier signals are the first request
  Time killed_until_{};  // earlier signals belong to the one that kills
  bool leave_ = false;
  Time end_limit_ = Time::max();
  Time lost_by_ = Time::max();  // limit for reconnecting nodes
  Time must_end_ = Time::max();
  struct {
    uint64_t written = 0;
    bool waits = false;
    Time since{};  // waiting without progress
  } output_;
};

}  // namespace autodist::chief
