#include "spec/value_schemas.h"

#include "base/json_quote.h"

namespace autodist::spec {
namespace {

constexpr char kName[] = R"([A-Za-z0-9_][A-Za-z0-9._-]{0,252})";
constexpr char kIpv6[] = R"([0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*(%[^\s/:%\]]{1,15})?)";
constexpr char kPort[] = R"((:[1-9][0-9]{0,4})?)";

std::string Range() {
  const std::string numbers = "[0-9]{1,9}(-[0-9]{1,9})?";
  return R"([A-Za-z0-9_][A-Za-z0-9._-]*(\[)" + numbers + "(," + numbers +
         R"()*\][A-Za-z0-9._-]*)+)";
}

std::string Hosts() { return kName + ("|" + Range()) + "|" + kIpv6; }

}  // namespace

std::string TextSchema() { return R"("type": "string", "minLength": 1)"; }

std::string PatternSchema(const std::string& pattern) {
  return R"("type": "string", "pattern": )" + base::JsonQuoted("^(" + pattern + ")$");
}

std::string ListSchema(const std::string& entry) {
  return R"("type": "array", "items": {)" + entry + "}";
}

std::string AddressPattern() { return Hosts() + R"(|\[()" + Hosts() + R"()\])" + kPort; }

std::string HostsPattern() { return Hosts(); }

std::string ProxyJumpPattern() {
  const std::string special = R"(,'`";&<>|(){}\[\]:\\)";
  const std::string user = R"(([^\s\-@)" + special + R"(][^\s)" + special + "]*@)?";
  const std::string host = std::string("(") + kName + R"(|\[()" + kName + "|" + kIpv6 + R"()\]))";
  const std::string hop = user + host + kPort;
  return "none|" + hop + "(," + hop + ")*";
}

}  // namespace autodist::spec
