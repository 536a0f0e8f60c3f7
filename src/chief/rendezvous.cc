#include "chief/rendezvous.h"

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

void Rendezvous::Handle(const v1::RendezvousRequest& request, Reply reply) {
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
  if (request.rank() >= world_size_) {
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
  if (barrier.entered.size() < world_size_) return;
  const auto complete = barriers_.extract(request.name());
  for (const Waiting& rank : complete.mapped().waiting) rank.reply(ReplyTo(rank.id));
}

}  // namespace autodist::chief
