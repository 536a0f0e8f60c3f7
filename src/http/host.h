// Checks the Host header: whether a client connected to this server under a name of ours.
#pragma once

#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace autodist::http {

// Whether a client with this Host header means a server that listens at `listening` (nullopt: a
// unix socket, to which a port is forwarded). A foreign name is a sign of DNS rebinding. Ours are
// localhost and, on a network, any address and this machine's own name, with or without its domain.
bool IsOurHost(std::string_view header, const std::optional<base::IpAddress>& listening);

}  // namespace autodist::http
