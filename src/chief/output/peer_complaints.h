// Recognizes messages of programs that fail because another rank has ended or does not answer.
#pragma once

#include <string_view>

namespace autodist::chief {

// Returns whether the text of an exception or another fatal message is about a peer, or the
// connection to one.
bool BlamesPeer(std::string_view text);

// Returns whether it is about a wait that timed out: the awaited rank may still run.
bool AwaitedInVain(std::string_view text);

}  // namespace autodist::chief
