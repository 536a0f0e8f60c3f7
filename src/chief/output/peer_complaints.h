// What programs say when another rank has gone, or does not answer: they fail because of it.
#pragma once

#include <string_view>

namespace autodist::chief {

// Whether the text of an exception, or of another fatal message, is about a peer or the connection
// with one.
bool BlamesPeer(std::string_view text);

// Whether it is about a wait that took too long: who was waited for may well run.
bool AwaitedInVain(std::string_view text);

}  // namespace autodist::chief
