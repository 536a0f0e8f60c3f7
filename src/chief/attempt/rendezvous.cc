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
  if (const auto waiting = gets_.extract(request.key())) {
    for (const WaitingCall& get : waiting.mapped()) {
      waiting_.erase({get.node, get.id});
      calls_.Answer(get, value);
    }
  }
  return "";
}

std::string Rendezvous::Get(WaitingCall call, const std::string& key) {
  const auto found = stored_.find(key);
  if (found != stored_.end()) {
    call.reply(call.id, found->second, "");
    return "";
  }
  std::string wrong = CheckName(key);
  if (!wrong.empty()) return wrong;
  if (waiting_.contains({call.node, call.id})) return "the call's id is already in use";
  call.cost += key.size();
  wrong = calls_.Enter(call.node, call.cost);
  if (!wrong.empty()) return wrong;
  const auto gets = gets_.try_emplace(key).first;
  waiting_[{call.node, call.id}] = gets;
  gets->second.push_back(std::move(call));
  return "";
}

std::string Rendezvous::EnterBarrier(WaitingCall call, const v1::BarrierRequest& request) {
  std::string wrong = CheckName(request.name());
  if (!wrong.empty()) return wrong;
  if (request.rank() >= node_of_.size()) {
    return "rank " + std::to_string(request.rank()) + " is not in the job";
  }
  if (waiting_.contains({call.node, call.id})) return "the call's id is already in use";
  const auto found = barriers_.find(request.name());
  if (found != barriers_.end() && found->second.entered.contains(request.rank())) {
    return "rank " + std::to_string(request.rank()) + " is in the barrier '" + request.name() +
           "' already";
  }
  call.cost += request.name().size();
  wrong = calls_.Enter(call.node, call.cost);
  if (!wrong.empty()) return wrong;
  const auto barrier = barriers_.try_emplace(request.name()).first;
  waiting_[{call.node, call.id}] = barrier;
  barrier->second.entered.emplace(request.rank(), std::move(call));
  if (barrier->second.entered.size() < node_of_.size()) return "";
  const auto complete = barriers_.extract(barrier);
  for (const auto& [rank, entered] : complete.mapped().entered) {
    waiting_.erase({entered.node, entered.id});
    calls_.Answer(entered, nullptr);
  }
  return "";
}

// Removes a waiting call as if it had never been made.
void Rendezvous::Forget(uint32_t node, uint64_t id) {
  const auto waiting = waiting_.extract({node, id});
  if (!waiting) return;  // answered meanwhile
  const auto is_it = [&](const WaitingCall& call) { return call.node == node && call.id == id; };
  if (const auto* gets = std::get_if<Gets::iterator>(&waiting.mapped())) {
    auto& calls = (*gets)->second;
    const auto call = std::ranges::find_if(calls, is_it);
    calls_.Leave(node, call->cost);
    calls.erase(call);
    if (calls.empty()) gets_.erase(*gets);
    return;
  }
  const auto barrier = std::get<Barriers::iterator>(waiting.mapped());
  auto& entered = barrier->second.entered;
  const auto call =
      std::ranges::find_if(entered, [&](const auto& rank) { return is_it(rank.second); });
  calls_.Leave(node, call->second.cost);
  entered.erase(call);
  if (entered.empty()) barriers_.erase(barrier);
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
