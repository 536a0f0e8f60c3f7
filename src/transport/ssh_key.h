// A user's private key in memory: read once, then used to sign for any number of logins.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "transport/evp_key.h"
#include "transport/key_file.h"
#include "transport/ssh_identity.h"

namespace autodist::transport {

// Immutable; safe to use from several threads.
class SshKey final : public SshIdentity {
 public:
  SshKey(EvpKey key, std::string path);

  // KeyFile::Read, then Unlock.
  static Result<std::shared_ptr<const SshKey>> Load(const std::string& path,
                                                    const AskPassphrase& ask = {});

  const std::string& public_blob() const override { return public_blob_; }
  const std::string& description() const override { return path_; }
  bool slow() const override { return false; }
  Result<std::string> SignRequest(std::string_view request,
                                  const std::stop_token& stop) const override;

 private:
  const EvpKey key_;
  const std::string public_blob_;
  const std::string path_;
};

}  // namespace autodist::transport
