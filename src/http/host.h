// The Host header of a request: whether the client was sent here, or to a name of somewhere else.
#pragma once

#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace autodist::http {

// Whether a client that sends this Host header means a server that listens at `listening` (nullopt:
// a unix socket, to which a port is forwarded). A page from elsewhere whose name has been made to
// mean this machine (DNS rebinding) sends a foreign one. Ours are localhost and, on a network, any
// address and the name that this machine gives itself, whole or without its domain.
bool IsOurHost(std::string_view header, const std::optional<base::IpAddress>& listening);

}  // namespace autodist::http
