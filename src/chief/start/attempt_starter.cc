#include "chief/start/attempt_starter.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/node_is_down.h"
#include "base/random.h"
#include "base/shell_quote.h"
#include "chief/start/checkpoints.h"
#include "chief/start/prepared_text.h"
#include "chief/start/taken_ports.h"
#include "progress/pattern.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// Limits plans that are made because of ports in use.
constexpr uint32_t kMaxMoves = 5;
// Limits plans that are made because of failed calls to connected nodes.
constexpr uint32_t kMaxRepeats = 5;
// Max interval of checks for devices that others use.
constexpr milliseconds kMaxDeviceWait{10'000};

void LogNodeWarnings(const Attempt& attempt, const NodeResults::Nodes& nodes, Console& console) {
  for (const std::string& warning : WarningsOf(attempt, nodes)) {
    console.Log(LogLevel::kWarning, warning);
  }
}

}  // namespace

AttemptStarter::AttemptStarter(const StartingJob& job)
    : job_(job),
      waits_(job),
      returning_(
          job, [this](uint32_t node, const std::string& why) { roster_.LeaveOut(node, why); },
          [this](uint32_t node) { return roster_.IsLeftOut(node); }),
      roster_(job, [this](uint32_t node) { return returning_.IsPreparing(node); }),
      gathering_(job, roster_),
      first_launch_(job, waits_) {
  job_.loop.AddTimer([this] {
    return std::min({making_.until, gathering_.due(), returning_.due()});
  });
}

void AttemptStarter::Begin(uint32_t number) {
  making_ = {};
  making_.number = number;
  if (job_.stop.requested()) return Enter(StartStage::kRefused);
  Enter(launcher_ ? StartStage::kGathering : StartStage::kLaunching);
}

bool AttemptStarter::Advance() {
  while (making_.stage != StartStage::kReady && making_.stage != StartStage::kRefused) {
    auto event = std::exchange(making_.at_once, std::nullopt);
    if (!event) event = NextEvent();
    if (!event) return false;
    Enter(Follow(making_.stage, *event));
  }
  return true;
}

void AttemptStarter::Enter(StartStage stage) {
  using enum StartStage;
  making_.stage = stage;
  making_.until = Loop::Time::max();
  switch (stage) {
    case kLaunching:
      making_.at_once = Launch();
      break;
    case kGathering:
      waits_.End();
      gathering_.Begin(making_.plans > 1);
      break;
    case kPreparing:
      making_.at_once = Prepare();
      break;
    case kCancelling:
      for (const uint32_t node : making_.attempt->nodes()) {
        if (!job_.nodes.BeingLinked(node)) launcher_->GiveUp(node);
      }
      making_.until = job_.stop.waits_until();
      break;
    case kAwaitingDevices:
      AwaitDevices();
      break;
    case kOpeningLogs:
      OpenLogs();
      break;
    case kAnnouncing:
      if (making_.number > 0 || !job_.options.on_running) {
        making_.at_once = StartEvent::kDone;
        break;
      }
      OnDisk([announce = job_.options.on_running] {
        announce();
        return nullptr;
      });
      break;
    case kReady:
      devices_.backoff.reset();
      making_.attempt->missing_variables = first_launch_.missing_variables();
      break;
    case kRefused:
      waits_.End();
      if (job_.stop.requested()) making_.refused = {128 + job_.stop.signal(), kInterrupted};
      break;
  }
}

// Returns the event that ends the current stage; nullopt: the stage continues.
std::optional<StartEvent> AttemptStarter::NextEvent() {
  using enum StartStage;
  const bool stop_requested = job_.stop.requested();
  const bool in_time = job_.loop.Now() < making_.until;
  switch (making_.stage) {
    case kLaunching:
      if (stop_requested) making_.until = job_.stop.waits_until();
      if (!first_launch_.over() && !job_.stop.WaitsNoLonger(job_.loop.Now())) return std::nullopt;
      return stop_requested ? StartEvent::kStopRequested : JudgeLaunched();
    case kGathering:
      if (!gathering_.Advance()) return std::nullopt;
      return stop_requested ? StartEvent::kStopRequested : StartEvent::kDone;
    case kPreparing:
      if (stop_requested) return StartEvent::kStopRequested;
      if (!making_.results.complete()) return std::nullopt;
      return JudgePrepared();
    case kCancelling:
      if (in_time && !job_.stop.given_up() && !making_.results.complete()) return std::nullopt;
      return StartEvent::kDone;
    case kAwaitingDevices:
      if (stop_requested) return StartEvent::kStopRequested;
      if (in_time) return std::nullopt;
      return StartEvent::kDone;
    case kOpeningLogs:
    case kAnnouncing:
      if (stop_requested) return StartEvent::kStopRequested;
      if (!disk_task_->done) return std::nullopt;
      if (!disk_task_->logs.ok()) return RefuseStart(disk_task_->logs.status());
      if (making_.stage == kOpeningLogs) making_.attempt->logs = *disk_task_->logs;
      // A node may have returned meanwhile whose ranks still run, or been lost.
      if (!job_.nodes.ledger().MayStart(job_.loop.Now())) return StartEvent::kPlan;
      if (making_.number > 0 && !MembersStay()) return JudgePrepared();
      return StartEvent::kDone;
    case kReady:
    case kRefused:
      break;
  }
  return std::nullopt;
}

StartEvent AttemptStarter::Refuse(const Status& why) {
  making_.refused = {kExitCannotLaunch, base::FailureText(why)};
  return StartEvent::kFailed;
}

// For an attempt that cannot start because of `why`, whose text does not say so.
StartEvent AttemptStarter::RefuseStart(const Status& why) {
  return Refuse(Annotate(why, making_.number == 0 ? "no rank was started" : "restart"));
}

std::unique_ptr<Attempt> AttemptStarter::FirstAttempt() {
  const SharedPlan of_job(std::shared_ptr<void>(), &job_.plan);  // which outlives it
  return MakeAttempt(0, of_job, job_.nodes.members());
}

std::unique_ptr<Attempt> AttemptStarter::MakeAttempt(uint32_t number, SharedPlan plan,
                                                     const std::vector<uint32_t>& nodes) {
  const auto send = [this, nodes](uint32_t member, v1::ChiefMessage message, SharedValue value) {
    job_.nodes.node(nodes[member]).SendReliably(std::move(message), std::move(value));
  };
  return std::make_unique<Attempt>(number, std::move(plan), nodes, job_.options.log_folder,
                                   static_cast<int>(job_.options.request().stop_signal()),
                                   job_.options.launch.grace(), send);
}

void AttemptStarter::LeaveOut(uint32_t node, const std::string& why) {
  job_.console.Log(LogLevel::kWarning, job_.plan.nodes(static_cast<int>(node)).address() + " " +
                                           why + "; the job goes on without it");
  roster_.LeaveOut(node, why);
}

// Plans for the nodes that are available now.
Status AttemptStarter::Plan() {
  const uint32_t number = making_.number;
  const Choice choice = roster_.Choose(Availability::kIdle);
  const std::vector<uint32_t>& members = choice.members;
  ++making_.plans;
  if (!choice.suffices) {
    const bool fewer_help = number > 0 && !members.empty();
    return WithRemedy(roster_.NotEnough(choice), fewer_help ? "run with --min-nodes " +
                                                                  std::to_string(members.size()) +
                                                                  " to restart with fewer nodes"
                                                            : "");
  }
  for (std::string& message : roster_.Take(choice)) {
    job_.console.Log(LogLevel::kInfo, std::move(message));
  }
  gathering_.ReportReturned(members);
  plan::Replan replan{number, {}, reported_addresses_};
  for (const uint32_t node : members) {
    replan.members.push_back(job_.plan.nodes(static_cast<int>(node)).address());
  }
  AD_ASSIGN_OR_RETURN(v1::LaunchPlan plan, job_.options.plan_attempt(replan));
  making_.attempt =
      MakeAttempt(number, std::make_shared<const v1::LaunchPlan>(std::move(plan)), members);
  return OkStatus();
}

std::optional<StartEvent> AttemptStarter::Launch() {
  making_.attempt = FirstAttempt();
  auto launcher = first_launch_.Begin(*making_.attempt);
  if (!launcher.ok()) return Refuse(launcher.status());
  launcher_ = *std::move(launcher);
  return std::nullopt;
}

// The ranks' environment is made again on every node, because much of it has changed.
std::optional<StartEvent> AttemptStarter::Prepare() {
  making_.results = NodeResults(0);
  if (const Status planned = Plan(); !planned.ok()) return RefuseStart(planned);
  if (job_.stop.requested()) return StartEvent::kStopRequested;
  if (!MembersStay()) return JudgePrepared();
  const Attempt& attempt = *making_.attempt;
  const std::vector<uint32_t>& members = attempt.nodes();
  const uint64_t generation = job_.nodes.Prepare(members);
  making_.results = NodeResults(members.size());
  waits_.Begin(members);
  const auto checkpoints = CheckpointsToCompare(job_.options.request(), members.size());
  for (uint32_t i = 0; i < members.size(); ++i) {
    v1::PrepareRequest request;
    *request.mutable_node() = attempt.member_plan(i);
    *request.mutable_environment() = attempt.plan().environment();
    if (attempt.pmix()) *request.mutable_pmix() = *attempt.pmix();
    if (checkpoints) *request.mutable_checkpoints() = *checkpoints;
    request.set_frees_gpus(attempt.number() > 0);
    request.set_generation(generation);
    // Everything else was checked before.
    if (AwaitsDevices()) request.mutable_probe()->set_device_users(true);
    launcher_->Prepare(members[i], std::move(request), job_.nodes.node(members[i]).link(),
                       making_.results.Taker(
                           job_.loop, [this, i, node = members[i]](launch::LaunchedNode& prepared) {
                             prepared.node_rank = i;
                             waits_.Turned(node);
                           }));
  }
  return std::nullopt;
}

bool AttemptStarter::AwaitsDevices() const {
  return making_.number == 0 && job_.options.request().on_busy() == v1::ON_BUSY_WAIT;
}

bool AttemptStarter::MembersStay() const {
  return std::ranges::all_of(making_.attempt->nodes(),
                             [this](uint32_t node) { return job_.nodes.Stays(node); });
}

StartEvent AttemptStarter::JudgeLaunched() {
  const NodeResults::Nodes& nodes = first_launch_.Results();
  LogNodeWarnings(*making_.attempt, nodes, job_.console);
  const std::set<uint32_t> without = Dispensable(nodes);
  if (LaunchExitCode(nodes) == 0 || !without.empty()) {
    job_.nodes.ConnectAgainBy(*launcher_);
    const Status found = first_launch_.Check(without);
    if (!found.ok()) return Refuse(found);
    reported_addresses_ = ReportedAddresses(job_.plan, nodes);
    const Status checked = CheckReportedAddresses(job_.plan, reported_addresses_, without);
    if (!checked.ok()) return RefuseStart(checked);
    for (const uint32_t node : without) StartWithout(nodes[node]);
    const bool other_plan = Differ(job_.plan, reported_addresses_) || roster_.has_spares();
    if (other_plan || !without.empty()) return StartEvent::kPlan;
  }
  return JudgeNodes(nodes, true);
}

// Returns whether no login to the node succeeded for lack of an answer, also of a slow one, or it
// was lost. More than NodeIsDown, which says that a node may be booting, so that waiting for it
// helps.
bool AttemptStarter::IsUnreachable(const launch::LaunchedNode& node) const {
  if (node.status.ok() || job_.nodes.state(node.node_rank).alive()) return false;
  const StatusCode code = node.status.code();
  const bool no_answer = code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded;
  return !job_.nodes.lost_because(node.node_rank).ok() ||
         (no_answer && node.step == v1::CHECK_LOGIN);
}

// Returns the nodes that are unreachable, if the job can start without them; empty: it cannot. One
// that refuses the login, or has a wrong name, is a mistake that the user can correct.
std::set<uint32_t> AttemptStarter::Dispensable(const NodeResults::Nodes& nodes) const {
  std::vector<uint32_t> missing;
  NodeResults::Nodes others;
  for (const launch::LaunchedNode& node : nodes) {
    if (IsUnreachable(node)) {
      missing.push_back(node.node_rank);
    } else {
      others.push_back(node);
    }
  }
  const bool starts = !missing.empty() && job_.options.plan_attempt &&
                      LaunchExitCode(others) == 0 && roster_.SufficesWithout(missing);
  return starts ? std::set<uint32_t>(missing.begin(), missing.end()) : std::set<uint32_t>();
}

// Files of --sync are missing there, so that later attempts do without it, too.
void AttemptStarter::StartWithout(const launch::LaunchedNode& node) {
  const std::string& address = job_.plan.nodes(static_cast<int>(node.node_rank)).address();
  const bool spare = node.node_rank + job_.options.request().spares() >= job_.nodes.size();
  const std::string why = "cannot be reached: " + Message(node.status);
  job_.console.Log(LogLevel::kWarning,
                   base::FailureText(WithRemedy(
                       Error(node.status.code(), address + " " + why + "; the job starts without " +
                                                     (spare ? "this spare" : "it")),
                       Remedy(node.status))));
  roster_.LeaveOut(node.node_rank, why);
  job_.nodes.StartWithout(node.node_rank, node.status);
}

// Returns a line with what else starts the job if nodes were not reached over SSH, while all others
// can run it; "": nothing does.
std::string AttemptStarter::HowToDoWithout(const NodeResults::Nodes& nodes) const {
  std::vector<std::string> failed;
  NodeResults::Nodes others;
  bool all_by_ssh = true;
  bool all_unreachable = true;  // so that --min-nodes leaves them out
  bool waiting_helps = false;   // for one of them
  for (const launch::LaunchedNode& node : nodes) {
    if (node.status.ok()) {
      others.push_back(node);
      continue;
    }
    const v1::NodePlan& plan = job_.plan.nodes(static_cast<int>(node.node_rank));
    failed.push_back(base::ShellQuote(plan.address()));
    all_by_ssh &= plan.reach().has_ssh();
    all_unreachable &= IsUnreachable(node);
    waiting_helps |= NodeIsDown::In(node.status);
  }
  constexpr size_t kMaxExcluded = 5;
  if (failed.empty() || others.empty() || failed.size() > kMaxExcluded || !all_by_ssh ||
      LaunchExitCode(others) != 0) {
    return "";
  }
  const v1::JobRequest& request = job_.options.request();
  std::string text = "\n  hint: to start without " +
                     std::string(failed.size() == 1 ? "this node" : "these nodes") +
                     ": --exclude " + absl::StrJoin(failed, ",");
  if (waiting_helps && request.wait_for_nodes() == 0) {
    text += "; to wait until nodes are up: --wait-for-nodes 10m";
  }
  if (all_unreachable && request.min_nodes() == 0 &&
      request.on_node_loss() != v1::ON_NODE_LOSS_STOP) {
    text += "; to start with fewer nodes: --min-nodes " + std::to_string(others.size());
  }
  return text;
}

StartEvent AttemptStarter::JudgePrepared() {
  if (MembersStay()) {
    if (!devices_.backoff) {
      LogNodeWarnings(*making_.attempt, making_.results.nodes(), job_.console);
    }
    return JudgeNodes(making_.results.nodes(), false);
  }
  // Nodes may be lost while others are prepared.
  if (making_.plans <= job_.nodes.size() + kMaxMoves) return StartEvent::kPlan;
  return RefuseStart(WithRemedy(
      Error(StatusCode::kUnavailable, "the connection with a node broke before its ranks started"),
      "start the job again"));
}

// Judges nodes that are all connected. `launched`: by the first launch, which has checked them.
StartEvent AttemptStarter::JudgeNodes(const NodeResults::Nodes& nodes, bool launched) {
  const Attempt& attempt = *making_.attempt;
  // A call that failed although its node is connected says nothing about the node: the connection
  // was broken, or that is reported soon.
  if (!making_.results.AllReached() && making_.repeats++ < kMaxRepeats) return StartEvent::kPlan;
  if (const int exit_code = LaunchExitCode(nodes); exit_code != 0) {
    if (LeaveOutRefusing(nodes)) return StartEvent::kPlan;
    making_.refused = {
        exit_code,
        launched ? LaunchReport(first_launch_.Diagnose(), nodes.size()) + HowToDoWithout(nodes)
                 : LaunchReport(attempt.plan(), nodes, job_.options.launch.sync != nullptr,
                                making_.number)};
    return StartEvent::kFailed;
  }
  if (AwaitsDevices()) {
    devices_.who = BusyDevices(attempt, nodes);
    if (!devices_.who.empty()) return StartEvent::kBusy;
  }
  const std::vector<TakenPort> taken = PortsTaken(attempt.plan(), nodes);
  if (taken.empty()) {
    WarnOfCheckpoints(nodes);
    return StartEvent::kDone;
  }
  // Whether another plan would replace these ports.
  const bool movable =
      job_.options.plan_attempt &&
      std::ranges::count(taken, job_.options.request().master_port(), &TakenPort::port) == 0;
  if (movable && making_.moves++ < kMaxMoves) return StartEvent::kPlan;
  return RefuseStart(PortsTakenError(taken, movable));
}

// At a restart, spares take the places of nodes that cannot run it. If all refuse for the same
// reason, it is not the nodes'. At the first launch nothing is lost yet, and the spec can be
// corrected.
bool AttemptStarter::LeaveOutRefusing(const NodeResults::Nodes& nodes) {
  if (making_.number == 0) return false;
  std::vector<uint32_t> refusing;
  std::vector<std::string> reasons;  // of each of them
  for (const launch::LaunchedNode& node : nodes) {
    std::string why = WhyRefused(node);
    if (why.empty()) continue;
    refusing.push_back(making_.attempt->nodes()[node.node_rank]);
    reasons.push_back(std::move(why));
  }
  const bool alike =
      refusing.size() == nodes.size() && nodes.size() > 1 &&
      std::ranges::all_of(reasons, [&](const auto& why) { return why == reasons[0]; });
  if (alike || !roster_.SufficesWithout(refusing, Availability::kReturning)) return false;
  for (size_t i = 0; i < refusing.size(); ++i) {
    LeaveOut(refusing[i], "cannot be used: " + reasons[i]);
  }
  return true;
}

// Ranks of nodes with different checkpoints would resume at different steps.
void AttemptStarter::WarnOfCheckpoints(const NodeResults::Nodes& nodes) {
  std::vector<NodeCheckpoint> checkpoints;
  for (const launch::LaunchedNode& node : nodes) {
    if (!node.prepared.has_checkpoint()) continue;
    checkpoints.push_back(
        {making_.attempt->member_plan(node.node_rank).address(), node.prepared.checkpoint()});
  }
  const std::string differ = CheckpointsDiffer(checkpoints);
  if (differ.empty() || std::exchange(checkpoints_, differ) == differ) return;
  job_.console.Log(
      LogLevel::kWarning,
      base::FailureText(WithRemedy(
          Error(StatusCode::kFailedPrecondition,
                "nodes have different checkpoints in " + job_.options.request().checkpoint_dir() +
                    ": " + differ + "; ranks resume at different steps, unless one reads for all"),
          "put --checkpoint-dir on a file system that all nodes share; or fetch the newest "
          "checkpoint and start the job again with --sync")));
}

// Waits until the next check.
void AttemptStarter::AwaitDevices() {
  waits_.End();
  making_.plans = 0;  // only those in a row are limited
  if (!devices_.backoff) {
    devices_.backoff.emplace(base::RandomNumber(), kMaxDeviceWait);
    job_.console.Log(LogLevel::kInfo,
                     "waiting for devices (" + devices_.who + "); Ctrl-C ends the wait");
  }
  making_.until = job_.loop.Now() + devices_.backoff->Next();
}

void AttemptStarter::OpenLogs() {
  waits_.End();
  OnDisk([this, plan = making_.attempt->shared_plan(),
          folder = making_.attempt->logs_folder()]() -> Result<std::shared_ptr<RankLogs>> {
    std::optional<progress::Pattern> pattern;
    if (const std::string& given = job_.options.request().progress_regex(); !given.empty()) {
      AD_ASSIGN_OR_RETURN(pattern, progress::Pattern::Parse(given));
    }
    return RankLogs::Create(*plan, folder, job_.options.view, pattern);
  });
}

void AttemptStarter::OnDisk(std::function<Result<std::shared_ptr<RankLogs>>()> task) {
  disk_task_ = std::make_shared<DiskTask>();
  job_.loop.InBackground([&loop = job_.loop, state = disk_task_, task = std::move(task)] {
    auto logs = task();
    loop.Post([state, logs = std::move(logs)] {
      state->logs = logs;
      state->done = true;
    });
  });
}

void AttemptStarter::Cancel() {
  if (launcher_) launcher_->Cancel();
}

void AttemptStarter::Stop() {
  if (launcher_) launcher_->Stop();
}

}  // namespace autodist::chief
