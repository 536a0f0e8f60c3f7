#include "chief/warm_start.h"

#include <chrono>
#include <utility>

namespace autodist::chief {
namespace {

// Programs whose steps are not known have imported their modules after this time.
constexpr std::chrono::milliseconds kImportTime{30'000};

}  // namespace

void WarmStart::BeginAttempt() {
  const bool warm = parts_.options.request().warm();
  due_ = warm ? parts_.loop->Now() + kImportTime : Loop::Time::max();
}

Loop::Time WarmStart::Tick(const Attempt& attempt) {
  if (due_ == Loop::Time::max() || (parts_.loop->Now() < due_ && !parts_.history.step_time())) {
    return due_;
  }
  due_ = Loop::Time::max();
  asked_ = true;
  for (uint32_t member = 0; member < attempt.nodes().size(); ++member) {
    v1::ChiefMessage message;
    message.mutable_keep_warm()->set_report(member == 0);
    parts_.nodes.node(attempt.nodes()[member]).SendReliably(std::move(message));
  }
  return due_;
}

void WarmStart::Take(uint32_t member, const v1::ImportedModules& modules) {
  if (member != 0 || !std::exchange(asked_, false) || modules.names().empty()) return;
  for (uint32_t node = 0; node < parts_.nodes.size(); ++node) {
    if (parts_.nodes.state(node).state() != NodeState::kSpare) continue;
    v1::ChiefMessage message;
    message.mutable_keep_warm()->set_modules(modules.names());
    parts_.nodes.node(node).SendReliably(std::move(message));
  }
}

}  // namespace autodist::chief
