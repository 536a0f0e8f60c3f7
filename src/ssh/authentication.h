// Logging in with public keys: offers one after the other until the server takes one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "ssh/libssh2_session.h"
#include "ssh/ssh_identity.h"

namespace autodist::ssh {

// For one thread. Never blocks: signatures that may take long are made elsewhere.
class Authentication {
 public:
  using Identity = std::shared_ptr<const SshIdentity>;

  // What to call for a signature that may take long; TakeSignature is to be called with it. Called
  // once for each request, and not again before the signature is there.
  using AskToSign = std::function<void(const Identity& identity, std::string_view request)>;

  // `notes` say why keys are not among the identities; for messages.
  Authentication(std::string username, std::vector<Identity> identities,
                 std::vector<std::string> notes, AskToSign ask_to_sign);
  Authentication(const Authentication&) = delete;
  Authentication& operator=(const Authentication&) = delete;

  // The outcome, or nullopt where it waits: for the server, or, as the next function tells, for a
  // signature. kPermissionDenied if no key is accepted.
  std::optional<Status> Advance(Libssh2Session& session);

  bool AwaitsSignature() const { return asked_ && !signature_; }
  void TakeSignature(Result<std::string> signature) { signature_ = std::move(signature); }

 private:
  std::optional<Result<std::string>> Sign(std::string_view request);
  void NextIdentity();
  Status Refused() const;

  const std::string username_;
  const std::vector<Identity> identities_;
  std::vector<std::string> notes_;
  const AskToSign ask_to_sign_;
  const Libssh2Session::Sign sign_;
  size_t next_ = 0;     // the identity that is being offered
  bool asked_ = false;  // for a signature of it
  std::optional<Result<std::string>> signature_;
  Status not_signed_;  // why it could not be
};

}  // namespace autodist::ssh
