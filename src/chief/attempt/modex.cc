#include "chief/attempt/modex.h"

#include <utility>

#include "rpc/limits.h"

namespace autodist::chief {

void Modex::Handle(const v1::RendezvousRequest& request, Reply reply) {
  const uint32_t rank = request.modex().rank();
  std::string wrong;
  if (name_space_.empty() || request.modex().name_space() != name_space_) {
    wrong = "the rank that is asked for is of no attempt that runs";
  } else if (rank >= node_of_.size()) {
    wrong = "rank " + std::to_string(rank) + " is not in the job";
  }
  if (!wrong.empty()) {
    v1::RendezvousReply refusal;
    refusal.set_id(request.id());
    refusal.set_error(wrong);
    reply(refusal);
    return;
  }
  v1::ModexQuestion question;
  question.set_id(next_id_++);
  question.set_name_space(name_space_);
  question.set_rank(rank);
  waiting_[question.id()] = {node_of_[rank], request.id(), std::move(reply)};
  ask_(node_of_[rank], question);
}

void Modex::Answered(uint32_t node, const v1::ModexAnswer& answer) {
  const auto found = waiting_.find(answer.id());
  if (found == waiting_.end() || found->second.node != node) return;
  const Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  v1::RendezvousReply reply;
  reply.set_id(waiting.id);
  if (answer.data().size() > rpc::kLargestModex) {
    reply.set_error("the rank has published " + std::to_string(answer.data().size()) + " bytes; " +
                    std::to_string(rpc::kLargestModex) + " are allowed");
  } else {
    reply.set_value(answer.data());
    reply.set_error(answer.error());
  }
  waiting.reply(reply);
}

}  // namespace autodist::chief
