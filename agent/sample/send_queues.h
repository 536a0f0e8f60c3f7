// The send queues of a node's network interfaces, by rtnetlink(7): a card that is overloaded or
// throttled has a queue that does not empty.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace autodist::agent {

// Bytes by interface index.
using SendQueues = std::map<unsigned, uint64_t>;

// Adds a part of the kernel's answer; returns whether it is the last part.
bool AddSendQueues(std::string_view messages, SendQueues& queues);

// Not thread-safe.
class SendQueueReader {
 public:
  SendQueueReader();

  // Omits interfaces without a queue, and all if the kernel does not support it.
  const SendQueues& Read();

 private:
  base::UniqueFd socket_;
  std::vector<char> buffer_;
  SendQueues queues_;
};

}  // namespace autodist::agent
