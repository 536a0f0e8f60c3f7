#include "chief/attempt/rendezvous.h"

#include <algorithm>

#include "base/quantity.h"
#include "rpc/limits.h"

namespace autodist::chief {
namespace {

std::string TooLarge(const std::string& what, size_t size, size_t limit) {
  return what + std::to_string(size) + " bytes; " + std::to_string(limit) + " are allowed";
}

std::string CheckName(const std::string& name) {
  return name.size() > rpc::kMaxNameLength
             ? TooLarge("the name has ", name.size(), rpc::kMaxNameLength)
             : "";
}

// Ranks that read a key below "autodist/node-N/" rely on its value: only ranks of node N can set
// it.
std::string CheckSetter(uint32_t node, const std::string& key) {
  return key.starts_with("autodist/") &&
                 !key.starts_with("autodist/node-" + std::to_string(node) + "/")
             ? "ranks of this node cannot set the key '" + key + "'"
             : "";
}

}  // namespace

void Rendezvous::Handle(uint32_t node, const v1::RendezvousRequest& request, const Reply& reply) {
  WaitingCall call{node, request.id(), WaitingCalls::kCostOfCall, reply};
  std::string refusal;
  switch (request.operation_case()) {
    case v1::RendezvousRequest::kSet:
      refusal = Set(node, request.set());
      if (refusal.empty()) reply(request.id(), nullptr, "");
      break;
    case v1::RendezvousRequest::kGet:
      refusal = Get(std::move(call), request.get().key());
      break;
    case v1::RendezvousRequest::kBarrier:
      refusal = EnterBarrier(std::move(call), request.barrier());
      break;
    case v1::RendezvousRequest::kGather:
      refusal = Gather(std::move(call), request.gather());
      break;
    case v1::RendezvousRequest::kCancel:
      return Forget(node, request.id());
    case v1::RendezvousRequest::kModex:  // handled by chief/attempt/modex.h
    case v1::RendezvousRequest::OPERATION_NOT_SET:
      refusal = "unknown operation";
      break;
  }
  if (!refusal.empty()) reply(request.id(), nullptr, refusal);
}

std::string Rendezvous::Set(uint32_t node, const v1::SetRequest& request) {
  std::string wrong = CheckName(request.key());
  if (wrong.empty()) wrong = CheckSetter(node, request.key());
  if (!wrong.empty()) return wrong;
  if (request.value().size() > rpc::kLargestValue) {
    return TooLarge("the value of '" + request.key() + "' has ", request.value().size(),
                    rpc::kLargestValue);
  }
  const SharedValue value = values_.Make(node, request.value(), request.key().size());
  if (!value) {
    return "the job's key/value store is full: it takes " + base::Bytes(Values::kMaxOfNode) +
           " of a node's ranks, and " + base::Bytes(Values::kMaxBytes) + " of all";
  }
  stored_[request.key()] = value;
  AnswerAll(gets_, request.key(), value);
  return "";
}

std::string Rendezvous::Get(WaitingCall call, const std::string& key) {
  const auto found = stored_.find(key);
  if (found != stored_.end()) {
    call.reply(call.id, found->second, "");
    return "";
  }
  return Wait(std::move(call), gets_, key, ++last_get_);
}

std::string Rendezvous::EnterBarrier(WaitingCall call, const v1::BarrierRequest& request) {
  const std::string& name = request.name();
  if (request.rank() >= node_of_.size() || node_of_[request.rank()] != call.node) {
    return "rank " + std::to_string(request.rank()) + " is not a rank of this node";
  }
  std::string wrong = Wait(std::move(call), barriers_, name, request.rank());
  if (!wrong.empty()) return wrong;
  if (barriers_.at(name).size() == node_of_.size()) AnswerAll(barriers_, name, nullptr);
  return "";
}

std::string Rendezvous::Wait(WaitingCall call, Queues& queues, const std::string& name,
                             uint64_t position) {
  std::string wrong = CheckName(name);
  if (!wrong.empty()) return wrong;
  if (waiting_.contains({call.node, call.id})) return "the call's id is already in use";
  const auto queue = queues.find(name);
  if (queue != queues.end() && queue->second.contains(position)) {
    return "rank " + std::to_string(position) + " is in the barrier '" + name + "' already";
  }
  call.cost += name.size();
  wrong = calls_.Enter(call.node, call.cost);
  if (!wrong.empty()) return wrong;
  const std::pair key(call.node, call.id);
  const auto entered = queues.try_emplace(name).first;
  const auto place = entered->second.emplace(position, std::move(call)).first;
  waiting_.emplace(key, Place{queues, entered, place});
  return "";
}

void Rendezvous::AnswerAll(Queues& queues, const std::string& name, const SharedValue& value) {
  const auto queue = queues.extract(name);
  if (!queue) return;
  for (const auto& [position, call] : queue.mapped()) {
    waiting_.erase({call.node, call.id});
    calls_.Answer(call, value);
  }
}

// Removes a waiting call as if it had never been made.
void Rendezvous::Forget(uint32_t node, uint64_t id) {
  const auto waiting = waiting_.extract({node, id});
  if (!waiting) return;  // answered meanwhile
  const Place& place = waiting.mapped();
  calls_.Leave(node, place.call->second.cost);
  place.queue->second.erase(place.call);
  if (place.queue->second.empty()) place.queues.erase(place.queue);
}

std::set<uint32_t> Rendezvous::NodesOf(const v1::GatherRequest& request) const {
  std::set<uint32_t> nodes;
  for (const uint32_t rank : request.ranks()) nodes.insert(node_of_[rank]);
  if (request.ranks().empty()) nodes.insert(node_of_.begin(), node_of_.end());
  return nodes;
}

std::string Rendezvous::CheckGather(uint32_t node, const v1::GatherRequest& request) const {
  if (name_space_.empty() || request.name_space() != name_space_) {
    return "the gathering ranks do not belong to the running attempt";
  }
  // Not greater than its predecessor: repeated or out of order.
  const auto wrong = std::ranges::adjacent_find(request.ranks(), std::ranges::greater_equal());
  if (wrong != request.ranks().end()) {
    return "rank " + std::to_string(*wrong) + " is not in its place among the ranks that gather";
  }
  if (!request.ranks().empty() && *request.ranks().rbegin() >= node_of_.size()) {
    return "rank " + std::to_string(*request.ranks().rbegin()) + " is not in the job";
  }
  if (!NodesOf(request).contains(node)) return "no rank of this node takes part";
  if (request.data().size() > rpc::kLargestContribution) {
    return TooLarge("this node has to gather ", request.data().size(), rpc::kLargestContribution);
  }
  return "";
}

std::string Rendezvous::Gather(WaitingCall call, const v1::GatherRequest& request) {
  std::string wrong = CheckGather(call.node, request);
  if (!wrong.empty()) return wrong;
  const std::vector<uint32_t> ranks(request.ranks().begin(), request.ranks().end());
  const auto found = gathers_.find(ranks);
  if (found != gathers_.end() && found->second.data.contains(call.node)) {
    return "this node has contributed to the gather already";
  }
  call.cost += request.data().size() + ranks.size() * sizeof ranks[0];
  wrong = calls_.Enter(call.node, call.cost);
  if (!wrong.empty()) return wrong;
  Gathering& gathering = gathers_[ranks];
  if (gathering.nodes.empty()) gathering.nodes = NodesOf(request);
  gathering.size += request.data().size();
  gathering.data[call.node] = gathering.size > rpc::kLargestGather ? "" : request.data();
  gathering.waiting.push_back(std::move(call));
  if (gathering.data.size() == gathering.nodes.size()) Complete(gathers_.extract(ranks).mapped());
  return "";
}

void Rendezvous::Complete(const Gathering& gathering) {
  SharedValue all;
  std::string error;
  if (gathering.size > rpc::kLargestGather) {
    error = TooLarge("the nodes have to gather ", gathering.size, rpc::kLargestGather);
  } else {
    std::string text;
    text.reserve(gathering.size);
    for (const auto& [from, data] : gathering.data) text += data;
    all = values_.Make(gathering.waiting.back().node, std::move(text));
    if (!all) error = "too much data of ranks is queued for the nodes";
  }
  for (const WaitingCall& call : gathering.waiting) calls_.Answer(call, all, error);
}

}  // namespace autodist::chief
