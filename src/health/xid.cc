#include "health/xid.h"

#include <algorithm>

#include "health/log_text.h"
#include "health/xid_catalogue.h"

namespace autodist::health {
namespace {

constexpr uint32_t kRecoveryActionChanged = 154;

constexpr uint32_t kWorkEnded[] = {43, 45};  // after an error of the program

}  // namespace

// Old drivers omit "PCI:".
std::optional<Xid> ParseXid(std::string_view line) {
  auto rest = After(line, "NVRM: Xid (");
  if (!rest) return std::nullopt;
  if (rest->starts_with("PCI:")) rest->remove_prefix(4);
  constexpr std::string_view kEnd = "): ";
  const size_t end = rest->find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  Xid xid{.gpu = OnlyNameOf(rest->substr(0, end)), .number = 0, .pid = {}, .text = {}};
  rest->remove_prefix(end + kEnd.size());
  xid.number = NumberAt<uint32_t>(*rest);
  if (xid.gpu.empty() || xid.number == 0) return std::nullopt;
  xid.text = rest->substr(std::min(rest->find(", "), rest->size()));
  if (xid.text.starts_with(", ")) xid.text.remove_prefix(2);
  const auto pid = After(xid.text, "pid=");
  if (pid && NumberAt<pid_t>(*pid) > 0) xid.pid = NumberAt<pid_t>(*pid);
  return xid;
}

bool Xid::IsOfProgram() const {
  const XidMeaning* const meaning = MeaningOf(number);
  return (meaning != nullptr && meaning->remedy == XidRemedy::kRestartProgram) ||
         std::ranges::count(kWorkEnded, number) > 0;
}

// "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
bool Xid::NeedsRepair() const {
  const XidMeaning* const meaning = MeaningOf(number);
  if (meaning == nullptr || !health::NeedsRepair(meaning->remedy)) return false;
  const auto action = After(text, " to ");
  return number != kRecoveryActionChanged || !action || !After(*action, "(None)");
}

// "Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Misaligned Address", or
// "MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_4 faulted @ 0x7f00_00000000"
std::string Xid::Unit() const {
  if (const auto place = After(text, "on (GPC ")) {
    return "GPC " + OnlyNameOf(place->substr(0, place->find(')')), ", ");
  }
  const auto engine = After(text, "MMU Fault: ENGINE ");
  const auto gpc = engine ? After(*engine, " GPC") : std::nullopt;
  const auto client = engine ? After(*engine, "GPCCLIENT_") : std::nullopt;
  if (!gpc || !client) return "";
  return "GPC " + std::to_string(NumberAt<uint32_t>(*gpc)) + ", client " +
         OnlyNameOf(client->substr(0, client->find(' ')));
}

}  // namespace autodist::health
