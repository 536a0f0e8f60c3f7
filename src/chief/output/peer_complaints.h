// Recognizes messages of programs that fail because another rank has ended or does not answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autodist::chief {

// Returns whether the text of an exception or another fatal message is about a peer, or the
// connection to one.
bool BlamesPeer(std::string_view text);

// Returns whether it is about a wait that timed out: the awaited rank may still run.
bool AwaitedInVain(std::string_view text);

// How many collectives a rank has enqueued in a process group of PyTorch.
struct EnqueuedCollectives {
  std::string group;  // as PyTorch names it; may be empty
  uint64_t number = 0;
};

// Returns what NCCL's watchdog of PyTorch says about its rank in a line; nullopt: nothing.
std::optional<EnqueuedCollectives> EnqueuedIn(std::string_view line);

}  // namespace autodist::chief
