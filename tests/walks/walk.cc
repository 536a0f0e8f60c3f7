#include "walks/walk.h"

#include <signal.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "chief/attempt_run.h"
#include "chief/job_parts.h"
#include "chief/job_runner.h"
#include "chief/job_signals.h"
#include "chief/suspension.h"
#include "exec/exec.h"
#include "support/fake_nodes.h"
#include "support/in_seconds.h"
#include "support/plans.h"
#include "walks/left_out.h"

namespace autodist::walks {
namespace {

using chief::Loop;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kEvents = 12;
constexpr uint32_t kNodes = 3;
constexpr size_t kNeeded = 2;
constexpr seconds kLease{20};
constexpr seconds kGrace{5};
// A healthy node can be used after this time: what its agent did before has ended, and the chief
// has reached it again.
constexpr seconds kUsable = kLease + kGrace + seconds(70);
// The ranks of a machine whose clock stood still are ended after this time.
constexpr seconds kOldRanksEnd = 3 * kLease + 2 * kGrace;
// A job runs again after this time if nothing happens, and ends after this time.
constexpr seconds kRecovers = 2 * kUsable + 3 * kLease;
constexpr seconds kStops = kGrace + seconds(12);
constexpr seconds kFirstEvent{5};
constexpr seconds kLook{5};

// Where nodes run decides what the chief finds out about their end.
enum class Nodes : uint8_t { kHosts, kContainers, kPods };

plan::Input OneRankOnEach() {
  plan::Input input = test::EqualNodes();
  for (spec::Node& node : input.spec.nodes) node.cpus = {0};
  return input;
}

void Place(Nodes where, v1::LaunchPlan& plan) {
  if (where != Nodes::kPods) return;
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    node.mutable_reach()->mutable_callback()->set_limit_ms(milliseconds(kLease).count());
  }
}

// Plans are made once for all walks.
const v1::LaunchPlan& PlanFor(Nodes where, const std::vector<std::string>& members,
                              uint32_t attempt) {
  static std::map<std::tuple<Nodes, std::vector<std::string>, uint32_t>, v1::LaunchPlan> plans;
  const auto [plan, is_new] = plans.try_emplace({where, members, attempt});
  if (is_new) {
    plan::Input input = OneRankOnEach();
    input.members = members;
    input.restart_count = attempt;
    plan->second = *plan::MakePlan(input);
    Place(where, plan->second);
  }
  return plan->second;
}

class JobWalk;
JobWalk* current = nullptr;

class JobWalk {
 public:
  explicit JobWalk(uint64_t seed)
      : random_(seed), where_(static_cast<Nodes>(Below(3))), plan_(PlanFor(where_, {}, 0)) {
    current = this;
    v1::JobRequest& request = options_.launch.request;
    request.set_lease(test::InSeconds(kLease));
    request.set_grace(test::InSeconds(kGrace));
    request.set_no_preflight(true);
    request.set_spares(1);
    request.set_max_restarts(1'000);
    options_.plan_attempt = [this](const plan::Replan& replan) -> Result<v1::LaunchPlan> {
      return PlanFor(where_, replan.members, replan.attempt);
    };
    options_.make_launcher = [this](const v1::LaunchPlan&, const launch::LaunchOptions&) {
      return Result<std::unique_ptr<launch::Launcher>>(nodes_.MakeLauncher());
    };
    for (uint32_t node = 0; node < kNodes; ++node) {
      nodes_[node].lease = kLease;
      nodes_[node].adopting_takes = nodes_[node].reporting_takes = milliseconds(1);
      nodes_[node].on_start = [this] { Started(); };
      if (where_ == Nodes::kContainers) {
        nodes_[node].reach_fails = [] {
          return exec::ExecError(
              "Error: can only create exec sessions on running containers: container state "
              "improper\n");
        };
      }
    }
  }
  ~JobWalk() { current = nullptr; }
  JobWalk(const JobWalk&) = delete;
  JobWalk& operator=(const JobWalk&) = delete;

  Walked Walk() {
    milliseconds at = kFirstEvent;
    for (int i = 0; i < kEvents; ++i) {
      at += Gap();
      loop_.After(at, [this] { Disturb(Below(kNodes)); });
    }
    loop_.After(at + Gap(), [this] { HealAll(); });
    try {
      Run();
    } catch (const std::exception& thrown) {
      Wrong(std::string("exception: ") + thrown.what());
    }
    return {std::move(wrong_), std::move(log_)};
  }

  uint64_t Random() { return chiefs_random_(); }
  void Note(const std::string& text) {
    const auto passed = std::chrono::duration_cast<milliseconds>(loop_.Now() - began_);
    log_ += std::to_string(passed.count()) + " ms: " + text + "\n";
  }
  // The chief is stopped.
  void ChiefStops() {
    constexpr std::array kTimes = {seconds(1), seconds(12), kLease + seconds(10), seconds(3'600),
                                   seconds(90'000)};
    const seconds time = kTimes[Below(kTimes.size())];
    Note("the chief is stopped for " + base::Seconds(time));
    chief_stands_ = true;
    loop_.Stand(time);
    chief_stands_ = false;
    for (Loop::Time& since : healed_) since = loop_.Now();
    if (stop_by_) stop_by_ = std::max(*stop_by_, loop_.Now() + kStops);
    if (healed_by_) *healed_by_ += time;
  }

 private:
  // The parts of chief::Job that decide.
  struct Job {
    Job(const v1::LaunchPlan& plan, const chief::JobOptions& options, std::unique_ptr<Loop> loop)
        : parts(plan, options, std::move(loop), run, [](int, const std::string&) {}),
          suspension(parts),
          run(parts, suspension),
          runner(parts, run),
          signals(parts, run, runner, suspension) {
      parts.loop->AddTimer(
          [this] { return std::min(run.Tick(runner.MayRestart()), suspension.due()); });
      parts.recorder.EnterPhase(v1::JOB_PHASE_LAUNCHING, "");
    }
    ~Job() {
      runner.starter().Stop();
      parts.nodes.DisconnectAtExit();
    }

    chief::JobParts parts;
    chief::Suspension suspension;
    chief::AttemptRun run;
    chief::JobRunner runner;
    chief::JobSignals signals;
  };

  uint32_t Below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool OneOf(size_t number) { return Below(number) == 0; }
  // Most faults come from events that follow each other closely.
  milliseconds Gap() {
    constexpr std::array kGaps = {milliseconds(0),     milliseconds(1),     milliseconds(2),
                                  milliseconds(3),     milliseconds(400),   milliseconds(3'000),
                                  milliseconds(9'000), milliseconds(25'000)};
    return kGaps[Below(kGaps.size())];
  }
  std::string Name(uint32_t node) const { return plan_.nodes(static_cast<int>(node)).address(); }
  void Wrong(const std::string& what) {
    if (!wrong_.empty()) return;
    wrong_ = what;
    Note("WRONG: " + what);
  }

  void Disturb(uint32_t number) {
    test::FakeAgent& node = nodes_[number];
    const auto note = [&](const char* what) { Note(Name(number) + " " + what); };
    const uint32_t what = Below(16);
    switch (what) {
      case 0:
        note("is cut off");
        unreachable_.insert(number);
        return node.CutLink();
      case 1:
      case 2:
        return Heal(number);
      case 3:
        note("loses its connection");
        return node.Break();
      case 4:
        note("flaps");
        unreachable_.insert(number);
        node.CutLink();
        return loop_.After(Gap(), [this, number] {
          Heal(number);
          loop_.After(Gap(), [this, number] {
            if (healed_by_) return;
            Note(Name(number) + " is cut off again");
            unreachable_.insert(number);
            nodes_[number].CutLink();
          });
        });
      case 5:
        note("has a connection on which no order arrives");
        unreachable_.insert(number);
        node.deaf = true;
        return node.Break();
      case 6:
        note("dies");
        return node.Die();
      case 7:
      case 8:
        note("works slowly");
        node.preparing_takes = milliseconds(OneOf(2) ? 2 : 6'000);
        node.adopting_takes = milliseconds(OneOf(2) ? 2 : 1'000);
        node.reporting_takes = node.adopting_takes;
        node.ignores_cancel = OneOf(2);
        return;
      case 9:
        if (!refused_.empty()) return;  // one may be replaced
        note("refuses");
        refused_.insert(number);
        node.issues.emplace_back().set_cause("no space left on device");
        return;
      case 10:
      case 11:
        if (node.frozen()) return;
        unreachable_.insert(number);
        clock_stands_[number] = where_ == Nodes::kHosts && OneOf(2);
        note(clock_stands_[number] ? "is frozen, with its clock" : "is frozen");
        node.Freeze();
        if (OneOf(2)) node.Break();
        return;
      case 12:
        Note("Ctrl-Z");
        return loop_.Post([this] { job_->signals.Take(SIGTSTP, "", loop_.Now()); });
      case 13:
        return Evict(number);
      case 14:
        if (OneOf(4) && !stop_by_) {
          Note("Ctrl-C");
          return loop_.Post([this] {
            stop_by_ = loop_.Now() + kStops;
            job_->signals.Take(SIGINT, "", loop_.Now());
          });
        }
        [[fallthrough]];
      default:
        if (node.frozen()) return;
        note("has a failure");
        return node.ExitAll(7);
    }
  }
  void Heal(uint32_t number) {
    test::FakeAgent& node = nodes_[number];
    Note(Name(number) + " is well again");
    node.unreachable = false;
    node.preparing_takes = milliseconds(0);
    node.adopting_takes = node.reporting_takes = milliseconds(1);
    if (unreachable_.erase(number) > 0) healed_[number] = loop_.Now();
    // Messages that it has dropped are sent again.
    const bool dropped = std::exchange(node.deaf, false);
    if (node.frozen()) return Thaw(number);
    if (dropped) node.Break();
  }
  void Thaw(uint32_t number) {
    if (clock_stands_[number]) {
      old_until_[number] = loop_.Now() + kOldRanksEnd;
      loop_.After(kOldRanksEnd, [this] { ExpectOneAttempt(); });
    }
    nodes_[number].Thaw(clock_stands_[number]);
    loop_.After(milliseconds(10), [this] { ExpectOneAttempt(); });
  }
  void Evict(uint32_t number) {
    if (where_ != Nodes::kPods || nodes_[number].frozen()) return;
    Note(Name(number) + " is evicted");
    nodes_[number].Evict();
    loop_.After(Gap(), [this, number] {
      if (nodes_[number].frozen()) return;
      nodes_[number].Die();
      healed_[number] = loop_.Now();
    });
  }
  void HealAll() {
    for (uint32_t node = 0; node < kNodes; ++node) Heal(node);
    healed_by_ = loop_.Now() + kRecovers;
    Look();
  }
  // Ends the program as soon as it runs as it should.
  void Look() {
    if (loop_.Now() >= *healed_by_ && !chief_stands_) return Over();
    if (Running() == kNeeded && Attempts().size() == 1) {
      for (uint32_t node = 0; node < kNodes; ++node) nodes_[node].ExitAll(0);
    }
    loop_.After(kLook, [this] { Look(); });
  }
  void Over() {
    for (uint32_t i = 0; i < kNodes; ++i) {
      const test::FakeAgent& node = nodes_[i];
      Note(Name(i) + ": " + chief::NameOf(job_->parts.nodes.state(i).state()) + " for the chief; " +
           (node.connected() ? "connected; " : "") + (node.gone() ? "gone; " : "") +
           (node.owes_report() ? "owes a report; " : "") + std::to_string(node.running().size()) +
           " ranks of generation " + std::to_string(node.generation()) +
           (job_->parts.nodes.ledger().ClearAt(i) > loop_.Now() ? ", or more" : ""));
    }
    Wrong("does not recover, or does not end");
    throw std::runtime_error("given up");
  }

  size_t Running() {
    size_t running = 0;
    for (uint32_t node = 0; node < kNodes; ++node) running += Runs(node) ? 1 : 0;
    return running;
  }
  bool Runs(uint32_t node) {
    const test::FakeAgent& agent = nodes_[node];
    return !agent.running().empty() && !agent.frozen();
  }
  std::set<uint64_t> Attempts() {
    std::set<uint64_t> attempts;
    for (uint32_t node = 0; node < kNodes; ++node) {
      if (Runs(node)) attempts.insert(nodes_[node].generation());
    }
    return attempts;
  }
  void Started() {
    loop_.After(milliseconds(10), [this] { ExpectOneAttempt(); });
  }
  // Except for nodes whose clock stood still.
  void ExpectOneAttempt() {
    std::set<uint64_t> attempts;
    for (uint32_t node = 0; node < kNodes; ++node) {
      if (Runs(node) && loop_.Now() >= old_until_[node]) {
        attempts.insert(nodes_[node].generation());
      }
    }
    if (attempts.size() > 1) Wrong("two of a rank");
  }
  void ExpectReport(uint32_t number) {
    const test::FakeAgent& node = nodes_[number];
    if (!node.owes_report() || !node.connected() || node.frozen()) {
      owes_since_[number] = loop_.Now();
    } else if (loop_.Now() - owes_since_[number] > kGrace + seconds(2)) {
      Wrong(Name(number) + " does not report that its ranks have ended");
    }
  }
  bool WasHealthy(uint32_t node) const {
    return !refused_.contains(node) && !unreachable_.contains(node) &&
           loop_.Now() - healed_[node] > kUsable;
  }

  void Run() {
    job_.emplace(plan_, options_, std::move(owned_loop_));
    job_->runner.Begin();
    loop_.RunUntil([this] {
      job_->suspension.Advance();
      if (stop_by_ && loop_.Now() > *stop_by_) Wrong("does not stop");
      for (uint32_t node = 0; node < kNodes; ++node) ExpectReport(node);
      return job_->runner.Advance();
    });
    Judge();
    job_.reset();
  }
  void Judge() {
    const auto& refused = job_->runner.refused();
    const int code = refused ? refused->exit_code : job_->run.state().ExitCode();
    Note("ended with " + std::to_string(code));
    size_t healthy = 0;
    for (uint32_t node = 0; node < kNodes; ++node) healthy += WasHealthy(node) ? 1 : 0;
    if (code != 0 && !stop_by_ && healthy >= kNeeded) {
      Wrong("ended with " + std::to_string(code) + " although " + std::to_string(healthy) +
            " nodes are healthy");
    }
  }

  std::mt19937_64 random_;
  std::minstd_rand chiefs_random_{1};
  const Nodes where_;
  const v1::LaunchPlan& plan_;
  std::unique_ptr<test::TurnedLoop> owned_loop_ = std::make_unique<test::TurnedLoop>();
  test::TurnedLoop& loop_ = *owned_loop_;
  test::FakeNodes nodes_{loop_, plan_};
  chief::JobOptions options_;
  const Loop::Time began_ = loop_.Now();
  std::set<uint32_t> unreachable_;
  std::set<uint32_t> refused_;
  std::array<Loop::Time, kNodes> healed_{};
  std::array<Loop::Time, kNodes> old_until_{};   // an earlier attempt's ranks may run until then
  std::array<Loop::Time, kNodes> owes_since_{};  // a report that its ranks have ended
  std::array<bool, kNodes> clock_stands_{};
  std::optional<Loop::Time> healed_by_;  // when a job without further events must have ended
  std::optional<Loop::Time> stop_by_;
  bool chief_stands_ = false;
  std::string wrong_;
  std::string log_;
  std::optional<Job> job_;
};

}  // namespace

void Note(const std::string& text) {
  if (current) current->Note(text);
}

Walked Walk(uint64_t seed) { return JobWalk(seed).Walk(); }

}  // namespace autodist::walks

// Random numbers of the chief are the same in each repetition of a walk.
extern "C" ssize_t getrandom(void* to, size_t size, unsigned /*flags*/) {
  auto* const bytes = static_cast<unsigned char*>(to);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<unsigned char>(
        autodist::walks::current ? autodist::walks::current->Random() : i);
  }
  return static_cast<ssize_t>(size);
}
// Suspension stops this process; here, only the simulated time passes.
extern "C" int kill(pid_t /*process*/, int signal) noexcept {
  if (signal == SIGSTOP && autodist::walks::current) autodist::walks::current->ChiefStops();
  return 0;
}
