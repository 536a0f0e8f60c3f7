#include "ssh/authentication.h"

#include <utility>

#include "ssh/ssh_errors.h"

namespace autodist::ssh {

Authentication::Authentication(std::string username, std::vector<Identity> identities,
                               std::vector<std::string> notes, AskToSign ask_to_sign)
    : username_(std::move(username)),
      identities_(std::move(identities)),
      notes_(std::move(notes)),
      ask_to_sign_(std::move(ask_to_sign)),
      sign_([this](std::string_view request) { return Sign(request); }) {}

std::optional<Status> Authentication::Advance(Libssh2Session& session) {
  while (next_ < identities_.size()) {
    if (AwaitsSignature()) return std::nullopt;
    switch (session.LogIn(username_, identities_[next_]->public_blob(), sign_)) {
      case Libssh2Session::LoginAnswer::kNotYet:
        return std::nullopt;
      case Libssh2Session::LoginAnswer::kAccepted:
        return OkStatus();
      case Libssh2Session::LoginAnswer::kRefused:
        NextIdentity();
        break;
      case Libssh2Session::LoginAnswer::kConnectionLost:
        if (session.HadTooManyFailures()) {
          NextIdentity();
          return Refused();
        }
        return LoginInterruptedError(session.disconnect_message().empty()
                                         ? session.LastError()
                                         : session.disconnect_message());
    }
  }
  return Refused();
}

std::optional<Result<std::string>> Authentication::Sign(std::string_view request) {
  const Identity& identity = identities_[next_];
  if (!identity->slow()) {
    signature_ = identity->SignRequest(request, {});
  } else if (!asked_) {
    asked_ = true;
    ask_to_sign_(identity, request);
  }
  if (!signature_) return std::nullopt;
  asked_ = false;
  auto signature = std::exchange(signature_, std::nullopt);
  not_signed_ = signature->status();
  return signature;
}

void Authentication::NextIdentity() {
  if (!not_signed_.ok()) notes_.push_back(Message(std::exchange(not_signed_, OkStatus())));
  ++next_;
}

Status Authentication::Refused() const {
  std::vector<std::string> tried;
  for (size_t i = 0; i < next_; ++i) tried.push_back(identities_[i]->description());
  return KeyRefusedError(username_, tried, notes_);
}

}  // namespace autodist::ssh
