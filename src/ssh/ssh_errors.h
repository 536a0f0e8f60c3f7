// The errors of an SSH login, one for each cause, each with a hint.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "ssh/known_hosts.h"

namespace autodist::ssh {

// The code says what to try next: kResourceExhausted, the same again later; kUnimplemented or
// kPermissionDenied, the `ssh` program, which supports more.

Status ConnectError(int errno_value, const std::string& address);
Status TimeOutError(const std::string& phase, std::chrono::milliseconds limit);
// The server sent `text` but no banner. `instead`: what it did next; "": it closed the connection.
Status NoBannerError(const std::string& text, const std::string& instead);
Status NoCommonAlgorithmError(const std::string& cause);
Status HostKeyError(const KnownHosts::Answer& answer, const std::string& host, uint16_t port,
                    std::string_view key);
// The same if the spec has the host's keys.
Status PinnedHostKeyError(const KnownHosts::Answer& answer, std::string_view key);
// `tried`: the keys that were offered; `notes`: why others were not.
Status KeyRefusedError(const std::string& username, const std::vector<std::string>& tried,
                       const std::vector<std::string>& notes);
// The connection was lost after the program's start.
Status ConnectionLostError(const std::string& cause);
// The connection was lost during the login.
Status LoginInterruptedError(const std::string& cause);
Status HungUpWhileSigningError();
Status ChannelRefusedError(const std::string& cause);
// The server has accepted no data for this time.
Status StalledError(std::chrono::milliseconds limit);
// The connection is always ready, but no data pass.
Status NoProgressError();

// Converts the output of a failed `ssh` program to one of the errors above if the cause is the
// same.
Status SshProgramError(const std::string& said, const std::string& host);

}  // namespace autodist::ssh
