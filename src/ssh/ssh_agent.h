// An ssh-agent, the user's or this run's own (protocol: draft-miller-ssh-agent).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "ssh/ssh_identity.h"

namespace autodist::ssh {

// A public key or certificate whose private key the agent holds.
struct AgentKey {
  std::string blob;
  std::string comment;
};

// Every request has a connection of its own, so it may be used from several threads. Calls block,
// within time limits, but long enough for an agent that asks the person before it answers.
class SshAgent {
 public:
  static constexpr std::chrono::milliseconds kSignLimit{60'000};  // it may ask the person first

  // `socket` is what SSH_AUTH_SOCK names.
  explicit SshAgent(std::string socket, std::chrono::milliseconds sign_limit = kSignLimit)
      : socket_(std::move(socket)), sign_limit_(sign_limit) {}

  // In the agent's order. A locked agent claims to have none.
  Result<std::vector<AgentKey>> Keys() const;

  // The signature proper by the key with this blob. kUnimplemented if the agent does not sign with
  // this algorithm, which is one of plain keys. `stop` makes it return early.
  Result<std::string> Sign(std::string_view blob, std::string_view algorithm, std::string_view data,
                           const std::stop_token& stop = {}) const;

 private:
  const std::string socket_;
  const std::chrono::milliseconds sign_limit_;
};

// A key in the agent as a way to log in.
class AgentIdentity final : public SshIdentity {
 public:
  AgentIdentity(std::string socket, std::string blob, std::string description)
      : agent_(std::move(socket)), blob_(std::move(blob)), description_(std::move(description)) {}

  const std::string& public_blob() const override { return blob_; }
  const std::string& description() const override { return description_; }
  bool slow() const override { return true; }
  Result<std::string> SignRequest(std::string_view request,
                                  const std::stop_token& stop) const override;

 private:
  const SshAgent agent_;
  const std::string blob_;
  const std::string description_;
};

}  // namespace autodist::ssh
