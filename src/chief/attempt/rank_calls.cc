#include "chief/attempt/rank_calls.h"

#include <utility>
#include <vector>

#include "base/random.h"

namespace autodist::chief {
namespace {

// Returns nullopt if the plan does not use PMIx. The name is new each time: PMIx accepts any
// process that knows it as a rank.
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

// Returns the nodes by rank, without auxiliary processes.
std::vector<uint32_t> NodesOfRanks(const v1::LaunchPlan& plan) {
  std::vector<uint32_t> nodes(plan.world_size());
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (!rank.auxiliary()) nodes[rank.rank()] = node.node_rank();
    }
  }
  return nodes;
}

}  // namespace

RankCalls::RankCalls(const v1::LaunchPlan& plan, uint32_t number, Send send)
    : pmix_(MakePmixWorld(plan)),
      send_(std::move(send)),
      rendezvous_(NodesOfRanks(plan), NameSpace(), values_, waiting_),
      modex_(NodesOfRanks(plan), NameSpace(), values_, waiting_, uint64_t{number} << 32,
             [this](uint32_t member, const v1::ModexQuestion& question) {
               v1::ChiefMessage message;
               *message.mutable_modex_question() = question;
               send_(member, std::move(message), nullptr);
             }) {}

void RankCalls::Take(uint32_t member, const v1::RendezvousRequest& request) {
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
