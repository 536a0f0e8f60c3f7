#include "transport/ssh_key.h"

#include <utility>

namespace autodist::transport {

SshKey::SshKey(EvpKey key, std::string path)
    : key_(std::move(key)), public_blob_(PublicBlob(key_)), path_(std::move(path)) {}

Result<std::shared_ptr<const SshKey>> SshKey::Load(const std::string& path,
                                                   const AskPassphrase& ask) {
  AD_ASSIGN_OR_RETURN(const KeyFile file, KeyFile::Read(path));
  AD_ASSIGN_OR_RETURN(EvpKey key, file.Unlock(ask));
  return std::make_shared<const SshKey>(std::move(key), path);
}

Result<std::string> SshKey::SignRequest(std::string_view request, const std::stop_token&) const {
  AD_ASSIGN_OR_RETURN(const std::string algorithm, SignatureAlgorithm(request));
  return Sign(key_, algorithm, request);
}

}  // namespace autodist::transport
