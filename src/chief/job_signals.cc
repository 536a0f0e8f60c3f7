#include "chief/job_signals.h"

#include <signal.h>

#include <chrono>

#include "base/log.h"
#include "base/quantity.h"
#include "base/signal_name.h"

namespace autodist::chief {

using base::LogLevel;
using Action = StopPolicy::Action;

namespace {

// Said once no more is waited for. What may be left is reported at the end.
constexpr char kNoMore[] = "waiting no longer";

// "for up to 40 s".
std::string UpTo(const JobParts& parts) {
  const Loop::Time until = parts.stop.named_limit(parts.nodes.AnyDisconnected());
  return "for up to " +
         base::Elapsed(std::chrono::ceil<std::chrono::seconds>(until - parts.loop->Now()));
}

}  // namespace

void JobSignals::Take(int signal, const std::string& by, Loop::Time at) {
  switch (signal) {
    case SIGUSR1:
    case SIGUSR2:
      return PassOn(signal);
    case SIGTSTP:
      return suspension_.Begin();
    case SIGQUIT:
      if (parts_.recorder.phase() == v1::JOB_PHASE_LAUNCHING) return;
      parts_.stacks.Ask(run_.attempt());
      return parts_.stacks.ShowHere();
    default:
      return Interrupt(signal, by, at);
  }
}

// Ranks that do not handle the signal end.
void JobSignals::PassOn(int signal) {
  parts_.nodes.SendToAll(Fleet::SignalTo(signal));
  if (parts_.recorder.phase() != v1::JOB_PHASE_RUNNING) return;
  const uint32_t running = run_.state().running();
  const std::string what = base::SignalName(signal) + " is passed on to " +
                           (running == 1 ? "the " : "all ") +
                           NounFor(running, run_.attempt().plan());
  parts_.console.Log(LogLevel::kInfo, what);
  parts_.recorder.Record(what);
}

void JobSignals::Interrupt(int signal, const std::string& by, Loop::Time at) {
  suspension_.Cancel();
  const bool first = parts_.stop.signal() == 0;
  const Action action = parts_.stop.Interrupted(signal, at, !by.empty());
  if (action == Action::kNone && !first) return;  // part of the previous signal
  parts_.recorder.StopRequested();
  const std::string name = SenderOf(signal, by);
  const JobStage stage = runner_.stage();
  if (stage == JobStage::kAwaitingFetches || stage == JobStage::kFetching) {
    parts_.console.Log(LogLevel::kInfo, name + ": no more files are fetched");
    return parts_.fetch.Cancel();
  }
  if (parts_.recorder.phase() == v1::JOB_PHASE_LAUNCHING) return InterruptStart(name, action);
  parts_.recorder.Record("stop requested by " + name);
  InterruptRanks(signal, by, action);
}

void JobSignals::InterruptStart(const std::string& name, Action action) {
  const auto report = [&](const std::string& what) {
    parts_.console.Log(LogLevel::kInfo, name + ": " + what);
  };
  const std::string up_to = UpTo(parts_);
  switch (action) {
    case Action::kStop:
      report("cancelling the start, " + up_to + "; repeat to end it sooner");
      return runner_.starter().Cancel();
    case Action::kKill:
      report("killing what was started, " + up_to + "; repeat to wait no longer");
      return parts_.nodes.End(std::chrono::milliseconds(0), true);
    case Action::kGiveUp:
      return report(kNoMore);
    case Action::kNone:
      return;
  }
}

void JobSignals::InterruptRanks(int signal, const std::string& by, Action action) {
  const std::string name = SenderOf(signal, by);
  const auto report = [&](const std::string& what) {
    parts_.console.Log(LogLevel::kInfo, name + ": " + what);
  };
  const uint32_t running = run_.state().running();
  const bool one = running == 1;
  const std::string ranks = "the " + NounFor(running, run_.attempt().plan());
  switch (action) {
    case Action::kStop:
      report(ranks + (one ? " has " : " have ") + base::Seconds(parts_.options.launch.grace()) +
             " to exit; repeat to kill " + (one ? "it" : "them"));
      if (run_.state().Interrupted(signal, by)) run_.Stop();
      return run_.StopExplaining();
    case Action::kKill:
      report("killing the remaining processes, " + UpTo(parts_) + "; repeat to wait no longer");
      run_.state().Killed();
      return parts_.nodes.StopRanks(std::chrono::milliseconds(0));
    case Action::kGiveUp:
      return report(kNoMore);
    case Action::kNone: {  // the first signal, while ranks end or have ended
      const bool prevents = runner_.MayRestart();
      run_.state().Interrupted(signal, by);  // may explain an eviction
      return report(std::string(prevents       ? "no further restart"
                                : running == 0 ? "the job is ending"
                                : one          ? ranks + " is being stopped"
                                               : ranks + " are being stopped") +
                    "; repeat to kill the remaining processes");
    }
  }
}

}  // namespace autodist::chief
