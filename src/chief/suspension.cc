#include "chief/suspension.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace autodist::chief {
namespace {

constexpr std::chrono::milliseconds kTellingLimit{2'000};  // for the nodes to hear of it

}  // namespace

void Suspension::Begin() {
  if (stage_ != Stage::kNone) return;
  stage_ = Stage::kTelling;
  until_ = parts_.loop->Now() + kTellingLimit;
  if (parts_.own_terminal) parts_.own_terminal->Suspend();
  parts_.SendSignal(SIGTSTP);
  parts_.nodes.RenewAll();  // the answer shows that the node has received the message
}

void Suspension::Cancel() {
  if (stage_ == Stage::kTelling) stage_ = Stage::kCancelled;
}

void Suspension::Advance() {
  if (stage_ == Stage::kNone) return;
  const bool reported = parts_.nodes.AllRenewed() || parts_.loop->Now() >= until_;
  if (stage_ == Stage::kTelling && !reported) return;
  until_ = Loop::Time::max();
  if (std::exchange(stage_, Stage::kNone) == Stage::kTelling) {
    parts_.console.Clear();
    kill(getpid(), SIGSTOP);
    parts_.nodes.ResetSilenceTimers();
    parts_.stop.Resumed(parts_.loop->Now());
  }
  parts_.SendSignal(SIGCONT);
  parts_.input.Resume();
  parts_.hang.Alive(parts_.loop->Now());
}

}  // namespace autodist::chief
