#include "control/terminal_call.h"

#include <algorithm>
#include <utility>

namespace autodist::control {

std::shared_ptr<TerminalCall> TerminalCall::Create(const JobRequests::Terminal& requests,
                                                   std::function<void()> done) {
  std::shared_ptr<TerminalCall> call(new TerminalCall(requests, std::move(done)));
  call->self_ = call;
  return call;
}

std::string TerminalCall::who() const {
  return "`autodist attach`, process " + std::to_string(first().pid()) + ",";
}

v1::TerminalInput TerminalCall::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

void TerminalCall::OnReadDone(bool ok) {
  if (!ok) return OnCancel();  // the client has left, or closed its side
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    first = !std::exchange(began_, true);
    if (first) first_ = input_;
    ahead_ = first ? 0 : input_.data().size();
    waiting_ = ahead_ > 0;
  }
  const bool goes_on = first || input_.data().empty();
  if (first) {
    requests_.use(shared_from_this());
  } else {
    requests_.type(shared_from_this(), input_);
  }
  if (goes_on) StartRead(&input_);
}

void TerminalCall::OnAttached() {
  const std::lock_guard lock(mutex_);
  if (!ended_ && !std::exchange(reported_, true)) StartWrite(&taken_);
}

void TerminalCall::OnTaken(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ahead_ -= std::min(ahead_, bytes);
  if (ended_ || ahead_ > 0 || !std::exchange(waiting_, false)) return;
  StartRead(&input_);
}

void TerminalCall::OnEnd(const Status& why) {
  const std::string remedy = Remedy(why);
  Refuse({static_cast<grpc::StatusCode>(why.code()),
          why.ok() ? "" : Message(why) + (remedy.empty() ? "" : "; " + remedy)});
}

void TerminalCall::Refuse(const grpc::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
  }
  Finish(why);
}

void TerminalCall::OnDone() {
  const auto self = std::exchange(self_, nullptr);
  bool began = false;
  {
    const std::lock_guard lock(mutex_);
    began = began_;
  }
  if (began) requests_.leave(self);
  done_();
}

}  // namespace autodist::control
