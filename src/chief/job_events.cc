// Job: what happens while it runs, and what is done about it.
#include <google/protobuf/util/message_differencer.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/seconds.h"
#include "base/signal_name.h"
#include "base/utf8.h"
#include "chief/job.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::LogLevel;
using std::chrono::milliseconds;
using Clock = Deadline::Clock;

constexpr milliseconds kSuspendLimit{2'000};   // for the nodes to hear of it
constexpr milliseconds kStacksLimit{40'000};   // for all nodes' answers
constexpr size_t kLongestAbortMessage = 1000;  // bytes

v1::ChiefMessage SignalOrder(int signal) {
  v1::ChiefMessage message;
  message.mutable_signal()->set_signal(signal);
  return message;
}

}  // namespace

void Job::HandleEvent(uint32_t node, const v1::AgentEvent& event) {
  const std::string& address = plan_.nodes(static_cast<int>(node)).address();
  if (event.has_rank_started()) {
    if (const auto rank = attempt_->RankOf(node)) attempt_->state.RankStarted();
  } else if (event.has_rank_exited()) {
    RankExited(node, event.rank_exited());
  } else if (event.has_ranks_ended()) {
    attempt_over_on_.insert(node);
    if (leaving_) watch_->MayBeGone(node);
  } else if (event.has_rendezvous_request()) {
    HandleRendezvous(node, event.rendezvous_request());
  } else if (event.has_modex_answer()) {
    if (const auto rank = attempt_->RankOf(node)) {
      attempt_->modex.Answered(*rank, event.modex_answer());
    }
  } else if (event.has_rank_aborted()) {
    RankAborted(node, event.rank_aborted());
  } else if (event.has_rank_stacks()) {
    AddStacks(node, event.rank_stacks());
  } else if (event.has_trouble()) {
    messages_.Tell(LogLevel::kWarning, address + ": " + event.trouble().what());
    attempt_->troubles.push_back(address + ": " + event.trouble().what());
    v1::JobEvent record;
    record.set_node(address);
    record.set_what(event.trouble().what());
    Record(std::move(record));
  }
}

void Job::HandleOutput(uint32_t node, v1::Output output) {
  last_sign_of_life_ns_ = Clock::now().time_since_epoch().count();
  {
    const std::lock_guard lock(output_mutex_);
    const auto rank = attempt_->RankOf(node);
    // An agent may speak of its own ranks only.
    if (rank && attempt_->output && attempt_->Has(*rank, output.rank())) {
      attempt_->output->Write(std::move(output));
      return;
    }
  }
  // Of an attempt that went on without this node: nobody wants it any more.
  v1::ChiefMessage message;
  *message.mutable_output_ack() = AckOf(output);
  watch_->node(node).Tell(std::move(message));
}

void Job::HandleRendezvous(uint32_t node, const v1::RendezvousRequest& request) {
  // An attempt that went on without this node has nothing to do with its ranks.
  const auto node_rank = attempt_->RankOf(node);
  if (!node_rank) return;
  last_sign_of_life_ns_ = Clock::now().time_since_epoch().count();
  Node& from = watch_->node(node);
  auto reply = [&from](const v1::RendezvousReply& answer) {
    v1::ChiefMessage message;
    *message.mutable_rendezvous_reply() = answer;
    from.Order(std::move(message));
  };
  if (request.has_modex()) {
    attempt_->modex.Handle(request, std::move(reply));
  } else {
    attempt_->rendezvous.Handle(*node_rank, request, std::move(reply));
  }
}

void Job::AskForModex(uint32_t node_rank, const v1::ModexQuestion& question) {
  v1::ChiefMessage message;
  *message.mutable_modex_question() = question;
  watch_->node(attempt_->members[node_rank]).Order(std::move(message));
}

void Job::RankAborted(uint32_t node, v1::RankAborted aborted) {
  const auto node_rank = attempt_->RankOf(node);
  if (!node_rank || !attempt_->Has(*node_rank, aborted.rank())) return;
  aborted.set_time_ns(watch_->ByOurClock(node, aborted.time_ns()));
  aborted.set_message(base::Printable(aborted.message().substr(0, kLongestAbortMessage)));
  v1::JobEvent record;
  record.set_node(plan_.nodes(static_cast<int>(node)).address());
  record.set_rank(aborted.rank());
  record.set_what(HowItEnded(AsExit(aborted)));
  Record(std::move(record));
  SayFirstCause(attempt_->state.RankAborted(aborted));
}

void Job::RankExited(uint32_t node, v1::RankExited exit) {
  const auto node_rank = attempt_->RankOf(node);
  if (!node_rank || !attempt_->Has(*node_rank, exit.rank())) return;
  exit.set_time_ns(watch_->ByOurClock(node, exit.time_ns()));
  v1::JobEvent record;
  record.set_node(plan_.nodes(static_cast<int>(node)).address());
  record.set_rank(exit.rank());
  record.set_what(HowItEnded(exit));
  Record(std::move(record));
  if (exit.pid() > 0) attempt_->state.RankStarted();
  SayFirstCause(attempt_->state.RankExited(exit));
}

void Job::SayFirstCause(Action action) {
  Act(action);
  if (action != Action::kStop) return;
  const uint32_t aborting = attempt_->state.cause()->exit.has_aborted() ? 1 : 0;
  if (attempt_->state.running() == aborting) return;
  attempt_->output->Say(DescribeCause(attempt_->state, attempt_->plan) +
                        "; the other ranks are told to end");
}

void Job::HandleLost(uint32_t node, const Status& why) {
  const std::string& address = plan_.nodes(static_cast<int>(node)).address();
  const bool had_all = !attempt_over_on_.insert(node).second;
  if (stacks_) stacks_->NodeIsGone(node);
  if (status_.phase() == v1::JOB_PHASE_LAUNCHING) {
    if (launched_[node].status.ok()) launched_[node].status = why;
    return;
  }
  if (why.code() != StatusCode::kAborted) cut_off_.insert(node);
  messages_.Tell(LogLevel::kWarning, address + " is lost: " + Message(why));
  const auto rank = attempt_->RankOf(node);
  if (!rank) return;
  if (!had_all && attempt_->state.RunningOn(*rank) == 0) {
    attempt_->troubles.push_back("the ranks on " + address +
                                 " had ended, but the last that they wrote may be missing");
  }
  Act(attempt_->state.NodeLost(*rank, why));
}

void Job::HandleSignal(int signal) {
  switch (signal) {
    case SIGUSR1:
    case SIGUSR2:
      watch_->OrderAll(SignalOrder(signal));
      return;
    case SIGTSTP:
      Suspend();
      return;
    case SIGQUIT:
      LookAtRanks();
      return;
    default:
      break;
  }
  if (!impatience_.Expired()) return;
  const bool first = std::exchange(interrupted_by_, signal) == 0;
  status_.set_told_to_stop(true);
  if (status_.phase() == v1::JOB_PHASE_LAUNCHING) {
    StopLaunching();
    return;
  }
  v1::JobEvent record;
  record.set_what("told to stop by " + base::SignalName(signal));
  Record(std::move(record));
  if (first && status_.may_restart() && status_.phase() != v1::JOB_PHASE_RUNNING) {
    attempt_->output->Say(base::SignalName(signal) + ": the job is not started again");
    return;
  }
  const Action action = attempt_->state.Interrupted(signal);
  SayStopping(signal, action);
  Act(action);
}

void Job::SayStopping(int signal, Action action) {
  if (!attempt_->output) return;
  if (action == Action::kStop) {
    attempt_->output->Say(base::SignalName(signal) + ": the ranks have " +
                          base::Seconds(options_.launch.grace) + " to end; once more kills them");
  } else if (action == Action::kKill) {
    attempt_->output->Say(base::SignalName(signal) + ": killing what is left");
  } else if (action == Action::kGiveUp) {
    attempt_->output->Say(base::SignalName(signal) + ": waiting no longer");
  }
}

void Job::Act(Action action) {
  v1::ChiefMessage message;
  switch (action) {
    case Action::kNone:
      return;
    case Action::kGiveUp:
      given_up_ = true;
      return;
    case Action::kStop:
      EnterPhase(v1::JOB_PHASE_STOPPING, DescribeCause(attempt_->state, attempt_->plan));
      for (const uint32_t node : attempt_->members) watch_->state(node).Stopping();
      message.mutable_stop()->set_grace_ms(static_cast<uint32_t>(options_.launch.grace.count()));
      break;
    case Action::kKill:
      impatience_ = Deadline::After(kImpatience);
      message.mutable_stop()->set_grace_ms(0);
      break;
  }
  watch_->OrderAll(message);
}

// The ranks stop first, then we; SIGCONT wakes us, and we them.
void Job::Suspend() {
  if (std::exchange(suspending_, true)) return;
  watch_->OrderAll(SignalOrder(SIGTSTP));
  watch_->RenewAll();  // its answer tells that the order has been heard
  const Deadline limit = Deadline::After(kSuspendLimit);
  while (!watch_->AllRenewed() && !limit.Expired()) Step(limit);
  kill(getpid(), SIGSTOP);
  suspending_ = false;
  end_limit_ = std::max(end_limit_, Deadline::After(kEndLimit));
  watch_->Forgive();
  watch_->OrderAll(SignalOrder(SIGCONT));
  last_sign_of_life_ns_ = Clock::now().time_since_epoch().count();
}

void Job::LookAtRanks() {
  if (stacks_ || status_.phase() == v1::JOB_PHASE_LAUNCHING) return;
  std::set<uint32_t> asked;
  v1::ChiefMessage look;
  look.mutable_look();
  for (const uint32_t node : attempt_->members) {
    if (!watch_->Connected(node)) continue;
    asked.insert(node);
    watch_->node(node).Order(look);
  }
  auto file = StackFile::Create(attempt_->folder, std::move(asked));
  if (!file.ok()) {
    messages_.Tell(LogLevel::kError, base::FailureText(file.status()));
    return;
  }
  stacks_.emplace(*std::move(file));
  stacks_due_ = Deadline::After(kStacksLimit);
}

void Job::AddStacks(uint32_t node, const v1::RankStacks& stacks) {
  const auto rank = attempt_->RankOf(node);
  if (!stacks_ || !rank) return;
  stacks_->Add(node,
               stacks.has_rank()
                   ? NameAndNode(attempt_->plan, *rank, stacks.rank())
                   : "NCCL on " + attempt_->plan.nodes(static_cast<int>(*rank)).address(),
               stacks);
}

void Job::FinishLooking() {
  messages_.Tell(LogLevel::kInfo, std::string("what ") +
                                      (stacks_->complete() ? "all" : "some of the") +
                                      " ranks are doing is in " + stacks_->path());
  stacks_.reset();
  stacks_due_ = Deadline::Never();
  if (std::exchange(stop_after_stacks_, false)) Act(attempt_->state.Hung());
}

void Job::CheckForHang() {
  if (options_.hang_timeout.count() == 0 || status_.phase() != v1::JOB_PHASE_RUNNING) return;
  // Where the terminal takes nothing, the ranks may wait for that.
  if (attempt_->output->Busy()) {
    last_sign_of_life_ns_ = Clock::now().time_since_epoch().count();
  }
  const Clock::time_point last{Clock::duration(last_sign_of_life_ns_.load())};
  if (Clock::now() < last + options_.hang_timeout) {
    hang_told_ = false;
    return;
  }
  if (std::exchange(hang_told_, true)) return;
  messages_.Tell(LogLevel::kWarning, HangReport(*attempt_, options_.hang_timeout));
  v1::JobEvent record;
  record.set_what("no rank gave a sign of life for " + base::Seconds(options_.hang_timeout));
  Record(std::move(record));
  LookAtRanks();
  stop_after_stacks_ = options_.on_hang == OnHang::kStop;
  if (!stacks_ && std::exchange(stop_after_stacks_, false)) Act(attempt_->state.Hung());
}

Deadline Job::CheckTimes() {
  if (timeout_at_.Expired()) {
    timeout_at_ = Deadline::Never();
    timed_out_ = true;
    Act(attempt_->state.TimedOut());
  }
  if (stacks_ && (stacks_->complete() || stacks_due_.Expired())) FinishLooking();
  CheckForHang();
  Deadline next = std::min(watch_->Tick(), std::min(timeout_at_, stacks_due_));
  if (options_.hang_timeout.count() > 0) {
    const Clock::time_point last{Clock::duration(last_sign_of_life_ns_.load())};
    if (!hang_told_) next = std::min(next, Deadline::At(last + options_.hang_timeout));
  }
  return next;
}

void Job::Step(Deadline deadline) {
  const Deadline next = std::min(deadline, CheckTimes());
  if (auto task = mailbox_.Take(next)) (*task)();
  if (mailbox_.Empty()) Publish();
}

void Job::EnterPhase(v1::JobPhase phase, const std::string& why) {
  if (status_.phase() == phase) return;
  status_.set_phase(phase);
  v1::JobEvent event;
  event.set_job_phase(phase);
  event.set_what(why);
  Record(std::move(event));
  Publish();
}

void Job::Record(v1::JobEvent event) {
  event.set_attempt(attempt_->number);
  if (log_) log_->Record(std::move(event));
}

void Job::Publish() {
  v1::JobStatus now = status_;
  const std::vector<uint32_t> running = attempt_->state.RunningByNode();
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    v1::NodeStatus& node = *now.add_nodes();
    node.set_address(plan_.nodes(static_cast<int>(i)).address());
    node.set_phase(watch_->state(i).phase());
    node.set_detail(watch_->state(i).detail());
    if (const auto rank = attempt_->RankOf(i)) {
      const v1::NodePlan& planned = attempt_->plan.nodes(static_cast<int>(*rank));
      for (const v1::RankPlan& process : planned.ranks()) {
        if (process.auxiliary()) {
          node.add_auxiliary(process.rank());
        } else if (node.ranks() == 0) {
          node.set_first_rank(process.rank());
        }
        if (!process.auxiliary()) node.set_ranks(node.ranks() + 1);
      }
      node.set_running_ranks(running[*rank]);
    }
  }
  if (google::protobuf::util::MessageDifferencer::Equals(now, published_)) return;
  published_ = now;
  if (options_.on_status) options_.on_status(published_);
}

}  // namespace autodist::chief
