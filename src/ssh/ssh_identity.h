// One way to log in with a public key: a key in a file, a key in ssh-agent, a certificate with
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

  // What is offered to the server: the public key or the certificate, as it travels on the wire.
  virtual const std::string& public_blob() const = 0;

  // For messages: "/home/u/.ssh/id_rsa", "/home/u/.ssh/id_rsa in ssh-agent", "certificate ...".
  virtual const std::string& description() const = 0;

  // Whether signing may block: it asks another process, which may ask the person.
  virtual bool slow() const = 0;

  // The signature proper, without the name of the algorithm, over an SSH_MSG_USERAUTH_REQUEST
  // preceded by the session id (RFC 4252, section 7). The algorithm is taken from that message;
  // kUnimplemented if the key can sign, but not with that one. `stop` makes it return early.
  virtual Result<std::string> SignRequest(std::string_view request,
                                          const std::stop_token& stop) const = 0;
};

}  // namespace autodist::ssh
