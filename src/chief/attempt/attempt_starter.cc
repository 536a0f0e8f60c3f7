#include "chief/attempt/attempt_starter.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/random.h"
#include "base/utf8.h"
#include "chief/attempt/report.h"
#include "chief/checks/preflight.h"
#include "diagnosis/diagnosis_text.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::LogLevel;
using std::chrono::milliseconds;

// Plans that are made because of ports that somebody else has.
constexpr uint32_t kMostMoves = 5;
constexpr milliseconds kBrokenIsHeardLimit{1'000};
// Between two looks at devices that others have.
constexpr milliseconds kLongestDeviceWait{10'000};

// A launch that takes longer says what it waits for; again where that has changed.
constexpr milliseconds kSilence{1'000};
constexpr milliseconds kTellInterval{10'000};

// What many nodes turn out to be, each on a thread of the launcher.
struct Launching {
  std::vector<launch::LaunchedNode> nodes;
  size_t done = 0;
};

std::vector<std::string> AddressesOf(const v1::LaunchPlan& plan) {
  std::vector<std::string> addresses;
  for (const v1::NodePlan& node : plan.nodes()) addresses.push_back(node.address());
  return addresses;
}

// "a", "a, b", "a, b and 7 others".
std::string AFewOf(const std::vector<std::string>& addresses) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, addresses.size()); ++i) {
    text += (i == 0 ? "" : ", ") + addresses[i];
  }
  if (addresses.size() <= kNamed) return text;
  return text + " and " + base::Count(addresses.size() - kNamed, "other");
}

// Of the variables that were asked for.
std::shared_ptr<const Attempt::MissingVariables> MissingOn(
    const v1::Examination& asked, const std::vector<launch::LaunchedNode>& nodes) {
  auto missing = std::make_shared<Attempt::MissingVariables>();
  for (const launch::LaunchedNode& node : nodes) {
    const auto& names = node.prepared.facts().missing_variables();
    const std::set<std::string> told(names.begin(), names.end());
    for (const std::string& name : asked.chief_variables()) {
      if (told.contains(name)) (*missing)[node.node_rank].push_back(name);
    }
  }
  return missing;
}

// What a step of a launch is to the node's state; nullopt: nothing new.
std::optional<NodeEvent> EventOf(launch::LaunchProgress::Step step) {
  using Step = launch::LaunchProgress::Step;
  switch (step) {
    case Step::kConnecting:
    case Step::kBooting:
      return NodeEvent::kConnect;
    case Step::kLoggedIn:
    case Step::kStartingAgent:
      return NodeEvent::kBootstrap;
    case Step::kSyncing:
    case Step::kPreparing:
      return NodeEvent::kProbe;
    case Step::kWaiting:
    case Step::kSendingAgent:
    case Step::kReady:
      break;
  }
  return std::nullopt;
}

}  // namespace

AttemptStarter::AttemptStarter(const v1::LaunchPlan& plan, const JobOptions& options, Loop& loop,
                               const StopPolicy& stop, Fleet& nodes, Console& console)
    : plan_(plan),
      options_(options),
      loop_(loop),
      stop_(stop),
      nodes_(nodes),
      console_(console),
      progress_(std::make_shared<launch::LaunchProgress>(AddressesOf(plan))),
      restarts_(RestartLimitsOf(options.request())) {
  progress_->OnStep([this](uint32_t node, launch::LaunchProgress::Step step) {
    const auto event = EventOf(step);
    if (event) loop_.Post([this, node, event] { nodes_.Launches(node, *event); });
  });
  loop_.BeforeWaiting([this] { return TellWhatIsWaitedFor(); });
}

void AttemptStarter::BeginWaiting(const std::vector<uint32_t>& nodes) {
  progress_->Begin(nodes);
  told_.clear();
  tell_at_ = loop_.Now() + kSilence;
}

// Returns when to be called again.
Loop::Time AttemptStarter::TellWhatIsWaitedFor() {
  if (loop_.Now() < tell_at_) return tell_at_;
  const std::string what = progress_->WaitingFor();
  tell_at_ = loop_.Now() + (what.empty() ? kSilence : kTellInterval);
  if (what.empty() || what == told_) return tell_at_;
  told_ = what;
  console_.Tell(LogLevel::kInfo, "waiting for " + what);
  return tell_at_;
}

std::unique_ptr<Attempt> AttemptStarter::FirstAttempt() {
  const SharedPlan of_job(std::shared_ptr<void>(), &plan_);  // which outlives it
  return MakeAttempt(0, of_job, nodes_.members());
}

std::unique_ptr<Attempt> AttemptStarter::MakeAttempt(uint32_t number, SharedPlan plan,
                                                     const std::vector<uint32_t>& nodes) {
  const auto send = [this, nodes](uint32_t member, v1::ChiefMessage message, SharedValue value) {
    nodes_.node(nodes[member]).SendReliably(std::move(message), std::move(value));
  };
  return std::make_unique<Attempt>(number, std::move(plan), nodes, options_.log_folder,
                                   static_cast<int>(options_.request().stop_signal()),
                                   options_.launch.grace(), send);
}

std::variant<std::unique_ptr<Attempt>, NotStarted> AttemptStarter::Start(uint32_t number) {
  // Nodes may be lost while others are prepared.
  const uint32_t most_tries = nodes_.size() + kMostMoves;
  const auto failed = [&](const Status& why) {
    return NotStarted{
        kExitCannotLaunch,
        base::FailureText(Annotate(why, number == 0 ? "nothing was started" : "restart"))};
  };
  for (uint32_t tries = 0, moves = 0;; ++tries) {
    if (stop_.requested()) return Interrupted();
    auto planned = launcher_ ? PlanAttempt(number) : FirstAttempt();
    if (stop_.requested()) return Interrupted();
    if (!planned.ok()) return failed(planned.status());
    std::unique_ptr<Attempt> attempt = *std::move(planned);
    const bool first = !launcher_;
    const auto prepared = first ? LaunchNodes(*attempt) : PrepareNodes(*attempt);
    tell_at_ = Loop::Time::max();
    if (stop_.requested()) return Interrupted();
    if (!prepared.ok() && first) {
      return NotStarted{kExitCannotLaunch, base::FailureText(prepared.status())};
    }
    if (!prepared.ok() && devices_awaited_) {
      for (const uint32_t node : attempt->nodes()) {
        const Status& lost = nodes_.lost_because(node);
        if (!lost.ok())
          return failed(Annotate(lost, attempt->plan().nodes(static_cast<int>(node)).address()));
      }
      AwaitDevices("");
      continue;
    }
    if (!prepared.ok()) {
      if (number > 0 && tries < most_tries) continue;  // with those that are still there
      return failed(prepared.status());
    }
    if (const int exit_code = LaunchExitCode(*prepared); exit_code != 0) {
      return NotStarted{exit_code, LaunchReport(attempt->plan(), *prepared, Synced())};
    }
    if (first) {
      told_addresses_ = ToldAddresses(plan_, *prepared);
      const Status told = CheckToldAddresses(plan_, told_addresses_);
      if (!told.ok()) return failed(told);
      if (Differ(plan_, told_addresses_)) continue;
    }
    if (number == 0 && options_.request().on_busy() == v1::ON_BUSY_WAIT) {
      const std::string busy = BusyDevices(*attempt, *prepared);
      if (!busy.empty()) {
        AwaitDevices(busy);
        continue;
      }
    }
    const auto taken = PortsTaken(attempt->plan(), *prepared);
    if (!taken.empty() && CanMovePorts(taken) && moves++ < kMostMoves) continue;
    const Status ready = taken.empty() ? OpenLogs(*attempt) : PortsAreTaken(taken);
    if (ready.ok() && number == 0 && options_.on_running) AwaitInBackground(options_.on_running);
    if (stop_.requested()) return Interrupted();
    if (!ready.ok()) return failed(ready);
    devices_awaited_.reset();
    attempt->missing_variables = missing_variables_;
    return attempt;
  }
}

NotStarted AttemptStarter::Interrupted() const { return {128 + stop_.signal(), kInterrupted}; }

Result<std::unique_ptr<Attempt>> AttemptStarter::PlanAttempt(uint32_t number) {
  const std::vector<uint32_t> members = number == 0 ? nodes_.members() : GatherNodes();
  const uint32_t min_nodes = options_.request().min_nodes();
  const uint32_t needed = min_nodes > 0 ? min_nodes : nodes_.size();
  if (members.size() < needed || members.empty()) {
    return Error(StatusCode::kUnavailable, "it needs " + base::Count(needed, "node") + "; " +
                                               std::to_string(members.size()) + " can be reached");
  }
  plan::Replan replan{number, {}, told_addresses_};
  for (const uint32_t node : members) {
    replan.members.push_back(plan_.nodes(static_cast<int>(node)).address());
  }
  AD_ASSIGN_OR_RETURN(v1::LaunchPlan plan, options_.plan_attempt(replan));
  return MakeAttempt(number, std::make_shared<const v1::LaunchPlan>(std::move(plan)), members);
}

void AttemptStarter::TellWarnings(const Attempt& attempt, const Nodes& nodes) {
  // The same one of several nodes is one line.
  std::vector<std::pair<std::string, std::vector<std::string>>> warnings;
  for (const launch::LaunchedNode& node : nodes) {
    for (const std::string& warning : node.prepared.warnings()) {
      auto same = std::ranges::find(warnings, warning, [](const auto& it) { return it.first; });
      if (same == warnings.end()) same = warnings.insert(same, {warning, {}});
      same->second.push_back(attempt.member_plan(node.node_rank).address());
    }
  }
  for (const auto& [warning, addresses] : warnings) {
    console_.Tell(LogLevel::kWarning, AFewOf(addresses) + ": " + warning);
  }
}

// What may have to wait for a disk; false: it is not waited for any longer.
bool AttemptStarter::AwaitInBackground(std::function<void()> task) {
  const auto done = std::make_shared<bool>(false);
  loop_.InBackground([this, done, task = std::move(task)] {
    task();
    loop_.Post([done] { *done = true; });
  });
  loop_.RunUntil([&] { return *done || stop_.requested(); });
  return *done;
}

Status AttemptStarter::OpenLogs(Attempt& attempt) {
  const auto opened = std::make_shared<Result<std::shared_ptr<RankLogs>>>(nullptr);
  if (!AwaitInBackground(
          [this, opened, plan = attempt.shared_plan(), folder = attempt.logs_folder()] {
            std::optional<progress::Pattern> pattern;
            if (const std::string& given = options_.request().progress(); !given.empty()) {
              auto parsed = progress::Pattern::Parse(given);
              if (!parsed.ok()) {
                *opened = parsed.status();
                return;
              }
              pattern = *std::move(parsed);
            }
            *opened = RankLogs::Create(*plan, folder, options_.view, pattern);
          })) {
    return Error(StatusCode::kCancelled, "interrupted");
  }
  AD_ASSIGN_OR_RETURN(attempt.logs, std::move(*opened));
  return OkStatus();
}

// Reaches all nodes, looks at them if that is wanted, and prepares them.
Result<AttemptStarter::Nodes> AttemptStarter::LaunchNodes(const Attempt& attempt) {
  std::shared_ptr<Preflight> preflight;
  launch::LaunchOptions options = options_.launch;
  if (!options_.request().no_preflight()) {
    // It removes its files when it goes.
    preflight.reset(new Preflight(plan_, false),
                    [this](Preflight* ended) { loop_.InBackground([ended] { delete ended; }); });
    options.examination = preflight->examination();
  }
  options.pmix = attempt.pmix();
  options.progress = progress_;
  options.greeting = [this](uint32_t node) { return nodes_.node(node).Greeting(); };
  AD_ASSIGN_OR_RETURN(launcher_, options_.make_launcher(plan_, std::move(options)));
  const auto launching = std::make_shared<Launching>();
  launching->nodes.resize(nodes_.size());
  BeginWaiting(attempt.nodes());
  launcher_->Start([this, launching](launch::LaunchedNode node) {
    loop_.Post([this, launching, node = std::move(node)] {
      ++launching->done;
      progress_->Enter(node.node_rank, launch::LaunchProgress::Step::kReady);
      launching->nodes[node.node_rank] = node;
      if (node.link) nodes_.Add(node.node_rank, node.link);
    });
  });
  loop_.RunUntil([&] {
    return (launching->done == nodes_.size() && nodes_.AllResumed()) ||
           stop_.WaitsNoLonger(loop_.Now());
  });
  if (stop_.requested()) return Error(StatusCode::kCancelled, "interrupted");
  for (launch::LaunchedNode& node : launching->nodes) {
    const Status& lost = nodes_.lost_because(node.node_rank);
    if (node.status.ok() && !lost.ok()) node.status = lost;
  }
  TellWarnings(attempt, launching->nodes);
  if (LaunchExitCode(launching->nodes) != 0) return std::move(launching->nodes);
  nodes_.ConnectAgainBy(*launcher_);
  if (!preflight) return std::move(launching->nodes);
  missing_variables_ = MissingOn(preflight->examination(), launching->nodes);
  const v1::Diagnosis diagnosis = Diagnose(preflight->EvidenceFrom(launching->nodes));
  if (diagnosis::IsBad(diagnosis)) {
    return WithRemedy(Error(StatusCode::kFailedPrecondition,
                            "nothing was started, because of what was found on the nodes:\n" +
                                diagnosis::FindingsAsText(diagnosis, v1::VERDICT_BAD)),
                      "`autodist doctor` looks closer; --no-preflight starts all the same");
  }
  const std::string warnings = diagnosis::FindingsAsText(diagnosis, v1::VERDICT_WARNING);
  if (!warnings.empty()) console_.Tell(LogLevel::kWarning, "found on the nodes:\n" + warnings);
  return std::move(launching->nodes);
}

v1::Diagnosis AttemptStarter::Diagnose(diagnosis::Evidence evidence) const {
  evidence.synced = Synced();
  // Without a word of the user's there is a warning of GPUs alone: jobs may well share CPUs.
  const v1::JobRequest& request = options_.request();
  evidence.cpus_can_be_busy = request.has_on_busy();
  if (request.on_busy() == v1::ON_BUSY_REFUSE) evidence.busy_devices = v1::VERDICT_BAD;
  if (request.on_busy() == v1::ON_BUSY_WAIT) evidence.busy_devices = v1::VERDICT_UNSPECIFIED;
  return diagnosis::Diagnose(evidence);
}

// "": they are free.
std::string AttemptStarter::BusyDevices(const Attempt& attempt, const Nodes& nodes) const {
  diagnosis::Evidence evidence = EvidenceOf(attempt.plan(), nodes);
  evidence.examination.set_device_users(true);
  evidence.cpus_can_be_busy = true;
  const v1::Diagnosis diagnosis = diagnosis::DiagnoseDevices(evidence);
  if (diagnosis.findings().empty()) return "";
  const v1::Finding& first = diagnosis.findings(0);
  const int more = diagnosis.findings_size() - 1;
  return base::Printable(diagnosis::NodesOf(diagnosis, first) + ": " + first.what()) +
         (more > 0 ? ", and " + std::to_string(more) + " more" : "");
}

// Until it is time to ask again.
void AttemptStarter::AwaitDevices(const std::string& busy) {
  if (!devices_awaited_) {
    devices_awaited_.emplace(base::RandomNumber(), kLongestDeviceWait);
    console_.Tell(LogLevel::kInfo, "waiting for devices (" + busy + "); Ctrl-C ends the wait");
  }
  const auto asks_again = loop_.Now() + devices_awaited_->Next();
  loop_.RunUntil([&] { return stop_.requested(); }, asks_again);
  loop_.RunUntil([&] { return stop_.requested() || !nodes_.AnyDisconnected(); });
}

// The environment of the ranks is made anew on every node: much of it has changed. Fails where a
// node is cut off meanwhile.
Result<AttemptStarter::Nodes> AttemptStarter::PrepareNodes(const Attempt& attempt) {
  const Status cut_off = WithRemedy(
      Error(StatusCode::kUnavailable, "the connection with a node broke before its ranks started"),
      "start the job again");
  const std::vector<uint32_t>& members = attempt.nodes();
  const auto connected = [&] {
    return std::ranges::all_of(members, [&](uint32_t node) { return nodes_.Connected(node); });
  };
  if (!connected()) return cut_off;
  nodes_.Prepare(members);
  const auto launching = std::make_shared<Launching>();
  launching->nodes.resize(members.size());
  BeginWaiting(members);
  for (uint32_t i = 0; i < members.size(); ++i) {
    v1::PrepareRequest request;
    *request.mutable_node() = attempt.member_plan(i);
    *request.mutable_environment() = attempt.plan().environment();
    if (attempt.pmix()) *request.mutable_pmix() = *attempt.pmix();
    // The rest has been looked at.
    if (devices_awaited_) request.mutable_examination()->set_device_users(true);
    launcher_->Prepare(members[i], std::move(request), nodes_.node(members[i]).link(),
                       [this, i, member = members[i], launching](launch::LaunchedNode node) {
                         node.node_rank = i;
                         loop_.Post([this, member, launching, node = std::move(node)] {
                           progress_->Enter(member, launch::LaunchProgress::Step::kReady);
                           launching->nodes[node.node_rank] = node;
                           ++launching->done;
                         });
                       });
  }
  const auto done = [&] { return launching->done == members.size(); };
  if (!loop_.RunUntil([&] { return done() || stop_.requested(); }) || !done()) {
    for (const uint32_t node : members) {
      if (!nodes_.BeingLinked(node)) launcher_->GiveUp(node);
    }
    loop_.RunUntil([&] { return done() || stop_.WaitsNoLonger(loop_.Now()); });
    return cut_off;
  }
  // That a connection is broken may be heard a little later than that a call failed with it.
  const bool unreached = std::ranges::any_of(
      launching->nodes, [](const launch::LaunchedNode& node) { return !node.status.ok(); });
  if (unreached) {
    loop_.RunUntil([&] { return !connected() || stop_.requested(); },
                   loop_.Now() + kBrokenIsHeardLimit);
  }
  if (!connected()) return cut_off;
  if (!devices_awaited_) TellWarnings(attempt, launching->nodes);
  return std::move(launching->nodes);
}

// Whether another plan would have other ports in their place.
bool AttemptStarter::CanMovePorts(const std::vector<TakenPort>& taken) const {
  return options_.plan_attempt &&
         std::ranges::count(taken, options_.request().master_port(), &TakenPort::port) == 0;
}

Status AttemptStarter::PortsAreTaken(const std::vector<TakenPort>& taken) const {
  std::string text;
  for (const TakenPort& port : taken) {
    text += (text.empty() ? "" : ", ") + std::to_string(port.port) + " on " + port.address;
  }
  return WithRemedy(
      Error(StatusCode::kUnavailable, "somebody else has port " + text),
      CanMovePorts(taken)
          ? "others had been tried before; look at what takes so many, with `ss -tlnp`"
          : "choose another one with --master-port, or leave the choice to autodist");
}

bool AttemptStarter::MayHaveLostPortRace(const Attempt& attempt) const {
  const Cause& cause = *attempt.state().cause();
  return options_.plan_attempt && races_lost_ < kMostMoves &&
         cause.kind == Cause::Kind::kRankFailed &&
         loop_.Now() - attempt.began <= RestartPolicy::kCrashLoop &&
         !attempt.member_plan(cause.node_rank).ports().empty();
}

bool AttemptStarter::LostPortRace(const Attempt& attempt) {
  const Cause& cause = *attempt.state().cause();
  if (!MayHaveLostPortRace(attempt) ||
      !SaysPortIsTaken(attempt.logs->LastWordsOf(cause.exit.rank()),
                       attempt.member_plan(cause.node_rank), options_.request().master_port())) {
    return false;
  }
  ++races_lost_;
  return true;
}

std::optional<milliseconds> AttemptStarter::RestartWait(const Attempt& attempt) {
  if (LostPortRace(attempt)) return milliseconds(0);
  AttemptOutcome outcome{*attempt.state().cause()};
  outcome.ran = attempt.state().ran();
  outcome.nodes_there = nodes_.staying();
  for (const uint32_t node : attempt.nodes()) outcome.nodes_missing |= !nodes_.Stays(node);
  outcome.lasted = std::chrono::duration_cast<milliseconds>(loop_.Now() - attempt.began);
  return restarts_.Next(outcome);
}

void AttemptStarter::Cancel() {
  if (launcher_) launcher_->Cancel();
}

void AttemptStarter::Stop() {
  if (launcher_) launcher_->Stop();
}

}  // namespace autodist::chief
