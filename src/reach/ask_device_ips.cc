#include "reach/ask_device_ips.h"

#include "base/ip_address.h"
#include "reach/login_script.h"

namespace autodist::reach {
namespace {

constexpr std::string_view kBegin = "\nAUTODIST-DEVICE-IPS\n";
constexpr std::string_view kEnd = "AUTODIST-END\n";

// The tool prints "ipaddr:192.168.100.101" first. Its folder is seldom in a login's PATH.
constexpr char kIpsScript[] =
    "PATH=$PATH:/usr/local/Ascend/driver/tools:/usr/local/bin; printf '\\nAUTODIST-DEVICE-IPS\\n'; "
    "for d in \"$@\"; do "
    "ip=$(hccn_tool -i \"$d\" -ip -g 2>/dev/null | head -n 1 | cut -d : -f 2 | tr -d ' '); "
    "if [ -z \"$ip\" ]; then "
    "ip=$(sed -n \"s/^address_$d=//p\" /etc/hccn.conf 2>/dev/null | head -n 1); fi; "
    "printf '%s\\n' \"$ip\"; done; printf 'AUTODIST-END\\n'";

}  // namespace

Result<std::vector<std::string>> ReadDeviceIps(std::string_view output, size_t devices) {
  const size_t begin = output.rfind(kBegin);
  if (begin == std::string_view::npos) return Error(StatusCode::kNotFound, "no answer");
  std::string_view lines = output.substr(begin + kBegin.size());
  const size_t end = lines.rfind(kEnd);
  if (end == std::string_view::npos) return Error(StatusCode::kNotFound, "no answer");
  lines = lines.substr(0, end);
  std::vector<std::string> ips;
  while (!lines.empty()) {
    const size_t newline = lines.find('\n');
    const auto ip = base::IpAddress::Parse(std::string(lines.substr(0, newline)));
    ips.push_back(ip && !ip->v6 ? ip->ToString() : "");
    lines.remove_prefix(newline == std::string_view::npos ? lines.size() : newline + 1);
  }
  if (ips.size() == devices) return ips;
  return Error(StatusCode::kInternal, "the answer makes no sense");
}

Result<std::vector<std::string>> AskDeviceIps(transport::Transport& transport,
                                              const std::vector<uint32_t>& devices,
                                              std::chrono::milliseconds limit) {
  std::vector<std::string> argv = {"/bin/sh", "-c", kIpsScript, "sh"};
  for (const uint32_t device : devices) argv.push_back(std::to_string(device));
  Result<std::vector<std::string>> ips = Error(StatusCode::kUnknown, "no answer");
  AD_RETURN_IF_ERROR(RunLoginScript(
      transport, argv,
      [&](std::string_view output) {
        ips = ReadDeviceIps(output, devices.size());
        return ips.status();
      },
      limit));
  return ips;
}

}  // namespace autodist::reach
