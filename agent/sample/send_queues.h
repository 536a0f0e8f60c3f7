// What waits to be sent at a node's network interfaces, by rtnetlink(7): a card that is too slow
// for what it is given, or is held down, has a queue that does not empty.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace autodist::agent {

// Bytes by the index of the interface.
using SendQueues = std::map<unsigned, uint64_t>;

// Adds what a part of the kernel's answer tells; true: it is the last.
bool AddSendQueues(std::string_view messages, SendQueues& queues);

// Not thread-safe.
class SendQueueReader {
 public:
  SendQueueReader();

  // Interfaces that have no queue, or all where the kernel does not tell, are missing.
  const SendQueues& Read();

 private:
  base::UniqueFd socket_;
  std::vector<char> buffer_;
  SendQueues queues_;
};

}  // namespace autodist::agent
