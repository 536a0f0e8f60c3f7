// The errors of an SSH login, by the table of transport/reach_causes.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/tcp_connect.h"
#include "ssh/known_hosts.h"
#include "transport/reach_causes.h"

namespace autodist::ssh {

// The code says what to try next: kResourceExhausted, the same again later; kUnimplemented or
// kPermissionDenied, the `ssh` program, which supports more.

// `failed` has all addresses of the server; at least one.
Status ConnectError(const std::vector<base::ConnectRace::Failed>& failed);
// The server sent `text` but no banner. `instead`: what it did next; "": it closed the connection.
Status NoBannerError(const std::string& text, const std::string& instead);
Status HostKeyError(const KnownHosts::Answer& answer, const std::string& host, uint16_t port,
                    std::string_view key);
// The same if the spec has the host's keys.
Status PinnedHostKeyError(const KnownHosts::Answer& answer, std::string_view key);

// A login without an accepted key.
struct RefusedLogin {
  std::string username;
  std::vector<std::string> tried;  // the keys that were offered
  std::vector<std::string> notes;  // why others were not
  std::string certificate;         // one of them that servers reject, and why
  std::string banner;              // of the server, for people
};
Status KeyRefusedError(const RefusedLogin& login);

// The server ended the connection during the login, with `message` or "". `why`: by the library.
Status LoginInterruptedError(const std::string& banner, const std::string& message,
                             const std::string& why);

// Converts the output of a failed `ssh` program. `pinned`: the spec has the host's keys.
Status SshProgramError(const std::string& said, const std::string& host, bool pinned = false);

}  // namespace autodist::ssh
