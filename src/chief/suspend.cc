#include "chief/suspend.h"

#include <signal.h>
#include <unistd.h>

namespace autodist::chief {
namespace {

constexpr std::chrono::milliseconds kSuspendLimit{2'000};  // for the nodes to hear of it

}  // namespace

v1::ChiefMessage SignalMessage(int signal) {
  v1::ChiefMessage message;
  message.mutable_signal()->set_signal(signal);
  return message;
}

void Suspend(Loop& loop, NodeWatch& nodes) {
  nodes.SendToAll(SignalMessage(SIGTSTP));
  nodes.RenewAll();  // its answer tells that the message has been heard
  loop.RunUntil([&] { return nodes.AllRenewed(); }, loop.Now() + kSuspendLimit);
  kill(getpid(), SIGSTOP);
  nodes.Forgive();
  nodes.SendToAll(SignalMessage(SIGCONT));
}

}  // namespace autodist::chief
