// Quotes text of a spec's author for messages.
#pragma once

#include <string>
#include <string_view>

namespace autodist::spec {

// Returns the text in quotes, shortened, with control characters escaped. Hides the password of
// each "user:password@host".
std::string Quoted(std::string_view original);

// Hides what follows a ':', because it may be a password; not in an IPv6 address.
std::string UpToColon(std::string_view word);

}  // namespace autodist::spec
