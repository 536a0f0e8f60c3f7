#include "cli/version.h"

#include <string_view>

#include "base/quantity.h"
#include "bundle/bundle.h"

namespace autodist::cli {
namespace {

constexpr size_t kShownOfDigest = 12;

}  // namespace

std::string VersionText() {
  std::string text = "autodist " AUTODIST_VERSION " (commit " AUTODIST_COMMIT ")";
  for (const bundle::Agent& agent : bundle::Agents()) {
    text += "\nwith an agent for " + std::string(agent.machine) + ": " +
            std::string(agent.program.sha256.substr(0, kShownOfDigest)) + ", " +
            base::Bytes(agent.program.size) + ", sent as " +
            base::Bytes(agent.unpacker.size() + agent.program.packed.size());
  }
  constexpr std::string_view kLeftOut = AUTODIST_LEFT_OUT;
  if (!kLeftOut.empty()) text += "\nwithout: " + std::string(kLeftOut);
  return text;
}

}  // namespace autodist::cli
