// A public-key credential for logins: a key in a file, a key in ssh-agent, or a certificate with
// either.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::ssh {

// Thread-safe.
class SshIdentity {
 public:
  SshIdentity() = default;
  SshIdentity(const SshIdentity&) = delete;
  SshIdentity& operator=(const SshIdentity&) = delete;
  virtual ~SshIdentity() = default;

  // Returns the public key or certificate that is offered to the server, in wire format.
  virtual const std::string& public_blob() const = 0;

  // For messages: "/home/u/.ssh/id_rsa", "/home/u/.ssh/id_rsa in ssh-agent", "certificate ...".
  virtual const std::string& description() const = 0;

  // Whether signing may block: it uses another process, which may ask the user.
  virtual bool slow() const = 0;

  // Returns the raw signature, without the algorithm name, over an SSH_MSG_USERAUTH_REQUEST
  // preceded by the session id (RFC 4252, section 7). The algorithm is the one in that message;
  // kUnimplemented if the key can only sign with others. `stop` makes it return early.
  virtual Result<std::string> SignRequest(std::string_view request,
                                          const std::stop_token& stop) const = 0;
};

}  // namespace autodist::ssh
