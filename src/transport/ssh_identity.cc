#include "transport/ssh_identity.h"

#include "transport/ssh_public_key.h"
#include "transport/ssh_wire.h"

namespace autodist::transport {

Result<std::string> SignatureAlgorithm(std::string_view request) {
  WireReader reader(request);
  reader.String();  // session id
  reader.Bytes(1);  // SSH_MSG_USERAUTH_REQUEST
  reader.String();  // user
  reader.String();  // service
  reader.String();  // "publickey"
  reader.Bytes(1);  // TRUE: signed
  std::string_view algorithm = reader.String();
  if (!reader.ok()) return Error(StatusCode::kInternal, "malformed signing request");
  if (algorithm.ends_with(kCertificateSuffix)) algorithm.remove_suffix(kCertificateSuffix.size());
  return std::string(algorithm);
}

}  // namespace autodist::transport
