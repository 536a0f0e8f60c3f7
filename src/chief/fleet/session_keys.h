// The keys by which an agent knows its chief, a new one for each session.
#pragma once

#include <string>

#include "base/random.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::chief {

// Of one node. Not thread-safe.
class SessionKeys {
 public:
  // What an agent is greeted with (rpc/bootstrap_lines.h).
  std::string Greeting() const { return known_ + next_; }
  // A session begins. One that the agent may have taken already stays the next until that is known.
  void BeginSession() {
    if (next_ == known_) next_ = New();
  }
  // What the agent is sent in the session.
  const std::string& next() const { return next_; }
  // The agent has taken it.
  void Taken() { known_ = next_; }

 private:
  static std::string New() {
    std::string key = base::RandomHex();  // 128 random bits
    static_assert(rpc::kKeySize == 32);
    return key;
  }

  std::string known_ = New();  // that the agent is known to have
  std::string next_ = known_;  // that it may have instead
};

}  // namespace autodist::chief
