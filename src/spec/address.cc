#include "spec/address.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/ip_address.h"
#include "base/split.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

constexpr size_t kMaxUserLength = 256;  // bytes

Status Wrong(const std::string& what) { return Error(StatusCode::kInvalidArgument, what); }

bool IsOfHostName(unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; }

bool IsHostName(const std::string& text) {
  return !text.empty() && text.size() <= 253 && text[0] != '-' && text[0] != '.' &&
         std::ranges::all_of(text, IsOfHostName);
}

// Such as "10.0.0.256" or "127.1": the system would parse it as a number instead of a name.
bool LooksNumeric(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) || c == '.'; });
}

Result<uint16_t> ReadPort(std::string_view text) {
  const uint32_t port = ReadWholeNumber(text, UINT16_MAX).value_or(0);
  if (port > 0) return static_cast<uint16_t>(port);
  return Wrong("port " + Quoted(text) + " should be a number from 1 to 65535");
}

// Returns what is wrong with "10.0.0.11/24", an address with the length of a network's prefix; ""
// for other text.
std::string PrefixIssue(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const std::string address = text.substr(0, slash);
  const auto ip = base::IpAddress::Parse(address);
  const uint32_t size = ip && ip->v6 ? 128 : 32;
  const auto bits = ReadWholeNumber(text.substr(std::min(slash + 1, text.size())), size);
  if (!ip || !bits) return "";
  bool network = *bits < size;
  for (size_t bit = *bits; bit < size; ++bit) {
    network = network && (ip->bytes[bit / 8] >> (7 - bit % 8) & 1) == 0;
  }
  return network ? "is a network, not a machine; write the address of each machine"
                 : "has the length of a network's prefix after '/'; write " + Quoted(address);
}

// Parses "[host]:port" and "[host]".
Result<HostAndPort> ReadBracketed(const std::string& text) {
  const size_t close = text.find(']');
  if (close == std::string::npos || (close + 1 < text.size() && text[close + 1] != ':')) {
    return Wrong(Quoted(text) + " should be written as [host] or [host]:port");
  }
  HostAndPort read{text.substr(1, close - 1), std::nullopt};
  AD_RETURN_IF_ERROR(CheckHost(read.host));
  if (close + 1 < text.size()) {
    AD_ASSIGN_OR_RETURN(read.port, ReadPort(std::string_view(text).substr(close + 2)));
  }
  return read;
}

Status CheckJump(const std::string& text) {
  const size_t at = text.rfind('@');
  if (at != std::string::npos) AD_RETURN_IF_ERROR(CheckUser(text.substr(0, at)));
  const std::string place = at == std::string::npos ? text : text.substr(at + 1);
  if (place.starts_with('[')) return ReadBracketed(place).status();
  const size_t colon = place.find(':');
  if (colon != place.rfind(':')) {
    return Wrong("IPv6 address " + Quoted(place) + " should be in brackets, as [fd00::1]");
  }
  AD_RETURN_IF_ERROR(CheckHost(place.substr(0, colon)));
  if (colon == std::string::npos) return OkStatus();
  return ReadPort(std::string_view(place).substr(colon + 1)).status();
}

}  // namespace

// Other characters are special to the command line of ssh, or to a shell that runs a Match exec or
// ProxyCommand of the user with the name as %r: CVE-2023-51385. A backslash is in DOMAIN\user.
Status CheckUser(const std::string& text) {
  constexpr std::string_view kRefused = "'`\";&<>|(){}[]:";
  const bool right = !text.empty() && text.size() <= kMaxUserLength && text[0] != '-' &&
                     !text.ends_with('\\') && std::ranges::none_of(text, [&](unsigned char c) {
                       return std::isspace(c) || std::iscntrl(c) ||
                              kRefused.find(static_cast<char>(c)) != std::string_view::npos;
                     });
  if (const size_t colon = text.find(':'); colon != std::string::npos) {
    return Wrong(Quoted(text.substr(0, colon) + ":…") + " is not a user name; " + kNoPassword);
  }
  // Users of a domain have an '@' as well: "ann@corp.example".
  const size_t at = text.rfind('@');
  const bool has_host = at != std::string::npos &&
                        (text.starts_with("root@") || base::IpAddress::Parse(text.substr(at + 1)));
  const std::string why =
      has_host ? "a host is the 'address' of a node; the user is " + Quoted(text.substr(0, at))
               : ShellNotation(text);
  if (right && why.empty()) return OkStatus();
  return Wrong(Quoted(text) + " is not a user name" + (why.empty() ? "" : ": " + why));
}

Status CheckHost(const std::string& text) {
  const auto ip = base::IpAddress::Parse(text);
  if (!ip && !IsHostName(text)) {
    if (const std::string issue = PrefixIssue(text); !issue.empty()) {
      return Wrong(Quoted(text) + " " + issue);
    }
    const std::string notation = ShellNotation(text);
    const bool braces = text.find('{') != std::string::npos;
    return Wrong(Quoted(text) + " is neither an IPv4 or IPv6 address nor a host name" +
                 (!notation.empty() ? "; " + notation
                  : braces          ? "; a range of hosts is written gpu[1-4]"
                                    : ""));
  }
  if (!ip && LooksNumeric(text)) {
    return Wrong(Quoted(text) + " is not an IPv4 address; those are four numbers from 0 to 255");
  }
  if (!ip) return OkStatus();
  // Checked like a user, because it becomes ssh's %h.
  if (!std::ranges::all_of(ip->scope, IsOfHostName)) {
    return Wrong(Quoted(text) +
                 " names a network interface that has more in its name than letters, "
                 "digits, '.', '-' and '_'");
  }
  const char* kind = ip->IsUnspecified() ? "means any address"
                     : ip->IsMulticast() ? "is a multicast address"
                     : ip->IsBroadcast() ? "is the broadcast address"
                                         : nullptr;
  if (!kind) return OkStatus();
  return Wrong(Quoted(text) + " " + kind +
               ", not one machine; give the address under which others reach the machine");
}

Result<HostAndPort> ReadHostAndPort(const std::string& text) {
  if (text.starts_with('[')) return ReadBracketed(text);
  const Status status = CheckHost(text);
  if (status.ok()) return HostAndPort{text, std::nullopt};
  if (text.find(':') == std::string::npos || base::IpAddress::Parse(text)) return status;
  return Wrong(Message(status) +
               "; a port belongs to the ssh group, as 'port: 2222', or [host]:2222 in quotes");
}

Status CheckProxyJump(const std::string& text) {
  if (text == "none") return OkStatus();
  for (const std::string_view jump : base::Split(text, ',')) {
    if (const Status status = CheckJump(std::string(jump)); !status.ok()) {
      return Wrong(Message(status) +
                   "; a jump is written as user@host:port, several with commas between them");
    }
  }
  return OkStatus();
}

std::string Identity(const std::string& host) {
  if (const auto ip = base::IpAddress::Parse(host)) return ip->ToString();
  return absl::AsciiStrToLower(host);
}

bool IsLoopback(const std::string& host) {
  const auto ip = base::IpAddress::Parse(host);
  return ip ? ip->IsLoopback() : Identity(host) == "localhost";
}

}  // namespace autodist::spec
