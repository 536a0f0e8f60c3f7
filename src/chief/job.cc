#include "chief/job.h"

#include <signal.h>

#include <algorithm>

#include "base/log.h"
#include "chief/report.h"
#include "diagnosis/diagnosis_text.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::Log;
using base::LogLevel;
using std::chrono::milliseconds;

// How long agents may take to end what is left, and then themselves.
constexpr milliseconds kShutdownLimit{10'000};
constexpr milliseconds kGoneLimit{3'000};
constexpr int kRenewalsPerLease = 4;

// Of a session that ended before it was asked to.
Status WhyItLeft(const Status& status) {
  return status.ok() ? Error(StatusCode::kUnavailable, "its agent left") : status;
}

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it

}  // namespace

Job::Job(const v1::LaunchPlan& plan, JobOptions options)
    : plan_(plan),
      options_(std::move(options)),
      state_(plan),
      rendezvous_(plan.world_size()),
      renew_at_(Deadline::After(options_.launch.lease / kRenewalsPerLease)),
      signals_(std::in_place, [this](int signal) { mailbox_.Put(SignalReceived{signal}); }),
      nodes_(static_cast<size_t>(plan.nodes_size())),
      open_(nodes_.size(), false) {
  ::signal(SIGPIPE, SIG_IGN);
}

// Links before what their handlers use.
Job::~Job() { nodes_.clear(); }

int Job::Run() {
  if (const auto exit_code = LaunchAll()) {
    ShutDown();
    return *exit_code;
  }
  RunRanks();
  ShutDown();
  return Finish();
}

std::optional<int> Job::LaunchAll() {
  if (options_.preflight) {
    preflight_.emplace(plan_, false);
    options_.launch.examination = preflight_->examination();
  }
  auto launcher = Launcher::Create(plan_, options_.launch);
  if (!launcher.ok()) {
    base::LogFailure(launcher.status());
    return kExitCannotLaunch;
  }
  launcher_ = std::move(*launcher);
  launcher_->Start([this](LaunchedNode node) { mailbox_.Put(std::move(node)); });

  int interrupted_by = 0;
  for (size_t launched = 0; launched < nodes_.size();) {
    std::optional<Event> event = Next();
    if (!event) continue;
    if (auto* node = std::get_if<LaunchedNode>(&*event)) {
      AddNode(std::move(*node));
      ++launched;
    } else if (const auto* signal = std::get_if<SignalReceived>(&*event)) {
      interrupted_by = signal->signal;
      launcher_->Cancel();
    } else if (const auto* closed = std::get_if<LinkClosed>(&*event)) {
      open_[closed->node_rank] = false;
      Status& status = nodes_[closed->node_rank].status;
      if (status.ok()) status = WhyItLeft(closed->status);  // or else it follows from that
    }
  }
  if (interrupted_by != 0) {
    Log(LogLevel::kError, "interrupted before anything was started");
    return 128 + interrupted_by;
  }
  for (const LaunchedNode& node : nodes_) {
    for (const std::string& warning : node.prepared.warnings()) {
      Log(LogLevel::kWarning,
          plan_.nodes(static_cast<int>(node.node_rank)).address() + ": " + warning);
    }
  }
  if (const int exit_code = LaunchExitCode(nodes_); exit_code != 0) {
    Log(LogLevel::kError, LaunchReport(plan_, nodes_));
    return exit_code;
  }
  if (preflight_ && !PassesPreflight()) return kExitCannotLaunch;
  auto output = OutputWriter::Create(plan_, options_.log_folder,
                                     [this](uint32_t node_rank, const v1::OutputAck& ack) {
                                       v1::ChiefMessage message;
                                       *message.mutable_output_ack() = ack;
                                       nodes_[node_rank].link->Send(std::move(message));
                                     });
  if (!output.ok()) {
    base::LogFailure(output.status());
    return kExitCannotLaunch;
  }
  output_ = std::move(*output);
  return std::nullopt;
}

bool Job::PassesPreflight() {
  const v1::Diagnosis diagnosis = diagnosis::Diagnose(preflight_->EvidenceFrom(nodes_));
  preflight_.reset();
  if (diagnosis::IsBad(diagnosis)) {
    Log(LogLevel::kError,
        "nothing was started, because of what was found on the nodes:\n" +
            diagnosis::FindingsAsText(diagnosis, v1::VERDICT_BAD) +
            "\n`autodist doctor` looks closer; --no-preflight starts all the same");
    return false;
  }
  const std::string warnings = diagnosis::FindingsAsText(diagnosis, v1::VERDICT_WARNING);
  if (!warnings.empty()) Log(LogLevel::kWarning, "found on the nodes:\n" + warnings);
  return true;
}

void Job::AddNode(LaunchedNode node) {
  const uint32_t node_rank = node.node_rank;
  nodes_[node_rank] = std::move(node);
  NodeLink* link = nodes_[node_rank].link.get();
  if (!link) return;
  open_[node_rank] = true;
  link->OpenSession(
      {[this, node_rank](v1::AgentEvent event) { TakeEvent(node_rank, std::move(event)); },
       [this, node_rank](Status status) {
         mailbox_.Put(LinkClosed{node_rank, std::move(status)});
       }});
}

// An agent may speak of its own ranks only.
bool Job::Belongs(uint32_t node_rank, const v1::AgentEvent& event) const {
  const auto& ranks = plan_.nodes(static_cast<int>(node_rank)).ranks();
  const auto is = [&](uint32_t rank) {
    return std::ranges::any_of(ranks, [&](const auto& own) { return own.rank() == rank; });
  };
  if (event.has_output()) return output_ && is(event.output().rank());
  if (event.has_rank_exited()) return is(event.rank_exited().rank());
  return true;
}

void Job::TakeEvent(uint32_t node_rank, v1::AgentEvent event) {
  if (!Belongs(node_rank, event)) return;
  if (event.has_output()) {
    // Not past the thread that decides: output must not delay it, nor wait for it.
    output_->Write(std::move(*event.mutable_output()));
  } else {
    mailbox_.Put(AgentSaid{node_rank, std::move(event)});
  }
}

void Job::RunRanks() {
  v1::ChiefMessage start;
  start.mutable_start();
  SendToAll(start);
  while (std::ranges::count(open_, true) > 0) {
    if (std::optional<Event> event = Next()) Handle(std::move(*event));
    if (state_.AllEnded() || given_up_) return;
  }
}

void Job::Handle(Event event) {
  std::visit(Overloaded{[](const LaunchedNode&) {},
                        [this](const AgentSaid& said) { HandleAgent(said.node_rank, said.event); },
                        [this](const LinkClosed& closed) {
                          open_[closed.node_rank] = false;
                          Act(state_.NodeLost(closed.node_rank, WhyItLeft(closed.status)));
                        },
                        [this](const SignalReceived& received) {
                          Act(state_.Interrupted(received.signal));
                        }},
             event);
}

void Job::HandleAgent(uint32_t node_rank, const v1::AgentEvent& event) {
  if (event.has_rank_exited()) {
    Act(state_.RankExited(event.rank_exited()));
  } else if (event.has_rendezvous_request()) {
    NodeLink* link = nodes_[node_rank].link.get();
    rendezvous_.Handle(event.rendezvous_request(), [link](const v1::RendezvousReply& reply) {
      v1::ChiefMessage message;
      *message.mutable_rendezvous_reply() = reply;
      link->Send(std::move(message));
    });
  }
}

void Job::Act(JobState::Action action) {
  v1::ChiefMessage message;
  switch (action) {
    case JobState::Action::kNone:
      return;
    case JobState::Action::kStop:
      if (state_.cause()->kind == Cause::Kind::kInterrupted) {
        output_->Say("stopping; ranks have " +
                     std::to_string(options_.launch.grace.count() / 1000) +
                     " s to end, Ctrl-C again ends them now");
      }
      message.mutable_stop()->set_grace_ms(static_cast<uint32_t>(options_.launch.grace.count()));
      break;
    case JobState::Action::kKill:
      message.mutable_stop()->set_grace_ms(0);
      break;
    case JobState::Action::kGiveUp:
      given_up_ = true;
      return;
  }
  SendToAll(message);
}

// Ends all agents, and with them whatever is left of the job; waits until they have gone.
void Job::ShutDown() {
  v1::ChiefMessage message;
  message.mutable_shutdown()->set_grace_ms(static_cast<uint32_t>(options_.launch.grace.count()));
  SendToAll(message);
  const Deadline limit =
      Deadline::After(given_up_ ? milliseconds(0) : options_.launch.grace + kShutdownLimit);
  while (std::ranges::count(open_, true) > 0 && !limit.Expired()) {
    const std::optional<Event> event = Next(limit);
    if (!event) continue;
    if (const auto* closed = std::get_if<LinkClosed>(&*event)) open_[closed->node_rank] = false;
    if (std::get_if<SignalReceived>(&*event)) {
      if (std::exchange(given_up_, true)) break;
      v1::ChiefMessage kill;
      kill.mutable_stop()->set_grace_ms(0);
      SendToAll(kill);
    }
  }
  const Deadline gone = Deadline::After(kGoneLimit);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::string& address = plan_.nodes(static_cast<int>(i)).address();
    if (open_[i]) {
      Log(LogLevel::kWarning,
          address + ": the agent does not confirm that the job has ended there");
    } else if (nodes_[i].link && !state_.NodeIsLost(static_cast<uint32_t>(i)) &&
               !nodes_[i].link->WaitClosed(gone)) {
      Log(LogLevel::kWarning, address + ": the agent has not gone");
    }
  }
}

int Job::Finish() {
  // Nothing is left but to write what has come, so Ctrl-C may end us if nobody reads it.
  signals_.reset();
  output_->Finish();
  const std::string report = EndReport(plan_, state_, *output_, options_.log_folder);
  if (!report.empty()) Log(LogLevel::kError, report);
  return state_.ExitCode();
}

std::optional<Job::Event> Job::Next(Deadline deadline) {
  if (renew_at_.Expired()) {
    renew_at_ = Deadline::After(options_.launch.lease / kRenewalsPerLease);
    v1::ChiefMessage renew;
    renew.mutable_renew_lease();
    SendToAll(renew);
  }
  return mailbox_.Take(std::min(deadline, renew_at_));
}

void Job::SendToAll(const v1::ChiefMessage& message) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (open_[i]) nodes_[i].link->Send(message);
  }
}

}  // namespace autodist::chief
