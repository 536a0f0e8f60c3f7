// Hints for known failures of programs. Pure logic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/session.pb.h"

namespace autodist::diagnosis {

// How a rank failed. All of it is untrusted.
struct FailedRank {
  uint32_t rank = 0;
  std::string node = {};                // its address
  std::string reason = {};              // its own message in one line; "": none
  std::vector<std::string> lines = {};  // of that message, as written
  bool has_input = false;               // its stdin is the input of autodist
  bool bus_error = false;               // it was ended by SIGBUS
  uint32_t master_port = 0;             // of the job; 0: none
  v1::FailureFacts facts = {};          // about the node
};

struct FailureHint {
  std::string fact;  // about the rank or its node; "": the message says all
  std::string remedy;
};

// Returns a hint if the rank's message, for ports and memory with the facts, shows the cause.
std::optional<FailureHint> HintOf(const FailedRank& failed);

// The remedies for known messages, as written: with sections for sources (base/for_user.h).
std::vector<std::string> KnownRemedies();

// "/dev/shm on the node is full (2.0 MiB)", if so little of it is free that a write to a mapped
// file there may fail; otherwise "".
std::string FullSharedMemoryText(const v1::FailureFacts& facts);

}  // namespace autodist::diagnosis
