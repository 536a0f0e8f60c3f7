#include "chief/attempt/rendezvous.h"

#include <algorithm>

#include "rpc/limits.h"

namespace autodist::chief {
namespace {

v1::RendezvousReply ReplyTo(uint64_t id, const std::string& value = "",
                            const std::string& error = "") {
  v1::RendezvousReply reply;
  reply.set_id(id);
  reply.set_value(value);
  reply.set_error(error);
  return reply;
}

}  // namespace

void Rendezvous::Handle(uint32_t node, const v1::RendezvousRequest& request, Reply reply) {
  switch (request.operation_case()) {
    case v1::RendezvousRequest::kSet: {
      const std::string error = Set(request.set());
      reply(ReplyTo(request.id(), "", error));
      break;
    }
    case v1::RendezvousRequest::kGet: {
      const auto found = values_.find(request.get().key());
      if (found != values_.end()) {
        reply(ReplyTo(request.id(), found->second));
      } else {
        gets_[request.get().key()].push_back({request.id(), std::move(reply)});
      }
      break;
    }
    case v1::RendezvousRequest::kBarrier:
      EnterBarrier(request.barrier(), {request.id(), std::move(reply)});
      break;
    case v1::RendezvousRequest::kGather:
      Gather(node, request.gather(), {request.id(), std::move(reply)});
      break;
    case v1::RendezvousRequest::kModex:  // another's (chief/attempt/modex.h)
    case v1::RendezvousRequest::OPERATION_NOT_SET:
      reply(ReplyTo(request.id(), "", "unknown operation"));
      break;
  }
}

std::string Rendezvous::Set(const v1::SetRequest& request) {
  if (request.value().size() > kLargestValue) {
    return "the value of '" + request.key() + "' has " + std::to_string(request.value().size()) +
           " bytes; " + std::to_string(kLargestValue) + " are allowed";
  }
  const auto old = values_.find(request.key());
  const size_t replaced = old == values_.end() ? 0 : request.key().size() + old->second.size();
  const size_t stored = stored_ - replaced + request.key().size() + request.value().size();
  if (stored > kLargestStore) return "the job's key/value store is full";
  stored_ = stored;
  const std::string& value = values_[request.key()] = request.value();
  if (const auto waiting = gets_.extract(request.key())) {
    for (const Waiting& get : waiting.mapped()) get.reply(ReplyTo(get.id, value));
  }
  return "";
}

void Rendezvous::EnterBarrier(const v1::BarrierRequest& request, Waiting waiting) {
  if (request.rank() >= node_of_.size()) {
    waiting.reply(
        ReplyTo(waiting.id, "", "rank " + std::to_string(request.rank()) + " is not in the job"));
    return;
  }
  BarrierState& barrier = barriers_[request.name()];
  if (!barrier.entered.insert(request.rank()).second) {
    waiting.reply(ReplyTo(waiting.id, "",
                          "rank " + std::to_string(request.rank()) + " is in the barrier '" +
                              request.name() + "' already"));
    return;
  }
  barrier.waiting.push_back(std::move(waiting));
  if (barrier.entered.size() < node_of_.size()) return;
  const auto complete = barriers_.extract(request.name());
  for (const Waiting& rank : complete.mapped().waiting) rank.reply(ReplyTo(rank.id));
}

std::set<uint32_t> Rendezvous::NodesOf(const v1::GatherRequest& request) const {
  std::set<uint32_t> nodes;
  for (const uint32_t rank : request.ranks()) nodes.insert(node_of_[rank]);
  if (request.ranks().empty()) nodes.insert(node_of_.begin(), node_of_.end());
  return nodes;
}

std::string Rendezvous::CheckGather(uint32_t node, const v1::GatherRequest& request) const {
  if (name_space_.empty() || request.name_space() != name_space_) {
    return "the ranks that gather are of no attempt that runs";
  }
  // Not less than the one before it: twice, or in another order.
  const auto wrong = std::ranges::adjacent_find(request.ranks(), std::ranges::greater_equal());
  if (wrong != request.ranks().end()) {
    return "rank " + std::to_string(*wrong) + " is not in its place among the ranks that gather";
  }
  if (!request.ranks().empty() && *request.ranks().rbegin() >= node_of_.size()) {
    return "rank " + std::to_string(*request.ranks().rbegin()) + " is not in the job";
  }
  if (!NodesOf(request).contains(node)) return "no rank of this node takes part";
  return "";
}

void Rendezvous::Gather(uint32_t node, const v1::GatherRequest& request, Waiting waiting) {
  const std::string wrong = CheckGather(node, request);
  if (!wrong.empty()) {
    waiting.reply(ReplyTo(waiting.id, "", wrong));
    return;
  }
  const std::vector<uint32_t> ranks(request.ranks().begin(), request.ranks().end());
  GatherState& gather = gathers_[ranks];
  if (gather.data.contains(node)) {
    waiting.reply(ReplyTo(waiting.id, "", "this node has contributed to the gather already"));
    return;
  }
  if (gather.nodes.empty()) gather.nodes = NodesOf(request);
  gather.size += request.data().size();
  gather.data[node] = gather.size > rpc::kLargestGather ? "" : request.data();
  gather.waiting.push_back(std::move(waiting));
  if (gather.data.size() < gather.nodes.size()) return;

  const auto complete = gathers_.extract(ranks);
  std::string all;
  std::string error;
  if (complete.mapped().size > rpc::kLargestGather) {
    error = "the nodes have " + std::to_string(complete.mapped().size) + " bytes to gather; " +
            std::to_string(rpc::kLargestGather) + " are allowed";
  } else {
    all.reserve(complete.mapped().size);
    for (const auto& [from, data] : complete.mapped().data) all += data;
  }
  for (const Waiting& asked : complete.mapped().waiting) {
    asked.reply(ReplyTo(asked.id, all, error));
  }
}

}  // namespace autodist::chief
