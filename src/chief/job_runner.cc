#include "chief/job_runner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/a_few_of.h"
#include "base/log.h"
#include "base/quantity.h"
#include "chief/attempt/report.h"
#include "chief/fetch/fetch_text.h"
#include "chief/start/attempt_outcome.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// The time for agents to exit after everything they ran has ended.
constexpr milliseconds kGoneLimit{3'000};
constexpr size_t kNamedAtEnd = 10;  // nodes that may still have something; no later message does
// The time for connected nodes to receive that autodist waits no longer.
constexpr milliseconds kLastWordLimit{500};
// A shorter wait is not reported.
constexpr milliseconds kShortWait{3'000};

}  // namespace

JobRunner::JobRunner(JobParts& parts, AttemptRun& run)
    : parts_(parts),
      run_(run),
      starter_({parts.plan, parts.options, *parts.loop, parts.stop, parts.nodes, parts.console}),
      restarts_(RestartLimitsOf(parts.options.request(), parts.nodes.size())),
      port_races_(parts.options, *parts.loop) {
  run_.Plan(starter_.FirstAttempt());
  parts.loop->AddTimer([this] {
    const Loop::Time now = parts_.loop->Now();
    const Loop::Time limit = parts_.stop.end_limit();
    return std::min({until_, report_at_, limit > now ? limit : Loop::Time::max()});
  });
}

void JobRunner::Begin() { Enter(JobStage::kStarting); }

bool JobRunner::Advance() {
  while (stage_ != JobStage::kOver) {
    const std::optional<StageEvent> event = NextEvent();
    if (!event) {
      ReportWait();
      return false;
    }
    Enter(Follow(stage_, *event));
  }
  return true;
}

void JobRunner::Enter(JobStage stage) {
  using enum JobStage;
  const bool fetched = stage_ == kAwaitingFetches || stage_ == kFetching;
  if (fetched && stage == kLeaving) parts_.stop.Resumed(parts_.loop->Now());
  if (stage_ == kRunning) {
    starter_.LeaveNodes();
    run_.StopExplaining();
  }
  stage_ = stage;
  until_ = Loop::Time::max();
  report_at_ = parts_.loop->Now() + kShortWait;
  switch (stage) {
    case kStarting:
      return starter_.Begin(next_++);
    case kRunning:
      parts_.fetch.JobRuns();
      return run_.Begin(starter_.TakeAttempt(),
                        parts_.nodes.ledger().MayStart(parts_.loop->Now()).value());
    case kEnding:
      return parts_.stop.BeginEnd(parts_.loop->Now(), false);
    case kAwaitingLastOutput:
    case kDrainingToFetch:
      return End(false);
    case kPausing:
      until_ = parts_.loop->Now() + pause_;
      return;
    case kAwaitingFetches:
      return;
    case kFetching:
      return Fetch();
    case kLeaving:
      return End(true);
    case kGiveUpNotice:
      until_ = parts_.loop->Now() + kLastWordLimit;
      return;
    case kAwaitingAgents:
      return AwaitAgents();
    case kOver:
      return WarnOfStayingAgents();
  }
}

// Returns the event that ends the current stage; nullopt: the stage continues.
std::optional<StageEvent> JobRunner::NextEvent() {
  using enum JobStage;
  const StopPolicy& stop = parts_.stop;
  const bool in_time = parts_.loop->Now() < until_;
  switch (stage_) {
    case kStarting:
      if (!starter_.Advance()) return std::nullopt;
      return Started();
    case kRunning: {
      starter_.TakeNodesBack();
      const bool stops = run_.state().cause() && !run_.explains();
      if (!RanksAreOver() && !stops && !stop.given_up()) return std::nullopt;
      return StageEvent::kDone;
    }
    case kEnding:
      if (!HasEnded(RanksAreOver())) return std::nullopt;
      return AfterRanks();
    case kAwaitingLastOutput:
      if (!HasEnded(AllNodes(false) && !run_.attempt().hang_diagnosis->being_made())) {
        return std::nullopt;
      }
      return RestartOrEnd();
    case kDrainingToFetch:
      if (!HasEnded(AllNodes(false))) return std::nullopt;
      return StageEvent::kDone;
    case kPausing:
      if (in_time && !stop.requested()) return std::nullopt;
      return StageEvent::kDone;
    case kAwaitingFetches:
      if (parts_.fetch.busy() && !stop.given_up()) return std::nullopt;
      return AfterFetches(Wishes());
    case kFetching:
      if (parts_.fetch.busy() && !stop.given_up()) return std::nullopt;
      return StageEvent::kDone;
    case kLeaving:
      if (!HasEnded(AllNodes(true))) return std::nullopt;
      return stop.given_up() ? StageEvent::kGivenUp : StageEvent::kDone;
    case kGiveUpNotice:
      if (in_time && !parts_.nodes.All([this](uint32_t node) {
            return !parts_.nodes.state(node).alive() || !parts_.nodes.Connected(node);
          })) {
        return std::nullopt;
      }
      return StageEvent::kDone;
    case kAwaitingAgents:
      if (in_time && !departures_.over() && !stop.given_up()) return std::nullopt;
      departures_.GiveUp();
      return StageEvent::kDone;
    case kOver:
      break;
  }
  return std::nullopt;
}

StageEvent JobRunner::Started() {
  const NotStarted* const refused = starter_.refused();
  if (!refused) return StageEvent::kDone;
  const bool first = next_ == 1;
  if (first || !parts_.stop.requested()) {
    parts_.console.Log(LogLevel::kError, refused->report);
  }
  if (first) {
    refused_ = *refused;
    return StageEvent::kNotStarted;
  }
  return EndJob();  // the earlier cause remains
}

bool JobRunner::MayRestart() const {
  if (stage_ == JobStage::kStarting || stage_ == JobStage::kPausing) return true;
  const JobState& state = run_.state();
  return stage_ < JobStage::kPausing && state.cause() &&
         restarts_.MayFollow(*state.cause(), state.ran());
}

// Ranks on nodes that are not connected are not waited for here if a restart can do without these.
bool JobRunner::RanksAreOver() {
  if (run_.state().AllEnded()) return true;
  return run_.state().cause() && restarts_.MayRestart() && run_.NoneRunsOnConnected() &&
         starter_.roster().Choose(Availability::kConnected).suffices;
}

// If another attempt may follow, nodes whose ranks do not end are given up: their leases end them.
void JobRunner::GiveUpOverdueNodes() {
  const bool goes_on = run_.state().cause() && restarts_.MayRestart() && !parts_.stop.requested();
  if (!goes_on || parts_.stop.given_up()) return;
  const std::vector<uint32_t>& members = run_.attempt().nodes();
  for (uint32_t member = 0; member < members.size(); ++member) {
    const uint32_t running = run_.state().RunningOn(member);
    if (running == 0) continue;
    const std::string ranks = "its " + NounFor(running, run_.attempt().plan());
    parts_.nodes.GiveUp(
        members[member],
        parts_.nodes.Connected(members[member])
            ? ranks + (running == 1 ? " has" : " have") + " not ended, not by SIGKILL either"
            : "it does not answer, so " + ranks + " may not have ended");
  }
}

// Called when no rank of the attempt is left, or when autodist waits for them no longer.
StageEvent JobRunner::AfterRanks() {
  const JobState& state = run_.state();
  if (!RanksAreOver()) GiveUpOverdueNodes();
  const bool over = RanksAreOver();
  if (!over && !parts_.stop.given_up()) {
    parts_.console.Log(
        LogLevel::kWarning,
        std::to_string(state.running()) + " " + NounFor(state.running(), run_.attempt().plan()) +
            (parts_.nodes.AnyMemberDisconnected() ? " may still run: not all nodes answer"
                                                  : " did not end, not by SIGKILL either") +
            "; waiting no longer");
    parts_.stop.GraceIsOver();
  }
  parts_.input.EndAttempt();
  ReportFaultyNode();
  const bool may_follow = state.cause() && over && !parts_.stop.requested() &&
                          (restarts_.MayRestart() || port_races_.MayHaveLost(run_.attempt()));
  return may_follow ? StageEvent::kAwaitLastOutput : EndJob();
}

void JobRunner::ReportFaultyNode() {
  const Attempt& attempt = run_.attempt();
  const auto& cause = run_.state().cause();
  if (!cause || !parts_.options.on_faulty_node) return;
  if (parts_.options.request().health() == v1::HEALTH_OFF) return;
  const NodeGpuError* const faulty = FaultyGpuBehind(*cause, attempt.gpu_errors());
  if (!faulty) return;
  parts_.options.on_faulty_node(parts_.AddressOf(attempt.nodes()[faulty->node_rank]),
                                Describe(*faulty, attempt.plan()));
}

StageEvent JobRunner::RestartOrEnd() {
  if (parts_.stop.requested()) return EndJob();
  const std::string cause = DescribeCauseInOneLine(run_.attempt());
  const RestartDecision decision = Decide(cause);
  if (decision.futility) ReportFutility(*decision.futility, decision.wait.has_value());
  if (!decision.wait) return EndJob();
  if (decision.leave_out) {
    starter_.LeaveOut(decision.leave_out->node, decision.leave_out->why);
  }
  pause_ = *decision.wait;
  parts_.recorder.EnterPhase(v1::JOB_PHASE_RESTARTING, cause);
  parts_.snapshot.Launches(next_);
  parts_.console.Log(LogLevel::kInfo, RestartText() + (decision.futility ? "" : BecauseOf(cause)));
  return StageEvent::kRestart;
}

// A wait for nodes, or for ranks that may still run, is reported when it begins.
std::string JobRunner::RestartText() const {
  const bool waits = starter_.WouldWait(parts_.loop->Now() + pause_);
  const bool enough = starter_.roster().Choose(Availability::kConnected).suffices;
  std::string text = waits && !enough ? "restarting once enough nodes are back" : "restarting";
  if (pause_.count() > 0) {
    text = "restarting in " + base::Seconds(pause_) + (waits ? " at the earliest" : "");
  }
  return text;
}

// Says why another attempt follows; ReportFutility lists the cause, too.
std::string JobRunner::BecauseOf(const std::string& cause) const {
  const size_t known = causes_.size();
  if (known > 1 && causes_[known - 1].text == cause && causes_[known - 2].text == cause) {
    return ", because attempt " + causes_[known - 1].attempt + " ended as attempt " +
           causes_[known - 2].attempt + " did";
  }
  return ", because " + WithoutReasonsOfLosses(cause, run_.attempt()) +
         NoticedFirst(run_.attempt());
}

RestartDecision JobRunner::Decide(const std::string& cause) {
  const Attempt& attempt = run_.attempt();
  if (port_races_.Lost(attempt)) return {.wait = milliseconds(0)};
  causes_.push_back({std::to_string(attempt.number() + 1), cause});
  AttemptOutcome outcome = OutcomeOf(attempt, parts_.nodes, starter_.roster(), parts_.loop->Now());
  parts_.snapshot.LookForCheckpoints();
  const auto checkpoint = parts_.snapshot.times().checkpoint();
  outcome.checkpoint = checkpoint && *checkpoint > attempt.began;
  return restarts_.Next(std::move(outcome));
}

// Lists the causes from which it follows. If that is only the last one and the job ends, the report
// has it.
void JobRunner::ReportFutility(Futility why, bool restarts) {
  const bool checkpoints_known = !parts_.options.request().checkpoint_dir().empty();
  std::string text = std::string(TextOf(why, checkpoints_known)) +
                     (restarts ? "; another attempt follows, as --restart-policy is warn"
                               : "; no other attempt follows");
  parts_.recorder.Record(text);
  const size_t behind = std::min(causes_.size(), AttemptsBehind(why));
  const size_t first = causes_.size() - (behind == 1 && !restarts ? 0 : behind);
  for (size_t i = first; i < causes_.size(); ++i) {
    const bool again = i > first && causes_[i].text == causes_[i - 1].text;
    text += "\n  attempt " + causes_[i].attempt + ": " + (again ? "the same" : causes_[i].text);
  }
  parts_.console.Log(LogLevel::kWarning, text);
  futile_ = !restarts && why != Futility::kOutOfMemory;
}

// Called when no attempt follows. Files are fetched before the agents leave, for --fetch and for
// waiting clients; a signal ends that.
StageEvent JobRunner::EndJob() {
  run_.IsLast();
  if (parts_.stop.killing()) parts_.fetch.Cancel();
  const StageEvent next = BeforeLeaving(Wishes());
  if (next != StageEvent::kEnd) parts_.recorder.EnterPhase(v1::JOB_PHASE_STOPPING, "");
  return next;
}

FetchWishes JobRunner::Wishes() const {
  return {parts_.options.request().fetch_size() > 0, parts_.fetch.busy(), parts_.stop.killing()};
}

void JobRunner::Fetch() {
  const v1::JobRequest& request = parts_.options.request();
  parts_.console.Log(LogLevel::kInfo, "fetching files from the nodes; " +
                                          HowToCancel(request, parts_.plan.job_id()));
  v1::FetchRequest order;
  *order.mutable_patterns() = request.fetch();
  order.set_most_bytes(request.max_size());
  parts_.fetch.Start(order, {}, [this](const Result<v1::JobFiles>& files) {
    if (!files.ok()) {
      return parts_.console.Log(LogLevel::kError, base::FailureText(files.status()));
    }
    for (FetchLine& line : FetchText(*files)) {
      parts_.console.Log(line.level, std::move(line.text));
    }
  });
}

// Returns whether the current shutdown is complete, or autodist waits for it no longer.
bool JobRunner::HasEnded(bool over) {
  parts_.stop.Resumed(parts_.loop->resumed());
  return over || parts_.stop.given_up() ||
         parts_.stop.EndIsOverdue(
             parts_.loop->Now(),
             {parts_.console.Busy(), parts_.console.written(), parts_.nodes.AnyDisconnected()});
}

// Says once in each stage what is waited for.
void JobRunner::ReportWait() {
  if (parts_.loop->Now() < report_at_) return;
  report_at_ = Loop::Time::max();
  if (parts_.stop.given_up()) return;
  if (std::string text = WaitText(); !text.empty()) {
    parts_.console.Log(LogLevel::kInfo, "waiting for " + text);
  }
}

// Whether a message has named processes there that the ranks left.
bool JobRunner::NamesWhatIsLeft(uint32_t node) const {
  const std::vector<uint32_t>& members = run_.attempt().nodes();
  const auto member = std::ranges::find(members, node);
  return member != members.end() &&
         !run_.attempt().left(static_cast<uint32_t>(member - members.begin())).processes().empty();
}

// "rank 3 on node2", or "ranks on node2 and node4"; "": none runs.
std::string JobRunner::RunningRanks() const {
  const Attempt& attempt = run_.attempt();
  std::vector<std::string> addresses;
  std::vector<std::string> ranks;
  for (uint32_t member = 0; member < attempt.nodes().size(); ++member) {
    if (run_.state().RunningOn(member) == 0) continue;
    addresses.push_back(parts_.AddressOf(attempt.nodes()[member]));
    for (const v1::RankPlan& rank : attempt.member_plan(member).ranks()) {
      if (!run_.state().Runs(rank.rank())) continue;
      ranks.push_back(NameAndNode(attempt.plan(), member, rank.rank()));
    }
  }
  if (addresses.empty()) return "";
  return ranks.size() == 1 ? ranks[0] : "ranks on " + base::AFewOf(addresses);
}

// Returns who is waited for and for how long; "": the stage waits for nothing, or says so itself.
std::string JobRunner::WaitText() const {
  using enum JobStage;
  if (stage_ == kAwaitingFetches) {
    return "files that are being fetched; " +
           HowToCancel(parts_.options.request(), parts_.plan.job_id());
  }
  const Loop::Time until = parts_.stop.named_limit(parts_.nodes.AnyDisconnected());
  const auto limit = std::chrono::ceil<std::chrono::seconds>(until - parts_.loop->Now());
  const std::string up_to = ", for up to " + base::Elapsed(limit);
  if (stage_ == kEnding) {
    const std::string ranks = RunningRanks();
    return ranks.empty() ? "" : ranks + " to end" + up_to;
  }
  std::vector<std::string> late;
  if (stage_ != kAwaitingLastOutput && stage_ != kDrainingToFetch && stage_ != kLeaving) return "";
  for (uint32_t node = 0; node < parts_.nodes.size(); ++node) {
    const NodeMachine& state = parts_.nodes.state(node);
    if (!state.alive() || (stage_ != kLeaving && state.drained())) continue;
    if (!NamesWhatIsLeft(node)) late.push_back(parts_.AddressOf(node));
  }
  if (late.empty()) return "";
  return base::AFewOf(late) + " to confirm that nothing is left there" + up_to;
}

// Returns whether the nodes have completed what End requested.
bool JobRunner::AllNodes(bool leave) {
  return parts_.nodes.All([&](uint32_t node) {
    const NodeMachine& state = parts_.nodes.state(node);
    return !state.alive() || (!leave && (state.drained() || state.disconnected()));
  });
}

// Ends all processes on the nodes, and with `leave` the agents, too.
void JobRunner::End(bool leave) {
  if (leave && parts_.recorder.phase() == v1::JOB_PHASE_RUNNING) {
    parts_.recorder.EnterPhase(v1::JOB_PHASE_STOPPING, "");
    parts_.snapshot.Stops(run_.attempt());
  }
  parts_.stop.AttemptEnds();
  parts_.nodes.End(parts_.stop.killing() ? milliseconds(0) : parts_.options.launch.grace(), leave);
  parts_.stop.BeginEnd(parts_.loop->Now(), leave);
}

void JobRunner::AwaitAgents() {
  Departures::Links links;
  for (uint32_t node = 0; node < parts_.nodes.size(); ++node) {
    const auto link = parts_.nodes.node(node).link();
    if (link && parts_.nodes.state(node).state() == NodeState::kGone) links.emplace(node, link);
  }
  const Loop::Time limit = std::min(parts_.loop->Now() + kGoneLimit, parts_.stop.must_end());
  until_ = limit + kLastWordLimit;  // closing a link is itself late if a disk is slow
  departures_.Await(std::move(links), limit, *parts_.loop);
}

void JobRunner::WarnOfStayingAgents() {
  std::vector<std::string> silent;
  for (uint32_t node = 0; node < parts_.nodes.size(); ++node) {
    if (parts_.nodes.state(node).alive()) silent.push_back(parts_.AddressOf(node));
  }
  if (!silent.empty()) {
    const std::string clean = CommandForNodes("clean", parts_.options.request());
    parts_.console.Log(LogLevel::kWarning,
                       base::AFewOf(silent, kNamedAtEnd) +
                           ": no agent there confirmed that the job ended; what may be left ends "
                           "with its lease" +
                           (clean.empty() ? "" : ", or by `" + clean + "`"));
  }
  if (!departures_.over() || departures_.staying().empty()) return;
  std::vector<std::string> staying;
  for (const uint32_t node : departures_.staying()) staying.push_back(parts_.AddressOf(node));
  parts_.console.Log(LogLevel::kWarning,
                     base::AFewOf(staying, kNamedAtEnd) +
                         (staying.size() == 1 ? ": the agent has not ended yet"
                                              : ": the agents have not ended yet"));
}

}  // namespace autodist::chief
