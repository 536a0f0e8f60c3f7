#include "chief/board/trouble_warnings.h"

#include <algorithm>
#include <utility>

#include "base/wall_clock.h"
#include "board/troubles.h"

namespace autodist::chief {
namespace {

bool IsTold(const v1::Trouble& trouble) {
  return trouble.kind() == v1::Trouble::KIND_SLOW || trouble.kind() == v1::Trouble::KIND_WARNING;
}

const std::string& CauseOf(const v1::Trouble& trouble) {
  return trouble.evidence_size() > 0 ? trouble.evidence(0).what() : trouble.what();
}

bool IsOfSteps(const v1::Trouble& trouble) { return CauseOf(trouble) == board::kStepsPerSecond; }

// Whom it is about, and why; its numbers may change.
std::string KeyOf(const v1::Trouble& trouble) {
  std::string key = CauseOf(trouble);
  for (const uint32_t node : trouble.nodes()) key += " node " + std::to_string(node);
  for (const uint32_t rank : trouble.ranks()) key += " rank " + std::to_string(rank);
  return key;
}

bool IsAbout(const v1::Trouble& trouble, uint32_t rank) {
  return std::ranges::find(trouble.ranks(), rank) != trouble.ranks().end();
}

bool HasLasted(const v1::Board& board, const v1::Trouble& trouble, std::chrono::milliseconds time) {
  return board.time_ms() - trouble.since_ms() >= time.count();
}

std::string WithTime(const v1::Trouble& trouble) {
  if (CauseOf(trouble) == board::kStepTime) return trouble.what();  // has it
  return trouble.what() + " since " + base::LocalTime("%H:%M", trouble.since_ms() / 1000);
}

}  // namespace

std::vector<TroubleWarning> TroubleWarnings::Take(const v1::Board& board) {
  std::vector<TroubleWarning> warnings;
  if (board.job().phase() != v1::JOB_PHASE_RUNNING) return warnings;
  for (const v1::Trouble& slow : board.troubles()) {
    if (lines_ == kMost) return warnings;  // of thousands of ranks no causes are looked for
    if (!IsTold(slow) || !IsOfSteps(slow) || slow.ranks_size() == 0) continue;
    if (!HasLasted(board, slow, kSlowStepsLast) || !told_.insert(KeyOf(slow)).second) continue;
    std::string what = WithTime(slow);
    for (const v1::Trouble& cause : board.troubles()) {
      if (!IsTold(cause) || IsOfSteps(cause) || !IsAbout(cause, slow.ranks(0))) continue;
      what += "; " + cause.what();
      told_.insert(KeyOf(cause));
    }
    Tell(board, slow, std::move(what), warnings);
  }
  for (const v1::Trouble& trouble : board.troubles()) {
    if (!IsTold(trouble) || IsOfSteps(trouble) || !HasLasted(board, trouble, kOthersLast)) continue;
    if (told_.insert(KeyOf(trouble)).second) Tell(board, trouble, WithTime(trouble), warnings);
  }
  return warnings;
}

void TroubleWarnings::Tell(const v1::Board& board, const v1::Trouble& trouble, std::string what,
                           std::vector<TroubleWarning>& warnings) {
  if (lines_ == kMost) return;
  if (++lines_ == kMost) what += "; no more such warnings are shown, see `autodist top`";
  const bool has_node =
      trouble.nodes_size() > 0 && trouble.nodes(0) < static_cast<uint32_t>(board.nodes_size());
  warnings.push_back(
      {has_node ? board.nodes(static_cast<int>(trouble.nodes(0))).address() : std::string(),
       std::move(what)});
}

}  // namespace autodist::chief
