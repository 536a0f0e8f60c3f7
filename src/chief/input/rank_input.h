// The input of the one rank that has one (--stdin-rank): who gives it, and how much of it is on its
// way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "autodist/v1/agent.pb.h"
#include "chief/attempt/attempt.h"
#include "control/terminal_user.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class RankInput {
 public:
  using User = control::TerminalUser;

  // Sends a message to a node of the job, however long it takes to arrive.
  using Send = std::function<void(uint32_t node, v1::ChiefMessage message)>;
  // `first` has the input from the start of each attempt on; null: nobody.
  RankInput(Send send, std::shared_ptr<User> first)
      : send_(std::move(send)), first_(std::move(first)) {}

  // Before the ranks start, so that a terminal has its size then.
  void BeginAttempt(const Attempt& attempt);
  // No rank runs any more.
  void EndAttempt() { End(OkStatus()); }
  // What a member tells of its ranks.
  void Take(uint32_t member, const v1::AgentEvent& event);

  // From now on, or from the rank's start on, `user` is at its terminal; else it is told why not.
  void Use(std::shared_ptr<User> user);
  // From who is there; others give nothing. With pieces of input no more than agents keep
  // (StdinReader::kAhead) may be given before they are taken.
  void Give(const User& user, const v1::TerminalInput& input, bool end = false);
  void Leave(const User& user);

  // Who is there has been away, with this process.
  void Resume() {
    if (user_ && run_ == Run::kNow) user_->OnYours();
  }

 private:
  Status WhyNot(uint32_t rank) const;
  void End(const Status& why);

  const Send send_;
  const std::shared_ptr<User> first_;
  std::shared_ptr<User> user_;  // null: nobody
  v1::RankPlan rank_;           // without an input: no rank has any
  uint32_t member_ = 0;         // on which it runs
  uint32_t node_ = 0;           // likewise
  enum class Run { kNotYet, kNow, kOver };
  Run run_ = Run::kOver;
  uint64_t given_ = 0;  // bytes, in this attempt
  uint64_t taken_ = 0;
};

}  // namespace autodist::chief
