// The keys by which an agent recognizes its chief, a new one for each session.
#pragma once

#include <string>

#include "base/random.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::chief {

// For one node. Not thread-safe.
class SessionKeys {
 public:
  // Returns the greeting for the agent (rpc/bootstrap_lines.h).
  std::string Greeting() const { return known_ + next_; }
  // Begins a session. A next key that the agent may already have stays until it is confirmed.
  void BeginSession() {
    if (next_ == known_) next_ = New();
  }
  // The key that the agent receives in the session.
  const std::string& next() const { return next_; }
  // The agent has the next key.
  void Taken() { known_ = next_; }

 private:
  static std::string New() {
    std::string key = base::RandomHex();  // 128 random bits
    static_assert(rpc::kKeySize == 32);
    return key;
  }

  std::string known_ = New();  // the agent is known to have it
  std::string next_ = known_;  // the agent may have it instead
};

}  // namespace autodist::chief
