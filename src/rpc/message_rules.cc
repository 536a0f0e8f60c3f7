#include "rpc/message_rules.h"

namespace autodist::rpc {
namespace {

constexpr int64_t kLatestTime = int64_t{1} << 62;  // nanoseconds since 1970
constexpr uint32_t kLargestPort = 65'535;

}  // namespace

Status BrokenRule(const std::string& how) {
  return WithRemedy(
      Error(StatusCode::kInvalidArgument, "its agent violates the protocol (" + how + ")"),
      "another program answers there, or the agent is damaged: inspect "
      "the node before you use it again");
}

bool IsBrokenRule(const Status& status) { return status.code() == StatusCode::kInvalidArgument; }

Status CheckTime(int64_t time_ns) {
  return time_ns < 0 || time_ns > kLatestTime
             ? BrokenRule("a time of " + std::to_string(time_ns) + " ns")
             : OkStatus();
}

Status CheckPort(uint32_t port) {
  return port > kLargestPort ? BrokenRule("a port " + std::to_string(port)) : OkStatus();
}

}  // namespace autodist::rpc
