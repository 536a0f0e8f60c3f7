#include "chief/attempt/modex.h"

#include <utility>

#include "rpc/limits.h"

namespace autodist::chief {

std::string Modex::Check(const v1::ModexRequest& request) const {
  if (name_space_.empty() || request.name_space() != name_space_) {
    return "the requested rank does not belong to the running attempt";
  }
  if (request.rank() >= node_of_.size()) {
    return "rank " + std::to_string(request.rank()) + " is not in the job";
  }
  return "";
}

void Modex::Handle(uint32_t node, const v1::RendezvousRequest& request, const Reply& reply) {
  const uint32_t rank = request.modex().rank();
  std::string wrong = Check(request.modex());
  if (wrong.empty()) wrong = calls_.Enter(node, WaitingCalls::kCostOfCall);
  if (!wrong.empty()) return reply(request.id(), nullptr, wrong);
  const auto [open, is_new] = open_.try_emplace(rank, next_id_);
  Question& waiting = questions_[open->second];
  waiting.rank = rank;
  waiting.calls.push_back({node, request.id(), WaitingCalls::kCostOfCall, reply});
  if (!is_new) return;
  v1::ModexQuestion question;
  question.set_id(next_id_++);
  question.set_name_space(name_space_);
  question.set_rank(rank);
  ask_(node_of_[rank], question);
}

void Modex::Answered(uint32_t node, const v1::ModexAnswer& answer) {
  const auto found = questions_.find(answer.id());
  if (found == questions_.end() || node_of_[found->second.rank] != node) return;
  open_.erase(found->second.rank);
  const std::vector<WaitingCall> calls = std::move(found->second.calls);
  questions_.erase(found);
  std::string error = answer.error();
  SharedValue value;
  if (answer.data().size() > rpc::kLargestModex) {
    error = "the rank has published " + std::to_string(answer.data().size()) + " bytes; " +
            std::to_string(rpc::kLargestModex) + " are allowed";
  } else if (error.empty()) {
    value = values_.Make(node, answer.data());
    if (!value) error = "too much data of ranks is queued for the nodes";
  }
  for (const WaitingCall& call : calls) calls_.Answer(call, value, error);
}

}  // namespace autodist::chief
