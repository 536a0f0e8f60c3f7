// libFuzzer: for all known_hosts files, a query ends soon and trusts no key that is not in the
// file.
#include <cstdint>
#include <string>

#include "fuzz/check.h"
#include "ssh/known_hosts.h"
#include "ssh/ssh_wire.h"

namespace {

using autodist::Check;
using autodist::ssh::KnownHosts;

std::string KeyOf(const std::string& type, char filling) {
  std::string key;
  autodist::ssh::AppendString(key, type);
  autodist::ssh::AppendString(key, std::string(32, filling));
  return key;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const KnownHosts known(text, "file");
  const std::string key = KeyOf("ssh-ed25519", 'k');
  // The type is unknown and the bytes are rare in base64, so no text contains the key.
  const std::string unlisted = KeyOf("autodist-fuzz", '\xFE');

  for (const std::string host :
       {"host", "HOST.example", "10.0.0.1", "fd00::2", "fe80::1%eth0", ""}) {
    for (const uint16_t port : {uint16_t{22}, uint16_t{2222}}) {
      for (const std::string& type : known.KeyTypes(host, port)) {
        Check(!type.empty(), "a key type is empty");
      }
      Check(known.Check(host, port, unlisted).match != KnownHosts::Match::kTrusted,
            "a key is trusted that is not in the file");
      for (const std::string_view asked : {std::string_view(key), std::string_view("")}) {
        const auto answer = known.Check(host, port, asked);
        Check(answer.where.empty() == (answer.match == KnownHosts::Match::kUnknown),
              "an answer without a place, or the other way round");
      }
      if (host.empty()) continue;
      // The added line is last; only a revocation before it can invalidate it.
      const auto trusted =
          KnownHosts(text + "\n" + KnownHosts::Line(host, port, key) + "\n", "file")
              .Check(host, port, key);
      Check(trusted.match == KnownHosts::Match::kTrusted ||
                trusted.match == KnownHosts::Match::kRevoked,
            "the line to add is not understood");
    }
  }
  return 0;
}
