#include "chief/job.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/exceptions.h"
#include "base/exit_codes.h"
#include "base/log.h"
#include "base/utf8.h"
#include "chief/attempt/report.h"
#include "why/diagnosis.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// The time for a terminal after the user gave up waiting.
constexpr milliseconds kTerminalLimit{500};
// An earlier signal after the end was meant for the job.
constexpr milliseconds kFinishLimit{1'000};

}  // namespace

Job::Job(const v1::LaunchPlan& plan, JobOptions options, std::unique_ptr<Loop> loop)
    : parts_(plan, std::move(options), std::move(loop), run_,
             [this](int signal, const std::string& by) { Signal(signal, by); }),
      suspension_(parts_),
      run_(parts_, suspension_),
      runner_(parts_, run_),
      signals_(parts_, run_, runner_, suspension_),
      watcher_(std::in_place, [this](int signal) { Signal(signal); }) {
  ::signal(SIGPIPE, SIG_IGN);
  base::SetExceptionHandler([&loop = *parts_.loop](std::exception_ptr thrown) {
    loop.Post([thrown = std::move(thrown)] { std::rethrow_exception(thrown); });
  });
  parts_.loop->AddTimer(
      [this] { return std::min(run_.Tick(runner_.MayRestart()), suspension_.due()); });
}

// Ends all callers and callbacks of the nodes before the nodes.
Job::~Job() {
  parts_.fetch.Finish();
  parts_.input.EndAttempt();
  runner_.starter().Stop();
  parts_.nodes.DisconnectAtExit();
  parts_.console.Finish();
  parts_.loop->DrainBackground();
  watcher_.reset();
  base::SetExceptionHandler(nullptr);
}

void Job::Signal(int signal, const std::string& by) {
  const Loop::Time at = parts_.loop->Now();
  if (const Loop::Time since = finishing_.since; since != Loop::Time{}) {
    if (at - since > kFinishLimit) _exit(finishing_.exit_code);
    return;
  }
  parts_.loop->PostUrgent([this, signal, by, at] { signals_.Take(signal, by, at); });
}

int Job::Run() {
  const Loop::Time began = parts_.loop->Now();
  const Status opened = parts_.recorder.Open();
  if (!opened.ok()) {
    base::LogFailure(opened);
    return kExitCannotLaunch;
  }
  parts_.recorder.EnterPhase(v1::JOB_PHASE_LAUNCHING, "");
  parts_.recorder.Publish(parts_.nodes, run_.attempt());
  runner_.Begin();
  RunLoop();
  if (!internal_error_.empty()) {
    const Status error =
        WithRemedy(Error(StatusCode::kInternal, internal_error_),
                   "this is a fault of autodist: please report it, with the output of "
                   "`autodist report " +
                       parts_.plan.job_id() + "`");
    outcome_ = "failed";
    const int exit_code = Finish(kExitCannotLaunch, base::FailureText(error), began);
    if (!finishing_.blocked) base::LogFailure(error);
    return exit_code;
  }
  if (const auto& refused = runner_.refused()) {
    return Finish(refused->exit_code, refused->report, began);
  }
  return Finish(runner_.futile() ? kExitFutile : run_.state().ExitCode(), "", began);
}

void Job::RunLoop() {
  for (bool over = false; !over;) {
    bool advancing = false;
    try {
      over = parts_.loop->RunUntil([&] {
        advancing = true;
        suspension_.Advance();
        const bool done = runner_.Advance();
        advancing = false;
        return done;
      });
    } catch (const std::exception& thrown) {
      over = !EndAfter(thrown, advancing);
    }
  }
}

// Its parts may be inconsistent now, so the agents end the ranks, whatever the stage. Later
// exceptions cost only what they interrupted; but if the job cannot be brought forward, leases end
// the ranks.
bool Job::EndAfter(const std::exception& thrown, bool advancing) {
  if (!internal_error_.empty()) return !advancing;
  internal_error_ = "internal error: " + base::Printable(thrown.what());
  parts_.console.Log(LogLevel::kError, internal_error_ + "; the job is being stopped");
  base::HandlingExceptions([this, advancing] {
    if (!advancing && parts_.recorder.phase() == v1::JOB_PHASE_LAUNCHING) {
      return Signal(SIGTERM, "internal error");  // awaits the nodes that are being reached
    }
    suspension_.Cancel();
    run_.state().Interrupted(SIGTERM, "internal error");  // the cause of what follows
    parts_.fetch.Cancel();
    if (!runner_.leaving()) runner_.Leave();
  });
  return true;
}

control::JobRequests Job::Requests() {
  using User = control::JobRequests::User;
  Loop& loop = *parts_.loop;
  control::JobRequests requests;
  requests.signal = [this](int signal, const std::string& by) { Signal(signal, by); };
  requests.get_status = [this, &loop](StatusAnswer answer) {
    loop.Post([this, answer = std::move(answer)] {
      answer(parts_.recorder.StatusNow(parts_.nodes, run_.attempt(), parts_.output.last_ms()));
    });
  };
  requests.get_stacks = [this, &loop](const v1::GetStacksRequest& request, StacksAnswer answer) {
    loop.Post([this, request, answer = std::move(answer)] { CollectStacks(request, answer); });
  };
  requests.fetch = [this, &loop](const v1::FetchRequest& request, const std::stop_token& stop,
                                 FetchAnswer answer) {
    loop.Post([this, request, stop, answer = std::move(answer)] { Fetch(request, stop, answer); });
  };
  requests.terminal.use = [this, &loop](User user) {
    loop.Post([this, user = std::move(user)] { parts_.input.Use(user); });
  };
  requests.terminal.type = [this, &loop](User user, v1::TerminalInput input) {
    loop.Post([this, user = std::move(user), input = std::move(input)] {
      parts_.input.Give(*user, input);
    });
  };
  requests.terminal.leave = [this, &loop](User user) {
    loop.Post([this, user = std::move(user)] { parts_.input.Leave(*user); });
  };
  requests.snapshots.snapshot = [this, &loop](const v1::GetSnapshotRequest& request,
                                              control::JobRequests::SnapshotAnswer answer) {
    loop.Post([this, known = request.known(), answer = std::move(answer)] {
      answer(parts_.snapshot.Answer(known, run_.attempt()));
    });
  };
  requests.snapshots.history = [this, &loop](const v1::GetHistoryRequest& request,
                                             std::function<void(v1::History)> answer) {
    loop.Post([this, since_ms = request.since_ms(), answer = std::move(answer)] {
      answer(parts_.history.Since(since_ms));
    });
  };
  requests.snapshots.diagnosis = [this, &loop](control::JobRequests::DiagnosisAnswer answer) {
    loop.Post([this, answer = std::move(answer)] { Diagnose(answer); });
  };
  requests.snapshots.awaited_nodes = [this, &loop](std::function<void(v1::AwaitedNodes)> answer) {
    loop.Post([this, answer = std::move(answer)] { answer(parts_.stacks.AwaitedNodes()); });
  };
  return requests;
}

void Job::CollectStacks(const v1::GetStacksRequest& request, StacksAnswer answer) {
  const v1::JobPhase phase = parts_.recorder.phase();
  if (phase == v1::JOB_PHASE_LAUNCHING || phase == v1::JOB_PHASE_RESTARTING) {
    return answer(Error(StatusCode::kFailedPrecondition, "no rank runs: the job is being started"));
  }
  v1::CollectStacks wanted;
  wanted.set_flight_records(request.flight_records());
  parts_.stacks.AskFor(run_.attempt(), {request.ranks().begin(), request.ranks().end()}, wanted,
                       std::move(answer));
}

void Job::Diagnose(Diagnoser::Answer answer) {
  const v1::JobPhase phase = parts_.recorder.phase();
  if (phase == v1::JOB_PHASE_LAUNCHING || phase == v1::JOB_PHASE_RESTARTING) {
    return answer(why::JudgeStarting(*parts_.snapshot.Now(run_.attempt())));
  }
  parts_.diagnoser.AskFor(run_.attempt(), std::move(answer));
}

void Job::Fetch(const v1::FetchRequest& request, const std::stop_token& stop,
                const FetchAnswer& answer) {
  if (parts_.recorder.phase() == v1::JOB_PHASE_LAUNCHING) {
    return answer(Error(StatusCode::kFailedPrecondition,
                        "there is nothing to fetch: the job is being started"));
  }
  if (runner_.leaving()) {
    return answer(
        Error(StatusCode::kFailedPrecondition, "the job ends, and its agents leave the nodes"));
  }
  parts_.fetch.Start(request, stop, answer);
}

// Writes the remaining output; Ctrl-C ends that if nothing reads it.
int Job::Finish(int exit_code, const std::string& refusal, Loop::Time began) {
  const Attempt& attempt = run_.attempt();
  finishing_.exit_code = exit_code;
  finishing_.since = parts_.loop->Now();
  if (refusal.empty()) outcome_ = OutcomeOf(attempt);
  parts_.output.End();
  run_.Finish();
  parts_.loop->DrainBackground();
  // A user who gave up does not wait for a paused terminal either.
  finishing_.blocked = parts_.stop.given_up() && !parts_.console.FinishWithin(kTerminalLimit);
  if (!finishing_.blocked) parts_.console.Finish();
  const std::string report = finishing_.blocked ? "its terminal accepted no output"
                             : refusal.empty()  ? EndReport(attempt, parts_.console.warnings())
                                                : refusal;
  parts_.recorder.Ended(exit_code, report, parts_.output.last_ms());
  parts_.snapshot.End();
  parts_.history.End(attempt);
  parts_.recorder.Publish(parts_.nodes, attempt);
  if (refusal.empty() && parts_.snapshot.times().missed_checkpoints() && !finishing_.blocked) {
    base::Log(LogLevel::kWarning, "--checkpoint-dir " + parts_.options.request().checkpoint_dir() +
                                      " cannot be read on this machine; lost steps are unknown");
  }
  if (!report.empty() && refusal.empty() && !finishing_.blocked) {
    base::Log(exit_code == 0 ? LogLevel::kWarning : LogLevel::kError,
              WithoutReasonsOfLosses(report, attempt));
  }
  if (refusal.empty() && !finishing_.blocked) {
    const auto elapsed = std::chrono::duration_cast<milliseconds>(parts_.loop->Now() - began);
    const std::string goodput =
        parts_.options.measures_goodput ? snapshot::GoodputText(parts_.snapshot.times().Now()) : "";
    base::Log(LogLevel::kInfo, LastLine(attempt, exit_code, elapsed, goodput));
  }
  parts_.loop->DrainBackground();
  return exit_code;
}

}  // namespace autodist::chief
