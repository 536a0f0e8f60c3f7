// The input of the rank that has one (--stdin-rank): who sends it, and how much is unacknowledged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "autodist/v1/agent.pb.h"
#include "chief/attempt/attempt.h"
#include "control/terminal_user.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class RankInput {
 public:
  using User = control::TerminalUser;

  // Sends a message to a node of the job, even if it arrives much later.
  using Send = std::function<void(uint32_t node, v1::ChiefMessage message)>;
  // `first` is the user from the start of each attempt; null: none.
  RankInput(Send send, std::shared_ptr<User> first)
      : send_(std::move(send)), first_(std::move(first)) {}

  // Called before the ranks start, so that a terminal has its size then.
  void BeginAttempt(const Attempt& attempt);
  // No rank runs any more.
  void EndAttempt() { End(OkStatus()); }
  // Handles an event of a member.
  void Take(uint32_t member, const v1::AgentEvent& event);

  // Connects `user` to its terminal, now or when the rank starts; calls OnEnd with the reason if
  // refused.
  void Use(std::shared_ptr<User> user);
  // Passes on input of the current user; ignores that of others. The caller keeps at most
  // StdinReader::kAhead bytes unacknowledged, the limit of the agents.
  void Give(const User& user, const v1::TerminalInput& input, bool end = false);
  void Leave(const User& user);

  // Resumes the current user after this process was stopped.
  void Resume() {
    if (user_ && run_ == Run::kNow) user_->OnAttached();
  }

 private:
  Status WhyNot(uint32_t rank) const;
  void End(const Status& why);

  const Send send_;
  const std::shared_ptr<User> first_;
  std::shared_ptr<User> user_;  // null: none
  v1::RankPlan rank_;           // without stdin: no rank has input
  uint32_t member_ = 0;         // the rank's member
  uint32_t node_ = 0;           // the rank's node
  enum class Run { kNotYet, kNow, kOver };
  Run run_ = Run::kOver;
  uint64_t given_ = 0;  // bytes, in this attempt
  uint64_t taken_ = 0;
};

}  // namespace autodist::chief
