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

bool IsOurHost(std::string_view header, const std::optional<base::IpAddress>& listening) {
  const std::string host = absl::AsciiStrToLower(std::string(WithoutPort(header)));
  const auto address = base::IpAddress::Parse(host);
  // Also for a forwarded port.
  if (host == "localhost" || (address && address->IsLoopback())) return true;
  if (!listening || listening->IsLoopback()) return false;
  const std::string own = absl::AsciiStrToLower(base::HostName());
  return address || (!host.empty() && (host == own || host == own.substr(0, own.find('.'))));
}

}  // namespace autodist::http
