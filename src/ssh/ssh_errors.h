// Every way in which a login over SSH fails, told apart, with what to do about each.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "ssh/known_hosts.h"

namespace autodist::ssh {

// The codes say what may be tried next: kResourceExhausted, the same again in a moment;
// kUnimplemented or kPermissionDenied, the `ssh` program, which can more than we.

Status ConnectError(int errno_value, const std::string& address);
Status TimeOutError(const std::string& phase, std::chrono::milliseconds limit);
// The server said `text` and did not name its protocol: "" if it has closed the connection then,
// else what it did instead.
Status NoBannerError(const std::string& text, const std::string& instead);
Status NoCommonAlgorithmError(const std::string& cause);
Status HostKeyError(const KnownHosts::Answer& answer, const std::string& host, uint16_t port,
                    std::string_view key);
// The same where the spec has the host's keys.
Status PinnedHostKeyError(const KnownHosts::Answer& answer, std::string_view key);
// `tried`: the keys that were offered; `notes`: why others were not.
Status KeyRefusedError(const std::string& username, const std::vector<std::string>& tried,
                       const std::vector<std::string>& notes);
// The connection of a program that has been started was lost.
Status ConnectionLostError(const std::string& cause);
// The connection was lost before the server had answered, for this cause.
Status LoginInterruptedError(const std::string& cause);
Status HungUpWhileSigningError();
Status ChannelRefusedError(const std::string& cause);
// The server has taken nothing of what there was for it, for so long.
Status StalledError(std::chrono::milliseconds limit);
// The connection is busy, and nothing comes of it.
Status NoProgressError();

// What the `ssh` program wrote before it gave up on `host`, as one of the above where it is one of
// them.
Status SshProgramError(const std::string& said, const std::string& host);

}  // namespace autodist::ssh
