// What values of keys of a spec may be, as JSON Schema says it, for the tables of spec/key.h.
#pragma once

#include <string>

namespace autodist::spec {

// "type": "string", and not an empty one.
std::string TextSchema();
// A text that is a whole match of the regular expression.
std::string PatternSchema(const std::string& pattern);
// A list of such values.
std::string ListSchema(const std::string& entry);

// Regular expressions of addresses as spec/address.h reads them.
std::string AddressPattern();    // a host or a range of them, in brackets with a port
std::string HostsPattern();      // a host or a range of them
std::string ProxyJumpPattern();  // hosts to go through, with users and ports

}  // namespace autodist::spec
