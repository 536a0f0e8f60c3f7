// Public-key login: offers one key after the other until the server accepts one.
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

// For one thread. Never blocks: slow signatures are made on another thread.
class Authentication {
 public:
  using Identity = std::shared_ptr<const SshIdentity>;

  // Requests a signature that may take long; pass it to TakeSignature. Called once for each
  // request, and not again before the signature has been passed.
  using AskToSign = std::function<void(const Identity& identity, std::string_view request)>;

  // `notes` say why keys are not among the identities; for messages.
  Authentication(std::string username, std::vector<Identity> identities,
                 std::vector<std::string> notes, AskToSign ask_to_sign);
  Authentication(const Authentication&) = delete;
  Authentication& operator=(const Authentication&) = delete;

  // Returns the outcome, or nullopt while it waits for the server or, see waits_for_signature, for
  // a signature. kPermissionDenied: no key was accepted.
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
  bool asked_ = false;  // whether a signature was requested
  std::optional<Result<std::string>> signature_;
  Status not_signed_;  // why there is no signature
};

}  // namespace autodist::ssh
