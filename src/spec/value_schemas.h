// JSON Schemas of values, for the tables of spec/key.h.
#pragma once

#include <string>

namespace autodist::spec {

// "type": "string", not empty.
std::string TextSchema();
// A text that the regular expression matches completely.
std::string PatternSchema(const std::string& pattern);
// A list of such values.
std::string ListSchema(const std::string& entry);

// Regular expressions for addresses as spec/address.h parses them.
std::string AddressPattern();    // a host or a range, in brackets with a port
std::string HostsPattern();      // a host or a range
std::string ProxyJumpPattern();  // jump hosts, with users and ports

}  // namespace autodist::spec
