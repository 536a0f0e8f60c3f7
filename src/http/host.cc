#include "http/host.h"

#include <absl/strings/ascii.h>

#include <string>

#include "base/host_name.h"

namespace autodist::http {
namespace {

// "[::1]:80" → "::1", "a:80" → "a".
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return end == std::string_view::npos ? "" : host.substr(1, end - 1);
  }
  return host.substr(0, host.rfind(':'));
}

}  // namespace

bool IsOurHost(std::string_view header, const std::optional<base::IpAddress>& listening,
               Names names) {
  const std::string host = absl::AsciiStrToLower(std::string(WithoutPort(header)));
  const auto address = base::IpAddress::Parse(host);
  // Of a forwarded port, too.
  if (host == "localhost" || (address && address->IsLoopback())) return true;
  if (!listening || listening->IsLoopback()) return false;
  return names == Names::kAny || address || host == absl::AsciiStrToLower(base::HostName());
}

}  // namespace autodist::http
