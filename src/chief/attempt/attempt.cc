#include "chief/attempt/attempt.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/utf8.h"
#include "control/job_record.h"

namespace autodist::chief {
namespace {

constexpr size_t kLongestAbortMessage = 1000;  // bytes

v1::JobEvent EventOfRank(uint32_t rank, const std::string& what) {
  v1::JobEvent event;
  event.set_rank(rank);
  event.set_what(what);
  return event;
}

// None where the plan asks for none. Its name is a new one each time: PMIx takes whoever knows it
// for a rank.
std::optional<v1::PmixWorld> MakePmixWorld(const v1::LaunchPlan& plan) {
  if (!plan.pmix()) return std::nullopt;
  v1::PmixWorld world;
  world.set_name_space("autodist-" + plan.job_id() + "-" + base::RandomHex());
  for (const v1::NodePlan& node : plan.nodes()) {
    v1::PmixNode& named = *world.add_nodes();
    named.set_address(node.address());
    for (const v1::RankPlan& rank : node.ranks()) {
      if (!rank.auxiliary()) named.add_ranks(rank.rank());
    }
  }
  return world;
}

uint32_t ProcessesIn(const v1::LaunchPlan& plan) {
  int processes = 0;
  for (const v1::NodePlan& node : plan.nodes()) processes += node.ranks_size();
  return static_cast<uint32_t>(processes);
}

}  // namespace

Attempt::Attempt(uint32_t number, SharedPlan plan, std::vector<uint32_t> nodes,
                 const base::LogFolder& job_folder, int stop_signal,
                 std::chrono::milliseconds grace, Send send)
    : number_(number),
      plan_(std::move(plan)),
      nodes_(std::move(nodes)),
      folder_(number == 0 ? job_folder : job_folder.Within(control::AttemptName(number))),
      processes_(ProcessesIn(*plan_)),
      pmix_(MakePmixWorld(*plan_)),
      send_(std::move(send)),
      state_(*plan_, stop_signal, grace),
      rendezvous_(NodesOfRanks(), PmixNameSpace(), values_, calls_),
      modex_(NodesOfRanks(), PmixNameSpace(), values_, calls_, uint64_t{number} << 32,
             [this](uint32_t member, const v1::ModexQuestion& question) {
               v1::ChiefMessage message;
               *message.mutable_modex_question() = question;
               send_(member, std::move(message), nullptr);
             }) {}

bool Attempt::Has(uint32_t member, uint32_t rank) const {
  return std::ranges::any_of(member_plan(member).ranks(),
                             [&](const auto& own) { return own.rank() == rank; });
}

// By rank; what only serves the ranks is not in it.
std::vector<uint32_t> Attempt::NodesOfRanks() const {
  std::vector<uint32_t> nodes(plan_->world_size());
  for (const v1::NodePlan& node : plan_->nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (!rank.auxiliary()) nodes[rank.rank()] = node.node_rank();
    }
  }
  return nodes;
}

Attempt::Outcome Attempt::Take(uint32_t member, const v1::AgentEvent& event) {
  Outcome outcome;
  if (event.has_rank_started()) {
    if (Has(member, event.rank_started().rank())) state_.RankStarted();
  } else if (event.has_rank_exited()) {
    outcome = RankExited(member, event.rank_exited());
  } else if (event.has_rank_aborted()) {
    outcome = RankAborted(member, event.rank_aborted());
  } else if (event.has_rendezvous_request()) {
    outcome.sign_of_life = true;
    Answer(member, event.rendezvous_request());
  } else if (event.has_modex_answer()) {
    modex_.Answered(member, event.modex_answer());
  }
  return outcome;
}

Attempt::Outcome Attempt::RankExited(uint32_t member, const v1::RankExited& exit) {
  if (!Has(member, exit.rank()) || !IsNews(exit.rank(), v1::AgentEvent::kRankExited)) return {};
  if (exit.pid() > 0) state_.RankStarted();
  return {state_.RankExited(exit), false, EventOfRank(exit.rank(), HowItEnded(exit))};
}

Attempt::Outcome Attempt::RankAborted(uint32_t member, v1::RankAborted aborted) {
  const uint32_t rank = aborted.rank();
  if (!Has(member, rank) || !IsNews(rank, v1::AgentEvent::kRankAborted)) return {};
  aborted.set_message(base::Printable(aborted.message().substr(0, kLongestAbortMessage)));
  return {state_.RankAborted(aborted), false, EventOfRank(aborted.rank(), HowItEnded(aborted))};
}

void Attempt::Answer(uint32_t member, const v1::RendezvousRequest& request) {
  const auto reply = [this, member](uint64_t id, SharedValue value, const std::string& error) {
    v1::ChiefMessage message;
    message.mutable_rendezvous_reply()->set_id(id);
    message.mutable_rendezvous_reply()->set_error(error);
    send_(member, std::move(message), std::move(value));
  };
  if (request.has_modex()) {
    modex_.Handle(member, request, reply);
  } else {
    rendezvous_.Handle(member, request, reply);
  }
}

}  // namespace autodist::chief
