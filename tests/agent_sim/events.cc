#include "agent_sim/events.h"

namespace autodist::test {
namespace {

int32_t PidOf(uint32_t rank) { return static_cast<int32_t>(rank) + 2; }

}  // namespace

v1::AgentEvent Resumed(uint64_t instance) {
  v1::AgentEvent event;
  event.mutable_resumed()->set_instance(instance);
  return event;
}

v1::AgentEvent RankStarted(uint32_t rank) {
  v1::AgentEvent event;
  event.mutable_rank_started()->set_rank(rank);
  event.mutable_rank_started()->set_pid(PidOf(rank));
  return event;
}

v1::AgentEvent RankExited(uint32_t rank, std::optional<int> code) {
  v1::AgentEvent event;
  event.mutable_rank_exited()->set_rank(rank);
  event.mutable_rank_exited()->set_pid(PidOf(rank));
  if (code) event.mutable_rank_exited()->set_exit_code(*code);
  return event;
}

v1::AgentEvent RankWrote(uint32_t rank, uint64_t offset, const std::string& data) {
  v1::AgentEvent event;
  event.mutable_output()->set_rank(rank);
  event.mutable_output()->set_stream(v1::OUTPUT_STREAM_STDOUT);
  event.mutable_output()->set_offset(offset);
  event.mutable_output()->set_data(data);
  return event;
}

v1::AgentEvent Warning(const std::string& what) {
  v1::AgentEvent event;
  event.mutable_warning()->set_what(what);
  return event;
}

}  // namespace autodist::test
