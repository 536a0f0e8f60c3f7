#include "health/xid.h"

#include <algorithm>

#include "base/split.h"
#include "health/log_text.h"
#include "health/xid_catalogue.h"

namespace autodist::health {
namespace {

constexpr uint32_t kRecoveryActionChanged = 154;

constexpr uint32_t kWorkEnded[] = {43, 45};  // after an error of the program

// "NETIR_LINK_EVT Nonfatal XC0 i0 Link 17 (…)". The name of a program may precede it, with any
// text.
bool IsFatal(std::string_view text) {
  const size_t fatal = text.rfind(" Fatal ");
  const size_t nonfatal = text.rfind(" Nonfatal ");
  return fatal != text.npos && (nonfatal == text.npos || nonfatal < fatal);
}

}  // namespace

// Old drivers omit "PCI:".
std::optional<Xid> ParseXid(std::string_view line) {
  if (!base::TakePrefix(line, "NVRM: Xid (")) return std::nullopt;
  base::TakePrefix(line, "PCI:");
  const auto gpu = TakePciPlace(line, "): ");
  const auto number = gpu ? base::TakeNumber<uint32_t>(line) : std::nullopt;
  if (!number || *number == 0) return std::nullopt;
  base::TakePrefix(line, ", ");
  Xid xid{.gpu = std::string(*gpu), .number = *number, .pid = {}, .text = line};
  if (base::TakePrefix(line, "pid=")) xid.pid = base::TakeNumber<pid_t>(line);
  if (xid.pid && *xid.pid <= 0) xid.pid.reset();
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
  if (meaning->has_severity) return IsFatal(text);
  return number != kRecoveryActionChanged ||
         text.substr(std::min(text.rfind(" to "), text.size())).find("(None)") == text.npos;
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
  std::string_view rest = *gpc;
  return "GPC " + std::to_string(base::TakeNumber<uint32_t>(rest).value_or(0)) + ", client " +
         OnlyNameOf(client->substr(0, client->find(' ')));
}

}  // namespace autodist::health
