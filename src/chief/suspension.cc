#include "chief/suspension.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace autodist::chief {
namespace {

constexpr std::chrono::milliseconds kDeliveryLimit{2'000};  // for the nodes to receive SIGTSTP

}  // namespace

void Suspension::Begin() {
  if (stage_ != Stage::kNone) return;
  stage_ = Stage::kStopping;
  until_ = parts_.loop->Now() + kDeliveryLimit;
  if (parts_.own_terminal) parts_.own_terminal->Suspend();
  parts_.nodes.Suspend();
}

void Suspension::Cancel() {
  if (stage_ == Stage::kStopping) stage_ = Stage::kCancelled;
}

void Suspension::Advance() {
  if (stage_ == Stage::kNone) return;
  const bool reported = parts_.nodes.AllRenewed() || parts_.loop->Now() >= until_;
  if (stage_ == Stage::kStopping && !reported) return;
  until_ = Loop::Time::max();
  if (std::exchange(stage_, Stage::kNone) == Stage::kStopping) {
    parts_.console.Clear();
    kill(getpid(), SIGSTOP);
    parts_.loop->Resumed();
  }
  parts_.nodes.Continue();
  parts_.input.Resume();
}

}  // namespace autodist::chief
