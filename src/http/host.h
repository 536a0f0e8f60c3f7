// The Host header of a request: whether the client was sent here, or to a name of somewhere else.
#pragma once

#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace autodist::http {

// Names by which a client may call a server.
enum class Names {
  kOwn,  // an address, localhost, and the name of this machine
  kAny,  // on a network any name, as resolvers have several; on a loopback address those of kOwn
};

// Whether a client that sends this Host header means a server that listens at `listening` (nullopt:
// a unix socket, to which a port is forwarded). A page from elsewhere whose name has been made to
// mean this machine (DNS rebinding) sends a foreign one.
bool IsOurHost(std::string_view header, const std::optional<base::IpAddress>& listening,
               Names names = Names::kOwn);

}  // namespace autodist::http
